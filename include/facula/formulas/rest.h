/* SPDX-License-Identifier: Apache-2.0
 * Before a .def of this folder: rows of kinds that the includer has not defined become nothing. end.h goes after it.
 * Neither has a guard. */
#ifndef FC_UNARY
#define FC_UNARY(...)
#endif
#ifndef FC_MATH
#define FC_MATH(...)
#endif
#ifndef FC_BINARY
#define FC_BINARY(...)
#endif
#ifndef FC_COMPARE
#define FC_COMPARE(...)
#endif
#ifndef FC_DERIVATIVE
#define FC_DERIVATIVE(...)
#endif
#ifndef FC_TERNARY
#define FC_TERNARY(...)
#endif
#ifndef FC_SUM
#define FC_SUM(...)
#endif
#ifndef FC_MEAN
#define FC_MEAN(...)
#endif
#ifndef FC_FOLD
#define FC_FOLD(...)
#endif
#ifndef FC_EXTREME
#define FC_EXTREME(...)
#endif
#ifndef FC_OPCODE
#define FC_OPCODE(...)
#endif
