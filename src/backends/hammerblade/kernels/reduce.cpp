// SPDX-License-Identifier: Apache-2.0
// Sums of all kinds, products, any and all. Each result is cut into as many parts as keep all tiles busy; a part folds
// its elements into one word of `partial`, and after a barrier the tile that owns a result joins its parts in order, so
// the same machine gives the same bits.
#include "facula/opcodes/shared.h"
#include "kernels/formulas/shared_folds.h"
#include "reduced.h"

namespace {

struct Parts {
  Parts(int32_t n, int32_t parts, int32_t part) {
    const int32_t each = (n + parts - 1) / parts;
    begin = part * each < n ? part * each : n;
    end = n - begin < each ? n : begin + each;
  }
  int32_t begin, end;
};

template <class Fold, class T>
[[gnu::noinline]] T fold_part(const hb::Reduced& r, const T* base, Parts part) {
  // So many, one after the other, in each lane before they are joined: a long sum loses no digits.
  constexpr int32_t lanes = 8, most = 256 * lanes;
  T all[lanes], acc[lanes];
  for (int32_t k = 0; k < lanes; ++k) all[k] = acc[k] = static_cast<T>(Fold::identity);
  int32_t left = most;
  hb::rows(r, base, part.begin, part.end, [&](const T* p, int32_t step, int32_t n, int32_t) {
    while (n > 0) {
      const int32_t now = n < left ? n : left;
      int32_t i = 0;
      if (step == 1) {
        for (; i + lanes <= now; i += lanes)
          for (int32_t k = 0; k < lanes; ++k) acc[k] = Fold::join(acc[k], Fold::term(hb::load(p + i + k), T{}));
      } else {
        for (; i + lanes <= now; i += lanes)
          for (int32_t k = 0; k < lanes; ++k)
            acc[k] = Fold::join(acc[k], Fold::term(hb::load(p + (i + k) * step), T{}));
      }
      for (; i < now; ++i) acc[0] = Fold::join(acc[0], Fold::term(hb::load(p + i * step), T{}));
      p += now * step;
      n -= now;
      left -= now;
      if (left) continue;
      for (int32_t k = 0; k < lanes; ++k) {
        all[k] = Fold::join(all[k], acc[k]);
        acc[k] = static_cast<T>(Fold::identity);
      }
      left = most;
    }
  });
  for (int32_t k = 0; k < lanes; ++k) all[k] = Fold::join(all[k], acc[k]);
  for (int32_t k = 1; k < lanes; ++k) all[0] = Fold::join(all[0], all[k]);
  return all[0];
}

template <class Fold, class T>
void reduce(hb::Out<T> out, hb::In<T> in, int32_t n_reduced, int32_t parts, hb::Out<T> partial) {
  const hb::Reduced r(in, n_reduced);
  const int32_t per_result = in.numel / out.numel;
  auto finish = [&](T value) {
    if constexpr (Fold::is_mean) return static_cast<T>(value / static_cast<T>(per_result));
    else return value;
  };
  if (parts == 1) {
    hb::each(out.numel, [&](int32_t o) {
      hb::store(out.data + out.offset(o), finish(fold_part<Fold>(r, in.data + r.base(o), Parts(per_result, 1, 0))));
    });
    return;
  }
  hb::each(out.numel * parts, [&](int32_t item) {
    const int32_t o = item / parts;
    hb::store(partial.data + item, fold_part<Fold>(r, in.data + r.base(o), Parts(per_result, parts, item - o * parts)));
  });
  hb::barrier();
  hb::each(out.numel, [&](int32_t o) {
    T value = hb::load(partial.data + o * parts);
    for (int32_t p = 1; p < parts; ++p) value = Fold::join(value, hb::load(partial.data + o * parts + p));
    hb::store(out.data + out.offset(o), finish(value));
  });
}

}  // namespace

#define HB_REDUCE(name, T, suffix) \
  HB_FAMILY_KERNEL(tensorlib_##name##suffix, (&reduce<fc::folds::name, T>), FC_FAMILY_REDUCE, FC_REDUCE_##name, T)
HB_NUMBERS(HB_REDUCE, sum)
HB_NUMBERS(HB_REDUCE, prod)
HB_BOOL(HB_REDUCE, any)
HB_BOOL(HB_REDUCE, all)
HB_FLOATS(HB_REDUCE, mean)
HB_FLOATS(HB_REDUCE, sum_squares)
HB_FLOATS(HB_REDUCE, sum_abs)
