// SPDX-License-Identifier: Apache-2.0
// Section numbers are those of docs/random.md.
#include "backends/cpu/random.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "backends/cpu/isa.h"
#include "core/error.h"
#include "core/half.h"
#include "core/threads.h"
#include "facula/random.hpp"

namespace fc::cpu {
namespace {

constexpr int64_t kBlock = 32768;  // elements whose words are drawn together
constexpr int64_t kChunk = 512;    // elements in a buffer before they are converted

double unit53(const uint32_t* w) {
  uint64_t bits = (static_cast<uint64_t>(w[0]) << 32 | w[1]) & ((uint64_t{1} << 53) - 1);
  return static_cast<double>(bits) * 0x1p-53;
}
float unit24(uint32_t w) { return static_cast<float>(w & 0xffffff) * 0x1p-24f; }

// Turns words into n numbers of type `compute`; first: the index of the first one.
using Transform = void (*)(const RandomFill& r, const uint32_t* words, void* out, int64_t n, int64_t first);

struct Recipe {
  Transform transform;
  DType compute;
  int words;  // per element
};

template <double (*f)(double u, const RandomFill& r)>
void each_double(const RandomFill& r, const uint32_t* words, void* out, int64_t n, int64_t) {
  for (int64_t i = 0; i < n; ++i) static_cast<double*>(out)[i] = f(unit53(words + 2 * i), r);
}
double exponential(double u, const RandomFill& r) { return -1 / r.a * std::log1p(-u); }
double cauchy(double u, const RandomFill& r) { return r.a + r.b * std::tan(3.14159265358979323846 * (u - 0.5)); }
double geometric(double u, const RandomFill& r) { return std::ceil(std::log(u) / std::log1p(-r.a)); }

void integer(const RandomFill& r, const uint32_t* words, void* out, int64_t n, int64_t) {
  const auto range = static_cast<uint32_t>(r.range);
  for (int64_t i = 0; i < n; ++i) static_cast<int64_t*>(out)[i] = r.low + words[i] % range;
}
void integer64(const RandomFill& r, const uint32_t* words, void* out, int64_t n, int64_t) {
  for (int64_t i = 0; i < n; ++i) {
    uint64_t v = static_cast<uint64_t>(words[2 * i]) << 32 | words[2 * i + 1];
    if (r.range) v %= r.range;
    static_cast<int64_t*>(out)[i] = static_cast<int64_t>(static_cast<uint64_t>(r.low) + v);
  }
}

void bernoulli(const RandomFill& r, const uint32_t* words, void* out, int64_t n, int64_t) {
  for (int64_t i = 0; i < n; ++i) static_cast<bool*>(out)[i] = unit53(words + 2 * i) < r.a;
}
void bernoulli_float(const RandomFill& r, const uint32_t* words, void* out, int64_t n, int64_t first) {
  const float* p = r.p->data_as<float>() + first;
  for (int64_t i = 0; i < n; ++i) static_cast<bool*>(out)[i] = unit24(words[i]) < p[i];
}
void bernoulli_double(const RandomFill& r, const uint32_t* words, void* out, int64_t n, int64_t first) {
  const double* p = r.p->data_as<double>() + first;
  for (int64_t i = 0; i < n; ++i) static_cast<bool*>(out)[i] = unit53(words + 2 * i) < p[i];
}

void uniform_float(const RandomFill& r, const uint32_t* words, void* out, int64_t n, int64_t) {
  kernels().random.uniform_float(words, static_cast<float*>(out), n, static_cast<float>(r.a), static_cast<float>(r.b));
}
void uniform_double(const RandomFill& r, const uint32_t* words, void* out, int64_t n, int64_t) {
  kernels().random.uniform_double(words, static_cast<double*>(out), n, r.a, r.b);
}
void normal_float(const RandomFill& r, const uint32_t* words, void* out, int64_t n, int64_t) {
  kernels().random.normal_float(words, static_cast<float*>(out), n, static_cast<float>(r.a), static_cast<float>(r.b));
}
void normal_double(const RandomFill& r, const uint32_t* words, void* out, int64_t n, int64_t) {
  kernels().random.normal_double(words, static_cast<double*>(out), n, r.a, r.b);
}

Recipe recipe(const RandomFill& r, DType target) {
  const bool wide = target == DType::Float64;
  switch (r.kind) {
    case RandomFill::Uniform:
      return wide ? Recipe{uniform_double, DType::Float64, 2} : Recipe{uniform_float, DType::Float32, 1};
    case RandomFill::Normal:
      return wide ? Recipe{normal_double, DType::Float64, 2} : Recipe{normal_float, DType::Float32, 1};
    case RandomFill::Exponential: return {each_double<exponential>, DType::Float64, 2};
    case RandomFill::Cauchy: return {each_double<cauchy>, DType::Float64, 2};
    case RandomFill::Geometric: return {each_double<geometric>, DType::Float64, 2};
    case RandomFill::Integer: return {integer, DType::Int64, 1};
    case RandomFill::Integer64: return {integer64, DType::Int64, 2};
    default: break;
  }
  if (!r.p) return {bernoulli, DType::Bool, 2};
  return r.p->dtype() == DType::Float64 ? Recipe{bernoulli_double, DType::Bool, 2}
                                        : Recipe{bernoulli_float, DType::Bool, 1};
}

// Section 4: the upper bound itself, which rounding may reach, becomes the lower one.
template <class T, class Load>
void exclude_upper(T* x, int64_t n, T low, T high, Load load) {
  for (int64_t i = 0; i < n; ++i)
    if (load(x[i]) == load(high)) x[i] = low;
}
void exclude_upper(const RandomFill& r, DType t, char* x, int64_t n) {
  auto same = [](auto v) { return v; };
  const auto low = static_cast<float>(r.a), high = static_cast<float>(r.b);
  auto* bits = reinterpret_cast<uint16_t*>(x);
  switch (t) {
    case DType::Float64: return exclude_upper(reinterpret_cast<double*>(x), n, r.a, r.b, same);
    case DType::Float32: return exclude_upper(reinterpret_cast<float*>(x), n, low, high, same);
    case DType::Float16: return exclude_upper(bits, n, float_to_half(low), float_to_half(high), half_to_float);
    default: return exclude_upper(bits, n, float_to_bfloat(low), float_to_bfloat(high), bfloat_to_float);
  }
}

// n numbers from words into memory of the target's type.
void write(const RandomFill& r, const Recipe& how, DType type, const uint32_t* words, char* out, int64_t n,
           int64_t first) {
  const int64_t item = static_cast<int64_t>(item_size(type)), computed = static_cast<int64_t>(item_size(how.compute));
  alignas(64) char buffer[kChunk * 8];
  const CastFn cast = cast_fn(how.compute, type);
  for (int64_t i = 0; i < n; i += kChunk) {
    const int64_t m = std::min(kChunk, n - i);
    char* at = out + i * item;
    how.transform(r, words + i * how.words, type == how.compute ? at : buffer, m, first + i);
    if (type != how.compute) cast(at, item, buffer, computed, m);
    if (r.kind == RandomFill::Uniform) exclude_upper(r, type, at, m);
  }
}

}  // namespace

// Section 6.1: pairs of normal numbers; the second one of a pair may wait in the generator for the next call.
double next_normal(CpuGenerator& g) {
  if (g.has_next_normal) {
    g.has_next_normal = false;
    return std::exchange(g.next_normal, 0);
  }
  uint32_t w[4];
  g.random(w, 4);
  const double radius = std::sqrt(-2 * std::log1p(-unit53(w + 2))), angle = 6.28318530717958647692 * unit53(w);
  g.has_next_normal = true;
  g.next_normal = radius * std::sin(angle);
  return radius * std::cos(angle);
}

namespace {

void normal_pairs(const Tensor& target, const RandomFill& r, CpuGenerator& g) {
  const int64_t n = target.numel(), item = static_cast<int64_t>(item_size(target.dtype()));
  const CastFn cast = cast_fn(DType::Float64, target.dtype());
  for (int64_t i = 0; i < n; ++i) {
    double z = std::fma(next_normal(g), r.b, r.a);
    if (r.kind == RandomFill::LogNormal) z = std::exp(z);
    cast(target.data_as<char>() + i * item, item, reinterpret_cast<const char*>(&z), 8, 1);
  }
}

}  // namespace

void random_fill(const Tensor& target, const RandomFill& r, CpuGenerator& g) {
  std::lock_guard lock(g.mutex);
  if (r.kind == RandomFill::NormalPairs || r.kind == RandomFill::LogNormal) {
    normal_pairs(target, r, g);
    return;
  }
  const Recipe how = recipe(r, target.dtype());
  const int64_t n = target.numel(), item = static_cast<int64_t>(item_size(target.dtype()));
  char* out = target.data_as<char>();
  // Section 6.2: normal numbers come in blocks of 16; what is left over is drawn again for the last 16 positions, after
  // words that only the wide types waste.
  const int64_t whole = r.kind == RandomFill::Normal ? n - n % 16 : n;
  std::unique_ptr<uint32_t[]> words(
      new uint32_t[static_cast<size_t>(std::min(std::max<int64_t>(n, 16), kBlock) * how.words)]);
  for (int64_t i = 0; i < whole; i += kBlock) {
    const int64_t m = std::min(kBlock, whole - i);
    g.random(words.get(), m * how.words);
    parallel_for(0, (m + kChunk - 1) / kChunk, 8, [&](int64_t from, int64_t to) {
      from *= kChunk;
      to = std::min(to * kChunk, m);
      write(r, how, target.dtype(), words.get() + from * how.words, out + (i + from) * item, to - from, i + from);
    });
  }
  if (whole == n) return;
  if (!is_reduced(target.dtype())) g.random(words.get(), (n - whole) * how.words);
  g.random(words.get(), 16 * how.words);
  write(r, how, target.dtype(), words.get(), out + (n - 16) * item, 16, n - 16);
}

void random(void*, Device, const fc_random& c) {
  namespace fb = facula::backend;
  const DType type = static_cast<DType>(c.out.dtype);
  const DType compute = c.opcode == FC_RANDOM_INTEGER ? DType::Int64 : type == DType::Float64 ? type : DType::Float32;
  const CastFn cast = cast_fn(compute, type);
  int64_t n = 1;
  for (int d = 0; d < c.ndim; ++d) n *= c.shape[d];
  auto at = [&](const fc_operand& o, int64_t i) {
    char* p = static_cast<char*>(o.data);
    for (int d = c.ndim; d-- > 0; i /= c.shape[d]) p += i % c.shape[d] * o.strides[d];
    return p;
  };
  auto draw = [&](int64_t i, auto one) {
    using T = decltype(one);
    T p = static_cast<T>(c.a);
    if (c.p.strides)
      p = c.p.dtype == FC_FLOAT64 ? static_cast<T>(*reinterpret_cast<double*>(at(c.p, i)))
                                  : *reinterpret_cast<float*>(at(c.p, i));
    one = fb::draw<T>(c, static_cast<uint64_t>(i), p);
    cast(at(c.out, i), 0, reinterpret_cast<const char*>(&one), 0, 1);
  };
  parallel_for(0, n, 4096, [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) {
      if (compute == DType::Int64) {
        const int64_t drawn = fb::draw_integer(c, static_cast<uint64_t>(i));
        cast(at(c.out, i), 0, reinterpret_cast<const char*>(&drawn), 0, 1);
      } else if (compute == DType::Float64) draw(i, 0.0);
      else draw(i, 0.0f);
    }
  });
}

}  // namespace fc::cpu
