// SPDX-License-Identifier: Apache-2.0
// Reductions. `reduce(accumulator, element)` takes one element in, `project(accumulator)` makes the result. Accumulators
// start at 0, so reduce must leave an accumulator alone that meets one which nothing was reduced into: partial results of
// tiles are combined with reduce itself, and only of tiles that had elements.
#ifndef HB_REDUCTION_HPP
#define HB_REDUCTION_HPP

#include "kernel_common.hpp"

enum Reduction { None, Mean, Sum, END };  // of losses: as the host numbers them

template <typename scalar_t>
inline uint32_t calc_elements_per_output(HBTensor<scalar_t> out, HBTensor<scalar_t> in, uint32_t num_reduction_dim) {
  if (in.ndim() == 1 && out.numel() == in.numel()) return 1;
  uint32_t elements = in.dim(0);
  for (uint32_t i = 1; i < num_reduction_dim; ++i) elements *= in.dim(i);
  return elements;
}

// All elements to one result.
template <typename scalar_t, class F1, class F2>
inline void binary_reduction_simple(HBTensor<scalar_t> out, HBTensor<scalar_t> in, F1 reduce, F2 project) {
  static_assert(sizeof(scalar_t) <= 8, "a tile has two words of g_reduction_buffer");
  hb_assert_msg(out.numel() == 1, "a reduction to one element has an output of %u", (unsigned)out.numel());
  const bsg_attr_remote scalar_t* data = (const bsg_attr_remote scalar_t*)in.data_ptr();
  const size_t tiles = (size_t)(bsg_tiles_X * bsg_tiles_Y);
  bsg_attr_remote scalar_t* partial = (bsg_attr_remote scalar_t*)g_reduction_buffer;

  hb_range range;
  calc_range(&range, in.numel());
  scalar_t result = 0;
  if (in.ndim() == 1) {
    const uint32_t step = in.get_strides()[0];
    for (size_t i = range.start; i < range.end; ++i) reduce(result, data[i * step]);
  } else {
    for (size_t i = range.start; i < range.end; ++i) reduce(result, data[offset_calc((uint32_t)i, in)]);
  }
  partial[__bsg_id] = result;
  g_barrier.sync();

  if (__bsg_id == 0) {
    const size_t n = in.numel(), block = n ? (n + tiles - 1) / tiles : 1;
    result = partial[0];
    for (size_t i = 1; i * block < n; ++i) reduce(result, partial[i]);
    *(bsg_attr_remote scalar_t*)out.data_ptr() = project(result);
  }
  g_barrier.sync();
}

// ndim and num_reduction_dim count the iterator's dimensions, reduced ones first; a result takes elements_per_output.
template <typename scalar_t, class F1, class F2>
inline void binary_reduction(HBTensor<scalar_t> out, HBTensor<scalar_t> in, uint32_t ndim, uint32_t num_reduction_dim,
                             uint32_t elements_per_output, F1 reduce, F2 project) {
  if (out.numel() == 1) return binary_reduction_simple(out, in, reduce, project);
  hb_assert_msg(ndim <= DEFAULT_STRIDES && num_reduction_dim <= ndim && ndim <= in.ndim(),
                "%u of %u dimensions cannot be reduced", (unsigned)num_reduction_dim, (unsigned)ndim);
  if (ndim == 1) {  // one element for each result
    hb_tiled_for(out.numel(), [&](size_t n) {
      scalar_t result = 0;
      reduce(result, in((uint32_t)n));
      out((uint32_t)n) = project(result);
    });
    return;
  }
  const uint32_t* sizes = in.get_sizes();
  const uint32_t* from = in.get_strides();
  const uint32_t* to = out.get_strides();
  bsg_attr_remote scalar_t* data = (bsg_attr_remote scalar_t*)in.data_ptr();
  bsg_attr_remote scalar_t* results = (bsg_attr_remote scalar_t*)out.data_ptr();
  hb_tiled_for(out.numel(), [&](size_t n) {
    uint32_t left = (uint32_t)n, base = 0, at = 0;
    for (uint32_t d = num_reduction_dim; d < ndim; ++d) {
      base += left % sizes[d] * from[d];
      at += left % sizes[d] * to[d];
      left /= sizes[d];
    }
    scalar_t result = 0;
    for (uint32_t e = 0; e < elements_per_output; ++e) {
      uint32_t rest = e, offset = base;
      for (uint32_t d = 0; d < num_reduction_dim; ++d) {
        offset += rest % sizes[d] * from[d];
        rest /= sizes[d];
      }
      reduce(result, data[offset]);
    }
    results[at] = project(result);
  });
}

#endif
