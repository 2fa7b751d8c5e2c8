/* SPDX-License-Identifier: Apache-2.0
 * Opcodes of the formulas in formulas/special.def. */
#ifndef FACULA_OPCODES_SPECIAL_H
#define FACULA_OPCODES_SPECIAL_H
#define FC_OPCODE(number, name, inputs, params) FC_MAP_##name = number,
#include "../formulas/rows.h"
enum fc_map_special {
#include "../formulas/special.def"
};
#include "../formulas/end.h"
#endif
