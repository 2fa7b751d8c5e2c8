// SPDX-License-Identifier: Apache-2.0
// Stable sorts, and searches in what is sorted. A line becomes stretches that each fit a scratchpad and are sorted
// there, then pairs of stretches are merged until one is left. Every tile writes its share of each pass: where the
// inputs of its first element begin is found by bisection, so the work is even however long or many the lines are.
#include <facula_hb/kernel.h>

#include "facula/families.h"
#include "kernels/sort_key.h"

namespace {

constexpr int32_t kStretch = 32;

template <class Key>
struct Entry {
  Key key;
  int32_t at;  // where the element was
};

// How many of the first n entries of the merge come from `a`; of equal ones those of `a` come first.
template <class E>
int32_t taken(const E* a, int32_t na, const E* b, int32_t nb, int32_t n) {
  int32_t low = n > nb ? n - nb : 0, high = n < na ? n : na;
  while (low < high) {
    const int32_t middle = low + (high - low) / 2;
    if (hb::load(&a[middle].key) <= hb::load(&b[n - 1 - middle].key)) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Entries begin … end - 1 of the merge.
template <class E>
void merge(const E* a, int32_t na, const E* b, int32_t nb, int32_t begin, int32_t end, E* to) {
  int32_t i = taken(a, na, b, nb, begin), j = begin - i;
  E x{}, y{};
  if (i < na) x = hb::load(a + i);
  if (j < nb) y = hb::load(b + j);
  for (int32_t k = begin; k < end; ++k) {
    if (i < na && (j >= nb || x.key <= y.key)) {
      hb::store(to + k, x);
      if (++i < na) x = hb::load(a + i);
    } else {
      hb::store(to + k, y);
      if (++j < nb) y = hb::load(b + j);
    }
  }
}

template <class T>
void sort(hb::Out<T> out, hb::Out<int64_t> indices, hb::In<T> in, bool descending, hb::Changed<int64_t> memory) {
  using Key = decltype(fc::sort_key(T{}));
  using E = Entry<Key>;
  const int32_t length = in.size[in.ndim - 1], lines = in.numel / length, step = in.stride[in.ndim - 1];
  const int32_t stretches = (length + kStretch - 1) / kStretch;
  const Key flip = descending ? static_cast<Key>(~Key{}) : Key{};
  E *from = reinterpret_cast<E*>(memory.data), *to = from + in.numel;
  hb::each(lines * stretches, [&](int32_t item) {
    const int32_t line = item / stretches, begin = (item - line * stretches) * kStretch;
    const int32_t n = length - begin < kStretch ? length - begin : kStretch;
    const T* p = in.data + in.offset(line * length) + begin * step;
    E local[kStretch];
    for (int32_t i = 0; i < n; ++i) {
      const E e{static_cast<Key>(fc::sort_key(hb::load(p + i * step)) ^ flip), begin + i};
      int32_t k = i;
      for (; k > 0 && local[k - 1].key > e.key; --k) local[k] = local[k - 1];
      local[k] = e;
    }
    for (int32_t i = 0; i < n; ++i) hb::store(from + line * length + begin + i, local[i]);
  });
  const hb::Range mine = hb::share(in.numel);
  for (int32_t width = kStretch; width<length; width = width> length / 2 ? length : width * 2) {
    hb::barrier();
    for (int32_t i = mine.begin; i < mine.end;) {
      const int32_t line = i / length, at = i - line * length, left = at / width / 2 * 2 * width;
      const int32_t na = length - left < width ? length - left : width, rest = length - left - na;
      const int32_t nb = rest < width ? rest : width, begin = at - left;
      const int32_t end = mine.end - i < na + nb - begin ? begin + mine.end - i : na + nb;
      const E* pair = from + line * length + left;
      merge(pair, na, pair + na, nb, begin, end, to + line * length + left);
      i += end - begin;
    }
    E* other = from;
    from = to;
    to = other;
  }
  hb::barrier();
  for (int32_t i = mine.begin; i < mine.end; ++i) {
    const int32_t line = i / length, at = hb::load(&from[i].at);
    hb::store(out.data + out.offset(i), hb::load(in.data + in.offset(line * length) + at * step));
    hb::store(indices.data + indices.offset(i), static_cast<int64_t>(at));
  }
}

// NaN is the largest.
template <class T>
bool before(T a, T b) {
  return a < b || (a == a && b != b);
}

template <class T>
void searchsorted(hb::DenseOut<int64_t> out, hb::DenseIn<T> sorted, hb::DenseIn<T> values, hb::Ignored, bool right,
                  hb::Ignored, hb::Ignored) {
  const int32_t n = sorted.size[sorted.ndim - 1];
  const int32_t per_line = sorted.ndim == 1 ? values.numel : values.size[values.ndim - 1];
  hb::each(values.numel, [&](int32_t i) {
    const T* line = sorted.data + (sorted.ndim == 1 ? 0 : i / per_line * n);
    const T value = hb::load(values.data + i);
    int32_t low = 0, high = n;
    while (low < high) {
      const int32_t middle = low + (high - low) / 2;
      const T x = hb::load(line + middle);
      if (right ? !before(value, x) : before(x, value)) low = middle + 1;
      else high = middle;
    }
    hb::store(out.data + i, static_cast<int64_t>(low));
  });
}
// One line for all values or a line for each of theirs; `side` and `sorter` are left to the CPU.
bool searchable(const hb::Call& c) {
  const auto &sorted = c[0], &values = c[1];
  bool fits = sorted.n == 1 || sorted.n == values.n;
  for (int32_t d = 0; sorted.n > 1 && fits && d + 1 < values.n; ++d) fits = sorted.list[d] == values.list[d];
  return fits && sorted.n > 0 && !c[4].present && !c[5].list;
}
int32_t as_values(const hb::Call& c, int32_t, int64_t* size) {
  for (int32_t d = 0; d < c[1].n; ++d) size[d] = c[1].list[d];
  return c[1].n;
}

}  // namespace

#define HB_SORT(T, suffix) HB_FAMILY_KERNEL(tensorlib_sort##suffix, &sort<T>, FC_FAMILY_SORT, 0, T)
#define HB_SORT_OF(ignored, T, suffix) HB_SORT(T, suffix)
HB_ALL(HB_SORT_OF, )
HB_SORT(int8_t, _Char)
HB_SORT(int16_t, _Short)
HB_KERNEL_SIZED_IF(searchsorted, "aten::searchsorted.Tensor", HB_NUMBERS, searchable, as_values)
