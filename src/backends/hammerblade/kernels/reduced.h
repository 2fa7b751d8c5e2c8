// SPDX-License-Identifier: Apache-2.0
// What kernels of reductions walk. The host orders the input's dimensions: those that stay, then those that are
// reduced.
#pragma once
#include <facula_hb/kernel.h>

#include "facula/families.h"
#include "facula/opcodes/base.h"
#include "kernels/formulas/base_folds.h"

namespace hb {

// Where the elements of one result lie: the reduced dimensions of the input, walked row by row.
struct Reduced {
  Reduced(const Layout& in, int32_t n_reduced) : first(in.ndim - n_reduced), rows(in.ndim), in(in) {}
  __attribute__((noinline)) int32_t base(int32_t result) const {  // of a result, by its flat position
    int32_t at = 0;
    for (int32_t d = first; d-- > 0;) {
      const int32_t q = result / in.size[d];
      at += (result - q * in.size[d]) * in.stride[d];
      result = q;
    }
    return at;
  }
  __attribute__((noinline)) int32_t offset(int32_t element) const {
    int32_t at = 0;
    for (int32_t d = rows; d-- > first;) {
      const int32_t q = element / in.size[d];
      at += (element - q * in.size[d]) * in.stride[d];
      element = q;
    }
    return at;
  }
  int32_t columns() const { return rows > first ? in.size[rows - 1] : 1; }
  int32_t step() const { return rows > first ? in.stride[rows - 1] : 0; }
  int32_t first, rows;
  const Layout& in;
};

// Calls f(pointer, step, n, element) for the rows of elements begin … end - 1.
template <class T, class F>
HB_INLINE void rows(const Reduced& r, const T* base, int32_t begin, int32_t end, F f) {
  const int32_t columns = r.columns(), step = r.step();
  for (int32_t i = begin; i < end;) {
    const int32_t left = columns - i % columns, n = end - i < left ? end - i : left;
    f(base + r.offset(i), step, n, i);
    i += n;
  }
}

}  // namespace hb
