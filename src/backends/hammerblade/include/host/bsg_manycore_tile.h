/* SPDX-License-Identifier: Apache-2.0 */
/* For programs that include it: what they use of it stands in bsg_manycore.h. */
#ifndef BSG_MANYCORE_TILE_H
#define BSG_MANYCORE_TILE_H
#include "bsg_manycore.h"
#endif
