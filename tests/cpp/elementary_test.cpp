// SPDX-License-Identifier: Apache-2.0
// Our elementary functions against the C library's in long double: units in the last place over bit patterns of every
// exponent, and the special values. As formulas for one number, and as the kernels of the instruction set in use
// (FACULA_CPU_CAPABILITY chooses another).
#include "kernels/elementary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "backends/cpu/isa.h"
#include "core/instruction_set.h"
#include "facula/opcodes.h"

namespace fc::math {
namespace {

template <class T>
struct Row {
  const char* name;
  int opcode;
  T (*ours)(T);
  long double (*exact)(long double);
  T (*library)(T);
  double bound;  // units in the last place
  T limit;       // of |x|
};

// clang-format off: it takes the braces for a block
#define FC_LIMITED(name, bound, limit)                                                             \
  Row<T> {                                                                                         \
#name, FC_MAP_##name, own::name < T>,                                                          \
        [](long double x) { return std::name(x); }, [](T x) { return std::name(x); }, bound, limit \
  }
// clang-format on
#define FC_ROW(name, bound) FC_LIMITED(name, bound, std::numeric_limits<T>::infinity())
template <class T>
const Row<T> rows[] = {
    FC_ROW(exp, 1.0),
    FC_ROW(exp2, 1.0),
    FC_ROW(expm1, 1.5),
    FC_ROW(log, 1.0),
    FC_ROW(log2, 1.0),
    FC_ROW(log10, 1.0),
    FC_ROW(log1p, 1.5),
    FC_ROW(tanh, 1.5),
    FC_ROW(sinh, 1.5),
    FC_ROW(cosh, 1.5),
    FC_ROW(asinh, 2.0),
    FC_ROW(acosh, 2.0),
    FC_ROW(atanh, 2.0),
    FC_ROW(atan, 2.0),
    FC_ROW(asin, 2.0),
    FC_ROW(acos, 1.5),
    FC_ROW(erf, 1.5),
    FC_ROW(erfc, 4.0),
    FC_LIMITED(sin, 1.0, own::trig_limit<T>),
    FC_LIMITED(cos, 1.0, own::trig_limit<T>),
    FC_LIMITED(tan, 1.5, own::trig_limit<T>),
};
#undef FC_ROW
#undef FC_LIMITED

// Distance in units of the last place of the format near `want`.
template <class T>
double ulps(T got, long double want) {
  const T rounded = static_cast<T>(want);
  if (got == rounded || (got != got && rounded != rounded)) return 0;
  if (!std::isfinite(got) || !std::isfinite(rounded)) return 1e9;
  int exponent;
  std::frexp(want, &exponent);
  exponent = std::max(exponent, std::numeric_limits<T>::min_exponent);
  return static_cast<double>(std::fabs(got - want) / std::ldexp(1.0L, exponent - std::numeric_limits<T>::digits));
}

uint64_t next_random(uint64_t& state) {
  state += 0x9E3779B97F4A7C15;
  uint64_t z = (state ^ state >> 30) * 0xBF58476D1CE4E5B9;
  z = (z ^ z >> 27) * 0x94D049BB133111EB;
  return z ^ z >> 31;
}

template <class T>
std::vector<T> arguments(T limit) {
  using Bits = typename own::Format<T>::Bits;
  std::vector<T> result;
  uint64_t state = 1;
  for (int i = 0; i < 60000; ++i) {
    uint64_t word = next_random(state);
    T x = std::bit_cast<T>(static_cast<Bits>(word));
    if (i % 3 == 1)
      x = static_cast<T>(static_cast<double>(static_cast<int64_t>(word)) * 0x1p-63 * 12);  // where most arguments are
    if (i % 3 == 2) x = static_cast<T>(1 + static_cast<double>(static_cast<int64_t>(word)) * 0x1p-63 / 4);  // around 1
    if (std::fabs(x) <= limit) result.push_back(x);
  }
  return result;
}

template <class T>
std::vector<T> by_kernel(const Row<T>& row, const std::vector<T>& x) {
  std::vector<T> result(x.size());
  char* const at[] = {reinterpret_cast<char*>(result.data()), reinterpret_cast<char*>(const_cast<T*>(x.data()))};
  const DType type = sizeof(T) == 4 ? DType::Float32 : DType::Float64;
  cpu::kernels().map[row.opcode][static_cast<int>(type)].fn(at, static_cast<int64_t>(x.size()), nullptr);
  return result;
}

template <class T>
void expect_within_bound(const Row<T>& row, const std::vector<T>& x, const std::vector<T>& y) {
  double worst = 0;
  T where = 0;
  for (size_t i = 0; i < x.size(); ++i)
    if (const double u = ulps(y[i], row.exact(x[i])); u > worst) {
      worst = u;
      where = x[i];
    }
  EXPECT_LE(worst, row.bound) << row.name << " of " << sizeof(T) * 8 << " bits at " << where;
  testing::Test::RecordProperty(std::string(row.name) + (sizeof(T) == 4 ? "_float" : "_double"), std::to_string(worst));
}

template <class T>
void measure() {
  for (const Row<T>& row : rows<T>) {
    const std::vector<T> x = arguments(row.limit);
    std::vector<T> y;
    for (T value : x) y.push_back(row.ours(value));
    expect_within_bound(row, x, y);
  }
}
TEST(Elementary, FloatsAreWithinTheirBounds) { measure<float>(); }
TEST(Elementary, DoublesAreWithinTheirBounds) { measure<double>(); }

template <class T>
void measure_kernels() {
  if (cpu_level() == CpuLevel::Baseline)
    GTEST_SKIP() << "without fused multiply-add the C library's functions are used";
  for (const Row<T>& row : rows<T>) {
    const std::vector<T> x = arguments(row.limit);
    expect_within_bound(row, x, by_kernel(row, x));
  }
}
TEST(Elementary, KernelsOfFloatsAreWithinTheirBounds) { measure_kernels<float>(); }
TEST(Elementary, KernelsOfDoublesAreWithinTheirBounds) { measure_kernels<double>(); }

// The last, incomplete vector of a row gives the bits that a whole one gives.
template <class T>
void short_rows() {
  for (const Row<T>& row : rows<T>) {
    std::vector<T> x = arguments(row.limit);
    x.resize(64);
    const std::vector<T> all = by_kernel(row, x);
    for (size_t n = 1; n < x.size(); ++n) {
      const std::vector<T> some = by_kernel(row, std::vector<T>(x.begin(), x.begin() + static_cast<ptrdiff_t>(n)));
      EXPECT_EQ(std::memcmp(some.data(), all.data(), n * sizeof(T)), 0) << row.name << " of " << n;
    }
  }
}
TEST(Elementary, ShortRowsOfFloats) { short_rows<float>(); }
TEST(Elementary, ShortRowsOfDoubles) { short_rows<double>(); }

template <class T>
void special() {
  using Limits = std::numeric_limits<T>;
  const T values[] = {T(0),
                      -T(0),
                      Limits::infinity(),
                      -Limits::infinity(),
                      Limits::quiet_NaN(),
                      Limits::denorm_min(),
                      -Limits::denorm_min(),
                      Limits::min(),
                      Limits::max(),
                      Limits::lowest(),
                      T(1),
                      T(-1),
                      T(2),
                      T(-2)};
  const std::vector<T> all(std::begin(values), std::end(values));
  for (const Row<T>& row : rows<T>) {
    const std::vector<T> kernel = by_kernel(row, all);
    for (size_t i = 0; i < all.size(); ++i) {
      const T x = all[i], theirs = row.library(x);
      for (T ours : {kernel[i], row.ours(x)}) {
        if (!(std::fabs(x) <= row.limit) && std::isfinite(x)) continue;
        EXPECT_LE(ulps(ours, row.exact(x)), row.bound) << row.name << '(' << x << ')';
        if (ours == 0) { EXPECT_EQ(std::signbit(ours), std::signbit(theirs)) << row.name << '(' << x << ')'; }
      }
    }
  }
}
TEST(Elementary, SpecialValuesOfFloats) { special<float>(); }
TEST(Elementary, SpecialValuesOfDoubles) { special<double>(); }

template <class T>
void two_arguments() {
  using Limits = std::numeric_limits<T>;
  const T values[] = {T(0),
                      -T(0),
                      Limits::infinity(),
                      -Limits::infinity(),
                      Limits::quiet_NaN(),
                      T(1),
                      T(-1),
                      T(0.5),
                      T(-0.5),
                      T(2),
                      T(-2),
                      T(3),
                      T(-3),
                      T(1e-30),
                      T(7.25),
                      T(1e30),
                      Limits::max(),
                      Limits::min()};
  for (T a : values)
    for (T b : values) {
      EXPECT_LE(ulps(own::hypot(a, b), std::hypot(static_cast<long double>(a), static_cast<long double>(b))), 1.5)
          << "hypot(" << a << ", " << b << ')';
      EXPECT_LE(ulps(own::atan2(a, b), std::atan2(static_cast<long double>(a), static_cast<long double>(b))), 2.5)
          << "atan2(" << a << ", " << b << ')';
      if constexpr (sizeof(T) == 4) {
        const float ours = own::pow(a, b), theirs = std::pow(a, b);
        EXPECT_LE(ulps(ours, std::pow(static_cast<long double>(a), static_cast<long double>(b))), 1.0)
            << "pow(" << a << ", " << b << ')';
        if (ours == 0) { EXPECT_EQ(std::signbit(ours), std::signbit(theirs)) << "pow(" << a << ", " << b << ')'; }
      }
    }
}
TEST(Elementary, FunctionsOfTwoFloats) { two_arguments<float>(); }
TEST(Elementary, FunctionsOfTwoDoubles) { two_arguments<double>(); }

}  // namespace
}  // namespace fc::math
