// SPDX-License-Identifier: Apache-2.0
// Arithmetic, comparison and mathematics of int, float, complex and bool. A kernel sees at run time which of them its
// operands are: int with int stays int, anything with a float is a float, anything with a complex is complex.
#include <algorithm>
#include <cmath>
#include <complex>
#include <numeric>

#include "jit/ops/script_ops.h"

namespace fc::jit {
namespace {

using Complex = std::complex<double>;

struct Number {
  enum Kind { Int, Float, Cplx } kind;
  int64_t i = 0;
  double d = 0;
  Complex c = 0;

  explicit Number(const Arg& a) : kind(Int) {
    switch (a.tag()) {
      case Tag::Bool:
      case Tag::Int: i = a.integer(); break;
      case Tag::Double:
        kind = Float;
        d = a.real();
        break;
      default: {
        const Scalar s = a.scalar();
        if (s.is_complex()) {
          kind = Cplx;
          c = {s.to_complex().re, s.to_complex().im};
        } else if (s.is_integral(true)) {
          i = s.to_int();
        } else {
          kind = Float;
          d = s.to_double();
        }
      }
    }
  }
  double real() const { return kind == Int ? static_cast<double>(i) : d; }
  Complex complex() const { return kind == Cplx ? c : Complex(real()); }
};

fc::Value complex_value(Complex c) { return fc::Value(Scalar(ComplexDouble{c.real(), c.imag()})); }
uint64_t bits(int64_t v) { return static_cast<uint64_t>(v); }
int64_t wrap(uint64_t v) { return static_cast<int64_t>(v); }

int64_t floor_div(int64_t a, int64_t b) {
  FC_CHECK(b != 0, "division by 0");
  if (b == -1) return wrap(-bits(a));
  return a / b - ((a % b != 0) && ((a < 0) != (b < 0)));
}
int64_t floor_mod(int64_t a, int64_t b) {
  FC_CHECK(b != 0, "division by 0");
  if (b == -1) return 0;
  const int64_t rest = a % b;
  return rest + (rest != 0 && (rest < 0) != (b < 0) ? b : 0);
}
double floor_mod(double a, double b) {
  FC_CHECK(b != 0, "division by 0");
  const double rest = std::fmod(a, b);
  return rest + (rest != 0 && (rest < 0) != (b < 0) ? b : 0);
}
double checked_div(double a, double b) {
  FC_CHECK(b != 0, "division by 0");
  return a / b;
}
int64_t power(int64_t base, int64_t exponent) {  // as repeated multiplication, modulo 2^64
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  uint64_t out = 1, b = bits(base);
  for (uint64_t e = bits(exponent); e; e >>= 1, b *= b)
    if (e & 1) out *= b;
  return wrap(out);
}

// Each operation says what it does with ints, with floats, and with complex numbers if it takes them.
template <class OnInt, class OnFloat, class OnComplex>
fc::Value binary(const Arg* a, OnInt on_int, OnFloat on_float, OnComplex on_complex) {
  const Number x(a[0]), y(a[1]);
  if (x.kind == Number::Cplx || y.kind == Number::Cplx) {
    if constexpr (std::is_same_v<OnComplex, std::nullptr_t>) raise<TypeError>("complex numbers have no such operation");
    else return on_complex(x.complex(), y.complex());
  }
  if (x.kind == Number::Float || y.kind == Number::Float) return fc::Value(on_float(x.real(), y.real()));
  return fc::Value(on_int(x.i, y.i));
}

#define KERNEL(name) void name(void*, const Operator&, [[maybe_unused]] const Arg* a, fc::Value* r)
#define BINARY(name, on_int, on_float, on_complex)                                                  \
  KERNEL(name) {                                                                                    \
    r[0] = binary(                                                                                  \
        a, []([[maybe_unused]] int64_t x, [[maybe_unused]] int64_t y) { return on_int; },           \
        []([[maybe_unused]] double x, [[maybe_unused]] double y) { return on_float; }, on_complex); \
  }
#define COMPLEX(expression) [](Complex x, Complex y) { return complex_value(expression); }

BINARY(add, wrap(bits(x) + bits(y)), x + y, COMPLEX(x + y))
BINARY(sub, wrap(bits(x) - bits(y)), x - y, COMPLEX(x - y))
BINARY(mul, wrap(bits(x) * bits(y)), x* y, COMPLEX(x* y))
BINARY(div, checked_div(static_cast<double>(x), static_cast<double>(y)), checked_div(x, y), COMPLEX(x / y))
BINARY(floordiv, floor_div(x, y), std::floor(checked_div(x, y)), nullptr)
BINARY(remainder, floor_mod(x, y), floor_mod(x, y), nullptr)
BINARY(c_fmod, std::fmod(static_cast<double>(x), static_cast<double>(y)), std::fmod(x, y), nullptr)
BINARY(c_remainder, std::remainder(static_cast<double>(x), static_cast<double>(y)), std::remainder(x, y), nullptr)
BINARY(c_atan2, std::atan2(static_cast<double>(x), static_cast<double>(y)), std::atan2(x, y), nullptr)
BINARY(c_copysign, std::copysign(static_cast<double>(x), static_cast<double>(y)), std::copysign(x, y), nullptr)
BINARY(pow, std::pow(static_cast<double>(x), static_cast<double>(y)), std::pow(x, y), COMPLEX(std::pow(x, y)))
BINARY(pow_int, power(x, y), std::pow(x, y), nullptr)
BINARY(log_base, std::log(static_cast<double>(x)) / std::log(static_cast<double>(y)), std::log(x) / std::log(y),
       COMPLEX(std::log(x) / std::log(y)))
BINARY(gcd, std::gcd(x, y), x, nullptr)
BINARY(max, std::max(x, y), std::max(x, y), nullptr)
BINARY(min, std::min(x, y), std::min(x, y), nullptr)
BINARY(lt, x < y, x < y, nullptr)
BINARY(le, x <= y, x <= y, nullptr)
BINARY(gt, x > y, x > y, nullptr)
BINARY(ge, x >= y, x >= y, nullptr)
BINARY(eq, x == y, x == y, [](Complex x, Complex y) { return fc::Value(x == y); })
BINARY(ne, x != y, x != y, [](Complex x, Complex y) { return fc::Value(x != y); })
BINARY(bit_and, x& y, 0.0, nullptr)
BINARY(bit_or, x | y, 0.0, nullptr)
BINARY(bit_xor, x ^ y, 0.0, nullptr)
BINARY(shift_left, y<0 || y> 63 ? 0 : wrap(bits(x) << y), 0.0, nullptr)
BINARY(shift_right, y < 0 ? 0 : x >> std::min<int64_t>(y, 63), 0.0, nullptr)
#undef BINARY

KERNEL(and_bool) { r[0] = a[0].boolean() && a[1].boolean(); }
KERNEL(or_bool) { r[0] = a[0].boolean() || a[1].boolean(); }
KERNEL(xor_bool) { r[0] = a[0].boolean() != a[1].boolean(); }
KERNEL(not_bool) { r[0] = !a[0].boolean(); }
KERNEL(divmod) {
  const Number x(a[0]), y(a[1]);
  if (x.kind == Number::Int && y.kind == Number::Int) {
    r[0] = floor_div(x.i, y.i);
    r[1] = floor_mod(x.i, y.i);
  } else {
    FC_CHECK(y.real() != 0, "ZeroDivisionError: float divmod()");
    const double rest = floor_mod(x.real(), y.real());
    r[0] = (x.real() - rest) / y.real();
    r[1] = rest;
  }
}
KERNEL(polar) { r[0] = complex_value(std::polar(Number(a[0]).real(), Number(a[1]).real())); }
KERNEL(make_complex) { r[0] = complex_value({Number(a[0]).real(), Number(a[1]).real()}); }
KERNEL(to_complex) { r[0] = complex_value(Number(a[0]).complex()); }

template <class OnReal, class OnComplex>
fc::Value unary(const Arg* a, OnReal on_real, OnComplex on_complex) {
  const Number x(a[0]);
  if (x.kind != Number::Cplx) return fc::Value(on_real(x.real()));
  if constexpr (std::is_same_v<OnComplex, std::nullptr_t>) raise<TypeError>("complex numbers have no such function");
  else return on_complex(x.c);
}
#define UNARY(name, on_real, on_complex)                  \
  KERNEL(name) {                                          \
    r[0] = unary(                                         \
        a, [](double x) { return on_real; }, on_complex); \
  }
#define ALSO_COMPLEX(expression) [](Complex x) { return complex_value(expression); }
#define SAME(name) UNARY(c_##name, std::name(x), ALSO_COMPLEX(std::name(x)))
SAME(acos)
SAME(acosh)
SAME(asin)
SAME(asinh)
SAME(atan)
SAME(atanh)
SAME(cos)
SAME(cosh)
SAME(exp)
SAME(log)
SAME(log10)
SAME(sin)
SAME(sinh)
SAME(sqrt)
SAME(tan)
SAME(tanh)
#undef SAME
UNARY(c_erf, std::erf(x), nullptr)
UNARY(c_erfc, std::erfc(x), nullptr)
UNARY(c_expm1, std::expm1(x), nullptr)
UNARY(c_log1p, std::log1p(x), nullptr)
UNARY(c_lgamma, std::lgamma(x), nullptr)
UNARY(c_gamma, std::tgamma(x), nullptr)
UNARY(c_fabs, std::fabs(x), nullptr)
UNARY(degrees, x*(180 / M_PI), nullptr)
UNARY(radians, x*(M_PI / 180), nullptr)
UNARY(angle, std::isnan(x) ? x : x < 0 ? M_PI : 0, [](Complex x) { return fc::Value(std::arg(x)); })
UNARY(is_nan, std::isnan(x), [](Complex x) { return fc::Value(std::isnan(x.real()) || std::isnan(x.imag())); })
UNARY(is_inf, std::isinf(x), [](Complex x) { return fc::Value(std::isinf(x.real()) || std::isinf(x.imag())); })
UNARY(is_finite, std::isfinite(x),
      [](Complex x) { return fc::Value(std::isfinite(x.real()) && std::isfinite(x.imag())); })
#undef UNARY

int64_t whole(double v) {  // as Python's int(), of what fits
  FC_CHECK_AS(ValueError, !std::isnan(v), "cannot convert float NaN to integer");
  FC_CHECK(v >= -0x1p63 && v < 0x1p63, "cannot convert ", v, " to an int of 64 bits");
  return static_cast<int64_t>(v);
}
KERNEL(c_floor) { r[0] = Number(a[0]).kind == Number::Int ? Number(a[0]).i : whole(std::floor(Number(a[0]).d)); }
KERNEL(c_ceil) { r[0] = Number(a[0]).kind == Number::Int ? Number(a[0]).i : whole(std::ceil(Number(a[0]).d)); }
KERNEL(c_round) { r[0] = std::nearbyint(Number(a[0]).real()); }
KERNEL(neg) {
  const Number x(a[0]);
  r[0] = x.kind == Number::Int     ? fc::Value(wrap(-bits(x.i)))
         : x.kind == Number::Float ? fc::Value(-x.d)
                                   : complex_value(-x.c);
}
KERNEL(abs) {
  const Number x(a[0]);
  if (x.kind == Number::Int) r[0] = x.i < 0 ? wrap(-bits(x.i)) : x.i;
  else r[0] = x.kind == Number::Float ? std::fabs(x.d) : std::abs(x.c);
}
KERNEL(factorial) {
  const int64_t n = a[0].integer();
  FC_CHECK_AS(ValueError, n >= 0, "factorial() not defined for negative values");
  uint64_t out = 1;
  for (int64_t k = 2; k <= n && out; ++k) out *= bits(k);
  r[0] = wrap(out);
}
KERNEL(frexp) {
  int exponent = 0;
  r[0] = std::frexp(a[0].real(), &exponent);
  r[1] = exponent;
}
KERNEL(modf) {
  double integer = 0;
  r[0] = std::modf(a[0].real(), &integer);
  r[1] = integer;
}
KERNEL(ldexp) {
  r[0] = std::ldexp(a[0].real(), static_cast<int>(std::clamp<int64_t>(a[1].integer(), -100000, 100000)));
}

KERNEL(to_bool) { r[0] = Number(a[0]).kind == Number::Int ? Number(a[0]).i != 0 : Number(a[0]).d != 0; }
KERNEL(to_int) { r[0] = Number(a[0]).kind == Number::Int ? Number(a[0]).i : whole(Number(a[0]).d); }
KERNEL(to_float) { r[0] = Number(a[0]).real(); }

KERNEL(round_to_zero) {
  const int64_t x = a[0].integer(), y = a[1].integer();
  FC_CHECK(y != 0, "division by 0");
  r[0] = y == -1 ? wrap(-bits(x)) : x / y;
}
KERNEL(range_length) {
  const int64_t low = a[0].integer(), high = a[1].integer(), step = a[2].integer();
  FC_CHECK(step != 0, "range() arg 3 must not be zero");
  const uint64_t distance = step > 0 ? bits(high) - bits(low) : bits(low) - bits(high);
  const uint64_t by = step > 0 ? bits(step) : -bits(step);
  r[0] = (step > 0 ? low < high : low > high) ? wrap(1 + (distance - 1) / by) : 0;
}
KERNEL(derive_index) { r[0] = wrap(bits(a[1].integer()) + bits(a[0].integer()) * bits(a[2].integer())); }

// "aten::add" with the overloads int, float, float_int, … and last, because it takes them all, "," (of Scalar), and the
// names and result of its operands.
struct Family {
  const char *name, *overloads;
  KernelFn run;
  const char *first = "a", *second = "b";
  const char* result = nullptr;  // null: int of ints, else float or complex; "Scalar" of the Scalar form
  const char* scalar_result = "Scalar";
};
constexpr const char* kOrdered = "int float float_int int_float ,";
constexpr const char* kWithComplex =
    "int float complex float_int int_float complex_int int_complex complex_float float_complex ,";
constexpr Family families[] = {
    {"aten::add", kWithComplex, add},
    {"aten::sub", kWithComplex, sub},
    {"aten::mul", kWithComplex, mul},
    {"aten::div", "int float ,", div, "a", "b", "float", "float"},
    {"aten::div", "complex", div},
    {"aten::floordiv", kOrdered, floordiv},
    {"aten::remainder", kOrdered, remainder},
    {"aten::fmod", kOrdered, c_fmod, "a", "b", "float", "float"},
    {"aten::mathremainder", kOrdered, c_remainder, "a", "b", "float", "float"},
    {"aten::copysign", kOrdered, c_copysign, "a", "b", "float", "float"},
    {"aten::atan2", "int float float_int int_float Scalar_Scalar", c_atan2, "a", "b", "float", "float"},
    {"aten::pow", "int float float_int int_float Scalar_Scalar", pow, "a", "b", "float", "float"},
    {"aten::pow", "complex complex_float float_complex", pow},
    {"aten::log", "int_int float_float float_int int_float Scalar_Scalar", log_base, "a", "b", "float", "float"},
    {"aten::log", "complex_complex complex_float complex_int float_complex int_complex", log_base},
    {"aten::polar", "int float float_int int_float", polar, "a", "b", "complex"},
    {"aten::polar", "Scalar_Scalar", polar},
    {"aten::gcd", "int", gcd},
    {"aten::lt", kOrdered, lt, "a", "b", "bool", "bool"},
    {"aten::le", kOrdered, le, "a", "b", "bool", "bool"},
    {"aten::gt", kOrdered, gt, "a", "b", "bool", "bool"},
    {"aten::ge", kOrdered, ge, "a", "b", "bool", "bool"},
    {"aten::eq", "int float complex float_int int_float complex_float float_complex bool ,", eq, "a", "b", "bool",
     "bool"},
    {"aten::ne", "int float complex float_int int_float complex_float float_complex bool ,", ne, "a", "b", "bool",
     "bool"},
    {"prim::max", kOrdered, max},
    {"prim::min", kOrdered, min},
    {"aten::__and__", "int", bit_and},
    {"aten::__or__", "int", bit_or},
    {"aten::__xor__", "int", bit_xor},
    {"aten::__lshift__", "int", shift_left},
    {"aten::__rshift__", "int", shift_right},
    {"aten::__and__", "bool", and_bool, "a", "b", "bool"},
    {"aten::__or__", "bool", or_bool, "a", "b", "bool"},
    {"aten::__xor__", "bool", xor_bool, "a", "b", "bool"},
    {"aten::__round_to_zero_floordiv", "int", round_to_zero},
    {"aten::Complex", "int_int float_float float_int int_float bool_bool bool_float bool_int float_bool int_bool",
     make_complex, "x", "y", "complex"},
};

struct UnaryFamily {
  const char *name, *overloads;
  KernelFn run;
  const char* result = "float";  // of int and float
};
constexpr UnaryFamily unary_families[] = {
    {"acos", "int float complex Scalar", c_acos},
    {"acosh", "int float complex Scalar", c_acosh},
    {"asin", "int float complex Scalar", c_asin},
    {"asinh", "int float complex Scalar", c_asinh},
    {"atan", "int float complex Scalar", c_atan},
    {"atanh", "int float complex Scalar", c_atanh},
    {"cos", "int float complex Scalar", c_cos},
    {"cosh", "int float complex Scalar", c_cosh},
    {"exp", "int float complex Scalar", c_exp},
    {"log", "int float complex Scalar", c_log},
    {"log10", "int float complex Scalar", c_log10},
    {"sin", "int float complex Scalar", c_sin},
    {"sinh", "int float complex Scalar", c_sinh},
    {"sqrt", "int float complex Scalar", c_sqrt},
    {"tan", "int float complex Scalar", c_tan},
    {"tanh", "int float complex Scalar", c_tanh},
    {"erf", "int float Scalar", c_erf},
    {"erfc", "int float Scalar", c_erfc},
    {"expm1", "int float Scalar", c_expm1},
    {"log1p", "int float Scalar", c_log1p},
    {"lgamma", "int float Scalar", c_lgamma},
    {"gamma", "int float Scalar", c_gamma},
    {"fabs", "int float Scalar", c_fabs},
    {"degrees", "int float Scalar", degrees},
    {"radians", "int float Scalar", radians},
    {"round", "int float Scalar", c_round},
    {"ceil", "int float Scalar", c_ceil, "int"},
    {"floor", "int float Scalar", c_floor, "int"},
};

constexpr ScriptRow rows[] = {
    {"aten::angle.int(int a) -> float", angle},
    {"aten::angle.float(float a) -> float", angle},
    {"aten::angle.complex(complex a) -> float", angle},
    {"aten::angle.Scalar(Scalar a) -> Scalar", angle},
    {"aten::neg.int(int a) -> int", neg},
    {"aten::neg.float(float a) -> float", neg},
    {"aten::neg.complex(complex a) -> complex", neg},
    {"aten::neg.Scalar(Scalar a) -> Scalar", neg},
    {"prim::abs.int(int a) -> int", abs},
    {"prim::abs.float(float a) -> float", abs},
    {"prim::abs.complex(complex a) -> float", abs},
    {"prim::abs.Scalar(Scalar a) -> Scalar", abs},
    {"aten::isnan.float(float a) -> bool", is_nan},
    {"aten::isnan.complex(complex a) -> bool", is_nan},
    {"aten::isinf.float(float a) -> bool", is_inf},
    {"aten::isinf.complex(complex a) -> bool", is_inf},
    {"aten::isfinite.float(float a) -> bool", is_finite},
    {"aten::isfinite.complex(complex a) -> bool", is_finite},
    {"aten::pow.int_to_int(int a, int b) -> int", pow_int},
    {"aten::divmod.int(int x, int y) -> (int, int)", divmod},
    {"aten::divmod.float(float x, float y) -> (float, float)", divmod},
    {"aten::divmod.int_float(int x, float y) -> (float, float)", divmod},
    {"aten::divmod.float_int(float x, int y) -> (float, float)", divmod},
    {"aten::factorial.int(int a) -> int", factorial},
    {"aten::frexp(float a) -> (float, int)", frexp},
    {"aten::modf(float a) -> (float, float)", modf},
    {"aten::ldexp(float x, int i) -> float", ldexp},
    {"aten::Bool.int(int a) -> bool", to_bool},
    {"aten::Bool.float(float a) -> bool", to_bool},
    {"aten::Int.float(float a) -> int", to_int},
    {"aten::Int.bool(bool a) -> int", to_int},
    {"aten::Int.Scalar(Scalar a) -> int", to_int},
    {"aten::Float.int(int a) -> float", to_float},
    {"aten::Float.bool(bool a) -> float", to_float},
    {"aten::Float.Scalar(Scalar a) -> float", to_float},
    {"aten::Complex.Scalar(Scalar a) -> complex", to_complex},
    {"aten::__not__(bool self) -> bool", not_bool},
    {"aten::__range_length(int lo, int hi, int step) -> int", range_length},
    {"aten::__derive_index(int index, int start, int step) -> int", derive_index},
};

// "float_int": its operands' types; "int": both.
std::pair<std::string, std::string> operands(const std::string& overload) {
  if (overload.empty() || overload == "Scalar_Scalar") return {"Scalar", "Scalar"};
  const size_t bar = overload.find('_');
  return bar == overload.npos ? std::pair(overload, overload)
                              : std::pair(overload.substr(0, bar), overload.substr(bar + 1));
}

std::string result_of(const Family& f, const std::string& first, const std::string& second) {
  if (first == "Scalar") return f.scalar_result;
  if (f.result) return f.result;
  for (const char* wide : {"complex", "float"})
    if (first == wide || second == wide) return wide;
  return "int";
}

template <class F>
void each_word(std::string_view words, F&& f) {
  while (!words.empty()) {
    const size_t end = std::min(words.find(' '), words.size());
    f(words.substr(0, end) == "," ? std::string() : std::string(words.substr(0, end)));
    words.remove_prefix(std::min(end + 1, words.size()));
  }
}

void define_one(const std::string& schema, KernelFn run) { define_hidden(schema).set_all_devices({run, nullptr}); }

}  // namespace

void define_number_operators() {
  for (const Family& f : families)
    each_word(f.overloads, [&](const std::string& overload) {
      const auto [first, second] = operands(overload);
      define_one(str(f.name, overload.empty() ? "" : ".", overload, '(', first, ' ', f.first, ", ", second, ' ',
                     f.second, ") -> ", result_of(f, first, second)),
                 f.run);
    });
  for (const UnaryFamily& f : unary_families)
    each_word(f.overloads, [&](const std::string& overload) {
      const bool wide = overload == "complex" || overload == "Scalar";
      define_one(
          str("aten::", f.name, '.', overload, '(', overload, " a) -> ", wide ? overload : std::string(f.result)),
          f.run);
    });
  define_rows(rows);
}

}  // namespace fc::jit
