// SPDX-License-Identifier: Apache-2.0
#include "core/tensor.h"

#include <algorithm>

#include "core/device_record.h"
#include "core/error.h"

namespace fc {

constinit thread_local bool new_tensors_are_inference [[gnu::tls_model("initial-exec")]] = false;
bool (*release_python_object)(TensorImpl&) = nullptr;

namespace {

// The next stride outwards. Bounded even where nothing is stored, so that strides in bytes never overflow.
int64_t next_stride(int64_t stride, int64_t size, IntSpan sizes) {
  int64_t next;
  bool overflow = __builtin_mul_overflow(stride, std::max<int64_t>(size, 1), &next);
  FC_CHECK(!overflow && next <= kMaxStride, "Stride calculation overflowed for sizes ", sizes);
  return next;
}

// A dimension that there is, unlike wrap_dim's 0 of a 0-d tensor.
size_t own_dim(int64_t d, int64_t ndim) {
  if (ndim == 0) [[unlikely]]
    raise<IndexError>("Dimension specified as ", d, " but tensor has no dimensions");
  return static_cast<size_t>(wrap_dim(d, ndim));
}

// Says what is wrong with sizes that no contiguous tensor can have.
[[noreturn, gnu::cold, gnu::noinline]] void refuse(IntSpan sizes) {
  checked_numel(sizes);
  raise<Error>("Stride calculation overflowed for sizes ", sizes);
}

}  // namespace

void TensorImpl::destroy() noexcept {
  if (python && owns_python && release_python_object && release_python_object(*this)) return;
  if (autograd_) delete_in_turn(this);  // it may own other tensors and nodes
  else delete this;
}

TensorImpl::~TensorImpl() {
  delete autograd_;
  if (version_) version_->release();
  if (dims_ != inline_) delete[] dims_;
}

void TensorImpl::reserve(size_t ndim) {
  FC_CHECK(ndim <= kMaxRank, "tensors have at most ", kMaxRank, " dimensions, got ", ndim);
  if (ndim > capacity_) {
    auto* bigger = new int64_t[2 * ndim];
    if (dims_ != inline_) delete[] dims_;
    dims_ = bigger;
    capacity_ = static_cast<uint8_t>(ndim);
  }
  ndim_ = static_cast<uint8_t>(ndim);
}

void TensorImpl::set_geometry(IntSpan sizes, IntSpan strides, int64_t offset) {
  int64_t numel = checked_numel(sizes);
  if (sizes.data() >= dims_ && sizes.data() < dims_ + 2 * capacity_) {  // a caller may pass our own dimensions
    set_geometry(Dims(sizes), Dims(strides), offset);
    return;
  }
  reserve(sizes.size());
  std::copy(sizes.begin(), sizes.end(), dims_);
  std::copy(strides.begin(), strides.end(), dims_ + ndim_);
  numel_ = numel;
  offset_ = offset;
  refresh_flags();
}

void TensorImpl::set_contiguous(IntSpan sizes, MemoryFormat format) {
  if (format != MemoryFormat::Contiguous) {
    set_geometry(sizes, contiguous_strides(sizes, format), 0);
    return;
  }
  reserve(sizes.size());
  int64_t step = 1;
  bool bad = false, empty = false;
  for (size_t i = sizes.size(); i-- > 0;) {
    const int64_t n = sizes[i];
    dims_[i] = n;
    dims_[ndim_ + i] = step;
    bad |= n < 0 || __builtin_mul_overflow(step, std::max<int64_t>(n, 1), &step) || step > kMaxStride;
    empty |= n == 0;
  }
  if (bad) [[unlikely]]
    refuse(sizes);
  numel_ = empty ? 0 : step;
  offset_ = 0;
  flags_ = static_cast<uint8_t>((flags_ & ~kChannelsLast) | kContiguous | kDense);
  if (ndim_ >= 4) refresh_flags();
}

void TensorImpl::set_storage(Ref<Storage> storage, DType dtype, Device device) {
  storage_ = std::move(storage);
  dtype_ = dtype;
  device_ = device;
  set_layer(kNotOnCpu, !device.is_cpu());
}

void TensorImpl::set_without_strides(IntSpan sizes) {
  set_geometry(sizes, Dims(sizes.size()), 0);
  flags_ &= static_cast<uint8_t>(~(kContiguous | kChannelsLast | kDense));
}

void TensorImpl::refresh_flags() {
  const int64_t* size = dims_;
  const int64_t* stride = dims_ + ndim_;
  auto laid_out_in = [&](const uint8_t* order, int n) {
    int64_t expect = 1;
    for (int k = 0; k < n; ++k) {
      int d = order[k];
      if (size[d] == 1) continue;
      if (stride[d] != expect) return false;
      expect *= size[d];
    }
    return true;
  };
  uint8_t order[kMaxRank];
  for (int i = 0; i < ndim_; ++i) order[i] = static_cast<uint8_t>(ndim_ - 1 - i);
  bool contiguous = numel_ == 0 || laid_out_in(order, ndim_);
  bool channels_last = false;
  if (ndim_ == 4 || ndim_ == 5) {
    static constexpr uint8_t nhwc[] = {1, 3, 2, 0}, ndhwc[] = {1, 4, 3, 2, 0};
    channels_last = laid_out_in(ndim_ == 4 ? nhwc : ndhwc, ndim_);
  }
  bool dense = contiguous || channels_last;
  if (!dense) {
    int n = 0;
    for (uint8_t i = 0; i < ndim_; ++i)
      if (size[i] != 1) order[n++] = i;
    std::sort(order, order + n, [&](int a, int b) { return stride[a] < stride[b]; });
    dense = laid_out_in(order, n);
  }
  flags_ = static_cast<uint8_t>((flags_ & ~(kContiguous | kChannelsLast | kDense)) | (contiguous ? kContiguous : 0) |
                                (channels_last ? kChannelsLast : 0) | (dense ? kDense : 0));
}

void TensorImpl::bump_version() {
  if (is_inference()) return;
  own_version().bump();
}

VersionCounter& TensorImpl::own_version() {
  VersionCounter* found = __atomic_load_n(&version_, __ATOMIC_ACQUIRE);
  if (!found) {
    VersionCounter* fresh = make_ref<VersionCounter>().detach();
    if (__atomic_compare_exchange_n(&version_, &found, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) found = fresh;
    else fresh->release();
  }
  return *found;
}

void TensorImpl::set_version_counter(Ref<VersionCounter> v) {
  if (VersionCounter* before = std::exchange(version_, v.detach())) before->release();
}

AutogradMetaBase* TensorImpl::add_autograd(AutogradMetaBase* meta) {
  AutogradMetaBase* before = nullptr;
  if (__atomic_compare_exchange_n(&autograd_, &before, meta, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return meta;
  delete meta;
  return before;
}

int64_t Tensor::size(int64_t d) const { return sizes()[own_dim(d, dim())]; }
int64_t Tensor::stride(int64_t d) const { return strides()[own_dim(d, dim())]; }

bool Tensor::is_contiguous(MemoryFormat f) const {
  switch (f) {
    case MemoryFormat::ChannelsLast: return dim() == 4 && impl_->is_channels_last();
    case MemoryFormat::ChannelsLast3d: return dim() == 5 && impl_->is_channels_last();
    default: return is_contiguous();
  }
}

int64_t checked_numel(IntSpan sizes) {
  int64_t n = 1;
  bool overflow = false, empty = false;
  for (int64_t s : sizes) {
    FC_CHECK(s >= 0, "Trying to create tensor with negative dimension ", s, ": ", sizes);
    if (s == 0) empty = true;
    else overflow |= __builtin_mul_overflow(n, s, &n);
  }
  if (empty) return 0;
  FC_CHECK(!overflow, "numel: integer multiplication overflow for sizes ", sizes);
  return n;
}

size_t checked_bytes(int64_t numel, DType dtype) {
  int64_t bytes;
  FC_CHECK(!__builtin_mul_overflow(numel, static_cast<int64_t>(item_size(dtype)), &bytes),
           "Storage size calculation overflowed with ", numel, " elements of ", dtype);
  return static_cast<size_t>(bytes);
}

Dims contiguous_strides(IntSpan sizes, MemoryFormat format) {
  size_t n = sizes.size();
  Dims out(n);
  int64_t step = 1;
  auto place = [&](size_t d) {
    out[d] = step;
    step = next_stride(step, sizes[d], sizes);
  };
  bool last = (format == MemoryFormat::ChannelsLast && n == 4) || (format == MemoryFormat::ChannelsLast3d && n == 5);
  FC_CHECK(last || format == MemoryFormat::Contiguous || format == MemoryFormat::Preserve, "required rank ",
           format == MemoryFormat::ChannelsLast ? 4 : 5, " tensor to use channels_last format");
  if (last) {
    place(1);
    for (size_t d = n; d-- > 2;) place(d);
    place(0);
  } else {
    for (size_t d = n; d-- > 0;) place(d);
  }
  return out;
}

int64_t wrap_dim(int64_t dim, int64_t ndim, const char* op) {
  int64_t n = std::max<int64_t>(ndim, 1);  // a 0-d tensor accepts 0 and -1
  if (dim < -n || dim >= n) {
    std::string where = op ? str(op, ": ") : std::string();
    raise<IndexError>(where, "Dimension out of range (expected to be in range of [", -n, ", ", n - 1, "], but got ",
                      dim, ")");
  }
  return dim < 0 ? dim + n : dim;
}

// Strides decide, not sizes alone: a tensor with one channel is dense in both orders, and keeps the one it was made in.
MemoryFormat suggest_memory_format(const Tensor& t) {
  if (t.dim() != 4 && t.dim() != 5) return MemoryFormat::Contiguous;
  IntSpan sizes = t.sizes(), strides = t.strides();
  size_t order[5] = {1}, n = 1;  // channels, then from the last dimension outwards
  for (size_t d = sizes.size(); d-- > 2;) order[n++] = d;
  order[n++] = 0;
  if (strides[1] == 0) return MemoryFormat::Contiguous;
  int64_t least = 0;  // what the next stride must reach
  for (size_t k = 0; k < n; ++k) {
    size_t d = order[k];
    if (sizes[d] == 0 || strides[d] < least || (d == 0 && least == strides[1])) return MemoryFormat::Contiguous;
    least = strides[d] * std::max<int64_t>(sizes[d], 1);
  }
  return t.dim() == 4 ? MemoryFormat::ChannelsLast : MemoryFormat::ChannelsLast3d;
}

size_t storage_bytes_needed(IntSpan sizes, IntSpan strides, int64_t offset, DType dtype) {
  int64_t last = offset;
  bool overflow = false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return 0;
    int64_t span;
    overflow |= __builtin_mul_overflow(sizes[i] - 1, strides[i], &span);
    overflow |= __builtin_add_overflow(last, span, &last);
  }
  overflow |= __builtin_add_overflow(last, 1, &last);
  FC_CHECK(!overflow, "Storage size calculation overflowed with sizes=", sizes, " and strides=", strides);
  return checked_bytes(last, dtype);
}

bool is_aligned(const void* address, DType dtype) {
  return reinterpret_cast<uintptr_t>(address) % item_size(real_of(dtype)) == 0;
}

Tensor empty_tensor(IntSpan sizes, DType dtype, Device device, MemoryFormat format) {
  device = with_index(device);
  auto impl = make_ref<TensorImpl>(nullptr, dtype, device);
  impl->set_contiguous(sizes, format);  // checks the sizes
  impl->set_storage(allocate_storage(checked_bytes(impl->numel(), dtype), device), dtype, device);
  if (new_tensors_are_inference) impl->set_inference(true);
  return Tensor(std::move(impl));
}

Tensor empty_strided_tensor(IntSpan sizes, IntSpan strides, DType dtype, Device device) {
  device = with_index(device);
  FC_CHECK(sizes.size() == strides.size(), "dimensionality of sizes (", sizes.size(),
           ") must match dimensionality of strides (", strides.size(), ")");
  checked_numel(sizes);
  for (int64_t s : strides) FC_CHECK(s >= 0, "empty_strided: negative strides are not supported, got ", strides);
  auto impl =
      make_ref<TensorImpl>(allocate_storage(storage_bytes_needed(sizes, strides, 0, dtype), device), dtype, device);
  impl->set_geometry(sizes, strides, 0);
  if (new_tensors_are_inference) impl->set_inference(true);
  return Tensor(std::move(impl));
}

Tensor empty_pinned(IntSpan sizes, DType dtype, Device device) {
  const size_t bytes = checked_bytes(checked_numel(sizes), dtype);
  const Block block = device_record(device).pinned(bytes, device);
  auto impl = make_ref<TensorImpl>(make_ref<Storage>(block, bytes, Device{}, nullptr), dtype, Device{});
  impl->set_contiguous(sizes);
  return Tensor(std::move(impl));
}

Tensor make_view(const Tensor& base, IntSpan sizes, IntSpan strides, int64_t offset) {
  return make_view(base, sizes, strides, offset, base.dtype());
}

Tensor make_view(const Tensor& base, IntSpan sizes, IntSpan strides, int64_t offset, DType dtype) {
  TensorImpl& from = base.impl();
  auto impl = make_ref<TensorImpl>(from.storage(), dtype, from.device());
  impl->set_geometry(sizes, strides, offset);
  impl->set_inference(from.is_inference());
  if (!from.is_inference()) impl->set_version_counter(from.version_counter());
  return Tensor(std::move(impl));
}

Tensor shallow_copy(const Tensor& t, bool share_version) {
  TensorImpl& from = t.impl();
  auto impl = make_ref<TensorImpl>(from.storage(), from.dtype(), from.device());
  if (from.is_sparse()) [[unlikely]] {
    impl->set_layer(kSparse, true);
    impl->set_without_strides(from.sizes());
  } else {
    impl->set_geometry(from.sizes(), from.strides(), from.offset());
  }
  impl->set_inference(from.is_inference());
  if (share_version && !from.is_inference()) impl->set_version_counter(from.version_counter());
  return Tensor(std::move(impl));
}

void resize_tensor(const Tensor& t, IntSpan sizes, MemoryFormat format) {
  const int64_t numel = checked_numel(sizes);
  TensorImpl& impl = t.impl();
  if (Dims::same(impl.sizes(), sizes) && format == MemoryFormat::Contiguous) return;
  Dims strides = contiguous_strides(sizes, format);
  const size_t need = numel == 0 ? 0 : storage_bytes_needed(sizes, strides, impl.offset(), impl.dtype());
  if (need > impl.storage()->bytes()) {
    if (impl.device().is_meta()) impl.set_storage(allocate_storage(need, impl.device()), impl.dtype(), impl.device());
    else impl.storage()->resize(need);
  }
  impl.set_geometry(sizes, strides, impl.offset());
}

std::string dump(const Tensor& t) {
  if (!t.defined()) return "Tensor(undefined)";
  return str("Tensor(", t.dtype(), ' ', t.sizes(), " strides ", t.strides(), " offset ", t.offset(), " on ", t.device(),
             ", storage #", t.impl().storage()->id(), " at version ", static_cast<int64_t>(t.impl().version()), ')');
}

}  // namespace fc
