/* SPDX-License-Identifier: Apache-2.0
 * Opcodes of the formulas in formulas/shared.def, and of the folds in shared_folds.def. */
#ifndef FACULA_OPCODES_SHARED_H
#define FACULA_OPCODES_SHARED_H
#define FC_OPCODE(number, name, inputs, params) FC_MAP_##name = number,
#include "../formulas/rows.h"
enum fc_map_shared {
#include "../formulas/shared.def"
};
#include "../formulas/end.h"
#define FC_OPCODE(number, name, inputs, params) FC_REDUCE_##name = number,
#include "../formulas/rows.h"
enum fc_reduce_shared {
#include "../formulas/shared_folds.def"
};
#include "../formulas/end.h"
#endif
