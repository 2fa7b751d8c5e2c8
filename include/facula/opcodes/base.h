/* SPDX-License-Identifier: Apache-2.0
 * The base opcodes: a device that does these does everything, by decomposition. */
#ifndef FACULA_OPCODES_BASE_H
#define FACULA_OPCODES_BASE_H
#define FC_OPCODE(number, name, inputs, params) FC_MAP_##name = number,
#include "../formulas/rows.h"
enum fc_map_base {
#include "../formulas/base.def"
};
#include "../formulas/end.h"
#define FC_OPCODE(number, name, inputs, params) FC_REDUCE_##name = number,
#include "../formulas/rows.h"
enum fc_reduce_base {
#include "../formulas/base_folds.def"
};
#include "../formulas/end.h"
#endif
