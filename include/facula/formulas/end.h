/* SPDX-License-Identifier: Apache-2.0
 * After a .def of this folder: takes the kinds of rows back. */
#undef FC_UNARY
#undef FC_MATH
#undef FC_BINARY
#undef FC_COMPARE
#undef FC_DERIVATIVE
#undef FC_TERNARY
#undef FC_TERMS
#undef FC_SUM
#undef FC_MEAN
#undef FC_FOLD
#undef FC_EXTREME
#undef FC_OPCODE
