// SPDX-License-Identifier: Apache-2.0
// Weighted sums of chosen elements along one dimension: what resizing by interpolation is made of.
#include "backends/cpu/register.h"
#include "core/threads.h"
#include "define/calls.h"
#include "plan/resample.h"

namespace fc::cpu {
namespace {

constexpr int64_t kWork = 1 << 14, kChunk = 512;  // products worth a thread; elements of a row done at a time

struct Shape {
  int64_t outer, inner, taps, out;  // sizes before and after the dimension
  Shape(const Tensor& t, int64_t dim, const Tensor& index, const Tensor& weight, int64_t size)
      : outer(1), inner(1), taps(index.dim() == 2 ? index.size(1) : 0), out(index.dim() == 2 ? index.size(0) : 0) {
    check_resample(t, dim, index, weight);
    for (int64_t d = 0; d < t.dim(); ++d) (d < dim ? outer : inner) *= d == dim ? 1 : t.size(d);
    const auto* at = index.data_as<int64_t>();
    for (int64_t i = 0; i < out * taps; ++i)
      FC_CHECK_AS(IndexError, at[i] >= 0 && at[i] < size, "resample: position ", at[i], " is out of range for size ",
                  size);
  }
};

template <class F>
void with_type(DType t, const F& f) {
  switch (t) {
    case DType::Float32: return f(float());
    case DType::Float64: return f(double());
    case DType::Int32: return f(int32_t());
    default: raise<NotImplementedError>("\"resample\" not implemented for '", info(t).legacy, "'");
  }
}

// f(outer index, first, last) over blocks of the inner dimensions, on all threads.
template <class F>
void each_block(const Shape& s, const F& f) {
  const int64_t blocks = (s.inner + kChunk - 1) / kChunk;
  const int64_t work = std::max<int64_t>(1, s.out * s.taps * std::min(s.inner, kChunk));
  parallel_for(0, s.outer * blocks, std::max<int64_t>(1, kWork / work), [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) {
      const int64_t first = i % blocks * kChunk;
      f(i / blocks, first, std::min(first + kChunk, s.inner));
    }
  });
}

Tensor resample(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& weight) {
  Tensor x = contiguous(self), at = contiguous(index), w = contiguous(weight);
  const int64_t size = dim >= 0 && dim < self.dim() ? self.size(dim) : 0;
  const Shape s(x, dim, at, w, size);
  Dims shape(self.sizes());
  shape[static_cast<size_t>(dim)] = s.out;
  Tensor out = empty_tensor(shape, self.dtype(), Device{});
  with_type(self.dtype(), [&]<class T>(T) {
    const T *from = x.data_as<T>(), *weights = w.data_as<T>();
    const auto* indices = at.data_as<int64_t>();
    T* to = out.data_as<T>();
    each_block(s, [&](int64_t o, int64_t first, int64_t last) {
      const T* in = from + o * size * s.inner;
      for (int64_t i = 0; i < s.out; ++i) {
        T* row = to + (o * s.out + i) * s.inner;
        const T* wi = weights + i * s.taps;
        const int64_t* ai = indices + i * s.taps;
        if (s.inner == 1) {
          T sum = 0;
          for (int64_t t = 0; t < s.taps; ++t) sum += wi[t] * in[ai[t]];
          row[0] = sum;
          continue;
        }
        for (int64_t r = first; r < last; ++r) row[r] = 0;
        for (int64_t t = 0; t < s.taps; ++t) {
          const T* line = in + ai[t] * s.inner;
          for (int64_t r = first; r < last; ++r) row[r] += wi[t] * line[r];
        }
      }
    });
  });
  return out;
}

Tensor resample_backward(const Tensor& grad, int64_t dim, const Tensor& index, const Tensor& weight, int64_t size) {
  Tensor g = contiguous(grad), at = contiguous(index), w = contiguous(weight);
  const Shape s(g, dim, at, w, size);
  FC_CHECK(grad.size(dim) == s.out, "resample_backward: expected ", s.out, " elements along dimension ", dim, ", got ",
           grad.sizes());
  Dims shape(grad.sizes());
  shape[static_cast<size_t>(dim)] = size;
  Tensor out = zeros(shape, grad.dtype(), Device{});
  with_type(grad.dtype(), [&]<class T>(T) {
    const T *from = g.data_as<T>(), *weights = w.data_as<T>();
    const auto* indices = at.data_as<int64_t>();
    T* to = out.data_as<T>();
    each_block(s, [&](int64_t o, int64_t first, int64_t last) {
      T* sums = to + o * size * s.inner;
      for (int64_t i = 0; i < s.out; ++i) {
        const T* row = from + (o * s.out + i) * s.inner;
        for (int64_t t = 0; t < s.taps; ++t) {
          const T weight_here = weights[i * s.taps + t];
          T* line = sums + indices[i * s.taps + t] * s.inner;
          for (int64_t r = first; r < last; ++r) line[r] += weight_here * row[r];
        }
      }
    });
  });
  return out;
}

}  // namespace

void register_resample() {
  set_cpu_kernel("facula::resample", kernel<&resample>());
  set_cpu_kernel("facula::resample_backward", kernel<&resample_backward>());
}

}  // namespace fc::cpu
