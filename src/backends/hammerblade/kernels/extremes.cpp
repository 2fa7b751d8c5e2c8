// SPDX-License-Identifier: Apache-2.0
// The largest and smallest element, and its index.
#include "reduced.h"

namespace {

// The largest or smallest element and where it is: the first of equals, the first NaN. Either result may be absent.
template <class Fold, class T>
[[gnu::noinline]] void extreme(hb::Changed<T> out, hb::Changed<int64_t> indices, hb::In<T> in, int32_t n_reduced,
                               int32_t results) {
  const hb::Reduced r(in, n_reduced);
  const int32_t per_result = in.numel / results;
  hb::each(results, [&](int32_t o) {
    const T* base = in.data + r.base(o);
    T best = hb::load(base);
    int32_t where = 0;
    hb::rows(r, base, 0, per_result, [&](const T* p, int32_t step, int32_t n, int32_t i) {
      for (int32_t k = 0; k < n; ++k) {
        const T x = hb::load(p + k * step);
        if (Fold::moves(best, x)) {
          best = x;
          where = i + k;
        }
      }
    });
    if (out.defined()) hb::store(out.data + out.offset(o), best);
    if (indices.defined()) hb::store(indices.data + indices.offset(o), static_cast<int64_t>(where));
  });
}

}  // namespace

#define HB_EXTREME(name, fold, T, suffix) \
  HB_FAMILY_KERNEL(tensorlib_##name##suffix, (&extreme<fc::folds::fold, T>), FC_FAMILY_REDUCE, FC_REDUCE_##name, T)
HB_NUMBERS(HB_EXTREME, max, max)
HB_NUMBERS(HB_EXTREME, min, min)
HB_BOOL(HB_EXTREME, max, max)
HB_BOOL(HB_EXTREME, min, min)
HB_NUMBERS(HB_EXTREME, argmax, max)
HB_NUMBERS(HB_EXTREME, argmin, min)
