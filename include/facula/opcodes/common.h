/* SPDX-License-Identifier: Apache-2.0
 * Opcodes of the formulas in formulas/common.def. */
#ifndef FACULA_OPCODES_COMMON_H
#define FACULA_OPCODES_COMMON_H
#define FC_OPCODE(number, name, inputs, params) FC_MAP_##name = number,
#include "../formulas/rows.h"
enum fc_map_common {
#include "../formulas/common.def"
};
#include "../formulas/end.h"
#endif
