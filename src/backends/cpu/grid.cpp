// SPDX-License-Identifier: Apache-2.0
// Grid sampling. Interpolation is a product of one-dimensional ones, so every mode is a few taps per dimension: where
// they stand, their weights, and how the weights change with the grid's number.
#include "plan/grid.h"

#include <cmath>
#include <vector>

#include "backends/cpu/register.h"
#include "core/threads.h"

namespace fc::cpu {
namespace {

constexpr int64_t kBlock = 256;  // positions whose taps are kept at a time

template <class T>
struct Taps {
  int count = 0;
  int64_t index[4];  // -1: outside, which counts as zero
  T weight[4], slope[4];
};

template <class T>
struct Axis {
  int64_t size;
  Interpolation interpolation;
  GridPadding padding;
  bool align;

  // A coordinate moved into the input as the padding says; `slope` is multiplied by what that does to changes.
  T inside(T at, T& slope) const {
    if (padding == GridPadding::Zeros) return at;
    if (padding == GridPadding::Reflection) {
      const T low = align ? T(0) : T(-0.5), span = align ? T(size - 1) : T(size);
      if (span <= 0) {
        slope = 0;
        return 0;
      }
      T away = at - low;
      if (away < 0) {
        away = -away;
        slope = -slope;
      }
      const T rest = std::fmod(away, span);
      if (std::fmod(std::floor(away / span), T(2)) == 0) {
        at = rest + low;
      } else {
        at = span - rest + low;
        slope = -slope;
      }
    }
    const T most = T(size - 1);
    if (!(at > 0)) {
      slope = 0;
      return 0;
    }
    if (at >= most) {
      slope = 0;
      return most;
    }
    return at;
  }
  // Without a call, as far as positions inside go; a far one, or NaN, stays outside.
  static T floor(T at) {
    if (!(std::abs(at) < T(1 << 22))) return std::floor(at);
    const T whole = static_cast<T>(static_cast<int32_t>(at));
    return whole - T(whole > at);
  }
  int64_t checked(T at) const {  // a whole coordinate as an index
    return at >= 0 && at < T(size) ? static_cast<int64_t>(at) : -1;
  }

  Taps<T> operator()(T number) const {
    Taps<T> t;
    T slope = align ? T(size - 1) / 2 : T(size) / 2;
    T at = align ? (number + 1) / 2 * T(size - 1) : ((number + 1) * T(size) - 1) / 2;
    if (interpolation == Interpolation::Cubic) {
      const T below = floor(at), x = at - below, a = T(-0.75);
      t.count = 4;
      for (int j = 0; j < 4; ++j) {
        T unused = 1;
        t.index[j] = checked(inside(below + T(j - 1), unused));
        const T far = std::abs(x - T(j - 1)), sign = x - T(j - 1) < 0 ? T(-1) : T(1);
        const bool near = j == 1 || j == 2;
        t.weight[j] = near ? ((a + 2) * far - (a + 3)) * far * far + 1 : ((far - 5) * far + 8) * far * a - 4 * a;
        t.slope[j] = slope * sign * (near ? (3 * (a + 2) * far - 2 * (a + 3)) * far : ((3 * far - 10) * far + 8) * a);
      }
      return t;
    }
    at = inside(at, slope);
    if (interpolation == Interpolation::Nearest) {
      t.count = 1;
      t.index[0] = checked(std::nearbyint(at));
      t.weight[0] = 1;
      t.slope[0] = 0;
      return t;
    }
    const T below = floor(at);
    t.count = 2;
    t.index[0] = checked(below);
    t.index[1] = checked(below + 1);
    t.weight[1] = at - below;
    t.weight[0] = 1 - t.weight[1];
    t.slope[0] = -slope;
    t.slope[1] = slope;
    return t;
  }
};

// The elements that a block of positions takes: of position i those from end[i - 1] to end[i], found once for all
// channels.
template <class T>
struct Picked {
  size_t end[kBlock], count = 0;
  std::vector<int64_t> offset;   // in a plane
  std::vector<T> weight, slope;  // slopes by dimension of the grid, three each, where they are asked for
  Picked(int64_t taps, bool slopes)
      : offset(static_cast<size_t>(kBlock * taps)), weight(offset.size()), slope(slopes ? 3 * offset.size() : 0) {}
};

// One position's taps in all dimensions; the grid's numbers come last dimension first.
template <class T>
struct Sampler {
  int64_t spatial, channels, in_size = 1, out_size = 1;
  Axis<T> axes[3];

  Sampler(const Tensor& input, const Tensor& grid, int64_t interpolation, int64_t padding, bool align)
      : spatial(input.dim() - 2), channels(input.size(1)) {
    for (int64_t d = 0; d < 3; ++d) {  // two dimensions: a volume of depth 1
      const int64_t own = d - (3 - spatial);
      axes[d] = {own < 0 ? 1 : input.size(own + 2), static_cast<Interpolation>(interpolation),
                 static_cast<GridPadding>(padding), align};
      if (own >= 0) {
        in_size *= input.size(own + 2);
        out_size *= grid.size(own + 1);
      }
    }
  }
  int64_t taps() const {  // of a position
    const int64_t each = axes[2].interpolation == Interpolation::Cubic    ? 4
                         : axes[2].interpolation == Interpolation::Linear ? 2
                                                                          : 1;
    return (spatial == 3 ? each : 1) * each * each;
  }
  // Lists the elements that count for n positions.
  template <bool slopes>
  void pick(const T* numbers, int64_t n, Picked<T>& to) const {
    to.count = 0;
    for (int64_t i = 0; i < n; ++i) {
      pick_one<slopes>(numbers + i * spatial, to);
      to.end[i] = to.count;
    }
  }
  template <bool slopes>
  void pick_one(const T* numbers, Picked<T>& to) const {
    Taps<T> t[3];
    if (spatial == 2) {
      t[0].count = 1;
      t[0].index[0] = 0;
      t[0].weight[0] = 1;
      t[0].slope[0] = 0;
    }
    for (int64_t i = 0; i < spatial; ++i) t[2 - i] = axes[2 - i](numbers[i]);
    for (int z = 0; z < t[0].count; ++z)
      for (int y = 0; y < t[1].count; ++y)
        for (int x = 0; x < t[2].count; ++x) {
          const T wz = t[0].weight[z], wy = t[1].weight[y], wx = t[2].weight[x];
          to.offset[to.count] = (t[0].index[z] * axes[1].size + t[1].index[y]) * axes[2].size + t[2].index[x];
          to.weight[to.count] = wz * wy * wx;
          if constexpr (slopes) {
            T* slope = &to.slope[3 * to.count];
            slope[0] = wz * wy * t[2].slope[x];
            slope[1] = wz * t[1].slope[y] * wx;
            slope[2] = t[0].slope[z] * wy * wx;
          }
          to.count += (t[0].index[z] | t[1].index[y] | t[2].index[x]) >= 0;  // an outside one is written over
        }
  }
};

// Samples n positions of some planes, one after the other in memory: indices and weights are read once for all of them.
template <int planes, class T>
void sample_planes(const Picked<T>& picked, int64_t n, const T* in, int64_t in_size, T* out, int64_t out_size) {
  const int64_t* offset = picked.offset.data();
  const T* weight = picked.weight.data();
  size_t k = 0;
  for (int64_t j = 0; j < n; ++j) {
    const size_t last = picked.end[j];
    if (last - k == 4) {  // the usual number, without a loop
      const int64_t *o = offset + k, o0 = o[0], o1 = o[1], o2 = o[2], o3 = o[3];
      const T *w = weight + k, w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3];
#pragma GCC unroll 4
      for (int p = 0; p < planes; ++p) {
        const T* x = in + p * in_size;
        out[p * out_size + j] = (w0 * x[o0] + w1 * x[o1]) + (w2 * x[o2] + w3 * x[o3]);
      }
    } else {
      for (int p = 0; p < planes; ++p) {
        T sum = 0;
        for (size_t i = k; i < last; ++i) sum += weight[i] * in[p * in_size + offset[i]];
        out[p * out_size + j] = sum;
      }
    }
    k = last;
  }
}

DType wide(DType t) { return t == DType::Float64 ? t : DType::Float32; }
template <class F>
void with_type(DType t, const F& f) {
  if (t == DType::Float64) f(double());
  else f(float());
}

template <int64_t spatial>
Tensor sample(const Tensor& input, const Tensor& grid, int64_t interpolation, int64_t padding, bool align) {
  const Dims shape = check_grid(input, grid, spatial, interpolation, padding);
  const DType type = wide(input.dtype());
  Tensor x = contiguous(to_dtype(input, type)), positions = contiguous(to_dtype(grid, type)),
         out = empty_tensor(shape, type, Device{});
  with_type(type, [&]<class T>(T) {
    const Sampler<T> s(input, grid, interpolation, padding, align);
    const T *from = x.data_as<T>(), *at = positions.data_as<T>();
    T* to = out.data_as<T>();
    const int64_t blocks = (s.out_size + kBlock - 1) / kBlock;
    parallel_for(0, input.size(0) * blocks, 1, [&](int64_t begin, int64_t end) {
      Picked<T> picked(s.taps(), false);
      for (int64_t i = begin; i < end; ++i) {
        const int64_t batch = i / blocks, first = i % blocks * kBlock, n = std::min(kBlock, s.out_size - first);
        s.template pick<false>(at + (batch * s.out_size + first) * spatial, n, picked);
        const T* in = from + batch * s.channels * s.in_size;
        T* result = to + batch * s.channels * s.out_size + first;
        int64_t c = 0;
        for (; c + 4 <= s.channels; c += 4)
          sample_planes<4>(picked, n, in + c * s.in_size, s.in_size, result + c * s.out_size, s.out_size);
        for (; c < s.channels; ++c)
          sample_planes<1>(picked, n, in + c * s.in_size, s.in_size, result + c * s.out_size, s.out_size);
      }
    });
  });
  return to_dtype(out, input.dtype());
}

template <int64_t spatial>
std::tuple<Tensor, Tensor> sample_backward(const Tensor& grad, const Tensor& input, const Tensor& grid,
                                           int64_t interpolation, int64_t padding, bool align,
                                           std::span<const bool> mask) {
  const Dims shape = check_grid(input, grid, spatial, interpolation, padding);
  FC_CHECK(Dims::same(grad.sizes(), shape), "grid_sampler_backward: expected a gradient of size ", IntSpan(shape),
           ", got ", grad.sizes());
  FC_CHECK(mask.size() == 2, "grid_sampler_backward: output_mask needs two entries");
  const DType type = wide(input.dtype());
  Tensor x = contiguous(to_dtype(input, type)), positions = contiguous(to_dtype(grid, type)),
         g = contiguous(to_dtype(grad, type)), dx = mask[0] ? zeros(input.sizes(), type, Device{}) : Tensor(),
         dgrid = zeros(grid.sizes(), type, Device{});
  with_type(type, [&]<class T>(T) {
    const Sampler<T> s(input, grid, interpolation, padding, align);
    const T *from = x.data_as<T>(), *at = positions.data_as<T>(), *go = g.data_as<T>();
    T *to = mask[0] ? dx.data_as<T>() : nullptr, *to_grid = dgrid.data_as<T>();
    // By image: no two threads add to one element.
    parallel_for(0, input.size(0), 1, [&](int64_t begin, int64_t end) {
      Picked<T> picked(s.taps(), true);
      std::vector<T> total;  // of each element's gradients, over the channels
      for (int64_t batch = begin; batch < end; ++batch)
        for (int64_t first = 0; first < s.out_size; first += kBlock) {
          const int64_t n = std::min(kBlock, s.out_size - first), at_grid = (batch * s.out_size + first) * spatial;
          s.template pick<true>(at + at_grid, n, picked);
          total.assign(picked.count, T(0));
          for (int64_t c = 0; c < s.channels; ++c) {
            const int64_t plane = (batch * s.channels + c) * s.in_size;
            const T* here = go + (batch * s.channels + c) * s.out_size + first;
            size_t k = 0;
            for (int64_t j = 0; j < n; ++j)
              for (const size_t last = picked.end[j]; k < last; ++k) {
                const int64_t element = plane + picked.offset[k];
                if (to) to[element] += picked.weight[k] * here[j];
                total[k] += from[element] * here[j];
              }
          }
          size_t k = 0;
          for (int64_t j = 0; j < n; ++j)
            for (const size_t last = picked.end[j]; k < last; ++k)
              for (int64_t d = 0; d < spatial; ++d)
                to_grid[at_grid + j * spatial + d] += picked.slope[k * 3 + static_cast<size_t>(d)] * total[k];
        }
    });
  });
  return {mask[0] ? to_dtype(dx, input.dtype()) : Tensor(), to_dtype(dgrid, grid.dtype())};
}

}  // namespace

void register_grid() {
  set_cpu_kernel("aten::grid_sampler_2d", kernel<&sample<2>>());
  set_cpu_kernel("aten::grid_sampler_2d_backward", kernel<&sample_backward<2>>());
  set_cpu_kernel("aten::grid_sampler_3d", kernel<&sample<3>>());
  set_cpu_kernel("aten::grid_sampler_3d_backward", kernel<&sample_backward<3>>());
}

}  // namespace fc::cpu
