// SPDX-License-Identifier: Apache-2.0
// A loop with several tiles for one index when there are fewer indices than tiles. f(i, block): `block` tiles share index i,
// and a loop inside may divide among them: hb_tiled_for(block, …).
#ifndef HB_BLOCKED_FOR_HPP
#define HB_BLOCKED_FOR_HPP

#include "hb_tiled_for.hpp"

inline void blocked_range(size_t tg_size, size_t n, size_t& start, size_t& end, size_t& block_size) {
  const size_t tile = (size_t)__bsg_id % tg_size;
  if (n >= tg_size) {
    hb_range range;
    calc_range(&range, n, tg_size);
    block_size = 1;
    start = range.start;
    end = range.end;
  } else if (n == 0) {
    block_size = tg_size;
    start = end = 0;
  } else {
    block_size = tg_size / n;
    start = tile / block_size;
    end = start < n ? start + 1 : start;  // tiles that are left over do nothing
  }
}

template <class F>
inline void hb_blocked_for(size_t tg_size, size_t n, F f) {
  size_t start, end, block;
  blocked_range(tg_size, n, start, end, block);
  for (size_t i = start; i < end; ++i) f(i, block);
}

#endif
