// SPDX-License-Identifier: Apache-2.0
// A storage is one block of memory on one device, shared by all views of it. It knows how to give the block back,
// and has an id that is never reused (the profilers' name for it).
#pragma once
#include "core/allocator.h"
#include "core/ref.h"

namespace fc {

class Storage : public RefCounted {
 public:
  Storage(Block block, size_t bytes, Device device, Allocator* allocator);
  ~Storage() override;

  void* data() const { return block_.data; }
  size_t bytes() const { return bytes_; }
  Device device() const { return device_; }
  uint64_t id() const { return id_; }
  bool resizable() const { return allocator_ != nullptr; }  // false for memory that others own
  void resize(size_t bytes);                                // keeps what fits
  void swap_contents(Storage& other);                       // both keep their ids

 private:
  Block block_;
  size_t bytes_;
  Allocator* allocator_;
  uint64_t id_;
  Device device_;
};

Ref<Storage> allocate_storage(size_t bytes, Device device);

// Copies plain bytes between devices (strides play no part). A backend sets the function of its device type; it is
// given CPU <-> device and device <-> device of that type. Between two types the bytes pass through the host.
void copy_bytes(void* dst, Device dst_device, const void* src, Device src_device, size_t bytes);
using CopyBytesFn = void (*)(void* dst, Device dst_device, const void* src, Device src_device, size_t bytes);
void set_copy_bytes(int device_type, CopyBytesFn fn);

}  // namespace fc
