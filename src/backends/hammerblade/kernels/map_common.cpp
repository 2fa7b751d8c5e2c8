// SPDX-License-Identifier: Apache-2.0
// Comparisons, clamps, and ternary formulas.
#include "facula/opcodes/common.h"
#include "formula.h"
#include "kernels/formulas/common.h"

#define HB_FORMULA_TYPES(X, name) HB_NUMBERS(X, name) HB_BOOL(X, name)
// clang-format off
#define FC_BINARY HB_FORMULA
#define FC_COMPARE HB_FORMULA
#define FC_DERIVATIVE HB_FORMULA
#define FC_TERNARY HB_FORMULA
#include "facula/formulas/rest.h"
#include "facula/formulas/common.def"
#include "facula/formulas/end.h"
// clang-format on

namespace {

template <class T>
void masked_fill(hb::Out<T> out, hb::In<T> a, hb::In<bool> mask, hb::In<T> value, hb::Numbers<T>) {
  hb::map(
      out, [](T x, bool m, T v) { return m ? v : x; }, a, mask, value);
}

}  // namespace

#define HB_MASKED_FILL(name, T, suffix) \
  HB_FAMILY_KERNEL(tensorlib_masked_fill##suffix, &masked_fill<T>, FC_FAMILY_MAP, FC_MAP_masked_fill, T)
HB_NUMBERS(HB_MASKED_FILL, masked_fill)
HB_BOOL(HB_MASKED_FILL, masked_fill)
