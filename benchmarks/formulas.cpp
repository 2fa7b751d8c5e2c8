// SPDX-License-Identifier: Apache-2.0
// Every pointwise formula of the CPU's kernel table, over every element type it has a kernel for.
//   facula_formulas time [NAME]    nanoseconds per element, slowest first: what is not vector code stands at the top
//   facula_formulas bits [NAME]    a hash of each kernel's results on special and random operands, to compare builds
// FACULA_CPU_CAPABILITY=baseline, avx2 or avx512 chooses the table.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "backends/cpu/isa.h"
#include "core/half.h"
#include "dispatch/family_table.h"
#include "facula/opcodes/base.h"

namespace {

using namespace fc;

struct Random {  // an LCG is enough, and the same everywhere
  uint64_t state = 1;
  uint64_t bits() {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state ^ state >> 31;
  }
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
};

void put(DType t, double re, double im, char* at) {
  auto write = [&](auto x) { std::memcpy(at, &x, sizeof x); };
  // Beyond an integer's range a conversion would be undefined: the nearest end.
  auto whole = [&]<class T>(T) {
    if (!(re > static_cast<double>(std::numeric_limits<T>::min()))) write(std::numeric_limits<T>::min());
    else
      write(re >= static_cast<double>(std::numeric_limits<T>::max()) ? std::numeric_limits<T>::max()
                                                                     : static_cast<T>(re));
  };
  switch (t) {
    case DType::Bool: return write(static_cast<uint8_t>(re > 0));
    case DType::UInt8: return whole(uint8_t{});
    case DType::Int8: return whole(int8_t{});
    case DType::Int16: return whole(int16_t{});
    case DType::Int32: return whole(int32_t{});
    case DType::Int64: return whole(int64_t{});
    case DType::UInt16: return whole(uint16_t{});
    case DType::UInt32: return whole(uint32_t{});
    case DType::UInt64: return whole(uint64_t{});
    case DType::Float16: return write(float_to_half(static_cast<float>(re)));
    case DType::BFloat16: return write(float_to_bfloat(static_cast<float>(re)));
    case DType::Float32: return write(static_cast<float>(re));
    case DType::Float64: return write(re);
    case DType::Complex64: return write(std::complex<float>(static_cast<float>(re), static_cast<float>(im)));
    case DType::Complex128: return write(std::complex<double>(re, im));
    default: return;
  }
}

struct Call {
  int opcode, n_in;
  DType type;
  const cpu::MapKernel* kernel;
  int64_t n;
  std::vector<std::vector<char>> data;  // the result first
  alignas(16) char params[FC_MAX_PARAMS * 16];

  Call(int code, DType t, int64_t elements) : opcode(code), n_in(map_opcode(code).inputs), type(t), n(elements) {
    kernel = &cpu::kernels().map[code][static_cast<int>(t)];
    for (int k = 0; k <= n_in; ++k) data.emplace_back(static_cast<size_t>(n) * 16);
  }
  // where's condition is bool, whatever is chosen.
  DType type_of(int k) const { return opcode == FC_MAP_where && k == 0 ? DType::Bool : type; }
  char* at(int k, int64_t i) {
    return data[static_cast<size_t>(k) + 1].data() + static_cast<size_t>(i) * item_size(type_of(k));
  }
  void set_params(const double* p) {
    const DType t = is_reduced(type) ? DType::Float32 : type;
    for (size_t i = 0; i < FC_MAX_PARAMS; ++i) put(t, p[i], p[i] / 2, params + i * item_size(t));
  }
  void run() {
    char* ptr[FC_MAX_INPUTS + 1];
    for (size_t k = 0; k < data.size(); ++k) ptr[k] = data[k].data();
    kernel->fn(ptr, n, params);
  }
};

template <class F>
void for_each_kernel(const std::string& only, F f) {
  for (int code = 0; code < map_opcode_count(); ++code)
    for (int t = 0; t < kDTypeSlots; ++t)
      if (cpu::kernels().map[code][t].fn && (only.empty() || only == map_opcode(code).name))
        f(code, static_cast<DType>(t));
}

// Ordinary operands, which no branch predicts; divisors and shifts are small and not 0.
double time_of(Call& c) {
  Random random;
  const bool whole = is_integral(c.type, false);
  for (int64_t i = 0; i < c.n; ++i)
    for (int k = 0; k < c.n_in; ++k) {
      if (whole)
        put(c.type, k == 0 ? std::floor(random.uniform() * 100) : 1 + std::floor(random.uniform() * 7), 0, c.at(k, i));
      else put(c.type_of(k), random.uniform() * 4 - 2, random.uniform() * 4 - 2, c.at(k, i));
    }
  const double p[] = {1, 2, 3, 4};
  c.set_params(p);
  double best = 1e9;
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::milliseconds(8);
  for (auto start = Clock::now(); start < end;) {
    c.run();
    const auto now = Clock::now();
    best = std::min(best, std::chrono::duration<double, std::nano>(now - start).count());
    start = now;
  }
  return best / static_cast<double>(c.n);
}

// All pairs of special values, then random ones of many sizes.
uint64_t bits_of(Call& c) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const double special[] = {
      0,     -0.0,   1,      -1,   0.5,   -0.5, 2,     -2,   3,     -3,    6,     -6,     7,
      8,     31,     63,     64,   -7,    20,   -20,   0.25, -0.75, 1.5,   2.5,   -2.5,   4.5,
      100,   -100,   127,    -128, 255,   1e5,  -1e5,  3e9,  1e10,  -1e10, 1e30,  -1e30,  1e-30,
      1e-40, -1e-40, 1e-310, 3e38, 1e300, 1e19, -1e19, inf,  -inf,  nan,   0.999, -0.999, 9007199254740993.0};
  constexpr int64_t s = std::size(special);
  Random random;
  auto draw = [&] { return (random.uniform() * 2 - 1) * std::exp2(std::floor(random.uniform() * 24) - 8); };
  for (int64_t i = 0; i < c.n; ++i)
    for (int k = 0; k < c.n_in; ++k) {
      const bool pairs = i < s * s;
      const int64_t j = k == 0 ? i % s : k == 1 ? i / s % s : (i * 7) % s;
      put(c.type_of(k), pairs ? special[j] : draw(), pairs ? special[(i * 5 + k) % s] : draw(), c.at(k, i));
    }
  const double sets[][FC_MAX_PARAMS] = {{1, 2, 3, 4}, {0.75, 1.25, 0.5, 0}, {-1, 1, 0.25, 0}, {0, 6, 1, 1}};
  uint64_t hash = 1469598103934665603u;
  for (const auto& p : sets) {
    c.set_params(p);
    c.run();
    const DType t = c.kernel->result;
    const size_t size = item_size(t);
    const size_t part = is_complex(t) ? size / 2 : size;
    for (size_t i = 0; i < static_cast<size_t>(c.n) * size; i += part) {
      uint64_t bits = 0;
      std::memcpy(&bits, c.data[0].data() + i, part);
      // One NaN is as good as another.
      if (is_floating(t) || is_complex(t)) {
        if (part == 4 && std::isnan(std::bit_cast<float>(static_cast<uint32_t>(bits)))) bits = 0x7fc00000;
        if (part == 8 && std::isnan(std::bit_cast<double>(bits))) bits = 0x7ff8000000000000;
      }
      hash = (hash ^ bits) * 1099511628211u;
    }
    if (map_opcode(c.opcode).params == 0) break;
  }
  return hash;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "time", only = argc > 2 ? argv[2] : "";
  if (mode == "bits") {
    for_each_kernel(only, [](int code, DType t) {
      Call c(code, t, 8192);
      std::printf("%-22s %-10s %016llx\n", map_opcode(code).name, info(t).name,
                  static_cast<unsigned long long>(bits_of(c)));
    });
    return 0;
  }
  struct Row {
    double time;
    std::string name;
    const char* type;
  };
  std::vector<Row> rows;
  for_each_kernel(only, [&](int code, DType t) {
    Call c(code, t, 4096);
    rows.push_back({time_of(c), map_opcode(code).name, info(t).name});
  });
  std::ranges::sort(rows, [](const Row& a, const Row& b) { return a.time > b.time; });
  for (const Row& r : rows) std::printf("%8.3f %-22s %s\n", r.time, r.name.c_str(), r.type);
}
