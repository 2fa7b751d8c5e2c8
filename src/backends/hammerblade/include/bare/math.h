// SPDX-License-Identifier: Apache-2.0
// The part of <math.h> that a bare compiler has or its library brings.
#ifndef HB_BARE_MATH_H
#define HB_BARE_MATH_H
#ifdef __cplusplus
extern "C" {
#endif
#define HB_BARE_1(name) \
  float name##f(float); \
  double name(double);
#define HB_BARE_2(name)        \
  float name##f(float, float); \
  double name(double, double);
HB_BARE_1(acos)
HB_BARE_1(asin)
HB_BARE_1(atan)
HB_BARE_1(ceil)
HB_BARE_1(cos)
HB_BARE_1(cosh)
HB_BARE_1(erf)
HB_BARE_1(exp)
HB_BARE_1(exp2)
HB_BARE_1(expm1)
HB_BARE_1(fabs)
HB_BARE_1(floor)
HB_BARE_1(log)
HB_BARE_1(log10)
HB_BARE_1(log1p)
HB_BARE_1(log2)
HB_BARE_1(nearbyint)
HB_BARE_1(rint)
HB_BARE_1(round)
HB_BARE_1(sin)
HB_BARE_1(sinh)
HB_BARE_1(sqrt)
HB_BARE_1(tan)
HB_BARE_1(tanh)
HB_BARE_1(trunc)
HB_BARE_2(atan2)
HB_BARE_2(copysign)
HB_BARE_2(fmax)
HB_BARE_2(fmin)
HB_BARE_2(fmod)
HB_BARE_2(pow)
#undef HB_BARE_1
#undef HB_BARE_2
float fmaf(float, float, float);
double fma(double, double, double);
#ifdef __cplusplus
}
#endif
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define HUGE_VALF __builtin_inff()
#define M_PI 3.14159265358979323846
#ifndef __cplusplus
#define isnan(x) __builtin_isnan(x)
#define isinf(x) __builtin_isinf(x)
#endif
#endif
