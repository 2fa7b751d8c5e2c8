// SPDX-License-Identifier: Apache-2.0
// What masks and several indices select, and what else depends on values: nonzero, bincount, isin.
#include "backends/cpu/register.h"

#include <algorithm>
#include <cstring>

#include "core/threads.h"
#include "define/calls.h"
#include "plan/index.h"
#include "plan/pointwise.h"

namespace fc::cpu {
namespace {

constexpr int64_t kGrain = 32768;

// --- what a mask selects

Tensor as_mask(const Tensor& t) { return contiguous(t.dtype() == DType::Bool ? t : ne(t, 0)); }

// How many are set in each chunk of `chunk` elements, as running sums: starts[c] is how many come before chunk c.
std::vector<int64_t> count_set(const uint8_t* mask, int64_t n, int64_t chunk) {
  int64_t chunks = (n + chunk - 1) / chunk;
  std::vector<int64_t> starts(static_cast<size_t>(chunks) + 1, 0);
  parallel_for(0, chunks, 1, [&](int64_t from, int64_t to) {
    for (int64_t c = from; c < to; ++c) {
      int64_t count = 0;
      for (int64_t i = c * chunk, end = std::min(n, i + chunk); i < end; ++i) count += mask[i] != 0;
      starts[static_cast<size_t>(c) + 1] = count;
    }
  });
  for (size_t c = 1; c < starts.size(); ++c) starts[c] += starts[c - 1];
  return starts;
}

// Calls f(position, how many were set before) up to the last set element of each chunk, chunks in parallel: also for
// unset ones, whose place the next set one takes. No branch depends on the mask, which may be random.
template <class F>
void compact(const uint8_t* mask, int64_t chunk, const std::vector<int64_t>& starts, const F& f) {
  parallel_for(0, static_cast<int64_t>(starts.size()) - 1, 1, [&](int64_t from, int64_t to) {
    for (int64_t c = from; c < to; ++c) {
      int64_t k = starts[static_cast<size_t>(c)];
      const int64_t end = starts[static_cast<size_t>(c) + 1];
      for (int64_t i = c * chunk; k < end; ++i) {
        f(i, k);
        k += mask[i] != 0;
      }
    }
  });
}

// The same for set elements only.
template <class F>
void each_set(const uint8_t* mask, int64_t n, int64_t chunk, const std::vector<int64_t>& starts, const F& f) {
  parallel_for(0, static_cast<int64_t>(starts.size()) - 1, 1, [&](int64_t from, int64_t to) {
    for (int64_t c = from; c < to; ++c) {
      int64_t k = starts[static_cast<size_t>(c)];
      for (int64_t i = c * chunk, end = std::min(n, i + chunk); i < end; ++i)
        if (mask[i]) f(i, k++);
    }
  });
}

Tensor nonzero(const Tensor& self) {
  Tensor mask = as_mask(self);
  const auto* m = mask.data_as<uint8_t>();
  std::vector<int64_t> starts = count_set(m, mask.numel(), kGrain);
  int64_t ndim = self.dim();
  // Coordinates of one dimension lie together, as PyTorch lays them: x.nonzero().unbind(1) gives dense vectors.
  int64_t total = starts.back();
  Tensor out = empty_tensor(Dims{ndim, total}, DType::Int64, self.device());
  auto* to = out.data_as<int64_t>();
  IntSpan sizes = mask.sizes();
  if (ndim == 0 || total == 0) return make_view(out, Dims{total, ndim}, Dims{1, total}, 0);
  int64_t* flat = to + (ndim - 1) * total;  // positions first, then coordinates in their place
  compact(m, kGrain, starts, [flat](int64_t i, int64_t k) { flat[k] = i; });
  parallel_for(0, ndim > 1 ? total : 0, kGrain, [&](int64_t from, int64_t end) {
    for (int64_t k = from; k < end; ++k) {
      int64_t i = flat[k];
      for (size_t d = sizes.size(); d-- > 0;) {
        to[static_cast<int64_t>(d) * total + k] = i % sizes[d];
        i /= sizes[d];
      }
    }
  });
  return make_view(out, Dims{total, ndim}, Dims{1, total}, 0);
}

template <size_t N>
void compact_items(char* to, const char* from, const uint8_t* mask, const std::vector<int64_t>& starts) {
  compact(mask, kGrain, starts, [=](int64_t i, int64_t k) {
    std::memcpy(to + k * static_cast<int64_t>(N), from + i * static_cast<int64_t>(N), N);
  });
}

Tensor masked_select(const Tensor& self, const Tensor& mask) {
  FC_CHECK(mask.dtype() == DType::Bool, "masked_select: expected BoolTensor for mask, got ", info(mask.dtype()).legacy);
  Dims shape = broadcast_shapes("masked_select", self.sizes(), mask.sizes());
  Tensor x = contiguous(expand(self, shape)), m = contiguous(expand(mask, shape));
  const auto* bits = m.data_as<uint8_t>();
  std::vector<int64_t> starts = count_set(bits, m.numel(), kGrain);
  Tensor out = empty_tensor(Dims{starts.back()}, self.dtype(), self.device());
  auto run = [&](auto fn) { fn(out.data_as<char>(), x.data_as<char>(), bits, starts); };
  switch (item_size(self.dtype())) {
    case 1: run(compact_items<1>); break;
    case 2: run(compact_items<2>); break;
    case 4: run(compact_items<4>); break;
    case 8: run(compact_items<8>); break;
    default: run(compact_items<16>); break;
  }
  return out;
}

Tensor masked_scatter_(const Tensor& self, const Tensor& mask, const Tensor& source) {
  check_masked_scatter(self, mask, source);
  Tensor m = contiguous(expand(mask, self.sizes())), src = contiguous(source);
  Tensor x = contiguous(self);
  const auto* bits = m.data_as<uint8_t>();
  std::vector<int64_t> starts = count_set(bits, m.numel(), kGrain);
  FC_CHECK(starts.back() <= src.numel(),
           "masked_scatter: expected at least as many elements in source as ones in mask: source has ", src.numel(),
           ", mask has ", starts.back());
  size_t item = item_size(self.dtype());
  char* to = x.data_as<char>();
  const char* from = src.data_as<char>();
  each_set(bits, m.numel(), kGrain, starts, [&](int64_t i, int64_t k) {
    std::memcpy(to + static_cast<size_t>(i) * item, from + static_cast<size_t>(k) * item, item);
  });
  return x.same(self) ? self : copy_(self, x);
}

// --- indices

// One index into flattened dimensions from an index for each: sum of index * stride, negative ones counted from the
// end.
Tensor linear_index(TensorSpan indices, IntSpan dims, IntSpan sizes, IntSpan strides) {
  const size_t count = indices.size();
  FC_CHECK(count > 0 && dims.size() == count && sizes.size() == count && strides.size() == count,
           "_linear_index: expected a dimension, size and stride for each of at least one index, but got ", count,
           " indices, ", dims.size(), " dimensions, ", sizes.size(), " sizes and ", strides.size(), " strides");
  int64_t reach = 0;
  for (size_t k = 0; k < count; ++k) {
    FC_CHECK(indices[k].defined() && indices[k].dtype() == DType::Int64 && indices[k].numel() == indices[0].numel(),
             "_linear_index: expected int64 indices of one number of elements");
    int64_t part;
    FC_CHECK(sizes[k] >= 0 && strides[k] >= 0 &&
                 !__builtin_mul_overflow(std::max<int64_t>(sizes[k], 1) - 1, strides[k], &part) &&
                 !__builtin_add_overflow(reach, part, &reach),
             "_linear_index: sizes ", sizes, " and strides ", strides, " are out of range");
  }
  Tensor out = empty_tensor(Dims{indices[0].numel()}, DType::Int64, Device{});
  auto* to = out.data_as<int64_t>();
  std::vector<Tensor> dense;
  for (const Tensor& index : indices) dense.push_back(contiguous(index));
  parallel_for(0, out.numel(), kGrain / 8, [&](int64_t first, int64_t last) {
    for (size_t k = 0; k < count; ++k) {
      const auto* from = dense[k].data_as<int64_t>();
      const int64_t size = sizes[k], stride = strides[k];
      bool bad = false;  // looked at after the loop, which stays without branches
      for (int64_t i = first; i < last; ++i) {
        const int64_t v = from[i], counted = v < 0 ? v + size : v;
        bad |= static_cast<uint64_t>(counted) >= static_cast<uint64_t>(size);
        const int64_t part = static_cast<int64_t>(static_cast<uint64_t>(counted) * static_cast<uint64_t>(stride));
        to[i] = k == 0 ? part : static_cast<int64_t>(static_cast<uint64_t>(to[i]) + static_cast<uint64_t>(part));
      }
      for (int64_t i = first; bad && i < last; ++i)
        FC_CHECK_AS(IndexError, from[i] >= -size && from[i] < size, "index ", from[i],
                    " is out of bounds for dimension ", dims[k], " with size ", size);
    }
  });
  return out;
}

Tensor repeat_interleave(const Tensor& repeats, std::optional<int64_t> output_size) {
  FC_CHECK(repeats.dim() <= 1, "repeat_interleave: repeats must be 0-dim or 1-dim tensor, got ", repeats.dim(),
           " dims");
  FC_CHECK(repeats.dtype() == DType::Int64 || repeats.dtype() == DType::Int32,
           "repeat_interleave: repeats has to be Long or Int tensor, got ", info(repeats.dtype()).legacy);
  Tensor counts = contiguous(to_dtype(repeats, DType::Int64));
  const auto* n = counts.data_as<int64_t>();
  int64_t total = 0;
  for (int64_t i = 0; i < counts.numel(); ++i) {
    FC_CHECK(n[i] >= 0, "repeat_interleave: repeats can not be negative, got ", n[i]);
    FC_CHECK(!__builtin_add_overflow(total, n[i], &total), "repeat_interleave: the result is too large");
  }
  FC_CHECK(!output_size || *output_size == total,
           "repeat_interleave: allocated size does not match required size: output_size is ", output_size.value_or(0),
           ", the repeats sum to ", total);
  Tensor out = empty_tensor(Dims{total}, DType::Int64, repeats.device());
  auto* to = out.data_as<int64_t>();
  for (int64_t i = 0; i < counts.numel(); ++i) to = std::fill_n(to, n[i], i);
  return out;
}

Tensor bincount(const Tensor& self, const Tensor& weights, int64_t minlength) {
  FC_CHECK(is_integral(self.dtype(), false) && self.dim() == 1,
           "bincount only supports 1-d non-negative integral inputs.");
  FC_CHECK(minlength >= 0, "bincount: minlength should be >= 0, got ", minlength);
  FC_CHECK(!weights.defined() || Dims::same(weights.sizes(), self.sizes()),
           "bincount: weights should be 1-d and have the same length as input");
  Tensor x = contiguous(to_dtype(self, DType::Int64));
  const auto* v = x.data_as<int64_t>();
  int64_t most = -1;
  for (int64_t i = 0; i < x.numel(); ++i) {
    FC_CHECK(v[i] >= 0, "bincount only supports 1-d non-negative integral inputs.");
    most = std::max(most, v[i]);
  }
  FC_CHECK(most < INT64_MAX, "bincount: the largest value ", most, " is too large");
  Dims size{std::max(minlength, most + 1)};
  auto count = [&]<class T>(DType t, const T* w) {
    Tensor out = zeros(size, t, self.device());
    auto* to = out.data_as<T>();
    for (int64_t i = 0; i < x.numel(); ++i) to[v[i]] += w ? w[i] : T(1);
    return out;
  };
  if (!weights.defined()) return count.operator()<int64_t>(DType::Int64, nullptr);
  bool single = weights.dtype() == DType::Float32;
  Tensor w = contiguous(to_dtype(weights, single ? DType::Float32 : DType::Float64));
  return single ? count(DType::Float32, w.data_as<float>()) : count(DType::Float64, w.data_as<double>());
}

template <class T>
Tensor is_in(const Tensor& elements, const Tensor& tests, bool invert) {
  Tensor sorted = clone(tests, MemoryFormat::Contiguous), x = contiguous(elements);
  auto* t = sorted.data_as<T>();
  auto* end = std::remove_if(t, t + sorted.numel(), [](T v) { return v != v; });  // NaN equals nothing
  std::sort(t, end);
  Tensor out = empty_tensor(elements.sizes(), DType::Bool, elements.device());
  auto* to = out.data_as<bool>();
  const auto* v = x.data_as<T>();
  parallel_for(0, x.numel(), 2048, [&](int64_t from, int64_t last) {
    for (int64_t i = from; i < last; ++i) to[i] = (v[i] == v[i] && std::binary_search(t, end, v[i])) != invert;
  });
  return out;
}
Tensor isin(const Tensor& elements, const Tensor& tests, bool, bool invert) {
  DType common = promote(elements.dtype(), tests.dtype());
  FC_CHECK_AS(NotImplementedError, !is_complex(common),
              "isin: Unsupported input type encountered for isin(): ", common);
  // Every type but these two fits into one of them without loss.
  bool real = is_floating(common);
  DType t = real ? DType::Float64 : DType::Int64;
  Tensor a = to_dtype(elements, t), b = to_dtype(tests, t);
  return real ? is_in<double>(a, b, invert) : is_in<int64_t>(a, b, invert);
}

}  // namespace

void register_advanced_indexing() {
  set_cpu_kernel("aten::nonzero", kernel<&nonzero>());
  set_cpu_kernel("aten::masked_select", kernel<&masked_select>());
  set_cpu_kernel("aten::_masked_scatter_", kernel<&masked_scatter_>());
  set_cpu_kernel("aten::_linear_index", kernel<&linear_index>());
  set_cpu_kernel("aten::repeat_interleave.Tensor", kernel<&repeat_interleave>());
  set_cpu_kernel("aten::bincount", kernel<&bincount>());
  set_cpu_kernel("aten::isin.Tensor_Tensor", kernel<&isin>());
}

}  // namespace fc::cpu
