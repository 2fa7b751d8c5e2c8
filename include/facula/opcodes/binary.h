/* SPDX-License-Identifier: Apache-2.0
 * Opcodes of the formulas in formulas/binary.def. */
#ifndef FACULA_OPCODES_BINARY_H
#define FACULA_OPCODES_BINARY_H
#define FC_OPCODE(number, name, inputs, params) FC_MAP_##name = number,
#include "../formulas/rows.h"
enum fc_map_binary {
#include "../formulas/binary.def"
};
#include "../formulas/end.h"
#endif
