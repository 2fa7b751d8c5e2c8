/* SPDX-License-Identifier: Apache-2.0
 * Opcodes of the formulas in formulas/math.def. */
#ifndef FACULA_OPCODES_MATH_H
#define FACULA_OPCODES_MATH_H
#define FC_OPCODE(number, name, inputs, params) FC_MAP_##name = number,
#include "../formulas/rows.h"
enum fc_map_math {
#include "../formulas/math.def"
};
#include "../formulas/end.h"
#endif
