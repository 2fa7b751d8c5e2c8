// SPDX-License-Identifier: Apache-2.0
// What kernels and the emulator both see: a tile's record, and a kernel's in the table of its library.
#ifndef HB_EMUL_RECORDS_H
#define HB_EMUL_RECORDS_H

#include <stdint.h>

#define HB_EMUL_TILE_BYTES 0x10000u
#define HB_EMUL_BLOCK_BYTES 128u  // the record below, at the upper end

// Read by the kernel, written by the runtime before a tile starts.
struct hb_emul_tile_t {
  int x, y, id;  // in the tile group: id = y * X + x
  int group_origin_x, group_origin_y;
  int grid_dim_x, grid_dim_y;
  int group_id_x, group_id_y, group_id;
  int group_dim_x, group_dim_y;
  uint32_t reduction_buffer;  // two words for each tile of the mesh, in DRAM
  uint32_t reserved;
  void* tile;  // the runtime's own
};
static_assert(sizeof(hb_emul_tile_t) <= HB_EMUL_BLOCK_BYTES, "the record must fit");

// What a tensor's elements are: bytes, and from where on they are counted as numbers with a point.
#define HB_EMUL_ELEMENT(bytes, with_point) ((with_point) ? 0x100u | (bytes) : (bytes))
#define HB_EMUL_ELEMENT_OFFSET 20u  // of this word in the record that a launch packet has of a tensor

// As large as it is aligned, so that records of several files make an array.
typedef struct alignas(64) {
  const char* name;
  uint32_t argc;
  void (*call)(const uint32_t* argv);
  const char* signature;
  const char* file;
  int line;
  const void* facts;  // what the host may know of its parameters (facula_hb/table.h), or null
} hb_emul_kernel_t;

#endif
