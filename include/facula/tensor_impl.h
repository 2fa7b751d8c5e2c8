// SPDX-License-Identifier: Apache-2.0
// fc::Tensor, which facula::Tensor derives from.
//
// A tensor is a view of a storage: offset, sizes, strides, element type. The class here is the core's: it has facts
// and no operators (those are free functions in define/calls.h; the C++ front adds methods in a class of its own).
//
// Invariants:
//  1. 0 <= offset, and every reachable element lies inside the storage (checked where strides come from outside).
//  2. numel and the contiguity flags are those of sizes and strides; only set_geometry changes them.
//  3. Views and detached tensors share one version counter; `.data` makes a new one.
// A Tensor handle may be empty ("undefined"): that is how absent optional tensors and gradients look.
// Handles are as thread-safe as a shared pointer; the geometry of one tensor must not change while others read it.
#pragma once
#include <span>

#include <facula/dtype.h>
#include <facula/storage.h>

namespace fc {

class VersionCounter : public RefCounted {
 public:
  uint32_t value() const { return __atomic_load_n(&value_, __ATOMIC_ACQUIRE); }
  void bump() { __atomic_add_fetch(&value_, 1, __ATOMIC_ACQ_REL); }

 private:
  uint32_t value_ = 0;
};

// What autograd keeps on a tensor; the type is completed in autograd/meta.h.
class AutogradMetaBase {
 public:
  virtual ~AutogradMetaBase() = default;
  static void* operator new(size_t bytes) { return take_small(bytes); }
  static void operator delete(void* p, size_t bytes) { give_small(p, bytes); }
};

using LayerSet = uint32_t;                      // bits of dispatch/layers.h
inline constexpr LayerSet kSparse = 1u << 2;    // layer::Sparse, which a tensor's layout sets (core/sparse.h)
inline constexpr LayerSet kNotOnCpu = 1u << 3;  // layer::Devices, which a tensor's device sets

class TensorImpl final : public RefCounted {
 public:
  TensorImpl(Ref<Storage> storage, DType dtype, Device device)
      : storage_(std::move(storage)), layers_(device.is_cpu() ? 0 : kNotOnCpu), dtype_(dtype), device_(device) {}
  ~TensorImpl() override;
  void destroy() noexcept override;

  std::span<const int64_t> sizes() const { return {dims_, ndim_}; }
  std::span<const int64_t> strides() const { return {dims_ + ndim_, ndim_}; }
  int64_t dim() const { return static_cast<int64_t>(ndim_); }
  int64_t numel() const { return numel_; }
  int64_t offset() const { return offset_; }
  DType dtype() const { return dtype_; }
  Device device() const { return device_; }
  const Ref<Storage>& storage() const { return storage_; }
  void* data() const {
    return static_cast<char*>(storage_->data()) + offset_ * static_cast<int64_t>(item_size(dtype_));
  }

  bool is_sparse() const { return layers() & kSparse; }
  bool is_contiguous() const { return flags_ & kContiguous; }
  bool is_channels_last() const { return flags_ & kChannelsLast; }  // 4-d NHWC or 5-d NDHWC
  bool is_dense() const { return flags_ & kDense; }  // non-overlapping, without holes, in some order of dimensions

  // Sets sizes, strides (elements) and offset together. Sizes must be non-negative.
  void set_geometry(std::span<const int64_t> sizes, std::span<const int64_t> strides, int64_t offset);
  void set_contiguous(std::span<const int64_t> sizes, MemoryFormat format = MemoryFormat::Contiguous);
  void set_storage(Ref<Storage> storage, DType dtype, Device device);
  void set_without_strides(std::span<const int64_t> sizes);  // of a sparse tensor: not contiguous, whatever its sizes

  uint32_t version() const {
    const VersionCounter* v = __atomic_load_n(&version_, __ATOMIC_ACQUIRE);
    return v ? v->value() : 0;
  }
  void bump_version();
  Ref<VersionCounter> version_counter() { return Ref<VersionCounter>(&own_version()); }
  void set_version_counter(Ref<VersionCounter> v);

  LayerSet layers() const { return __atomic_load_n(&layers_, __ATOMIC_RELAXED); }
  void set_layer(LayerSet bit, bool on) {
    if (((layers() & bit) != 0) == on) return;
    if (on) __atomic_fetch_or(&layers_, bit, __ATOMIC_RELAXED);
    else __atomic_fetch_and(&layers_, ~bit, __ATOMIC_RELAXED);
  }

  AutogradMetaBase* autograd() const { return __atomic_load_n(&autograd_, __ATOMIC_ACQUIRE); }
  // Takes ownership; gives back what the tensor has from now on: another's, if another thread came first.
  AutogradMetaBase* add_autograd(AutogradMetaBase* meta);
  // Of a tensor that nobody else can see yet, and which has none.
  void set_first_autograd(AutogradMetaBase* meta, LayerSet bit) {
    autograd_ = meta;
    layers_ |= bit;
  }

  // A number that came from Python or a schema: it promotes like one although it is a tensor.
  bool is_wrapped_number() const { return flags_ & kWrappedNumber; }
  void set_wrapped_number(bool on) { set_flag(kWrappedNumber, on); }
  bool is_inference() const { return flags_ & kInference; }
  void set_inference(bool on) { set_flag(kInference, on); }

  // The Python object that wraps this tensor, if any. owns: the count on the object belongs to this tensor.
  void* python = nullptr;
  bool owns_python = false;

 private:
  enum : uint8_t { kContiguous = 1, kChannelsLast = 2, kDense = 4, kWrappedNumber = 8, kInference = 16 };
  void set_flag(uint8_t bit, bool on) { flags_ = static_cast<uint8_t>(on ? flags_ | bit : flags_ & ~bit); }
  VersionCounter& own_version();  // made on first use
  void reserve(size_t ndim);
  void refresh_flags();

  static constexpr size_t kInlineRank = 5;
  Ref<Storage> storage_;
  VersionCounter* version_ = nullptr;  // owned; atomic, because two threads may make views of one tensor at once
  AutogradMetaBase* autograd_ = nullptr;
  int64_t offset_ = 0;
  int64_t numel_ = 1;
  int64_t* dims_ = inline_;  // ndim_ sizes, then ndim_ strides
  LayerSet layers_;
  DType dtype_;
  Device device_;
  uint8_t ndim_ = 0;
  uint8_t capacity_ = kInlineRank;
  uint8_t flags_ = kContiguous | kDense;
  int64_t inline_[2 * kInlineRank];
};

class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(Ref<TensorImpl> impl) : impl_(std::move(impl)) {}

  bool defined() const { return static_cast<bool>(impl_); }
  TensorImpl& impl() const { return *impl_; }
  const Ref<TensorImpl>& ref() const { return impl_; }
  Ref<TensorImpl>& ref() { return impl_; }
  bool same(const Tensor& o) const { return impl_ == o.impl_; }
  void reset() { impl_ = nullptr; }

  std::span<const int64_t> sizes() const { return impl_->sizes(); }
  std::span<const int64_t> strides() const { return impl_->strides(); }
  int64_t dim() const { return impl_->dim(); }
  int64_t numel() const { return impl_->numel(); }
  int64_t offset() const { return impl_->offset(); }
  int64_t size(int64_t d) const;  // negative d counts from the end; throws IndexError
  int64_t stride(int64_t d) const;
  DType dtype() const { return impl_->dtype(); }
  Device device() const { return impl_->device(); }
  bool is_contiguous() const { return impl_->is_contiguous(); }
  bool is_contiguous(MemoryFormat f) const;
  void* data() const { return impl_->data(); }
  template <class T>
  T* data_as() const {
    return static_cast<T*>(impl_->data());
  }

 private:
  Ref<TensorImpl> impl_;
};

using TensorSpan = std::span<const Tensor>;

}  // namespace fc
