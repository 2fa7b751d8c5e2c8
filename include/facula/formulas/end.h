/* SPDX-License-Identifier: Apache-2.0
 * After a .def of this folder: takes the kinds of rows back. */
#undef FC_UNARY
#undef FC_MATH
#undef FC_BINARY
#undef FC_COMPARE
#undef FC_DERIVATIVE
#undef FC_TERNARY
#undef FC_OPCODE
