/* SPDX-License-Identifier: Apache-2.0
 * Opcodes of the formulas in formulas/derivative.def. */
#ifndef FACULA_OPCODES_DERIVATIVE_H
#define FACULA_OPCODES_DERIVATIVE_H
#define FC_OPCODE(number, name, inputs, params) FC_MAP_##name = number,
#include "../formulas/rows.h"
enum fc_map_derivative {
#include "../formulas/derivative.def"
};
#include "../formulas/end.h"
#endif
