// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/isa/tile.h"

namespace fc::cpu::FC_ISA {
namespace {

// As bytes, because loops over bool do not become vector code.
void not_flat(char* const* ptr, int64_t n, const void*) {
  char* r = ptr[0];
  const char* a = ptr[1];
  FC_IVDEP
  for (int64_t i = 0; i < n; ++i) r[i] = static_cast<char>(a[i] == 0);
}

}  // namespace

void fill_unary(KernelTable& t) {
  add_ops(t, scalar::unary_ops{}, 1);
  for (int opcode : {FC_MAP_logical_not, FC_MAP_bitwise_not})
    t.map[opcode][static_cast<int>(DType::Bool)].fn = not_flat;
}

}  // namespace fc::cpu::FC_ISA
