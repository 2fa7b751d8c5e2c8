// SPDX-License-Identifier: Apache-2.0
// Who am I: the tile's place in its group, the group's in the grid. On the chip the
// host writes these words before it wakes a tile; the emulator answers from the tile's record.
#ifndef BSG_SET_TILE_X_Y_H
#define BSG_SET_TILE_X_Y_H

#include "hammerblade_emul.hpp"

#ifdef HB_EMUL
#define __bsg_x hb_emul_x()
#define __bsg_y hb_emul_y()
#define __bsg_id hb_emul_id()
#define __bsg_grp_org_x hb_emul_group_origin_x()
#define __bsg_grp_org_y hb_emul_group_origin_y()
#define __bsg_grid_dim_x hb_emul_grid_dim_x()
#define __bsg_grid_dim_y hb_emul_grid_dim_y()
#define __bsg_tile_group_id_x hb_emul_group_id_x()
#define __bsg_tile_group_id_y hb_emul_group_id_y()
#define __bsg_tile_group_id hb_emul_group_id()
#define BSG_TILE_GROUP_X_DIM hb_emul_group_dim_x()
#define BSG_TILE_GROUP_Y_DIM hb_emul_group_dim_y()
static inline void bsg_set_tile_x_y() {}
#else
extern "C" {
extern int __bsg_x, __bsg_y, __bsg_id, __bsg_grp_org_x, __bsg_grp_org_y, __bsg_grid_dim_x, __bsg_grid_dim_y;
extern int __bsg_tile_group_id_x, __bsg_tile_group_id_y, __bsg_tile_group_id;
extern int __bsg_group_dim_x, __bsg_group_dim_y;
void bsg_set_tile_x_y();
}
// Of the launch, as in the emulator: one program serves groups of all sizes.
#ifndef BSG_TILE_GROUP_X_DIM
#define BSG_TILE_GROUP_X_DIM __bsg_group_dim_x
#define BSG_TILE_GROUP_Y_DIM __bsg_group_dim_y
#endif
#endif

#ifndef bsg_tiles_X
#define bsg_tiles_X BSG_TILE_GROUP_X_DIM
#define bsg_tiles_Y BSG_TILE_GROUP_Y_DIM
#endif

#define bsg_x __bsg_x
#define bsg_y __bsg_y
#define bsg_id __bsg_id

#endif
