/* SPDX-License-Identifier: Apache-2.0
 * Opcodes of the folds in formulas/folds.def, FC_REDUCE_<name>. */
#ifndef FACULA_OPCODES_REDUCE_H
#define FACULA_OPCODES_REDUCE_H
#define FC_OPCODE(number, name, inputs, params) FC_REDUCE_##name = number,
#include "../formulas/rows.h"
enum fc_reduce_further {
#include "../formulas/folds.def"
};
#include "../formulas/end.h"
#endif
