// SPDX-License-Identifier: Apache-2.0
// What the core knows of observation (dispatch/observe.h): which kinds of events somebody wants to see, and where it
// tells its own. Where nobody looks an event costs one load and a branch.
#pragma once
#include <string_view>

#include "core/storage.h"

namespace fc {

enum class EventKind : uint8_t {
  Call,      // an operator, above all other layers
  Kernel,    // an operator, next to its kernel
  Range,     // a named part of the program, or a node of backward
  Launch,    // a device's family, or an operator that it computes by itself
  Copy,      // on a device or between two
  Fill,      // with one value
  Library,   // a call of BLAS, LAPACK, oneDNN …
  Allocate,  // of a storage's memory
  Free,
  Expose,  // a storage's bytes enter or leave without an operator: who has the address may read and write unseen
};
inline constexpr int kEventKinds = 10;

extern uint32_t watched_kinds;  // bits; changes on any thread
template <class... K>
bool watched(K... any_of) {
  return __atomic_load_n(&watched_kinds, __ATOMIC_RELAXED) & (0u | ... | (1u << static_cast<int>(any_of)));
}

// Set at start-up by dispatch/observe.cpp; called only for what is watched.
extern void (*memory_hook)(EventKind, const Storage&) noexcept;
extern void (*expose_hook)(const Storage&, std::string_view how) noexcept;
// Told by those who hand a storage's address out ("lent", "data_ptr"), fill it from elsewhere ("made outside",
// "filled"), put it in the place of another ("data"), or only look into it ("read").
inline void tell_exposed(const Storage* s, std::string_view how) noexcept {
  if (watched(EventKind::Expose) && s) [[unlikely]]
    expose_hook(*s, how);
}
extern void (*copy_hook)(CopyBytesFn copy, void* dst, Device dst_device, const void* src, Device src_device,
                         size_t bytes, bool non_blocking);

}  // namespace fc
