// SPDX-License-Identifier: Apache-2.0
// Grid sampling. Interpolation is a product of one-dimensional ones, so every mode is a few taps per dimension
// (isa/grid.cpp finds them).
#include "backends/cpu/grid.h"

#include <vector>

#include "backends/cpu/register.h"
#include "backends/cpu/variants.h"
#include "core/threads.h"

namespace fc::cpu {
namespace {

// The elements that a block of positions takes: of position i those from end[i - 1] to end[i], found once for all
// channels.
template <class T>
struct Picked {
  size_t end[kGridBlock], count = 0;
  std::vector<int64_t> offset;   // in a plane
  std::vector<T> weight, slope;  // slopes by dimension of the grid, three each, where they are asked for
  Picked(int64_t taps, bool slopes)
      : offset(static_cast<size_t>(kGridBlock * taps)), weight(offset.size()), slope(slopes ? 3 * offset.size() : 0) {}
};

// One position's taps in all dimensions; the grid's numbers come last dimension first.
template <class T, int64_t spatial>
struct Sampler {
  int64_t channels, in_size = 1, out_size = 1;
  Interpolation mode;
  GridAxis axes[spatial];  // of the input, in its order

  Sampler(const Tensor& input, const Tensor& grid, int64_t interpolation, int64_t padding, bool align)
      : channels(input.size(1)), mode(static_cast<Interpolation>(interpolation)) {
    for (int64_t d = 0; d < spatial; ++d) {
      axes[d] = {input.size(d + 2), mode, static_cast<GridPadding>(padding), align};
      in_size *= input.size(d + 2);
      out_size *= grid.size(d + 1);
    }
  }
  int64_t taps() const {  // of a position
    const int64_t each = taps_of(mode);
    return (spatial == 3 ? each : 1) * each * each;
  }
  // Lists the elements that count for n positions.
  template <bool slopes>
  void pick(const T* numbers, int64_t n, Picked<T>& to) const {
    if (mode == Interpolation::Cubic) pick_as<slopes, Interpolation::Cubic>(numbers, n, to);
    else if (mode == Interpolation::Linear) pick_as<slopes, Interpolation::Linear>(numbers, n, to);
    else pick_as<slopes, Interpolation::Nearest>(numbers, n, to);
  }

 private:
  template <bool slopes, Interpolation how>
  void pick_as(const T* numbers, int64_t n, Picked<T>& to) const {
    constexpr int each = taps_of(how), deep = spatial == 3 ? each : 1;
    const GridAxis &across = axes[spatial - 1], &down = axes[spatial - 2];
    auto* find = FC_VARIANT(find_taps<T>);
    GridTaps<T> tx, ty, tz;
    find(across, numbers, spatial, n, tx);
    find(down, numbers + 1, spatial, n, ty);
    if constexpr (spatial == 3) find(axes[0], numbers + 2, spatial, n, tz);
    int64_t* offset = to.offset.data();
    T *weight = to.weight.data(), *slope = to.slope.data();
    size_t count = 0;
    for (int64_t i = 0; i < n; ++i) {
#pragma GCC unroll 4
      for (int z = 0; z < deep; ++z) {
        // Two dimensions: a volume of depth 1.
        const int64_t plane = spatial == 3 ? int64_t{tz.index[z][i]} : 0;
        const T wz = spatial == 3 ? tz.weight[z][i] : T(1), sz = spatial == 3 ? tz.slope[z][i] : T(0);
#pragma GCC unroll 4
        for (int y = 0; y < each; ++y) {
          const int64_t row = plane * down.size + ty.index[y][i], outside = plane | ty.index[y][i];
          const T wy = wz * ty.weight[y][i];
#pragma GCC unroll 4
          for (int x = 0; x < each; ++x) {
            offset[count] = row * across.size + tx.index[x][i];
            weight[count] = wy * tx.weight[x][i];
            if constexpr (slopes) {
              slope[3 * count] = wy * tx.slope[x][i];
              slope[3 * count + 1] = wz * ty.slope[y][i] * tx.weight[x][i];
              slope[3 * count + 2] = sz * ty.weight[y][i] * tx.weight[x][i];
            }
            count += (outside | tx.index[x][i]) >= 0;  // an outside one is written over
          }
        }
      }
      to.end[i] = count;
    }
    to.count = count;
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
    } else if (last - k == 1) {
      for (int p = 0; p < planes; ++p) out[p * out_size + j] = weight[k] * in[p * in_size + offset[k]];
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

// The way back: adds to the planes' gradients, if asked for, and to those of the elements' weights.
template <int planes, class T>
void sample_planes_back(const Picked<T>& picked, int64_t n, const T* in, int64_t in_size, const T* grad,
                        int64_t out_size, T* in_grad, T* weight_grad) {
  const int64_t* offset = picked.offset.data();
  const T* weight = picked.weight.data();
  size_t k = 0;
  for (int64_t j = 0; j < n; ++j) {
    T here[planes];
    for (int p = 0; p < planes; ++p) here[p] = grad[p * out_size + j];
    for (const size_t last = picked.end[j]; k < last; ++k) {
      const T w = weight[k];
      T sum = 0;
#pragma GCC unroll 4
      for (int p = 0; p < planes; ++p) {
        const int64_t at = p * in_size + offset[k];
        sum += in[at] * here[p];
        if (in_grad) in_grad[at] += w * here[p];
      }
      weight_grad[k] += sum;
    }
  }
}

// The type to compute in, whose indices reach every element.
DType checked_type(const Tensor& input) {
  if (input.dtype() == DType::Float64) return DType::Float64;
  for (int64_t d = 2; d < input.dim(); ++d)
    FC_CHECK(input.size(d) <= INT32_MAX, "grid_sampler: dimension ", d, " has ", input.size(d),
             " elements, which numbers of float32 cannot tell apart: use float64");
  return DType::Float32;
}
template <class F>
void with_type(DType t, const F& f) {
  if (t == DType::Float64) f(double());
  else f(float());
}

template <int64_t spatial>
Tensor sample(const Tensor& input, const Tensor& grid, int64_t interpolation, int64_t padding, bool align) {
  const Dims shape = check_grid(input, grid, spatial, interpolation, padding);
  const DType type = checked_type(input);
  Tensor x = contiguous(to_dtype(input, type)), positions = contiguous(to_dtype(grid, type)),
         out = empty_tensor(shape, type, Device{});
  with_type(type, [&]<class T>(T) {
    const Sampler<T, spatial> s(input, grid, interpolation, padding, align);
    const T *from = x.data_as<T>(), *at = positions.data_as<T>();
    T* to = out.data_as<T>();
    const int64_t blocks = (s.out_size + kGridBlock - 1) / kGridBlock;
    parallel_for(0, input.size(0) * blocks, 1, [&](int64_t begin, int64_t end) {
      Picked<T> picked(s.taps(), false);
      for (int64_t i = begin; i < end; ++i) {
        const int64_t batch = i / blocks, first = i % blocks * kGridBlock, n = std::min(kGridBlock, s.out_size - first);
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
  const DType type = checked_type(input);
  Tensor x = contiguous(to_dtype(input, type)), positions = contiguous(to_dtype(grid, type)),
         g = contiguous(to_dtype(grad, type)), dx = mask[0] ? zeros(input.sizes(), type, Device{}) : Tensor(),
         dgrid = zeros(grid.sizes(), type, Device{});
  with_type(type, [&]<class T>(T) {
    const Sampler<T, spatial> s(input, grid, interpolation, padding, align);
    const T *from = x.data_as<T>(), *at = positions.data_as<T>(), *go = g.data_as<T>();
    T *to = mask[0] ? dx.data_as<T>() : nullptr, *to_grid = dgrid.data_as<T>();
    // By image: no two threads add to one element.
    parallel_for(0, input.size(0), 1, [&](int64_t begin, int64_t end) {
      Picked<T> picked(s.taps(), true);
      std::vector<T> total;  // of each element's gradients, over the channels
      for (int64_t batch = begin; batch < end; ++batch)
        for (int64_t first = 0; first < s.out_size; first += kGridBlock) {
          const int64_t n = std::min(kGridBlock, s.out_size - first), at_grid = (batch * s.out_size + first) * spatial;
          s.template pick<true>(at + at_grid, n, picked);
          total.assign(picked.count, T(0));
          auto back = [&]<int planes>(std::integral_constant<int, planes>, int64_t c) {
            const int64_t plane = batch * s.channels + c;
            sample_planes_back<planes>(picked, n, from + plane * s.in_size, s.in_size, go + plane * s.out_size + first,
                                       s.out_size, to ? to + plane * s.in_size : nullptr, total.data());
          };
          int64_t c = 0;
          for (; c + 4 <= s.channels; c += 4) back(std::integral_constant<int, 4>(), c);
          for (; c < s.channels; ++c) back(std::integral_constant<int, 1>(), c);
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
