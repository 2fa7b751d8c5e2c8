// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/depthwise.h"

#include <algorithm>
#include <type_traits>

#include "backends/cpu/isa/vec.h"

namespace fc::cpu::FC_ISA {
namespace {

constexpr int W = kWidth<float>;

int64_t ceil_div(int64_t a, int64_t b) { return a <= 0 ? 0 : (a + b - 1) / b; }

// Whole vectors: what is written beyond n is written again later, or lies in the buffer's last 16 floats.
inline void put_zeros(float* to, int64_t n) {
  if (n <= 0) return;
  store(to, splat(0.0F));  // mostly enough; of the loop compilers make a call of memset
  for (int64_t i = W; i < n; i += W) store(to + i, splat(0.0F));
}
inline void put_copy(float* to, const float* from, int64_t n) {
  int64_t i = 0;
  for (; i + W <= n; i += W) store(to + i, load(from + i));
  if (i < n) store(to + i, load_part(from + i, n - i, 0.0F));
}

void fill_buffer(const DepthwisePlane& p, float* buffer) {
  const int64_t used = p.used(), part = p.part(), stride = p.x.stride, rows = p.rows(), row = p.row(), width = p.x.in;
  int64_t low[kDepthwiseStride], high[kDepthwiseStride], start[kDepthwiseStride];
  for (int64_t f = 0; f < stride; ++f) {
    low[f] = std::min(ceil_div(p.x.padding - f, stride), used);
    high[f] = std::clamp(ceil_div(width + p.x.padding - f, stride), low[f], used);
    start[f] = low[f] * stride + f - p.x.padding;
  }
  for (int64_t r = 0; r < rows; ++r, buffer += row) {
    const int64_t y = p.first * p.y.stride - p.y.padding + r;
    if (y < 0 || y >= p.y.in) {
      put_zeros(buffer, row);
      continue;
    }
    const float* in = p.in + y * width;
    for (int64_t f = 0; f < stride; ++f) {
      float* to = buffer + f * part;
      put_zeros(to, low[f]);
      if (high[f] > low[f]) {
        const float* from = in + start[f];
        if (stride == 1) put_copy(to + low[f], from, high[f] - low[f]);
        else
          for (int64_t i = low[f]; i < high[f]; ++i, from += stride) to[i] = *from;
      }
      put_zeros(to + high[f], used - high[f]);
    }
  }
}

// Where the taps of a kernel's row read, from where the first does.
struct Columns {
  int64_t at[kDepthwiseKernel];
  explicit Columns(const DepthwisePlane& p) {
    for (int64_t j = 0; j < p.x.kernel; ++j)
      at[j] = j * p.x.dilation % p.x.stride * p.part() + j * p.x.dilation / p.x.stride;
  }
};

// N vectors of one output row; of the last one `valid` elements are written. KH x KW is the kernel's size, 0 if not
// known here.
template <int N, int KH, int KW>
[[gnu::always_inline]] inline void outputs(int64_t height, int64_t width, int64_t row, const Columns& columns,
                                           const float* weight, float bias, const float* from, float* to,
                                           int64_t valid) {
  Vec<float> acc[N];
#pragma GCC unroll 8
  for (int k = 0; k < N; ++k) acc[k] = splat(bias);
#pragma GCC unroll 3
  for (int64_t i = 0; i < (KH ? KH : height); ++i)
#pragma GCC unroll 3
    for (int64_t j = 0; j < (KW ? KW : width); ++j) {
      const Vec<float> w = splat(weight[i * (KW ? KW : width) + j]);
      const float* at = from + i * row + columns.at[j];
#pragma GCC unroll 8
      for (int k = 0; k < N; ++k) acc[k] = fma<float>(load(at + k * W), w, acc[k]);
    }
#pragma GCC unroll 8
  for (int k = 0; k < N - 1; ++k) store(to + k * W, acc[k]);
  if (valid == W) store(to + (N - 1) * W, acc[N - 1]);
  else store_part(to + (N - 1) * W, acc[N - 1], valid);
}

template <int KH, int KW>
void convolve(const DepthwisePlane& p, const float* weight, float bias, float* out, const float* buffer) {
  const Columns columns(p);
  const int64_t height = p.y.kernel, width = p.x.kernel, row = p.row() * p.y.dilation, step = p.row() * p.y.stride,
                n = p.x.out, left = n % (4 * W), whole = n - left, vectors = (left + W - 1) / W;
  const float* from = buffer;
  float* to = out + p.first * n;
  for (int64_t y = p.first; y < p.last; ++y, from += step, to += n) {
    // A whole vector may reach into rows that are written later; that is faster than part of one.
    const int64_t valid = (p.last - y) * n - whole >= vectors * W ? W : (left + W - 1) % W + 1;
    auto some = [&](auto count, int64_t x, int64_t last) {
      outputs<count, KH, KW>(height, width, row, columns, weight, bias, from + x, to + x, last);
    };
    for (int64_t x = 0; x < whole; x += 4 * W) some(std::integral_constant<int, 4>{}, x, W);
    switch (vectors) {
      case 1: some(std::integral_constant<int, 1>{}, whole, valid); break;
      case 2: some(std::integral_constant<int, 2>{}, whole, valid); break;
      case 3: some(std::integral_constant<int, 3>{}, whole, valid); break;
      case 4: some(std::integral_constant<int, 4>{}, whole, valid); break;
      default: break;
    }
  }
}

void forward(const DepthwisePlane& p, const float* weight, float bias, float* out, float* buffer) {
  fill_buffer(p, buffer);
  if (p.y.kernel == 3 && p.x.kernel == 3) convolve<3, 3>(p, weight, bias, out, buffer);
  else convolve<0, 0>(p, weight, bias, out, buffer);
}

// Sums for R x N taps, from tap j of the kernel's row at `from` on.
template <int R, int N>
inline void taps(const DepthwisePlane& p, const Columns& columns, const float* grad, const float* from, int64_t j,
                 float* dw) {
  Vec<float> acc[R * N];
#pragma GCC unroll 16
  for (int k = 0; k < R * N; ++k) acc[k] = splat(0.0F);
  const int64_t rows = p.last - p.first, step = p.row() * p.y.stride, lower = p.row() * p.y.dilation, n = p.x.out;
  auto add = [&](const Vec<float>& g, const float* at, auto get) {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
      for (int k = 0; k < N; ++k)
        acc[r * N + k] = fma<float>(g, get(at + r * lower + columns.at[j + k]), acc[r * N + k]);
  };
  for (int64_t y = 0; y < rows; ++y) {
    const float *g = grad + y * n, *at = from + y * step;
    int64_t x = 0;
    for (; x + W <= n; x += W) add(load(g + x), at + x, [](const float* v) { return load(v); });
    if (x < n) add(load_part(g + x, n - x, 0.0F), at + x, [&](const float* v) { return load_part(v, n - x, 0.0F); });
  }
#pragma GCC unroll 16
  for (int k = 0; k < R * N; ++k) {
    float lane[W];
    store(lane, acc[k]);
    for (int w = W / 2; w > 0; w /= 2)
      for (int l = 0; l < w; ++l) lane[l] += lane[l + w];
    dw[k / N * p.x.kernel + k % N] += lane[0];
  }
}

void weights(const DepthwisePlane& p, const float* grad, float* dw, float* buffer) {
  fill_buffer(p, buffer);
  const Columns columns(p);
  grad += p.first * p.x.out;
  if (p.y.kernel == 3 && p.x.kernel == 3) return taps<3, 3>(p, columns, grad, buffer, 0, dw);
  for (int64_t i = 0; i < p.y.kernel; ++i, dw += p.x.kernel) {
    const float* from = buffer + i * p.y.dilation * p.row();
    int64_t j = 0;
    for (; j + 4 <= p.x.kernel; j += 4) taps<1, 4>(p, columns, grad, from, j, dw + j);
    for (; j < p.x.kernel; ++j) taps<1, 1>(p, columns, grad, from, j, dw + j);
  }
}

}  // namespace

extern constexpr DepthwiseKernels depthwise_table = {forward, weights};

}  // namespace fc::cpu::FC_ISA
