/* SPDX-License-Identifier: Apache-2.0
 * The opcode of every pointwise formula, FC_MAP_<name>, and of every reduction, FC_REDUCE_<name>. Numbers never change.
 * Sources that need few of them include one part only, and are not recompiled when another grows. */
#ifndef FACULA_OPCODES_H
#define FACULA_OPCODES_H
#include "opcodes/base.h"
#include "opcodes/binary.h"
#include "opcodes/common.h"
#include "opcodes/derivative.h"
#include "opcodes/math.h"
#include "opcodes/reduce.h"
#include "opcodes/shared.h"
#include "opcodes/special.h"
#include "opcodes/unary.h"
#endif
