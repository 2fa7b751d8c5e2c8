// SPDX-License-Identifier: Apache-2.0
// What formulas are written in, on numbers: bool, integers, float, double, complex numbers, and vectors of floats or
// doubles. A formula names these as math::x, and uses operators; it has no branch or loop that depends on an operand,
// so that kernels of it become vector code and tensors can take the place of numbers (plan/expression.h).
#pragma once
#include "kernels/math.h"

namespace fc::math {

// --- kinds of element types
template <class T>
inline constexpr bool is_bool_v = is_same_v<T, bool>;
template <class T>
inline constexpr bool is_real_v = is_same_v<T, float> || is_same_v<T, double>;
template <class T>
inline constexpr bool is_complex_v = false;
template <class T>
inline constexpr bool is_int_v = !is_bool_v<T> && !is_real_v<T> && !is_complex_v<T>;
template <class T>
struct RealOf {
  using type = T;
};
#if defined(FC_BARE)
template <class U>
struct Complex {
  using value_type = U;
  U re, im;
  FC_INLINE constexpr Complex(U real = 0, U imag = 0) : re(real), im(imag) {}
  FC_INLINE U real() const { return re; }
  FC_INLINE U imag() const { return im; }
  FC_INLINE friend Complex operator-(Complex x) { return {-x.re, -x.im}; }
  FC_INLINE friend Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
  FC_INLINE friend Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
  FC_INLINE friend Complex operator*(Complex x, U a) { return {x.re * a, x.im * a}; }
  FC_INLINE friend bool operator==(Complex a, Complex b) { return (a.re == b.re) & (a.im == b.im); }
  FC_INLINE friend bool operator!=(Complex a, Complex b) { return (a.re != b.re) | (a.im != b.im); }
};
#else
template <class U>
using Complex = std::complex<U>;
#endif
template <class U>
inline constexpr bool is_complex_v<Complex<U>> = true;
template <class U>
struct RealOf<Complex<U>> {
  using type = U;
};
template <class T>
using real_t = typename RealOf<T>::type;
// Not a number: an expression, which has overloads of its own for everything below.
template <class V>
inline constexpr bool is_expression = false;

template <class T>
struct Unsigned {
  using type =
      choose_t<sizeof(T) == 1, u8, choose_t<sizeof(T) == 2, unsigned short, choose_t<sizeof(T) == 4, u32, u64>>>;
};
template <class T>
inline constexpr bool is_signed_v = T(-1) < T(0);

// --- choice; both arms are computed
template <class C, class A, class B>
requires(!is_expression<C>) FC_INLINE auto where(C c, A a, B b) { return c ? a : b; }

// --- arithmetic. Integers wrap around as in two's complement: signed overflow must not be undefined.
template <class T>
FC_INLINE T plus(T a, T b) {
  using U = typename Unsigned<T>::type;
  if constexpr (is_int_v<T>) return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
  else return a + b;
}
template <class T>
FC_INLINE T minus(T a, T b) {
  using U = typename Unsigned<T>::type;
  if constexpr (is_int_v<T>) return static_cast<T>(static_cast<U>(a) - static_cast<U>(b));
  else return a - b;
}
template <class T>
FC_INLINE T negative(T x) {
  if constexpr (is_int_v<T>) return minus(T(0), x);
  else return -x;
}
template <class T>
FC_INLINE T times(T a, T b) {
  if constexpr (is_bool_v<T>) return static_cast<T>(a & b);
  // Narrow types promote to int, whose overflow would be undefined: multiply in 64 bits.
  else if constexpr (is_int_v<T>) return static_cast<T>(static_cast<u64>(a) * static_cast<u64>(b));
  // Without C's search for infinities among NaNs, which would be a call per element.
  else if constexpr (is_complex_v<T>)
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  else return a * b;
}
FC_INLINE bool both(bool a, bool b) { return static_cast<bool>(a & b); }
FC_INLINE bool either(bool a, bool b) { return static_cast<bool>(a | b); }
// x times a parameter. A complex one is nearly always real: no reason to multiply as complex numbers.
template <class T>
FC_INLINE T scaled(T x, T alpha) {
  if constexpr (is_complex_v<T>) return alpha.imag() == 0 ? x * alpha.real() : times(x, alpha);
  else return times(alpha, x);
}
template <class V, class... P>
FC_INLINE V times_params(V x, P... p) {
  return (x * ... * p);
}
// a / b. Complex: Smith's way, by the larger part of b; b = 0 divides each part, like PyTorch's.
template <class T>
FC_INLINE T quotient(T a, T b) {
  if constexpr (is_complex_v<T>) {
    const auto x = a.real(), y = a.imag(), c = b.real(), d = b.imag();
    const bool real = target::fabs(c) >= target::fabs(d);
    const auto large = real ? c : d, small = real ? d : c, ratio = small / large, inverse = 1 / (large + small * ratio);
    const auto re = (real ? x + y * ratio : x * ratio + y) * inverse,
               im = (real ? y - x * ratio : y * ratio - x) * inverse;
    const bool zero = large == 0;
    return {zero ? x / target::fabs(c) : re, zero ? y / target::fabs(d) : im};
  } else {
    return a / b;
  }
}
template <class T>
FC_INLINE T reciprocal(T x) {
  return quotient(T(1), x);
}

// --- signs, order, rounding
template <class V>
FC_INLINE auto abs(V x) {
  using T = Element<V>;
  if constexpr (is_complex_v<T>) return hypot(x.real(), x.imag());
  else if constexpr (is_int_v<T>) return x < T(0) ? negative(x) : x;
  else return own::fabs(x);
}
template <class V>
FC_INLINE auto is_nan(V x) {
  return x != x;
}
// What a test gives for types that can only fail it, or only pass it.
template <class T>
FC_INLINE bool never(T) {
  return false;
}
template <class T>
FC_INLINE bool always(T) {
  return true;
}
template <class T>
FC_INLINE T complement(T x) {
  return static_cast<T>(~x);
}
template <class T>
FC_INLINE bool sign_bit(T x) {
  if constexpr (is_same_v<T, float>) return target::bit_cast<int>(x) < 0;
  else if constexpr (is_same_v<T, double>) return target::bit_cast<long long>(x) < 0;
  else return x < T(0);
}
template <class T>
FC_INLINE T sign(T x) {  // of NaN: 0
  if constexpr (is_bool_v<T>) return x;
  else return static_cast<T>((T(0) < x) - (x < T(0)));
}
template <class T>
FC_INLINE T copysign(T x, T sign) {
  return target::copysign(x, sign);
}
template <class T>
FC_INLINE T nextafter(T a, T b) {
  return own::nextafter(a, b);
}
// NaN of either operand stays.
template <class T>
FC_INLINE T maximum(T a, T b) {
  if constexpr (is_real_v<T>) return ((a < b) | (b != b)) ? b : a;
  else return a < b ? b : a;
}
template <class T>
FC_INLINE T minimum(T a, T b) {
  if constexpr (is_real_v<T>) return ((b < a) | (b != b)) ? b : a;
  else return b < a ? b : a;
}
// Of operands that are no NaN, or where it does not matter.
template <class V>
FC_INLINE V larger_of(V a, V b) {
  return a < b ? b : a;
}
template <class V>
FC_INLINE V smaller_of(V a, V b) {
  return b < a ? b : a;
}
using own::at_least;
using own::at_most;
// low, where x is below it, else high, where x is above it.
template <class V, class T = Element<V>>
FC_INLINE V bounded(V x, T low, T high) {
  return x < low ? low : (x > high ? high : x);
}
#define FC_ROUNDING(name, function)      \
  template <class T>                     \
  FC_INLINE T name(T x) {                \
    if constexpr (is_int_v<T>) return x; \
    else return target::function(x);     \
  }
FC_ROUNDING(floor, floor)
FC_ROUNDING(ceil, ceil)
FC_ROUNDING(trunc, trunc)
FC_ROUNDING(round, nearbyint)  // halves go to the even neighbour
#undef FC_ROUNDING

// --- complex numbers
template <class T>
FC_INLINE T conj(T x) {
  if constexpr (is_complex_v<T>) return {x.real(), -x.imag()};
  else return x;
}
template <class T>
FC_INLINE Complex<T> make_complex(T re, T im) {
  return {re, im};
}

// --- division with remainders. Integer division by zero is reported by the kernel; here it must only not trap. The
// least integer divided by -1 wraps.
template <class T>
FC_INLINE T int_quotient(T a, T b) {
  const bool minus_one = is_signed_v<T> && b == static_cast<T>(-1);
#if !defined(FC_BARE)
  if constexpr (sizeof(T) <
                8) {  // vector code, and exact: a quotient that is not whole differs from it by 1 / b at least
    using F = choose_t<sizeof(T) < 4, float, double>;
    const T q = static_cast<T>(static_cast<F>(a) / static_cast<F>(((b == 0) | minus_one) ? T(1) : b));
    return b == 0 ? T(0) : (minus_one ? negative(a) : q);
  }
#endif
  if (b == 0) return 0;
  return minus_one ? negative(a) : static_cast<T>(a / b);
}
template <class T>
FC_INLINE T int_remainder(T a, T b) {
  return static_cast<T>(static_cast<u64>(a) - static_cast<u64>(int_quotient(a, b)) * static_cast<u64>(b));
}
// fmod in one step, where a / b is small enough for a quotient within one of the true one and an exact remainder.
template <class T>
FC_INLINE bool has_small_ratio(T a, T b) {
  return both(target::fabs(a / b) < T(0.25) / Limits<T>::epsilon, target::fabs(b) <= Limits<T>::max);
}
template <class T>
FC_INLINE T fmod_of_small_ratio(T a, T b) {
  const T step = target::copysign(b, a);
  T r = target::fma(-target::trunc(a / b), b, a);
  r = (r < 0) != (a < 0) && r != 0 ? r + step : r;
  r = target::fabs(r) >= target::fabs(b) ? r - step : r;
  return target::copysign(r, a);
}
// From r, fmod(a, b):
template <class T>
FC_INLINE T remainder_from(T b, T r) {
  return r != 0 && (b < 0) != (r < 0) ? r + b : r;
}
template <class T>
FC_INLINE T floor_quotient_from(T a, T b, T r) {
  T q = (a - r) / b;
  q = r != 0 && (b < 0) != (r < 0) ? q - T(1) : q;
  const T f = target::floor(q);
  return q == 0 ? target::copysign(T(0), a / b) : (q - f > T(0.5) ? f + T(1) : f);
}
template <class T>
FC_INLINE T fmod(T a, T b) {
  if constexpr (is_int_v<T>) return int_remainder(a, b);
  else return target::fmod(a, b);
}
template <class T>
FC_INLINE T remainder(T a, T b) {
  if constexpr (is_int_v<T>) {
    const T r = int_remainder(a, b);
    return static_cast<T>(r != 0 && ((r < 0) != (b < 0)) ? r + b : r);
  } else {
    return remainder_from(b, target::fmod(a, b));
  }
}
template <class T>
FC_INLINE T floor_quotient(T a, T b) {
  if constexpr (is_int_v<T>) {
    const T q = int_quotient(a, b);
    return static_cast<T>(q - (int_remainder(a, b) != 0 && ((a < 0) != (b < 0)) ? 1 : 0));
  } else {
    if (b == 0) return a / b;
    return floor_quotient_from(a, b, target::fmod(a, b));
  }
}
template <class T>
FC_INLINE T trunc_quotient(T a, T b) {
  if constexpr (is_int_v<T>) return int_quotient(a, b);
  else return target::trunc(a / b);
}

// --- integers
template <class T>
FC_INLINE T int_pow(T a, T b) {
  if constexpr (is_signed_v<T>)
    if (b < 0) return a == 1 ? T(1) : (a == T(-1) ? (b % 2 ? T(-1) : T(1)) : T(0));
  T result = 1;
  for (T base = a, e = b; e > 0; e = static_cast<T>(e >> 1), base = times(base, base))
    if (e & 1) result = times(result, base);
  return result;
}
template <class T>
FC_INLINE T gcd(T a, T b) {
  using U = typename Unsigned<T>::type;
  U x = static_cast<U>(math::abs(a)), y = static_cast<U>(math::abs(b));
  while (y != 0) {
    const U r = static_cast<U>(x % y);
    x = y;
    y = r;
  }
  return static_cast<T>(x);
}
template <class T>
FC_INLINE T lcm(T a, T b) {
  const T d = gcd(a, b);
  return d == 0 ? T(0) : math::abs(times(int_quotient(a, d), b));
}
// Bytes are shifted by 4, 2 and 1, because vectors of bytes have no shifts by different amounts.
template <class T>
FC_INLINE T left_shift(T a, T b) {
  using U = typename Unsigned<T>::type;
  constexpr int bits = 8 * sizeof(T);
  if constexpr (bits == 8) {
    U r = static_cast<U>(a);
    r = b & 4 ? static_cast<U>(r << 4) : r;
    r = b & 2 ? static_cast<U>(r << 2) : r;
    r = b & 1 ? static_cast<U>(r << 1) : r;
    return static_cast<T>(b & ~7 ? 0 : r);
  } else return b < 0 || b >= bits ? T(0) : static_cast<T>(static_cast<U>(a) << b);
}
// A byte keeps its sign by hand: vectors of bytes have no shift that does.
template <int n, class T>
FC_INLINE T byte_right_shift(T x) {
  const u8 r = static_cast<u8>(static_cast<u8>(x) >> n), sign = is_signed_v<T> ? 0x80 >> n : 0;
  return static_cast<T>(static_cast<u8>((r ^ sign) - sign));
}
template <class T>
FC_INLINE T right_shift(T a, T b) {
  constexpr int bits = 8 * sizeof(T);
  if constexpr (bits == 8) {
    const u8 n = static_cast<u8>(b) > 7 ? 7 : static_cast<u8>(b);
    T r = a;
    r = n & 4 ? byte_right_shift<4>(r) : r;
    r = n & 2 ? byte_right_shift<2>(r) : r;
    r = n & 1 ? byte_right_shift<1>(r) : r;
    if constexpr (is_signed_v<T>) return r;  // 7 leaves the sign, as more would
    else return static_cast<T>(b > 7 ? 0 : r);
  } else return b < 0 || b >= bits ? static_cast<T>(a < 0 ? -1 : 0) : static_cast<T>(a >> b);
}

// --- parts of several formulas
// tanh(log(1 + e^x)) = n / (n + 2) with n = e^x (e^x + 2); 1 where e^x would overflow
template <class V, class T = Element<V>>
FC_INLINE V tanh_softplus(V x) {
  const V e = exp(at_most(T(20), x)), n = e * (e + T(2));
  return n / (n + T(2));
}
template <class V, class T = Element<V>>
FC_INLINE V logistic(V x) {
  return T(1) / (T(1) + exp(-x));
}
template <class V, class T = Element<V>>
FC_INLINE V gelu_inner(V x) {
  return T(0.79788456080286535588) * (x + T(0.044715) * x * x * x);
}

}  // namespace fc::math
