// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/isa/tile.h"
#include "facula/opcodes/base.h"
#include "kernels/formulas/common.h"
#include "kernels/formulas/derivative.h"

namespace fc::cpu::FC_ISA {
namespace {

// clang-format off
using ternary_ops = scalar::op_list<void
#define FC_TERNARY(number, name, ...) , scalar::name
#include "facula/formulas/rest.h"
#include "facula/formulas/common.def"
#include "facula/formulas/end.h"
                               >;
using derivative_ops = scalar::op_list<void
#define FC_DERIVATIVE(number, name, ...) , scalar::name
#include "facula/formulas/rest.h"
#include "facula/formulas/common.def"
#include "facula/formulas/derivative.def"
#include "facula/formulas/end.h"
                               >;
// clang-format on

// where(condition, a, b): the condition is bool, and the values only move, so they are chosen by size.
template <class T>
void where_flat(char* const* ptr, int64_t n, const void*) {
  auto* r = reinterpret_cast<T*>(ptr[0]);
  auto* c = reinterpret_cast<const uint8_t*>(ptr[1]);
  auto* a = reinterpret_cast<const T*>(ptr[2]);
  auto* b = reinterpret_cast<const T*>(ptr[3]);
  FC_IVDEP
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (sizeof(T) > 2) r[i] = c[i] ? a[i] : b[i];
    else {  // by a mask: a choice between bytes is a branch to GCC 12
      const T mask = static_cast<T>(-static_cast<int>(c[i] != 0));
      r[i] = static_cast<T>((a[i] & mask) | (b[i] & ~mask));
    }
  }
}

struct Sixteen {
  uint64_t half[2];
};

FlatFn where_of(size_t item) {
  switch (item) {
    case 1: return where_flat<uint8_t>;
    case 2: return where_flat<uint16_t>;
    case 4: return where_flat<uint32_t>;
    case 8: return where_flat<uint64_t>;
    default: return where_flat<Sixteen>;
  }
}

}  // namespace

void fill_ternary(KernelTable& t) {
  add_ops(t, ternary_ops{}, 2);
  add_ops(t, derivative_ops{}, 8);
  for (int i = 0; i < kDTypeSlots; ++i)
    if (DType type = static_cast<DType>(i); exists(type)) t.map[FC_MAP_where][i] = {where_of(item_size(type)), type, 1};
}

}  // namespace fc::cpu::FC_ISA
