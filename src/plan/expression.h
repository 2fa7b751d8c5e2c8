// SPDX-License-Identifier: Apache-2.0
// Tensors in the place of a formula's numbers: what kernels/algebra.h has for numbers, for tensors of a device that
// does the base opcodes. Every operator calls the device at once; when it does not do one of them, the program has
// failed and everything after it does nothing.
//
// To be included before the formulas, which name what is here as math::x. An expression belongs to the thread's
// Program.
#pragma once
#include "facula/opcodes/base.h"
#include "kernels/algebra.h"
#include "plan/pointwise.h"

namespace fc {

// What is computed in, and whether the device could so far.
struct Program {
  explicit Program(DType type);  // makes itself the thread's, until it goes
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  DType compute;
  bool failed = false;

 private:
  Program* before_;
};

}  // namespace fc

namespace fc::math {

inline constexpr double ln2 = 0.69314718055994530942, ln10 = 2.30258509299404568402;

enum class Kind : uint8_t { Bool, Int, Real, Complex };

// A parameter or a constant. Arithmetic on these alone is done here, rounded as the device would.
double rounded(double x);
template <Kind K>
struct Number {
  using Value = choose_t<K == Kind::Bool, bool,
                         choose_t<K == Kind::Int, int64_t, choose_t<K == Kind::Real, double, ComplexDouble>>>;
  Value value;
  template <class U>
  requires(std::is_arithmetic_v<U>&& K != Kind::Complex) explicit constexpr Number(U v)
      : value(static_cast<Value>(v)) {}
  explicit constexpr Number(double v) requires(K == Kind::Complex) : value{v, 0} {}
  explicit Number(const Scalar& s);
  explicit operator int() const { return static_cast<int>(value); }

#define FC_FOLD(op)                                                            \
  friend Number operator op(const Number& a, const Number& b) {                \
    if constexpr (K == Kind::Real) return Number(rounded(a.value op b.value)); \
    else return Number(a.value op b.value);                                    \
  }
  FC_FOLD(+)
  FC_FOLD(-)
  FC_FOLD(*)
  FC_FOLD(/)
#undef FC_FOLD
  friend Number operator-(const Number& x) { return Number(-x.value); }
  friend bool operator<(const Number& a, const Number& b) { return a.value < b.value; }
};

// A tensor on the device, or a number.
struct Operand {
  Tensor tensor;
  Scalar number;
  bool is_bool() const { return tensor.defined() && tensor.dtype() == DType::Bool; }
};
Operand run(int opcode, std::initializer_list<const Operand*> args, Promote promote = Promote::Same);
// The same if the device does it; the program goes on if not.
bool attempt(int opcode, std::initializer_list<const Operand*> args, Operand& result);

template <Kind K>
struct X : Operand {
  X() : Operand{{}, 0} {}
  explicit X(Operand o) : Operand(std::move(o)) {}
  X(double v) : Operand{{}, v} {}
  X(int v) : Operand{{}, v} {}
  X(const Number<K>& n) : Operand{{}, n.value} {}

  friend X operator-(const X& x) { return X(run(FC_MAP_neg, {&x})); }
#define FC_OPERATOR(op, code, promote, Result) \
  friend Result operator op(const X& a, const X& b) { return Result(run(FC_MAP_##code, {&a, &b}, Promote::promote)); }
  FC_OPERATOR(+, add, Same, X)
  FC_OPERATOR(-, sub, Same, X)
  FC_OPERATOR(*, mul, Same, X)
  FC_OPERATOR(/, div, Same, X)
  FC_OPERATOR(&, bitwise_and, Same, X)
  FC_OPERATOR(|, bitwise_or, Same, X)
  FC_OPERATOR(^, bitwise_xor, Same, X)
  FC_OPERATOR(<, lt, Compare, X<Kind::Bool>)
  FC_OPERATOR(<=, le, Compare, X<Kind::Bool>)
  FC_OPERATOR(==, eq, Compare, X<Kind::Bool>)
  FC_OPERATOR(!=, ne, Compare, X<Kind::Bool>)
#undef FC_OPERATOR
  friend X<Kind::Bool> operator>(const X& a, const X& b) { return b < a; }
  friend X<Kind::Bool> operator>=(const X& a, const X& b) { return b <= a; }
  friend X operator!(const X& x) requires(K == Kind::Bool) {
    return X(run(FC_MAP_logical_not, {&x}, Promote::Predicate));
  }
};
using Bool = X<Kind::Bool>;
using Int = X<Kind::Int>;
using Real = X<Kind::Real>;

// --- what formulas ask about types
template <Kind K>
inline constexpr bool is_expression<X<K>> = true;
template <>
inline constexpr bool is_bool_v<Number<Kind::Bool>> = true;
template <>
inline constexpr bool is_real_v<Number<Kind::Real>> = true;
template <>
inline constexpr bool is_complex_v<Number<Kind::Complex>> = true;
namespace own {
template <Kind K>
struct ElementOf<X<K>> {
  using type = Number<K>;
};
}  // namespace own
template <>
struct Limits<Number<Kind::Real>> {
  static constexpr Number<Kind::Real> inf{Limits<double>::inf}, nan{Limits<double>::nan};
};

// --- choice
template <Kind K>
X<K> where(const Bool& c, const X<K>& a, const X<K>& b) {
  return X<K>(run(FC_MAP_where, {&c, &a, &b}));
}
template <Kind K>
X<K> where(const Bool& c, const Number<K>& a, const X<K>& b) {
  return where(c, X<K>(a), b);
}
template <Kind K>
X<K> where(const Bool& c, const X<K>& a, const Number<K>& b) {
  return where(c, a, X<K>(b));
}
template <Kind K>
X<K> where(const Bool& c, const Number<K>& a, const Number<K>& b) {
  return where(c, X<K>(a), X<K>(b));
}

// --- arithmetic and order, by a base opcode
#define FC_ONE(name, code)                 \
  template <Kind K>                        \
  X<K> name(const X<K>& x) {               \
    return X<K>(run(FC_MAP_##code, {&x})); \
  }
#define FC_TWO(name, code)                     \
  template <Kind K>                            \
  X<K> name(const X<K>& a, const X<K>& b) {    \
    return X<K>(run(FC_MAP_##code, {&a, &b})); \
  }
FC_ONE(negative, neg)
FC_ONE(abs, abs)
FC_ONE(exp, exp)
FC_ONE(log, log)
FC_ONE(sin, sin)
FC_ONE(cos, cos)
FC_ONE(sqrt, sqrt)
FC_ONE(reciprocal, reciprocal)
FC_ONE(trunc, trunc)
FC_ONE(floor, floor)
FC_TWO(plus, add)
FC_TWO(minus, sub)
FC_TWO(times, mul)
FC_TWO(quotient, div)
FC_TWO(maximum, maximum)
FC_TWO(minimum, minimum)
FC_TWO(larger_of, maximum)
FC_TWO(smaller_of, minimum)
FC_TWO(floor_quotient, div_floor)
FC_TWO(remainder, remainder)
FC_TWO(pow, pow)
#undef FC_ONE
#undef FC_TWO
inline Bool times(const Bool& a, const Bool& b) { return a & b; }
inline Bool both(const Bool& a, const Bool& b) { return a & b; }
inline Bool either(const Bool& a, const Bool& b) { return a | b; }
template <Kind K>
Bool is_nan(const X<K>& x) {
  return Bool(run(FC_MAP_isnan, {&x}, Promote::Predicate));
}
template <Kind K>
X<K> scaled(const X<K>& x, const Number<K>& alpha) {
  if (Scalar(alpha.value).equals(1)) return x;
  return x * alpha;
}
template <Kind K, class... P>
X<K> times_params(const X<K>& x, P... p) {
  return x * (p * ...);
}
template <Kind K>
Bool never(const X<K>& x) {
  return x != x;
}
template <Kind K>
Bool always(const X<K>& x) {
  return x == x;
}
template <Kind K>
X<K> conj(const X<K>& x) {  // of what is not complex
  return x;
}
template <Kind K>
X<K> sign(const X<K>& x) {
  if constexpr (K == Kind::Bool) return x;
  else return where(x > 0, Number<K>(1), where(x < 0, Number<K>(-1), Number<K>(0)));
}
template <Kind K>
Bool sign_bit(const X<K>& x) {
  if constexpr (K == Kind::Real) return (x < 0) | ((x == 0) & (reciprocal(x) < 0));
  else return x < 0;
}
template <Kind K>
X<K> at_most(const Number<K>& high, const X<K>& x) {
  return minimum(x, X<K>(high));
}
template <Kind K>
X<K> at_least(const Number<K>& low, const X<K>& x) {
  return maximum(x, X<K>(low));
}
template <Kind K>
X<K> bounded(const X<K>& x, const Number<K>& low, const Number<K>& high) {
  if (high < low) return where(x < low, low, minimum(x, X<K>(high)));
  return minimum(maximum(x, X<K>(low)), X<K>(high));
}
template <Kind K>
X<K> with_sign(const Bool& is_negative, const X<K>& magnitude) {
  return where(is_negative, -magnitude, magnitude);
}
// Halves go to the even neighbour.
Real round(const Real& x);
Real ceil(const Real& x);
inline Int floor(const Int& x) { return x; }
inline Int ceil(const Int& x) { return x; }
inline Int trunc(const Int& x) { return x; }
inline Int round(const Int& x) { return x; }
inline Int complement(const Int& x) { return x ^ -1; }

// --- what takes more than one call: by the device's own opcode if it has one, else by these (plan/expression.cpp)
Real expm1(const Real& x);
Real log1p(const Real& x);
Real tanh(const Real& x);
Real sinh(const Real& x);
Real cosh(const Real& x);
Real asin(const Real& x);
Real acos(const Real& x);
Real atan(const Real& x);
Real asinh(const Real& x);
Real acosh(const Real& x);
Real atanh(const Real& x);
Real atan2(const Real& y, const Real& x);
Real erf(const Real& x);
Real erfc(const Real& x);
Real erfcx(const Real& x);
inline Real erfcx_beyond_half(const Real& x) { return erfcx(x); }
Real erfinv(const Real& x);
Real lgamma(const Real& x);
Real digamma(const Real& x);
Real polygamma(int n, const Real& x);
Real i0(const Real& x);
Real i1(const Real& x);
Real logistic(const Real& x);
Real tan(const Real& x);
Real exp2(const Real& x);
Real log2(const Real& x);
Real log10(const Real& x);
Real hypot(const Real& a, const Real& b);
Real copysign(const Real& magnitude, const Real& sign);
Real nextafter(const Real& a, const Real& b);
// The same for complex numbers, which devices rarely have opcodes for.
template <Kind K>
X<K> tan(const X<K>& x) {
  return sin(x) / cos(x);
}
template <Kind K>
X<K> exp2(const X<K>& x) {
  return pow(X<K>(2), x);
}
template <Kind K>
X<K> log2(const X<K>& x) {
  return log(x) * (1 / ln2);
}
template <Kind K>
X<K> log10(const X<K>& x) {
  return log(x) * (1 / ln10);
}
template <Kind K>
X<K> fmod(const X<K>& a, const X<K>& b) {
  return with_sign(a < 0, remainder(abs(a), abs(b)));
}
Real trunc_quotient(const Real& a, const Real& b);
Int trunc_quotient(const Int& a, const Int& b);
Int gcd(const Int& a, const Int& b);
Int lcm(const Int& a, const Int& b);

}  // namespace fc::math
