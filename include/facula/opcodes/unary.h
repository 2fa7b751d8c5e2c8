/* SPDX-License-Identifier: Apache-2.0
 * Opcodes of the formulas in formulas/unary.def. */
#ifndef FACULA_OPCODES_UNARY_H
#define FACULA_OPCODES_UNARY_H
#define FC_OPCODE(number, name, inputs, params) FC_MAP_##name = number,
#include "../formulas/rows.h"
enum fc_map_unary {
#include "../formulas/unary.def"
};
#include "../formulas/end.h"
#endif
