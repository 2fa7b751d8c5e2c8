// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/isa.h"

#include "core/error.h"
#include "dispatch/family_table.h"

namespace fc::cpu {

const KernelTable& kernels() {
  static const KernelTable& table = *[] {
    FC_CHECK(map_opcode_count() <= kMapOpcodes && reduce_opcode_count() <= kReduceOpcodes,
             "more opcodes than kernel tables have room for");
    auto* t = new KernelTable{};
#define FC_FILL(name) FC_VARIANT(fill_##name)(*t);
    FC_KERNEL_FILES(FC_FILL)
#undef FC_FILL
    add_indirect_casts(*t);
    return t;
  }();
  return table;
}

CastFn cast_fn(DType from, DType to) {
  CastFn f = kernels().cast[static_cast<int>(from)][static_cast<int>(to)];
  FC_CHECK(f, "no conversion from ", from, " to ", to);
  return f;
}

}  // namespace fc::cpu
