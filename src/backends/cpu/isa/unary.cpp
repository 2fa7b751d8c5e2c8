// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/isa/tile.h"
#include "kernels/formulas/common.h"
#include "kernels/formulas/shared.h"
#include "kernels/formulas/unary.h"

namespace fc::cpu::FC_ISA {
namespace {

// clang-format off
using unary_ops = scalar::op_list<void
#define FC_UNARY(number, name, ...) , scalar::name
#include "facula/formulas/rest.h"
#include "facula/formulas/base.def"
#include "facula/formulas/common.def"
#include "facula/formulas/shared.def"
#include "facula/formulas/unary.def"
#include "facula/formulas/end.h"
                               >;
// clang-format on

// As bytes, because loops over bool do not become vector code.
void not_flat(char* const* ptr, int64_t n, const void*) {
  char* r = ptr[0];
  const char* a = ptr[1];
  FC_IVDEP
  for (int64_t i = 0; i < n; ++i) r[i] = static_cast<char>(a[i] == 0);
}

// A complex number is negated like two real ones.
template <class T>
void neg_pairs(char* const* ptr, int64_t n, const void* params) {
  unary_flat<scalar::neg, T>(ptr, 2 * n, params);
}

}  // namespace

void fill_unary(KernelTable& t) {
  add_ops(t, unary_ops{}, 1);
  t.map[scalar::neg::code][static_cast<int>(DType::Complex64)].fn = neg_pairs<float>;
  t.map[scalar::neg::code][static_cast<int>(DType::Complex128)].fn = neg_pairs<double>;
  for (int opcode : {scalar::logical_not::code, scalar::bitwise_not::code})
    t.map[opcode][static_cast<int>(DType::Bool)].fn = not_flat;
}

}  // namespace fc::cpu::FC_ISA
