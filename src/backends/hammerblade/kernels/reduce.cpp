// SPDX-License-Identifier: Apache-2.0
// Reductions. The host orders the input's dimensions: those that stay, then those that are reduced. Each result is
// cut into
// as many parts as keep all tiles busy; a part folds its elements into one word of `partial`, and after a barrier the
// tile that owns a result joins its parts in order, so the same machine gives the same bits.
#include <facula_hb/kernel.h>

#include "facula/families.h"
#include "facula/opcodes/base.h"
#include "facula/opcodes/reduce.h"
#include "kernels/formulas/base_folds.h"

#include "kernels/formulas/folds.h"

namespace {

using namespace fc::folds;

// Where the elements of one result lie: the reduced dimensions of the input, walked row by row.
template <class T>
struct Reduced {
  Reduced(const hb::In<T>& in, int32_t n_reduced) : first(in.ndim - n_reduced), rows(in.ndim), in(in) {}
  int32_t base(int32_t result) const {  // of a result, by its flat position
    int32_t at = 0;
    for (int32_t d = first; d-- > 0;) {
      const int32_t q = result / in.size[d];
      at += (result - q * in.size[d]) * in.stride[d];
      result = q;
    }
    return at;
  }
  int32_t offset(int32_t element) const {
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
  const hb::In<T>& in;
};

// Calls f(pointer, step, n, element) for the rows of elements begin … end - 1.
template <class T, class F>
HB_INLINE void rows(const Reduced<T>& r, const T* base, int32_t begin, int32_t end, F f) {
  const int32_t columns = r.columns(), step = r.step();
  for (int32_t i = begin; i < end;) {
    const int32_t left = columns - i % columns, n = end - i < left ? end - i : left;
    f(base + r.offset(i), step, n, i);
    i += n;
  }
}

struct Parts {
  Parts(int32_t n, int32_t parts, int32_t part) {
    const int32_t each = (n + parts - 1) / parts;
    begin = part * each < n ? part * each : n;
    end = n - begin < each ? n : begin + each;
  }
  int32_t begin, end;
};

template <class Fold, class T>
T fold_part(const Reduced<T>& r, const T* base, Parts part) {
  constexpr int32_t lanes = 8;
  T acc[lanes];
  for (int32_t k = 0; k < lanes; ++k) {
    if constexpr (Fold::is_extreme) acc[k] = hb::load(base + r.offset(part.begin));
    else acc[k] = static_cast<T>(Fold::identity);
  }
  rows(r, base, part.begin, part.end, [&](const T* p, int32_t step, int32_t n, int32_t) {
    int32_t i = 0;
    if (step == 1) {
      for (; i + lanes <= n; i += lanes)
        for (int32_t k = 0; k < lanes; ++k) acc[k] = Fold::join(acc[k], Fold::term(hb::load(p + i + k), T{}));
    }
    for (; i < n; ++i) acc[0] = Fold::join(acc[0], Fold::term(hb::load(p + i * step), T{}));
  });
  for (int32_t k = 1; k < lanes; ++k) acc[0] = Fold::join(acc[0], acc[k]);
  return acc[0];
}

template <class Fold, class T>
void reduce(hb::Out<T> out, hb::In<T> in, int32_t n_reduced, int32_t parts, hb::Out<T> partial) {
  const Reduced<T> r(in, n_reduced);
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

// The largest or smallest element and where it is: the first of equals, the first NaN. Either result may be absent.
template <class Fold, class T>
void extreme(hb::Changed<T> out, hb::Changed<int64_t> indices, hb::In<T> in, int32_t n_reduced, int32_t results) {
  const Reduced<T> r(in, n_reduced);
  const int32_t per_result = in.numel / results;
  hb::each(results, [&](int32_t o) {
    const T* base = in.data + r.base(o);
    T best = hb::load(base);
    int32_t where = 0;
    rows(r, base, 0, per_result, [&](const T* p, int32_t step, int32_t n, int32_t i) {
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

#define HB_REDUCE(name, T, suffix) \
  HB_FAMILY_KERNEL(tensorlib_##name##suffix, (&reduce<fc::folds::name, T>), FC_FAMILY_REDUCE, FC_REDUCE_##name, T)
#define HB_EXTREME(name, fold, T, suffix) \
  HB_FAMILY_KERNEL(tensorlib_##name##suffix, (&extreme<fc::folds::fold, T>), FC_FAMILY_REDUCE, FC_REDUCE_##name, T)
HB_NUMBERS(HB_REDUCE, sum)
HB_NUMBERS(HB_REDUCE, prod)
HB_NUMBERS(HB_EXTREME, max, max)
HB_NUMBERS(HB_EXTREME, min, min)
HB_BOOL(HB_EXTREME, max, max)
HB_BOOL(HB_EXTREME, min, min)
HB_NUMBERS(HB_EXTREME, argmax, max)
HB_NUMBERS(HB_EXTREME, argmin, min)
HB_BOOL(HB_REDUCE, any)
HB_BOOL(HB_REDUCE, all)
HB_FLOATS(HB_REDUCE, mean)
HB_FLOATS(HB_REDUCE, sum_squares)
HB_FLOATS(HB_REDUCE, sum_abs)
