// SPDX-License-Identifier: Apache-2.0
// The few largest or smallest elements of each line, kept in order in a tile's scratchpad. Where there are fewer lines
// than tiles, several tiles take parts of one, and the first of them reads what the others kept.
#include <facula_hb/kernel.h>

#include "kernels/sort_key.h"

namespace {

constexpr int32_t kMost = 32;

template <class Key>
struct Best {
  struct Entry {
    Key key;
    int32_t at;  // where the element is
  };
  // Of equal ones those that came first stay first.
  void insert(Entry e, int32_t k) {
    if (n == k && entries[n - 1].key <= e.key) return;
    int32_t i = n < k ? n++ : k - 1;
    for (; i > 0 && entries[i - 1].key > e.key; --i) entries[i] = entries[i - 1];
    entries[i] = e;
  }
  int32_t n = 0;
  Entry entries[kMost];
};

// The first element of a line along dimension d.
int32_t start(const hb::Layout& t, int32_t line, int32_t d) {
  int32_t at = 0;
  for (int32_t i = t.ndim; i-- > 0;) {
    if (i == d) continue;
    const int32_t q = line / t.size[i];
    at += (line - q * t.size[i]) * t.stride[i];
    line = q;
  }
  return at;
}

template <class T>
void topk(hb::Out<T> values, hb::Out<int64_t> indices, hb::In<T> in, int64_t wanted, int64_t dim, bool largest,
          hb::Ignored) {
  using Key = decltype(fc::sort_key(T{}));
  const int32_t k = static_cast<int32_t>(wanted), d = static_cast<int32_t>(dim < 0 ? dim + in.ndim : dim);
  const int32_t length = in.size[d], step = in.stride[d], lines = in.numel / length;
  const Key flip = largest ? static_cast<Key>(~Key{}) : Key{};
  Best<Key> best;
  const auto select = [&](int32_t line, int32_t begin, int32_t end) {
    const T* p = in.data + start(in, line, d);
    for (int32_t i = begin; i < end; ++i)
      best.insert({static_cast<Key>(fc::sort_key(hb::load(p + i * step)) ^ flip), i}, k);
  };
  const auto write = [&](int32_t line) {
    const T* p = in.data + start(in, line, d);
    T* to = values.data + start(values, line, d);
    int64_t* where = indices.data + start(indices, line, d);
    for (int32_t i = 0; i < k; ++i) {
      const int32_t at = best.entries[i].at;
      hb::store(to + i * values.stride[d], hb::load(p + at * step));
      hb::store(where + i * indices.stride[d], static_cast<int64_t>(at));
    }
  };

  const int32_t tile = hb::tile(), per_line = lines < hb::tiles() ? hb::tiles() / lines : 1;
  if (per_line == 1) {
    hb::each(lines, [&](int32_t line) {
      best.n = 0;
      select(line, 0, length);
      write(line);
    });
    return;
  }
  const int32_t line = tile / per_line, part = tile - line * per_line, share = (length - 1) / per_line + 1;
  const int32_t begin = part * share < length ? part * share : length;
  if (line < lines) select(line, begin, length - begin < share ? length : begin + share);
  hb::barrier();
  if (line < lines && part == 0) {
    for (int32_t t = tile + 1; t < tile + per_line; ++t) {
      const int32_t x = static_cast<int32_t>(bsg_tiles_X);
      const auto* theirs = reinterpret_cast<const Best<Key>*>(const_cast<int*>(bsg_remote_ptr(t % x, t / x, &best)));
      const int32_t n = hb::load(&theirs->n);
      for (int32_t i = 0; i < n; ++i) best.insert(hb::load(&theirs->entries[i]), k);
    }
    write(line);
  }
  hb::barrier();  // until now what a tile kept is read
}

bool few(const hb::Call& c) { return c[0].n > 0 && c[1].number <= kMost; }

}  // namespace

HB_KERNEL_IF(topk, "aten::topk", HB_NUMBERS, few)
