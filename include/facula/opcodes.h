/* SPDX-License-Identifier: Apache-2.0
 * Every pointwise formula: X(number, name, inputs, parameters). Numbers never change; new ones are added at the end.
 * Names are the operators'. Those up to `where` are the base from which the others can be decomposed. */
#ifndef FACULA_OPCODES_H
#define FACULA_OPCODES_H

/* clang-format off */
#define FC_MAP_OPCODES(X) \
  X(0, neg, 1, 0)                    \
  X(1, abs, 1, 0)                    \
  X(2, exp, 1, 0)                    \
  X(3, log, 1, 0)                    \
  X(4, sin, 1, 0)                    \
  X(5, cos, 1, 0)                    \
  X(6, sqrt, 1, 0)                   \
  X(7, reciprocal, 1, 0)             \
  X(8, floor, 1, 0)                  \
  X(9, trunc, 1, 0)                  \
  X(10, logical_not, 1, 0)           \
  X(11, isnan, 1, 0)                 \
  X(12, add, 2, 1)                   \
  X(13, sub, 2, 1)                   \
  X(14, mul, 2, 0)                   \
  X(15, div, 2, 0)                   \
  X(16, div_floor, 2, 0)             \
  X(17, remainder, 2, 0)             \
  X(18, pow, 2, 0)                   \
  X(19, maximum, 2, 0)               \
  X(20, minimum, 2, 0)               \
  X(21, lt, 2, 0)                    \
  X(22, le, 2, 0)                    \
  X(23, eq, 2, 0)                    \
  X(24, ne, 2, 0)                    \
  X(25, bitwise_and, 2, 0)           \
  X(26, bitwise_or, 2, 0)            \
  X(27, bitwise_xor, 2, 0)           \
  X(28, bitwise_left_shift, 2, 0)    \
  X(29, bitwise_right_shift, 2, 0)   \
  X(30, where, 3, 0)                 \
  X(31, gt, 2, 0)                    \
  X(32, ge, 2, 0)                    \
  X(33, tanh, 1, 0)                  \
  X(34, erf, 1, 0)                   \
  X(35, log1p, 1, 0)                 \
  X(36, expm1, 1, 0)                 \
  X(37, rsqrt, 1, 0)                 \
  X(38, tan, 1, 0)                   \
  X(39, asin, 1, 0)                  \
  X(40, acos, 1, 0)                  \
  X(41, atan, 1, 0)                  \
  X(42, sinh, 1, 0)                  \
  X(43, cosh, 1, 0)                  \
  X(44, asinh, 1, 0)                 \
  X(45, acosh, 1, 0)                 \
  X(46, atanh, 1, 0)                 \
  X(47, exp2, 1, 0)                  \
  X(48, log2, 1, 0)                  \
  X(49, log10, 1, 0)                 \
  X(50, ceil, 1, 0)                  \
  X(51, round, 1, 0)                 \
  X(52, frac, 1, 0)                  \
  X(53, sign, 1, 0)                  \
  X(54, sgn, 1, 0)                   \
  X(55, signbit, 1, 0)               \
  X(56, square, 1, 0)                \
  X(57, sigmoid, 1, 0)               \
  X(58, erfc, 1, 0)                  \
  X(59, erfinv, 1, 0)                \
  X(60, lgamma, 1, 0)                \
  X(61, digamma, 1, 0)               \
  X(62, isinf, 1, 0)                 \
  X(63, isfinite, 1, 0)              \
  X(64, isposinf, 1, 0)              \
  X(65, isneginf, 1, 0)              \
  X(66, bitwise_not, 1, 0)           \
  X(67, conj_physical, 1, 0)         \
  X(68, angle, 1, 0)                 \
  X(69, relu, 1, 0)                  \
  X(70, gelu, 1, 0)                  \
  X(71, gelu_tanh, 1, 0)             \
  X(72, silu, 1, 0)                  \
  X(73, mish, 1, 0)                  \
  X(74, softplus, 1, 2)              \
  X(75, leaky_relu, 1, 1)            \
  X(76, elu, 1, 3)                   \
  X(77, hardtanh, 1, 2)              \
  X(78, hardswish, 1, 0)             \
  X(79, hardsigmoid, 1, 0)           \
  X(80, log_sigmoid, 1, 0)           \
  X(81, threshold, 1, 2)             \
  X(82, nan_to_num, 1, 3)            \
  X(83, deg2rad, 1, 0)               \
  X(84, rad2deg, 1, 0)               \
  X(85, sinc, 1, 0)                  \
  X(86, i0, 1, 0)                    \
  X(87, logit, 1, 1)                 \
  X(88, round_decimals, 1, 1)        \
  X(89, positive, 1, 0)              \
  X(90, div_trunc, 2, 0)             \
  X(91, fmod, 2, 0)                  \
  X(92, atan2, 2, 0)                 \
  X(93, fmax, 2, 0)                  \
  X(94, fmin, 2, 0)                  \
  X(95, hypot, 2, 0)                 \
  X(96, copysign, 2, 0)              \
  X(97, nextafter, 2, 0)             \
  X(98, logaddexp, 2, 0)             \
  X(99, logaddexp2, 2, 0)            \
  X(100, xlogy, 2, 0)                \
  X(101, logical_and, 2, 0)          \
  X(102, logical_or, 2, 0)           \
  X(103, logical_xor, 2, 0)          \
  X(104, gcd, 2, 0)                  \
  X(105, lcm, 2, 0)                  \
  X(106, heaviside, 2, 0)            \
  X(107, clamp, 3, 0)                \
  X(108, clamp_min, 2, 0)            \
  X(109, clamp_max, 2, 0)            \
  X(110, lerp, 3, 0)                 \
  X(111, addcmul, 3, 1)              \
  X(112, addcdiv, 3, 1)              \
  X(113, ldexp, 2, 0)                \
  X(114, floor_divide, 2, 0)         \
  X(115, sigmoid_backward, 2, 0)     \
  X(116, tanh_backward, 2, 0)        \
  X(117, gelu_backward, 2, 0)        \
  X(118, gelu_tanh_backward, 2, 0)   \
  X(119, silu_backward, 2, 0)        \
  X(120, threshold_backward, 2, 1)   \
  X(121, leaky_relu_backward, 2, 1)  \
  X(122, elu_backward, 2, 3)         \
  X(123, hardtanh_backward, 2, 2)    \
  X(124, hardswish_backward, 2, 0)   \
  X(125, hardsigmoid_backward, 2, 0) \
  X(126, softplus_backward, 2, 2)    \
  X(127, mish_backward, 2, 0)        \
  X(128, log_sigmoid_backward, 2, 0) \
  X(129, xlog1py, 2, 0)              \
  X(130, polygamma, 1, 1)            \
  X(131, real, 1, 0)                 \
  X(132, imag, 1, 0)                 \
  X(133, complex, 2, 0)              \
  X(134, rsub, 2, 1)                 \
  X(135, masked_fill, 3, 0)          \
  X(136, logit_backward, 2, 1)       \
  X(137, special_erfcx, 1, 0)        \
  X(138, smooth_l1, 2, 1)            \
  X(139, huber, 2, 1)                \
  X(140, cube, 1, 0)                 \
  X(141, inverse_square, 1, 0)       \
  X(142, hardshrink, 1, 1)           \
  X(143, softshrink, 1, 1)           \
  X(144, shrink_backward, 2, 1)      \
  X(145, prelu, 2, 0)                \
  X(146, i1, 1, 0)
/* clang-format on */

#define FC_ENUMERATE(number, name, inputs, params) FC_MAP_##name = number,
enum fc_map_opcode { FC_MAP_OPCODES(FC_ENUMERATE) FC_MAP_COUNT };
#undef FC_ENUMERATE

#endif
