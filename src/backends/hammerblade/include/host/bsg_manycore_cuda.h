/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA-Lite: memory, copies and launches of a HammerBlade device, from C. Every function returns a status of
 * bsg_manycore_errno.h; facula_hb_last_error (facula_hb.h) has the sentence.
 * A device is used by one thread at a time. */
#ifndef BSG_MANYCORE_CUDA_H
#define BSG_MANYCORE_CUDA_H

#include "bsg_manycore.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef int hb_mc_allocator_id_t;

typedef struct {
  hb_mc_dimension_t dim;
  hb_mc_coordinate_t origin;
} hb_mc_mesh_t;

typedef struct {
  const char* bin_name;
  const char* alloc_name;
} hb_mc_program_t;

typedef struct {
  hb_mc_manycore_t* mc;
  hb_mc_program_t* program;
  hb_mc_mesh_t* mesh;
  const char* name;
  void* state; /* the library's own */
} hb_mc_device_t;

enum hb_mc_memcpy_kind { HB_MC_MEMCPY_TO_DEVICE = 0, HB_MC_MEMCPY_TO_HOST = 1 };

/* The mesh is the machine file's, or HBEMUL_TILE_X_DIM x HBEMUL_TILE_Y_DIM, or `dim`. */
int hb_mc_device_init(hb_mc_device_t* device, const char* name, hb_mc_manycore_id_t id);
int hb_mc_device_init_custom_dimensions(hb_mc_device_t* device, const char* name, hb_mc_manycore_id_t id,
                                        hb_mc_dimension_t dim);

/* A program is a library of kernels as facula_hb_compile makes it; a .cpp file is compiled first. */
int hb_mc_device_program_init(hb_mc_device_t* device, const char* bin_name, const char* alloc_name,
                              hb_mc_allocator_id_t id);
int hb_mc_device_program_init_binary(hb_mc_device_t* device, const char* bin_name, const unsigned char* bin_data,
                                     size_t bin_size, const char* alloc_name, hb_mc_allocator_id_t id);
int hb_mc_device_program_finish(hb_mc_device_t* device);
int hb_mc_device_finish(hb_mc_device_t* device);

int hb_mc_device_malloc(hb_mc_device_t* device, uint32_t size, hb_mc_eva_t* eva);
int hb_mc_device_free(hb_mc_device_t* device, hb_mc_eva_t eva);
int hb_mc_device_memcpy(hb_mc_device_t* device, void* dst, const void* src, uint32_t bytes,
                        enum hb_mc_memcpy_kind kind);
int hb_mc_device_memcpy_to_device(hb_mc_device_t* device, hb_mc_eva_t daddr, const void* haddr, uint32_t bytes);
int hb_mc_device_memcpy_to_host(hb_mc_device_t* device, void* haddr, hb_mc_eva_t daddr, uint32_t bytes);
int hb_mc_device_memset(hb_mc_device_t* device, const hb_mc_eva_t* eva, uint8_t value, size_t bytes);

typedef struct {
  hb_mc_eva_t d_addr;
  const void* h_addr;
  size_t size;
} hb_mc_dma_htod_t;
typedef struct {
  hb_mc_eva_t d_addr;
  void* h_addr;
  size_t size;
} hb_mc_dma_dtoh_t;
int hb_mc_device_dma_to_device(hb_mc_device_t* device, const hb_mc_dma_htod_t* jobs, size_t count);
int hb_mc_device_dma_to_host(hb_mc_device_t* device, const hb_mc_dma_dtoh_t* jobs, size_t count);

/* A grid of tile groups, all running `name` with the same words. Groups are placed where they fit; what does not fit at
 * once waits. Launches run in the order they were enqueued in. */
int hb_mc_kernel_enqueue(hb_mc_device_t* device, hb_mc_dimension_t grid_dim, hb_mc_dimension_t tg_dim, const char* name,
                         uint32_t argc, const uint32_t* argv);
int hb_mc_device_tile_groups_execute(hb_mc_device_t* device);

#ifdef __cplusplus
}
#endif
#endif
