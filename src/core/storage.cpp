// SPDX-License-Identifier: Apache-2.0
#include "core/storage.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/device_record.h"
#include "core/error.h"
#include "core/watch.h"

namespace fc {
namespace {

// A thread takes numbers by the thousand.
constexpr uint64_t kIds = 1024;
uint64_t ids_taken = 0;
constinit thread_local uint64_t last_id [[gnu::tls_model("initial-exec")]] = 0;
uint64_t new_id() {
  if (last_id % kIds == 0) last_id = __atomic_fetch_add(&ids_taken, kIds, __ATOMIC_RELAXED);
  return ++last_id;
}

}  // namespace

Storage::Storage(Block block, size_t bytes, Device device, Allocator* allocator, bool read_only)
    : block_(block), bytes_(bytes), allocator_(allocator), id_(new_id()), device_(device), read_only_(read_only) {
  if (!allocator_ && block_.data) tell_exposed(this, "made outside");
}

void Storage::lend() {
  about_to_change();
  __atomic_store_n(&lent_, true, __ATOMIC_RELEASE);
  tell_exposed(this, "lent");
}

// Flat: the deleting destructor, which is what runs, shall contain it.
[[gnu::flatten]] Storage::~Storage() {
  if (watched(EventKind::Free)) [[unlikely]]
    tell_free();
  if (block_.free) block_.free(block_.data, bytes_, block_.context);
}

[[gnu::noinline]] void Storage::tell_free() const noexcept {  // of memory that was told of when it was taken
  if (allocator_ && block_.data) memory_hook(EventKind::Free, *this);
}

void Storage::resize(size_t bytes) {
  FC_CHECK(resizable(), "Trying to resize storage that is not resizable");
  about_to_change();
  Block fresh = allocator_->allocate(bytes, device_);
  if (size_t keep = std::min(bytes, bytes_)) copy_bytes(fresh.data, device_, block_.data, device_, keep);
  if (watched(EventKind::Free)) tell_free();
  if (block_.free) block_.free(block_.data, bytes_, block_.context);
  block_ = fresh;
  bytes_ = bytes;
  if (block_.data && watched(EventKind::Allocate)) memory_hook(EventKind::Allocate, *this);
}

Block Storage::exchange(Block block) {
  about_to_change();
  if (watched(EventKind::Free)) tell_free();
  std::swap(block, block_);
  allocator_ = nullptr;
  tell_exposed(this, "made outside");
  return block;
}

Ref<Storage> allocate_storage(size_t bytes, Device device) {
  if (device.is_meta()) return make_ref<Storage>(Block{}, bytes, device, nullptr);
  Allocator* a = device.is_cpu() ? &the_cpu_allocator : device_record(device).allocator;
  const Block block = a->allocate(bytes, device);
  try {
    Ref<Storage> s = make_ref<Storage>(block, bytes, device, a);
    if (watched(EventKind::Allocate) && block.data) [[unlikely]]
      memory_hook(EventKind::Allocate, *s);
    return s;
  } catch (...) {
    if (block.free) block.free(block.data, bytes, block.context);
    throw;
  }
}

static void copy_unseen(void* dst, Device dst_device, const void* src, Device src_device, size_t bytes,
                        bool non_blocking) {
  if (!dst_device.is_cpu() && !src_device.is_cpu() && dst_device.type != src_device.type) {
    auto host = std::make_unique_for_overwrite<char[]>(bytes);
    copy_bytes(host.get(), Device{}, src, src_device, bytes);
    copy_bytes(dst, dst_device, host.get(), Device{}, bytes);
    return;
  }
  device_record(static_cast<int>(dst_device.is_cpu() ? src_device.type : dst_device.type))
      .copy_bytes(dst, dst_device, src, src_device, bytes, non_blocking);
}

void copy_bytes(void* dst, Device dst_device, const void* src, Device src_device, size_t bytes, bool non_blocking) {
  if (watched(EventKind::Copy)) [[unlikely]]
    copy_hook(copy_unseen, dst, dst_device, src, src_device, bytes, non_blocking);
  else copy_unseen(dst, dst_device, src, src_device, bytes, non_blocking);
}

uint32_t watched_kinds = 0;
void (*memory_hook)(EventKind, const Storage&) noexcept = nullptr;
void (*expose_hook)(const Storage&, std::string_view) noexcept = nullptr;
void (*copy_hook)(CopyBytesFn, void*, Device, const void*, Device, size_t, bool) = nullptr;

}  // namespace fc
