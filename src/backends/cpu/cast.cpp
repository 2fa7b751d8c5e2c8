// SPDX-License-Identifier: Apache-2.0
// Conversions without a kernel of their own: through the type in between, a small chunk at a time. That keeps the
// kernels at a third of all pairs; the missing ones all have a storage-only or half type on one side.
#include <utility>

#include "backends/cpu/isa.h"

namespace fc::cpu {
namespace {

// The next type on the way. No step loses what the last one could hold.
DType next_step(DType from, DType to) {
  if (from == DType::Complex32 || (to == DType::Complex32 && from != DType::Complex64)) return DType::Complex64;
  if (is_complex(from)) return real_of(from);
  if (is_reduced(from)) return DType::Float32;
  if (is_barebones(from) && (from != DType::UInt64 || is_integral(to, true))) return DType::Int64;
  if (is_complex(to)) return real_of(to);
  if (is_reduced(to)) return DType::Float32;
  return from == DType::UInt64 ? DType::Float64 : DType::Int64;  // to is one of the wide unsigned types
}

void cast_in_steps(DType from, DType to, char* dst, int64_t ds, const char* src, int64_t ss, int64_t n) {
  constexpr int64_t chunk = 128;
  alignas(64) char buffer[chunk * 16];
  const DType middle = next_step(from, to);
  const int64_t item = static_cast<int64_t>(item_size(middle));
  const CastFn first = cast_fn(from, middle), second = cast_fn(middle, to);
  for (int64_t i = 0; i < n; i += chunk) {
    const int64_t m = n - i < chunk ? n - i : chunk;
    first(buffer, item, src + i * ss, ss, m);
    second(dst + i * ds, ds, buffer, item, m);
  }
}

template <int from, int to>  // one per pair, so it does nothing but say which
void cast_pair(char* dst, int64_t ds, const char* src, int64_t ss, int64_t n) {
  cast_in_steps(static_cast<DType>(from), static_cast<DType>(to), dst, ds, src, ss, n);
}

template <size_t N>
void move_row(char* dst, int64_t ds, const char* src, int64_t ss, int64_t n) {
  for (int64_t i = 0; i < n; ++i) __builtin_memcpy(dst + i * ds, src + i * ss, N);
}

template <int from, int... to>
void add_from(KernelTable& t, std::integer_sequence<int, to...>) {
  ((t.cast[from][to] ? void() : void(t.cast[from][to] = cast_pair<from, to>)), ...);
}

}  // namespace

void add_indirect_casts(KernelTable& t) {
  for (DType same : {DType::Float8_e5m2, DType::Float8_e4m3fn})
    t.cast[static_cast<int>(same)][static_cast<int>(same)] = move_row<1>;
  for (DType same : {DType::UInt32, DType::Complex32})
    t.cast[static_cast<int>(same)][static_cast<int>(same)] = move_row<4>;
  t.cast[static_cast<int>(DType::UInt64)][static_cast<int>(DType::UInt64)] = move_row<8>;
  [&]<int... from>(std::integer_sequence<int, from...>) {
    (add_from<from>(t, std::make_integer_sequence<int, kDTypeSlots>{}), ...);
  }
  (std::make_integer_sequence<int, kDTypeSlots>{});
}

}  // namespace fc::cpu
