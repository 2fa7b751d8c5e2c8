// SPDX-License-Identifier: Apache-2.0
// The CPU's map and copy families: a lookup in the kernel table, then the walker.
#include <algorithm>
#include <complex>
#include <cstdlib>
#include <cstring>

#include "backends/cpu/isa.h"
#include "backends/cpu/matmul.h"
#include "backends/cpu/random.h"
#include "backends/cpu/register.h"
#include "core/threads.h"
#include "dispatch/family_table.h"
#include "facula/opcodes/base.h"
#include "facula/opcodes/shared.h"

namespace fc::cpu {
namespace {

constexpr int64_t no_strides[kMaxRank] = {};
constexpr int64_t kShortRow = 64;  // elements

// Writes a host number into memory as an element of type t (which is a compute type or any stored type).
void store_number(const fc_number& n, DType t, void* at) {
  if (t == DType::Float32 && n.category <= 2) {  // by far the most frequent
    *static_cast<float*>(at) = n.category <= 1 ? static_cast<float>(n.i) : static_cast<float>(n.re);
    return;
  }
  if (n.category <= 1) cast_fn(DType::Int64, t)(static_cast<char*>(at), 0, reinterpret_cast<const char*>(&n.i), 0, 1);
  else if (n.category == 4)
    cast_fn(DType::UInt64, t)(static_cast<char*>(at), 0, reinterpret_cast<const char*>(&n.i), 0, 1);
  else if (n.category == 2 || !is_complex(t))
    cast_fn(DType::Float64, t)(static_cast<char*>(at), 0, reinterpret_cast<const char*>(&n.re), 0, 1);
  else cast_fn(DType::Complex128, t)(static_cast<char*>(at), 0, reinterpret_cast<const char*>(&n.re), 0, 1);
}

bool divides(int opcode) {
  return opcode == FC_MAP_div_floor || opcode == FC_MAP_div_trunc || opcode == FC_MAP_floor_divide ||
         opcode == FC_MAP_remainder || opcode == FC_MAP_fmod;
}

template <class U>
void find_zero(char* const* ptr, const int64_t* s, int64_t n0, int64_t n1, const void* found) {
  int zero = 0;
  for (int64_t j = 0; j < n1; ++j) {
    const char* row = ptr[0] + j * s[1];
    if (s[0] == sizeof(U))
      for (int64_t i = 0; i < n0; ++i) zero |= reinterpret_cast<const U*>(row)[i] == 0;
    else
      for (int64_t i = 0; i < n0; ++i) zero |= *reinterpret_cast<const U*>(row + i * s[0]) == 0;
  }
  if (zero) __atomic_store_n(static_cast<bool*>(const_cast<void*>(found)), true, __ATOMIC_RELAXED);
}

// Integer division by zero is an error. The divisor is looked through before anything is written.
void check_divisor(const fc_map& c, const Walk& w) {
  const WalkOperand& divisor = w.operands[2];
  bool found = false;
  int64_t shape[kMaxRank];
  for (int d = 0; d < c.ndim; ++d) shape[d] = divisor.strides[d] == 0 ? 1 : c.shape[d];
  const size_t item = item_size(divisor.dtype);
  Walk look{c.ndim, shape, 1, {divisor}, &found, 1};
  walk(look, item == 1   ? find_zero<uint8_t>
             : item == 2 ? find_zero<uint16_t>
             : item == 4 ? find_zero<uint32_t>
                         : find_zero<uint64_t>);
  FC_CHECK(!found, "ZeroDivisionError: ", map_opcode(c.opcode).name, ": integer division by zero");
}

// One dimension without gaps, conversions or repetition needs no plan and no walk. False: it is not so.
template <class Wanted>
bool map_row(const fc_map& c, const MapKernel& k, FlatFn fn, Wanted wanted_of, const void* params) {
  if (c.ndim != 1 || c.shape[0] == 0) return false;
  char* data[kMaxOperands];
  int64_t items[kMaxOperands];
  alignas(64) char repeated[FC_MAX_INPUTS][kShortRow * 16];  // numbers, as often as the row is long
  auto direct = [&](int at, const fc_operand& o, DType wanted) {
    data[at] = static_cast<char*>(o.data);
    items[at] = static_cast<int64_t>(item_size(wanted));
    return static_cast<DType>(o.dtype) == wanted && (o.strides[0] == items[at] || c.shape[0] == 1);
  };
  if (!direct(0, c.out, k.result)) return false;
  for (int i = 0; i < c.n_in; ++i) {
    const DType wanted = wanted_of(i);
    if (c.in[i].data) {
      if (!direct(i + 1, c.in[i], wanted)) return false;
      continue;
    }
    if (c.shape[0] > kShortRow) return false;
    const size_t item = item_size(wanted);
    store_number(c.in[i].value, wanted, repeated[i]);
    for (size_t n = 1; n < static_cast<size_t>(c.shape[0]); ++n) std::memcpy(repeated[i] + n * item, repeated[i], item);
    data[i + 1] = repeated[i];
    items[i + 1] = static_cast<int64_t>(item);
  }
  const int64_t grain = walk_grain(k.cost);
  if (c.shape[0] <= grain) {
    fn(data, c.shape[0], params);
    return true;
  }
  parallel_for(0, c.shape[0], grain, [&](int64_t from, int64_t to) {
    char* at[kMaxOperands];
    for (int i = 0; i <= c.n_in; ++i) at[i] = data[i] + from * items[i];
    fn(at, to - from, params);
  });
  return true;
}

// The kernel for operands of one half type as they are stored, perhaps with numbers at the end; null: there is none.
const MapKernel* half_kernel(const fc_map& c, FlatFn& fn) {
  if (!is_reduced(static_cast<DType>(c.out.dtype)) || c.compute != static_cast<int>(DType::Float32)) return nullptr;
  const MapKernel& k = kernels().map[c.opcode][c.out.dtype];
  if (!k.fn) return nullptr;
  int halves = 0;
  while (halves < c.n_in && c.in[halves].data && c.in[halves].dtype == c.out.dtype) ++halves;
  fn = halves == c.n_in ? k.fn : k.with_numbers;
  if (halves == c.n_in) return &k;
  for (int i = halves; i < c.n_in; ++i)
    if (c.in[i].data) return nullptr;
  return halves == c.n_in - k.numbers ? &k : nullptr;
}

void map(void*, Device, const fc_map& c) {
  const DType compute = static_cast<DType>(c.compute);
  FlatFn fn = nullptr;
  const MapKernel* half = half_kernel(c, fn);
  const MapKernel& k = half ? *half : kernels().map[c.opcode][c.compute];
  if (!half) fn = k.fn;
  // What the kernel wants its i-th input to be.
  auto wanted = [&](int i) {
    if (c.opcode == FC_MAP_where && i == 0) return DType::Bool;
    return half && c.in[i].data ? k.result : compute;
  };
  FC_CHECK_AS(NotImplementedError, k.fn, "\"", map_opcode(c.opcode).name, "_cpu\" not implemented for '",
              info(compute).legacy, "'");
  alignas(16) char numbers[FC_MAX_INPUTS][16];
  alignas(16) char params[FC_MAX_PARAMS * 16];
  for (int i = 0; i < c.n_params; ++i)
    store_number(c.params[i], compute, params + static_cast<size_t>(i) * item_size(compute));
  const bool checked = divides(c.opcode) && is_integral(compute, true);
  if (!checked && map_row(c, k, fn, wanted, params)) return;
  Walk w{c.ndim, c.shape, c.n_in + 1, {}, params, k.cost};
  w.operands[0] = {static_cast<char*>(c.out.data), c.out.strides, static_cast<DType>(c.out.dtype), k.result};
  for (int i = 0; i < c.n_in; ++i) {
    const fc_operand& in = c.in[i];
    if (in.data) {
      w.operands[i + 1] = {static_cast<char*>(in.data), in.strides, static_cast<DType>(in.dtype), wanted(i)};
    } else {
      store_number(in.value, wanted(i), numbers[i]);
      w.operands[i + 1] = {numbers[i], no_strides, wanted(i), wanted(i)};
    }
  }
  if (checked) check_divisor(c, w);
  if (c.n_in == 2) w.with_constant = k.with_constant;
  walk(w, fn);
}

// Elements as plain bits of their size, so that fills and reversals of rows are vectorised.
template <size_t N>
struct Bits;
template <>
struct Bits<1> {
  using type = uint8_t;
};
template <>
struct Bits<2> {
  using type = uint16_t;
};
template <>
struct Bits<4> {
  using type = uint32_t;
};
template <>
struct Bits<8> {
  using type = uint64_t;
};
template <>
struct Bits<16> {
  struct type {
    uint64_t low, high;
  };
};

// Rows of one byte, zero above all, are memset's, which does not read what it overwrites: half of the traffic of large
// ones. Others are copies of a pattern in the first cache: memcpy knows the widest stores of the machine.
template <class Item>
void fill_rows(char* dst, int64_t row, int64_t n0, int64_t n1, Item value) {
  unsigned char bytes[sizeof(Item)];
  std::memcpy(bytes, &value, sizeof(Item));
  if (std::all_of(bytes, bytes + sizeof(Item), [&](unsigned char b) { return b == bytes[0]; })) {
    for (int64_t j = 0; j < n1; ++j) std::memset(dst + j * row, bytes[0], static_cast<size_t>(n0) * sizeof(Item));
    return;
  }
  constexpr int64_t length = 2048 / sizeof(Item);
  const int64_t used = std::min(n0, length);
  Item pattern[length];
  std::fill_n(pattern, used, value);
  for (int64_t j = 0; j < n1; ++j) {
    auto* to = reinterpret_cast<Item*>(dst + j * row);
    for (int64_t i = 0; i < n0; i += used)
      std::memcpy(to + i, pattern, static_cast<size_t>(std::min(n0 - i, used)) * sizeof(Item));
  }
}

// Rows of the source are columns of the target: in blocks, so that each line of the cache is used while it is there.
template <size_t N>
void transpose_tile(char* dst, int64_t d1, const char* src, int64_t s0, int64_t n0, int64_t n1) {
  constexpr int64_t block = 8, item = N;
  auto part = [&](int64_t i0, int64_t j0, int64_t ni, int64_t nj) {
    for (int64_t j = j0; j < j0 + nj; ++j)
      for (int64_t i = i0; i < i0 + ni; ++i) std::memcpy(dst + j * d1 + i * item, src + i * s0 + j * item, N);
  };
  for (int64_t i = 0; i < n0; i += block)
    for (int64_t j = 0; j < n1; j += block) {
      if (i + block <= n0 && j + block <= n1) part(i, j, block, block);
      else part(i, j, std::min(block, n0 - i), std::min(block, n1 - j));
    }
}

template <size_t N>
void move_tile(char* const* ptr, const int64_t* strides, int64_t n0, int64_t n1, const void*) {
  using Item = typename Bits<N>::type;
  constexpr int64_t size = N;
  const int64_t s[4] = {strides[0], strides[1], strides[2], strides[3]};
  if (s[0] == size && s[3] == size && std::abs(s[1]) > size && n1 > 1) {  // rows that are filled or reversed stay rows
    transpose_tile<N>(ptr[0], s[2], ptr[1], s[1], n0, n1);
    return;
  }
  if (s[0] == size && s[1] == 0 && (s[3] == 0 || n1 == 1)) {
    fill_rows(ptr[0], s[2], n0, n1, *reinterpret_cast<const Item*>(ptr[1]));
    return;
  }
  for (int64_t j = 0; j < n1; ++j) {
    char* d = ptr[0] + j * s[2];
    const char* x = ptr[1] + j * s[3];
    if (s[0] == size && s[1] == size) {
      std::memmove(d, x, static_cast<size_t>(n0) * N);
    } else if (s[0] == size && s[1] == 0) {
      std::fill_n(reinterpret_cast<Item*>(d), n0, *reinterpret_cast<const Item*>(x));
    } else if (s[0] == size && s[1] == -size) {
      auto* __restrict to = reinterpret_cast<Item*>(d);
      const auto* from = reinterpret_cast<const Item*>(x);
      for (int64_t i = 0; i < n0; ++i) to[i] = from[-i];
    } else {
      for (int64_t i = 0; i < n0; ++i) std::memcpy(d + i * s[0], x + i * s[1], N);
    }
  }
}

void copy(void*, Device, const fc_copy& c) {
  DType to = static_cast<DType>(c.dst.dtype), from = static_cast<DType>(c.src.dtype);
  alignas(16) char number[16];
  Walk w{c.ndim, c.shape, 2, {}};
  TileFn fn;
  w.operands[0] = {static_cast<char*>(c.dst.data), c.dst.strides, to, to};
  if (c.src.data) {
    w.operands[1] = {static_cast<char*>(c.src.data), c.src.strides, from, from};
  } else {
    store_number(c.src.value, to, number);
    w.operands[1] = {number, no_strides, to, to};
    from = to;
  }
  if (from == to) {
    switch (item_size(to)) {
      case 1: fn = move_tile<1>; break;
      case 2: fn = move_tile<2>; break;
      case 4: fn = move_tile<4>; break;
      case 8: fn = move_tile<8>; break;
      default: fn = move_tile<16>; break;
    }
  } else {
    w.params = reinterpret_cast<const void*>(cast_fn(from, to));
    fn = [](char* const* ptr, const int64_t* s, int64_t n0, int64_t n1, const void* cast) {
      for (int64_t j = 0; j < n1; ++j)
        reinterpret_cast<CastFn>(const_cast<void*>(cast))(ptr[0] + j * s[2], s[0], ptr[1] + j * s[3], s[1], n0);
    };
  }
  walk(w, fn);
}

}  // namespace

void register_families() {
  Families& f = cpu_record().families;
  f.flattens = true;
  f.copy = copy;
  f.map = map;
  f.reduce = reduce;
  f.gather = gather;
  f.scatter = scatter;
  f.matmul = matmul;
  f.scan = scan;
  f.sort = sort;
  f.random = random;
}

}  // namespace fc::cpu
