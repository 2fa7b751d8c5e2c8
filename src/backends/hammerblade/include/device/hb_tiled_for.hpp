// SPDX-License-Identifier: Apache-2.0
// Loops whose work the tiles of a group share: every tile calls them and does its part.
#ifndef HB_TILED_FOR_HPP
#define HB_TILED_FOR_HPP

#include <stddef.h>
#include <stdint.h>

#include "hb_assert.hpp"
#include "hb_tensor.hpp"

// Pods are imaginary: one, of which every tile is part.
#ifndef BSG_POD_DIM
#define BSG_POD_DIM 1
#endif
#ifndef __bsg_pod_id
#define __bsg_pod_id 0
#endif

typedef struct hb_range {
  size_t start;
  size_t end;
} hb_range;

// The part of [0, n) that is this tile's: blocks of ceil(n / tiles), the last ones shorter or empty.
inline void calc_range(hb_range* range, size_t n, size_t tg_size = (size_t)(bsg_tiles_X * bsg_tiles_Y)) {
  const size_t per_pod = (n + BSG_POD_DIM - 1) / BSG_POD_DIM;
  size_t first = per_pod * __bsg_pod_id, last = first + per_pod;
  if (first > n) first = n;
  if (last > n) last = n;
  const size_t per_tile = (last - first + tg_size - 1) / tg_size;
  size_t start = first + per_tile * ((size_t)__bsg_id % tg_size), end = start + per_tile;
  if (end > last) end = last;
  if (start >= end) start = end = 0;
  range->start = start;
  range->end = end;
}

// Where element `index` of a tensor in the iterator's order (fastest dimension first) lies.
template <typename scalar_t, int32_t dims>
inline uint32_t offset_calc(uint32_t index, const HBTensor<scalar_t, dims>& tensor) {
  const uint32_t* sizes = tensor.get_sizes();
  const uint32_t* strides = tensor.get_strides();
  uint32_t at = 0;
  for (uint32_t i = 0; i < tensor.ndim(); ++i) {
    at += index % sizes[i] * strides[i];
    index /= sizes[i];
  }
  return at;
}

template <class F>
inline void hb_for(size_t n, F f) {
  for (size_t i = 0; i < n; ++i) f(i);
}

template <class F>
inline void hb_tiled_range(size_t n, F f) {
  hb_range range;
  calc_range(&range, n);
  f(range.start, range.end);
}

template <class F>
inline void hb_tiled_for(size_t n, F f) {
  hb_range range;
  calc_range(&range, n);
  for (size_t i = range.start; i < range.end; ++i) f(i);
}

template <class F>
inline void hb_tiled_for(size_t tg_size, size_t n, F f) {
  hb_range range;
  calc_range(&range, n, tg_size);
  for (size_t i = range.start; i < range.end; ++i) f(i);
}

template <class F>
inline void hb_tiled_for(size_t tg_size, F f, size_t N, size_t M) {
  hb_tiled_for(tg_size, N * M, [&](size_t i) { f(i / M, i % M); });
}

template <class F>
inline void hb_tiled_for(size_t tg_size, F f, size_t O, size_t N, size_t M) {
  hb_tiled_for(tg_size, O * N * M, [&](size_t i) { f(i / (N * M), i / M % N, i % M); });
}

template <class F>
inline void hb_tiled_for(size_t tg_size, F f, size_t P, size_t O, size_t N, size_t M) {
  hb_tiled_for(tg_size, P * O * N * M, [&](size_t i) { f(i / (O * N * M), i / (N * M) % O, i / M % N, i % M); });
}

// res[i] = f(in[i]...) for tensors of one dtype in the iterator's order: their sizes agree, strides of 0 broadcast.
template <typename scalar_t, class F, class... T>
inline void hb_tiled_foreach(F f, HBTensor<scalar_t> res, T... in) {
  hb_range range;
  calc_range(&range, res.numel());
  bsg_attr_remote scalar_t* bsg_attr_noalias out = (bsg_attr_remote scalar_t*)res.data_ptr();
  const uint32_t step = res.ndim() == 1 ? res.get_strides()[0] : 0;
  if (step == 1 && ((in.get_strides()[0] == 1) && ... && true)) {
    bsg_unroll(16) for (size_t i = range.start; i < range.end; ++i) {
      out[i] = f(((bsg_attr_remote scalar_t*)in.data_ptr())[i]...);
    }
  } else if (res.ndim() == 1) {
    bsg_unroll(16) for (size_t i = range.start; i < range.end; ++i) {
      out[i * step] = f(((bsg_attr_remote scalar_t*)in.data_ptr())[i * in.get_strides()[0]]...);
    }
  } else {
    bsg_unroll(16) for (size_t i = range.start; i < range.end; ++i) {
      out[offset_calc((uint32_t)i, res)] = f(((bsg_attr_remote scalar_t*)in.data_ptr())[offset_calc((uint32_t)i, in)]...);
    }
  }
}

// The same for one input of another dtype.
template <typename src_t, typename dst_t, class F>
inline void hb_tiled_foreach_conversion(HBTensor<dst_t> res, HBTensor<src_t> input, F f) {
  hb_range range;
  calc_range(&range, res.numel());
  bsg_attr_remote dst_t* out = (bsg_attr_remote dst_t*)res.data_ptr();
  bsg_attr_remote src_t* in = (bsg_attr_remote src_t*)input.data_ptr();
  if (res.ndim() == 1) {
    const uint32_t to = res.get_strides()[0], from = input.get_strides()[0];
    bsg_unroll(4) for (size_t i = range.start; i < range.end; ++i) out[i * to] = f(in[i * from]);
  } else {
    for (size_t i = range.start; i < range.end; ++i)
      out[offset_calc((uint32_t)i, res)] = f(in[offset_calc((uint32_t)i, input)]);
  }
}

#endif
