/* SPDX-License-Identifier: Apache-2.0
 * Before a .def of this folder: every row becomes FC_OPCODE(number, name, inputs, params), which the includer defines.
 * end.h goes after it. Neither has a guard. */
#define FC_UNARY(number, name, params, types, ...) FC_OPCODE(number, name, 1, params)
#define FC_MATH(number, name, params, types, ...) FC_OPCODE(number, name, 1, params)
#define FC_BINARY(number, name, params, types, ...) FC_OPCODE(number, name, 2, params)
#define FC_COMPARE(number, name, params, types, ...) FC_OPCODE(number, name, 2, params)
#define FC_DERIVATIVE(number, name, params, types, ...) FC_OPCODE(number, name, 2, params)
#define FC_TERNARY(number, name, params, types, ...) FC_OPCODE(number, name, 3, params)
#define FC_SUM(number, name, types, ...) FC_OPCODE(number, name, 1, 0)
#define FC_MEAN(number, name, types, ...) FC_OPCODE(number, name, 1, 0)
#define FC_FOLD(number, name, types, identity, ...) FC_OPCODE(number, name, 1, 0)
#define FC_EXTREME(number, name, types, ...) FC_OPCODE(number, name, 1, 0)
