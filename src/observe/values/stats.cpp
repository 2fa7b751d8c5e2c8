// SPDX-License-Identifier: Apache-2.0
#include "observe/values/stats.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "core/half.h"
#include "core/instruction_set.h"

namespace fc::observe::values {
namespace {

// --- digests, and which bits are set in all elements or in any: eight words at a time, which compilers turn into
// vectors
constexpr int kLanes = 8;
constexpr uint64_t kSeed[kLanes] = {0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9, 0x94d049bb133111eb, 0xd6e8feb86659fd93,
                                    0xa0761d6478bd642f, 0xe7037ed1a0b428db, 0x8ebc6af09c88c6e3, 0x589965cc75374cc3};
constexpr uint64_t kPrime = 0x9e3779b1;

uint64_t mix(uint64_t a, uint64_t b) {
  const uint64_t x = (a ^ std::rotl(b, 32)) * 0x9fb21c651e98df25;
  return (x ^ (x >> 28)) * 0xd6e8feb86659fd93 ^ (x >> 35);
}

struct Bits {
  uint64_t any[kLanes] = {}, all[kLanes];
  Bits() { std::ranges::fill(all, ~uint64_t{0}); }
};

// Four words, which the compiler makes one register of, or two.
using Words = uint64_t __attribute__((vector_size(32), aligned(8), may_alias));

// Products of the low halves. Compilers make long chains of shifts of it, where the processor has an instruction.
template <bool avx2>
[[gnu::always_inline]] inline Words product(Words x, Words prime) {
#if defined(__x86_64__)
  if constexpr (avx2) {
    Words out;
    asm("vpmuludq %2, %1, %0" : "=x"(out) : "x"(x), "x"(prime));
    return out;
  }
#endif
  return (x & 0xffffffff) * prime;
}

template <bool avx2>
[[gnu::always_inline]] inline uint64_t digest_by(const char* p, size_t bytes, Bits& bits) {
  constexpr int kParts = kLanes / 4;
  const Words prime = {kPrime, kPrime, kPrime, kPrime};
  Words h[kParts], any[kParts], all[kParts];
  std::memcpy(h, kSeed, sizeof h);
  std::memcpy(any, bits.any, sizeof any);
  std::memcpy(all, bits.all, sizeof all);
  char rest[sizeof h];
  // The last part again and again: changes neither bit set, and how many bytes there are is mixed in.
  const size_t whole = bytes / sizeof h * sizeof h;
  if (const size_t n = bytes - whole) {
    // Sizes of elements divide eight words, so whole elements stay where they are in a word.
    size_t item = 1;
    while (item < 16 && n % (2 * item) == 0) item *= 2;
    for (size_t i = 0; i < sizeof rest; ++i) rest[i] = i < n ? p[whole + i] : rest[i - item];
  }
  for (size_t at = 0; at < bytes; at += sizeof h) {
    const char* from = at < whole ? p + at : rest;
    for (int i = 0; i < kParts; ++i) {
      Words w;
      std::memcpy(&w, from + sizeof(Words) * static_cast<size_t>(i), sizeof w);
      const Words x = h[i] ^ w;
      h[i] = product<avx2>(x, prime) + ((x << 29) | (x >> 35));
      any[i] |= w;
      all[i] &= w;
    }
  }
  std::memcpy(bits.any, any, sizeof any);
  std::memcpy(bits.all, all, sizeof all);
  uint64_t out = bytes;
  for (int i = 0; i < kLanes; ++i) out = mix(out, h[i / 4][i % 4]);
  return out;
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] uint64_t digest_avx2(const char* p, size_t bytes, Bits& bits) {
  return digest_by<true>(p, bytes, bits);
}
#endif
uint64_t digest(const char* p, size_t bytes, Bits& bits) {
#if defined(__x86_64__)
  if (cpu_level() != CpuLevel::Baseline) return digest_avx2(p, bytes, bits);
#endif
  return digest_by<false>(p, bytes, bits);
}

// Bits of any and of all elements of 1 to 16 bytes.
void fold(const uint64_t (&lanes)[kLanes], size_t item, bool any, uint64_t (&out)[2]) {
  out[0] = lanes[0], out[1] = lanes[1];
  auto join = [&](uint64_t a, uint64_t b) { return any ? a | b : a & b; };
  for (int i = 2; i < kLanes; ++i) out[i % 2] = join(out[i % 2], lanes[i]);
  if (item == 16) return;
  out[0] = join(out[0], out[1]);
  out[1] = 0;
  for (size_t half = 32; half >= 8 * item; half /= 2) out[0] = join(out[0], out[0] >> half);
  if (item < 8) out[0] &= (uint64_t{1} << (8 * item)) - 1;
}

template <class T>
T load(const char* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

template <class F>
void with_float_type(DType t, const F& f) {  // how to read it as a double
  switch (t) {
    case DType::Float16: f(size_t{2}, [](const char* p) { return double{half_to_float(load<uint16_t>(p))}; }); break;
    case DType::BFloat16: f(size_t{2}, [](const char* p) { return double{bfloat_to_float(load<uint16_t>(p))}; }); break;
    case DType::Float8_e5m2:
      f(size_t{1}, [](const char* p) { return double{f8e5m2_to_float(load<uint8_t>(p))}; });
      break;
    case DType::Float8_e4m3fn:
      f(size_t{1}, [](const char* p) { return double{f8e4m3_to_float(load<uint8_t>(p))}; });
      break;
    case DType::Float32: f(size_t{4}, [](const char* p) { return double{load<float>(p)}; }); break;
    case DType::Float64: f(size_t{8}, [](const char* p) { return load<double>(p); }); break;
    default: break;
  }
}
bool is_float(DType t) { return info(t).kind == 'f'; }
bool is_whole(DType t) { return info(t).kind == 'i' || info(t).kind == 'u'; }

int64_t as_integer(const char* p, DType t) {
  switch (t) {
    case DType::Bool:
    case DType::UInt8: return load<uint8_t>(p);
    case DType::Int8: return load<int8_t>(p);
    case DType::Int16: return load<int16_t>(p);
    case DType::UInt16: return load<uint16_t>(p);
    case DType::Int32: return load<int32_t>(p);
    case DType::UInt32: return load<uint32_t>(p);
    default: return load<int64_t>(p);
  }
}

// --- narrower types
// Significant bits and exponents: of |x| = m * 2^e with m in [1/2, 1) the smallest e, the largest, and the bits of m.
struct Narrow {
  DType type;
  int bits, least, most;  // of the significand with its first one; 2^least is the smallest subnormal's place
  double largest;
};
constexpr Narrow kNarrowFloats[] = {{DType::Float8_e4m3fn, 4, -9, 9, 448},
                                    {DType::Float8_e5m2, 3, -16, 16, 57344},
                                    {DType::Float16, 11, -24, 16, 65504},
                                    {DType::BFloat16, 8, -133, 128, 3.3895313892515355e38},
                                    {DType::Float32, 24, -149, 128, 3.4028234663852886e38}};

bool holds(const Narrow& n, double x, double error) {
  if (std::isnan(x)) return true;
  if (std::isinf(x)) return n.type != DType::Float8_e4m3fn;
  if (x == 0) return true;
  if (std::abs(x) > n.largest) return false;
  int e;
  std::frexp(x, &e);
  const double step = std::ldexp(1.0, std::max(e - n.bits, n.least));  // distance of its neighbours
  const double rounded = std::nearbyint(x / step) * step;
  return std::abs(rounded - x) <= error * std::abs(x);
}

class Narrower {
 public:
  Narrower(DType t, double error) : type_(t), error_(error) {
    if (is_float(t))
      for (size_t i = 0; i < std::size(kNarrowFloats); ++i)
        if (item_size(kNarrowFloats[i].type) < item_size(t)) alive_ |= 1u << i;
  }
  bool alive() const { return alive_ != 0 || whole_; }
  void tile(const char* p, size_t n) {
    with_float_type(type_, [&](size_t item, auto&& read) {
      for (size_t i = 0; i < n && alive(); ++i) {
        const double x = read(p + i * item);
        if (whole_) {
          // Not -0.0, which no integer holds, and within what 64 bits hold.
          whole_ = x == std::trunc(x) && std::abs(x) < 9.2e18 && !(x == 0 && std::signbit(x));
          low_ = std::min(low_, x), high_ = std::max(high_, x);
        }
        if (x == last_) continue;
        last_ = x;
        for (uint32_t rest = alive_; rest; rest &= rest - 1) {
          const int k = std::countr_zero(rest);
          if (!holds(kNarrowFloats[k], x, error_)) alive_ &= ~(1u << k);
        }
      }
    });
  }
  DType narrow_float() const { return alive_ ? kNarrowFloats[std::countr_zero(alive_)].type : DType::Undefined; }
  bool whole() const { return whole_; }
  double low() const { return low_; }
  double high() const { return high_; }

 private:
  DType type_;
  double error_;
  uint32_t alive_ = 0;
  bool whole_ = true;
  double low_ = std::numeric_limits<double>::infinity(), high_ = -low_, last_ = 0;
};

// The narrowest of bool, i8, u8, i16, u16, i32, u32, i64 that holds both bounds.
DType narrow_integer(double low, double high) {
  constexpr std::pair<DType, std::pair<double, double>> all[] = {{DType::Bool, {0, 1}},
                                                                 {DType::Int8, {-128, 127}},
                                                                 {DType::UInt8, {0, 255}},
                                                                 {DType::Int16, {-32768, 32767}},
                                                                 {DType::UInt16, {0, 65535}},
                                                                 {DType::Int32, {-2147483648.0, 2147483647.0}},
                                                                 {DType::UInt32, {0, 4294967295.0}},
                                                                 {DType::Int64, {-9.3e18, 9.3e18}}};
  for (auto& [type, range] : all)
    if (low >= range.first && high <= range.second) return type;
  return DType::Int64;
}

class Range {  // of whole numbers, while they fit into fewer bytes
 public:
  explicit Range(DType t) : type_(t), alive_(is_whole(t) && item_size(t) > 1) {}
  bool alive() const { return alive_; }
  void tile(const char* p, size_t n) {
    switch (type_) {
      case DType::Int16: return of<int16_t>(p, n);
      case DType::UInt16: return of<uint16_t>(p, n);
      case DType::Int32: return of<int32_t>(p, n);
      case DType::UInt32: return of<uint32_t>(p, n);
      case DType::Int64: return of<int64_t>(p, n);
      case DType::UInt64: return of<uint64_t>(p, n);
      case DType::Int8: return of<int8_t>(p, n);
      case DType::UInt8: return of<uint8_t>(p, n);
      default: alive_ = false;
    }
  }
  double low() const { return low_; }
  double high() const { return high_; }

 private:
  template <class T>
  void of(const char* p, size_t n) {
    T low = load<T>(p), high = low;
    for (size_t i = 1; i < n; ++i) {
      const T v = load<T>(p + i * sizeof(T));
      low = std::min(low, v), high = std::max(high, v);
    }
    low_ = std::min(low_, static_cast<double>(low)), high_ = std::max(high_, static_cast<double>(high));
    alive_ = item_size(narrow_integer(low_, high_)) < sizeof(T);
  }
  DType type_;
  bool alive_;
  double low_ = std::numeric_limits<double>::infinity(), high_ = -low_;
};

// --- cutting the mantissa: how many of its bits each level keeps
constexpr int kKept32[] = {23, 20, 15, 11, 7, 3}, kKept64[] = {52, 46, 36, 28, 20, 12}, kKept16[] = {10, 8, 8, 6, 4, 2};
}  // namespace
uint64_t kept_bits(DType t, int level) {
  switch (t) {
    case DType::Float32: return ~uint64_t{0} << (23 - kKept32[level]);
    case DType::Float64: return ~uint64_t{0} << (52 - kKept64[level]);
    case DType::Float16: return ~uint64_t{0} << (10 - std::min(kKept16[level], 10));
    case DType::BFloat16: return ~uint64_t{0} << std::max(7 - kKept16[level], 0);
    default: return ~uint64_t{0};
  }
}

namespace {
// --- the most frequent value
template <class T>
uint64_t count(const char* p, size_t n, T value, T mask) {
  uint64_t found = 0;
  for (size_t i = 0; i < n; ++i) found += (load<T>(p + i * sizeof(T)) & mask) == value;
  return found;
}
uint64_t count_value(const char* p, size_t n, size_t item, uint64_t value, uint64_t mask) {
  switch (item) {
    case 1: return count<uint8_t>(p, n, static_cast<uint8_t>(value & mask), static_cast<uint8_t>(mask));
    case 2: return count<uint16_t>(p, n, static_cast<uint16_t>(value & mask), static_cast<uint16_t>(mask));
    case 4: return count<uint32_t>(p, n, static_cast<uint32_t>(value & mask), static_cast<uint32_t>(mask));
    default: return count<uint64_t>(p, n, value & mask, mask);
  }
}
uint64_t bits_of(const char* p, size_t item) {
  uint64_t v = 0;
  std::memcpy(&v, p, std::min(item, size_t{8}));
  return v;
}

struct Candidate {
  uint64_t value = 0;
  bool likely = false;
};
constexpr size_t kSample = 64;
// Of elements taken evenly: the most frequent one, and whether it may be as frequent as `share` overall.
Candidate candidate(std::span<const uint64_t> sample, uint64_t mask, double share) {
  uint64_t sorted[kSample] = {};
  for (size_t i = 0; i < sample.size(); ++i) sorted[i] = sample[i] & mask;
  std::sort(sorted, sorted + sample.size());
  size_t most = 0;
  uint64_t value = sorted[0];
  for (size_t i = 0, first = 0; i < sample.size(); ++i) {
    if (sorted[i] != sorted[first]) first = i;
    if (i - first + 1 > most) most = i - first + 1, value = sorted[i];
  }
  // Four standard deviations of a sample below the share.
  const auto n = static_cast<double>(sample.size());
  return {value, static_cast<double>(most) >= share * n - 2 * std::sqrt(n)};
}

// --- v = b + sum of k_d * i_d
bool structured(const View& v, double error, Content& c) {
  const size_t item = item_size(v.dtype);
  std::vector<std::pair<int64_t, int64_t>> dims;  // size, stride
  for (size_t d = 0; d < v.sizes.size(); ++d)
    if (v.sizes[d] > 1 && v.strides[d] != 0) dims.emplace_back(v.sizes[d], v.strides[d]);
  int64_t n = 1;
  for (auto& [size, stride] : dims) n *= size;
  // As many numbers as unknowns always fit.
  if (dims.empty() || n < 3 || n <= static_cast<int64_t>(dims.size()) + 1) return false;
  std::vector<int64_t> at(dims.size());
  auto walk = [&](auto&& fits) {
    const char* p = v.data;
    for (int64_t i = 0; i < n; ++i) {
      if (!fits(p)) return false;
      for (size_t d = dims.size(); d-- > 0;) {
        p += dims[d].second;
        if (++at[d] < dims[d].first) break;
        p -= dims[d].second * dims[d].first;
        at[d] = 0;
      }
    }
    return true;
  };
  bool any = false;
  if (is_whole(v.dtype)) {
    const auto base = static_cast<uint64_t>(as_integer(v.data, v.dtype));
    std::vector<uint64_t> k;
    for (auto& [size, stride] : dims) {
      k.push_back(static_cast<uint64_t>(as_integer(v.data + stride, v.dtype)) - base);
      any |= k.back() != 0;
    }
    if (!any || !walk([&](const char* p) {
          uint64_t want = base;  // wraps as the type does
          for (size_t d = 0; d < k.size(); ++d) want += k[d] * static_cast<uint64_t>(at[d]);
          const uint64_t mask = item == 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * item)) - 1;
          return ((want ^ static_cast<uint64_t>(as_integer(p, v.dtype))) & mask) == 0;
        }))
      return false;
    c.base = static_cast<double>(static_cast<int64_t>(base));
    for (const uint64_t each : k)
      if (each) c.slope = static_cast<double>(static_cast<int64_t>(each));
    return true;
  }
  if (!is_float(v.dtype)) return false;
  const double base = as_number(v.data, v.dtype);
  std::vector<double> k;
  double largest = std::abs(base);
  for (auto& [size, stride] : dims) {
    const double last = as_number(v.data + stride * (size - 1), v.dtype);
    k.push_back((last - base) / static_cast<double>(size - 1));
    any |= k.back() != 0;
    largest = std::max(largest, std::abs(last));
  }
  constexpr double unit16 = 0x1p-10, unitb16 = 0x1p-7, unit8 = 0x1p-2;
  const double unit = v.dtype == DType::Float16 ? unit16 : v.dtype == DType::BFloat16 ? unitb16 : item == 1 ? unit8 : 0;
  const double allowed = std::max(error, unit) * largest;
  if (!any || !std::isfinite(largest)) return false;
  // A structure that the rounding of its own type hides is none.
  double span = 0;
  for (size_t d = 0; d < k.size(); ++d) span += std::abs(k[d]) * static_cast<double>(dims[d].first - 1);
  if (span <= 4 * allowed) return false;
  if (!walk([&](const char* p) {
        double want = base;
        for (size_t d = 0; d < k.size(); ++d) want += k[d] * static_cast<double>(at[d]);
        return std::abs(as_number(p, v.dtype) - want) <= allowed;
      }))
    return false;
  c.base = base;
  for (const double each : k)
    if (each != 0) c.slope = each;
  return true;
}

// What follows from a constant alone.
void name_constant(Content& c, const char* value, const Options& options) {
  const size_t item = item_size(c.dtype);
  c.constant = true;
  std::memcpy(c.first, value, item);
  c.number = as_number(value, c.dtype);
  const bool is_complex = info(c.dtype).kind == 'c';
  const double other = is_complex ? as_number(value + item / 2, item == 16 ? DType::Float64 : DType::Float32) : 0;
  const bool zero = std::abs(c.number) <= options.zero && std::abs(other) <= options.zero;
  c.patterns |= bit(zero ? Pattern::SingleZero : Pattern::SingleValue);
  if (zero) return;
  Narrower narrower(c.dtype, options.heavy_error);
  narrower.tile(value, 1);
  DType narrow = narrower.narrow_float();
  if (is_whole(c.dtype)) {
    Range range(c.dtype);
    range.tile(value, 1);
    narrow = narrow_integer(range.low(), range.high());
  }
  if (narrow == DType::Undefined || item_size(narrow) >= item) return;
  c.narrow = narrow;
  c.patterns |= bit(Pattern::HeavyType);
}

}  // namespace

double as_number(const char* p, DType t) {
  double out = 0;
  if (is_float(t)) with_float_type(t, [&](size_t, auto&& read) { out = read(p); });
  else if (t == DType::Complex64) out = double{load<float>(p)};
  else if (t == DType::Complex128) out = load<double>(p);
  else if (t == DType::UInt64) out = static_cast<double>(load<uint64_t>(p));
  else out = static_cast<double>(as_integer(p, t));
  return out;
}

int64_t View::numel() const { return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>()); }

Runs::Runs(const View& v) : begin_(v.data) {
  const auto item = static_cast<int64_t>(item_size(v.dtype));
  int64_t last = std::numeric_limits<int64_t>::max();
  for (size_t d = 0; d < v.sizes.size(); ++d) {
    if (v.sizes[d] == 0) {
      sizes_ = strides_ = Dims();
      return;
    }
    if (v.sizes[d] == 1 || v.strides[d] == 0) continue;
    int64_t stride = v.strides[d];
    if (stride < 0) {
      begin_ += stride * (v.sizes[d] - 1);
      stride = -stride;
      in_order_ = false;
    }
    in_order_ &= stride <= last;
    last = stride;
    size_t at = strides_.size();
    while (at > 0 && strides_[at - 1] < stride) --at;
    sizes_.insert(at, v.sizes[d]);
    strides_.insert(at, stride);
  }
  run_ = item;
  while (!strides_.empty() && strides_.back() == run_) {
    run_ *= sizes_.back();
    sizes_.resize(sizes_.size() - 1);
    strides_.resize(strides_.size() - 1);
  }
  count_ = 1;
  for (const int64_t size : sizes_) count_ *= size;
}

Content look(const View& v, const Runs& runs, const Options& options) {
  const size_t item = item_size(v.dtype);
  Content c;
  c.dtype = v.dtype;
  c.elements = static_cast<uint64_t>(runs.bytes()) / item;
  if (c.elements == 0) return c;
  const bool dense = runs.count() == 1;
  Bits bits;
  Narrower narrower(v.dtype, options.heavy_error);
  Range range(v.dtype);
  const uint64_t mask = kept_bits(v.dtype, options.approximate);
  uint64_t taken[kSample];
  std::span<const uint64_t> sample;
  Candidate exact, cut;
  uint64_t frequent = 0, frequent_cut = 0;
  const bool countable = item <= 8;
  auto choose = [&](const char* p, size_t n) {
    const size_t count = std::min(n, kSample);
    for (size_t i = 0; i < count; ++i) taken[i] = bits_of(p + (i * n / count) * item, item);
    sample = {taken, count};
    exact = candidate(sample, ~uint64_t{0}, options.frequent);
    if (mask != ~uint64_t{0} && !exact.likely) cut = candidate(sample, mask, options.frequent);
  };
  if (dense && countable) choose(runs.begin(), c.elements);
  auto tile = [&](const char* p, size_t n) {
    c.tiles.push_back(digest(p, n * item, bits));
    if (narrower.alive()) narrower.tile(p, n);
    if (range.alive()) range.tile(p, n);
    if (sample.empty() && countable) choose(p, n);
    if (exact.likely) frequent += count_value(p, n, item, exact.value, ~uint64_t{0});
    if (cut.likely) frequent_cut += count_value(p, n, item, cut.value, mask);
  };
  const size_t tile_bytes = static_cast<size_t>(kTile) * item;
  if (dense) {
    c.tiles.reserve(static_cast<size_t>(runs.bytes()) / tile_bytes + 1);
    for (size_t at = 0; at < static_cast<size_t>(runs.bytes()); at += tile_bytes) {
      const size_t n = std::min(tile_bytes, static_cast<size_t>(runs.bytes()) - at);
      tile(runs.begin() + at, n / item);
    }
  } else {
    std::vector<char> gathered(tile_bytes);
    size_t filled = 0;
    runs.each([&](int64_t offset) {
      for (size_t at = 0; at < static_cast<size_t>(runs.run_bytes());) {
        const size_t n = std::min(tile_bytes - filled, static_cast<size_t>(runs.run_bytes()) - at);
        std::memcpy(gathered.data() + filled, runs.begin() + offset + at, n);
        filled += n, at += n;
        if (filled == tile_bytes) tile(gathered.data(), filled / item), filled = 0;
      }
    });
    if (filled) tile(gathered.data(), filled / item);
  }
  c.hash = mix(c.elements, static_cast<uint64_t>(v.dtype));
  for (const uint64_t t : c.tiles) c.hash = mix(c.hash, t);
  if (!runs.in_order())  // equal bytes in another order are another tensor
    for (size_t d = 0; d < v.sizes.size(); ++d)
      c.hash = mix(c.hash, static_cast<uint64_t>(v.sizes[d]) ^ (static_cast<uint64_t>(v.strides[d]) << 32));

  uint64_t any[2], all[2];
  fold(bits.any, item, true, any);
  fold(bits.all, item, false, all);
  if (any[0] == all[0] && any[1] == all[1]) {
    name_constant(c, runs.begin(), options);
    return c;
  }
  std::memcpy(c.first, runs.begin(), item);
  const auto n = static_cast<double>(c.elements);
  if (v.dtype == DType::Bool) {  // one of two values is always half of them
    return c;
  }
  // Zeros of both signs, and numbers that count as zero.
  if (is_float(v.dtype)) {
    const uint64_t sign = uint64_t{1} << (8 * item - 1);
    if ((any[0] & ~sign) == 0) {
      c.patterns |= bit(Pattern::SingleZero);
      return c;
    }
    if (options.zero > 0) {
      bool all_small = true;
      with_float_type(v.dtype, [&](size_t, auto&& read) {
        runs.each([&](int64_t offset) {
          for (int64_t at = 0; all_small && at < runs.run_bytes(); at += static_cast<int64_t>(item))
            all_small = std::abs(read(runs.begin() + offset + at)) <= options.zero;
        });
      });
      if (all_small) {
        c.patterns |= bit(Pattern::SingleZero);
        return c;
      }
    }
  }
  if (exact.likely && static_cast<double>(frequent) >= options.frequent * n) {
    c.patterns |= bit(Pattern::Frequent);
    c.frequent_share = static_cast<double>(frequent) / n;
    c.frequent_value = exact.value;
    c.number = as_number(reinterpret_cast<const char*>(&exact.value), v.dtype);
  }
  if (is_float(v.dtype) && mask != ~uint64_t{0} && !(c.patterns & bit(Pattern::Frequent))) {
    const bool single = ((any[0] ^ all[0]) & mask) == 0;
    const bool often = cut.likely && static_cast<double>(frequent_cut) >= options.frequent * n;
    if (single || often) {
      c.patterns |= bit(Pattern::Approximate);
      c.frequent_share = single ? 1 : static_cast<double>(frequent_cut) / n;
      const uint64_t value = single ? c.first[0] & mask : cut.value;
      c.number = as_number(reinterpret_cast<const char*>(&value), v.dtype);
    }
  }
  if (is_float(v.dtype)) {
    if (narrower.whole()) {
      c.patterns |= bit(Pattern::InappropriateFloat);
      c.narrow = narrow_integer(narrower.low(), narrower.high());
    }
    if (const DType narrow = narrower.narrow_float(); narrow != DType::Undefined) {
      c.patterns |= bit(Pattern::HeavyType);
      if (!narrower.whole() || item_size(narrow) < item_size(c.narrow)) c.narrow = narrow;
    }
  } else if (is_whole(v.dtype) && range.alive()) {
    c.patterns |= bit(Pattern::HeavyType);
    c.narrow = narrow_integer(range.low(), range.high());
  }
  if (structured(v, options.structured_error, c)) c.patterns |= bit(Pattern::Structured);
  return c;
}

Content constant_content(DType dtype, uint64_t elements, const char* value, const Options& options) {
  Content c;
  c.dtype = dtype;
  c.elements = elements;
  name_constant(c, value, options);
  uint64_t hash = mix(elements, static_cast<uint64_t>(dtype));
  c.hash = mix(mix(hash, c.first[0]), c.first[1]);
  return c;
}

Equal count_equal(const char* a, const char* b, uint64_t elements, size_t item) {
  Equal out;
  auto go = [&]<class T>(T) {
    for (uint64_t i = 0; i < elements; ++i) out.elements += load<T>(a + i * sizeof(T)) == load<T>(b + i * sizeof(T));
  };
  switch (item) {
    case 1: go(uint8_t{}); break;
    case 2: go(uint16_t{}); break;
    case 4: go(uint32_t{}); break;
    case 8: go(uint64_t{}); break;
    default:
      for (uint64_t i = 0; i < elements; ++i) out.elements += std::memcmp(a + i * item, b + i * item, item) == 0;
  }
  for (uint64_t i = 0; i < elements * item; ++i) out.bytes += a[i] == b[i];
  return out;
}

Equal count_equal_to(const char* a, const uint64_t value[2], uint64_t elements, size_t item) {
  Equal out;
  const char* bytes = reinterpret_cast<const char*>(value);
  if (item <= 8) out.elements = count_value(a, elements, item, value[0], ~uint64_t{0});
  else
    for (uint64_t i = 0; i < elements; ++i) out.elements += std::memcmp(a + i * item, bytes, item) == 0;
  for (uint64_t i = 0; i < elements; ++i)
    for (size_t k = 0; k < item; ++k) out.bytes += a[i * item + k] == bytes[k];
  return out;
}

}  // namespace fc::observe::values
