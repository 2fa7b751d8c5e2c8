// SPDX-License-Identifier: Apache-2.0
// A loop over two dimensions laid over the mesh: rows of indices on rows of tiles, columns on columns.
#ifndef HB_SPATIAL_FOR_HPP
#define HB_SPATIAL_FOR_HPP

#include "hb_tiled_for.hpp"

template <class F>
inline void hb_spatial_for(size_t N, size_t M, F f) {
  for (size_t i = (size_t)__bsg_y; i < N; i += (size_t)bsg_tiles_Y)
    for (size_t j = (size_t)__bsg_x; j < M; j += (size_t)bsg_tiles_X) f(i, j);
}

#endif
