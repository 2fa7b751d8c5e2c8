// SPDX-License-Identifier: Apache-2.0
// The one header of a kernel file.
//
//   #include <kernel_common.hpp>
//   extern "C" {
//   __attribute__((noinline)) int tensorlib_neg(hb_tensor_t* t0, hb_tensor_t* t1) {
//     HBTensor<float> out(t0), in(t1);
//     hb_tiled_foreach([](float x) { return -x; }, out, in);
//     g_barrier.sync();   // the host takes tile 0's end for everybody's
//     return 0;
//   }
//   HB_EMUL_REG_KERNEL(tensorlib_neg, hb_tensor_t*, hb_tensor_t*)
//   }
#ifndef KERNEL_COMMON_HPP
#define KERNEL_COMMON_HPP

#include <math.h>
#include <string.h>

#include <cmath>
#include <cstdint>
#include <cstring>

#include "hammerblade_emul.hpp"
#include "bsg_manycore.h"
#include "bsg_set_tile_x_y.h"
#include "bsg_tile_group_barrier.hpp"
#include "bsg_manycore_atomic.h"
#include "hb_assert.hpp"
#include "hb_common.hpp"
#include "hb_tensor.hpp"
#include "hb_tiled_for.hpp"
#include "hb_blocked_for.hpp"
#include "hb_spatial_for.hpp"

// Two words for each tile of the mesh, in DRAM.
#ifdef HB_EMUL
#define g_reduction_buffer hb_emul_reduction_buffer()
#else
extern "C" void* g_reduction_buffer;
#endif

// Words while both lie on word boundaries, then bytes; eight loads are under way before the first is used.
static inline bsg_attr_remote void* hb_memcpy(bsg_attr_remote void* bsg_attr_noalias dest,
                                              const bsg_attr_remote void* bsg_attr_noalias src, size_t n) {
  size_t i = 0;
  if ((((uintptr_t)dest | (uintptr_t)src) & 3) == 0) {
    bsg_attr_remote uint32_t* to = (bsg_attr_remote uint32_t*)dest;
    const bsg_attr_remote uint32_t* from = (const bsg_attr_remote uint32_t*)src;
    bsg_unroll(8) for (; i + 4 <= n; i += 4) to[i / 4] = from[i / 4];
  }
  for (; i < n; ++i) ((bsg_attr_remote char*)dest)[i] = ((const bsg_attr_remote char*)src)[i];
  return dest;
}

#endif
