// SPDX-License-Identifier: Apache-2.0
// A storage is one block of memory on one device, shared by all views of it. It knows how to give the block back,
// and has an id that is never reused (the profilers' name for it). Whoever hands the address to code that knows no
// storages (NumPy, DLPack) lends the memory and keeps a handle of the storage, not of a tensor, whose storage may be
// exchanged.
#pragma once
#include <facula/device.h>
#include <facula/ref.h>

namespace fc {

class Allocator;  // core/allocator.h

struct Block {
  void* data = nullptr;
  void (*free)(void* data, size_t bytes, void* context) = nullptr;
  void* context = nullptr;
};

class Storage : public RefCounted {
 public:
  // read_only: memory that others own and that may not be written, a map of a file perhaps.
  Storage(Block block, size_t bytes, Device device, Allocator* allocator, bool read_only = false);
  ~Storage() override;

  void* data() const { return block_.data; }
  size_t bytes() const { return bytes_; }
  Device device() const { return device_; }
  uint64_t id() const { return id_; }
  bool read_only() const { return read_only_; }  // operators refuse to write to it (dispatch/checks.h)
  // False for memory that others own, and for memory that was lent.
  bool resizable() const { return allocator_ != nullptr && !lent(); }
  void resize(size_t bytes);  // keeps what fits
  void lend();                // from now on the memory stays where it is
  bool lent() const { return __atomic_load_n(&lent_, __ATOMIC_ACQUIRE); }
  const Block& block() const { return block_; }
  // Puts other memory of the same size in the place of the storage's own, which it returns; not resizable from then on.
  Block exchange(Block block);

  // Whoever may write to the memory says so first: those who keep its bytes (core/kept.h) then get a copy of them.
  void about_to_change() {
    if (__atomic_load_n(&kept_, __ATOMIC_ACQUIRE)) [[unlikely]]
      hand_out_copy();
  }

 private:
  friend class KeptTensor;
  void tell_free() const noexcept;
  void hand_out_copy();
  Block block_;
  size_t bytes_;
  Allocator* allocator_;
  uint64_t id_;
  Device device_;
  bool read_only_;
  bool lent_ = false;
  bool kept_ = false;
};

}  // namespace fc
