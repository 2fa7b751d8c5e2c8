/* SPDX-License-Identifier: Apache-2.0 */
/* The manycore below a CUDA-Lite device: dimensions, addresses, cycle counter, traces. */
#ifndef BSG_MANYCORE_H
#define BSG_MANYCORE_H

#include <stddef.h>
#include <stdint.h>

#include "bsg_manycore_errno.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef uint32_t eva_t; /* device addresses are 32 bits wide, in emulation too */
typedef uint32_t hb_mc_eva_t;
typedef int hb_mc_manycore_id_t;

typedef struct {
  uint32_t x, y;
} hb_mc_coordinate_t;
typedef hb_mc_coordinate_t hb_mc_dimension_t;

static inline hb_mc_coordinate_t hb_mc_coordinate(uint32_t x, uint32_t y) {
  hb_mc_coordinate_t c;
  c.x = x;
  c.y = y;
  return c;
}
static inline hb_mc_dimension_t hb_mc_dimension(uint32_t x, uint32_t y) { return hb_mc_coordinate(x, y); }

typedef struct {
  const char* name;
  hb_mc_manycore_id_t id;
} hb_mc_manycore_t;

/* Accepted and without effect: the emulator has no waveform and no time of its own, so the counter stands at 0. */
int hb_mc_manycore_trace_enable(hb_mc_manycore_t*);
int hb_mc_manycore_trace_disable(hb_mc_manycore_t*);
int hb_mc_manycore_log_enable(hb_mc_manycore_t*);
int hb_mc_manycore_log_disable(hb_mc_manycore_t*);
int hb_mc_manycore_get_cycle(hb_mc_manycore_t*, uint64_t* cycle);

#ifdef __cplusplus
}
#endif
#endif
