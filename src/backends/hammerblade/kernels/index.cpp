// SPDX-License-Identifier: Apache-2.0
// Gathers and scatters along one dimension. The host gives all operands the shape of the index; the side that is
// indexed has stride 0 along that dimension, and its own stride there is `step`.
#include <facula_hb/kernel.h>

#include "facula/families.h"

namespace {

HB_INLINE bool inside(int64_t index, int64_t size, const hb::Fault& fault) {
  if (index >= 0 && index < size) return true;
  fault.bad_index(index);
  return false;
}

// Device memory has 31 bits, and a 64-bit product is a call of a library on the chip.
HB_INLINE int32_t reach(int64_t index, int64_t step) {
  return static_cast<int32_t>(index) * static_cast<int32_t>(step);
}

// out[i] = in[i with the coordinate replaced by index[i]]; words, so one kernel does for all types of a size.
template <class T>
void gather(hb::Out<T> out, hb::In<T> in, hb::In<int64_t> index, int64_t size, int64_t step, hb::Ignored,
            hb::Fault fault) {
  hb::each(index.numel, [&](int32_t i) {
    const int64_t at = hb::load(index.data + index.offset(i));
    if (!inside(at, size, fault)) return;
    hb::store(out.data + out.offset(i), hb::load(in.data + in.offset(i) + reach(at, step)));
  });
}

struct Set {
  template <class T>
  static T join(T, T b) {
    return b;
  }
};
struct Add {
  template <class T>
  static T join(T a, T b) {
    return a + b;
  }
};
struct Mul {
  template <class T>
  static T join(T a, T b) {
    return a * b;
  }
};
struct Max {
  template <class T>
  static T join(T a, T b) {
    return ((b > a) | (b != b)) ? b : a;
  }
};
struct Min {
  template <class T>
  static T join(T a, T b) {
    return ((b < a) | (b != b)) ? b : a;
  }
};

// The indexed dimension comes last. Elements meet only along it, so a tile takes whole lines of it; where there are
// fewer lines than tiles, several tiles share one, each owning a part of the result.
struct Owners {
  Owners(const hb::In<int64_t>& index, int64_t size)
      : length(index.ndim ? index.size[index.ndim - 1] : 1),
        per_line(index.numel / length < hb::tiles() ? hb::tiles() / (index.numel / length) : 1),
        n(index.numel / length * per_line),
        part((static_cast<int32_t>(size) - 1) / per_line + 1) {}
  int32_t of(int32_t i, int64_t at) const { return i / length * per_line + static_cast<int32_t>(at) / part; }
  int32_t length, per_line, n, part;
};

// Every owner looks at all indices of its line.
template <class F>
void each_owned(const hb::In<int64_t>& index, int64_t size, const hb::Fault& fault, F f) {
  const Owners owners(index, size);
  hb::each(owners.n, [&](int32_t owner) {
    const int32_t line = owner / owners.per_line;
    for (int32_t k = 0, i = line * owners.length; k < owners.length; ++k, ++i) {
      const int64_t at = hb::load(index.data + index.offset(i));
      if (inside(at, size, fault) && owners.of(i, at) == owner) f(i, at);
    }
  });
}

// The same for many indices: they are first sorted by owner, in their order; a tile's own are order[begin] …
// order[end - 1]. `memory` has a number for each tile and owner, one for each owner, and one for each index.
struct Sorted {
  const int32_t* order;
  int32_t begin, end;
};
__attribute__((noinline)) Sorted sort_by_owner(const hb::In<int64_t>& index, int64_t size, const hb::Fault& fault,
                                               int32_t* memory) {
  const Owners owners(index, size);
  const int32_t n = owners.n, tiles = hb::tiles();
  int32_t *counts = memory, *mine = counts + hb::tile() * n, *totals = memory + tiles * n, *order = totals + n;
  const hb::Range share = hb::share(index.numel);
  for (int32_t o = 0; o < n; ++o) hb::store(mine + o, int32_t{0});
  for (int32_t i = share.begin; i < share.end; ++i) {
    const int64_t at = hb::load(index.data + index.offset(i));
    if (!inside(at, size, fault)) continue;
    int32_t* count = mine + owners.of(i, at);
    hb::store(count, hb::load(count) + 1);
  }
  hb::barrier();
  hb::each(n, [&](int32_t o) {
    int32_t total = 0;
    for (int32_t t = 0; t < tiles; ++t) total += hb::load(counts + t * n + o);
    hb::store(totals + o, total);
  });
  hb::barrier();
  const hb::Range owned = hb::share(n);
  int32_t begin = 0;
  for (int32_t o = 0; o < owned.begin; ++o) begin += hb::load(totals + o);
  int32_t end = begin;
  for (int32_t o = owned.begin; o < owned.end; ++o)
    for (int32_t t = 0; t < tiles; ++t) {
      const int32_t count = hb::load(counts + t * n + o);
      hb::store(counts + t * n + o, end);
      end += count;
    }
  hb::barrier();
  for (int32_t i = share.begin; i < share.end; ++i) {
    const int64_t at = hb::load(index.data + index.offset(i));
    if (at < 0 || at >= size) continue;
    int32_t* next = mine + owners.of(i, at);
    const int32_t place = hb::load(next);
    hb::store(order + place, i);
    hb::store(next, place + 1);
  }
  hb::barrier();
  return {order, begin, end};
}

template <class Join, class T>
void scatter(hb::Changed<T> out, hb::In<T> src, hb::In<int64_t> index, int64_t size, int64_t step,
             hb::Changed<int32_t> memory, hb::Fault fault) {
  const auto write = [&](int32_t i, int64_t at) {
    T* p = out.data + out.offset(i) + reach(at, step);
    const T value = hb::load(src.data + src.offset(i));
    hb::store(p, Join::join(hb::load(p), value));
  };
  if (!memory.defined()) return each_owned(index, size, fault, write);
  const Sorted mine = sort_by_owner(index, size, fault, memory.data);
  for (int32_t k = mine.begin; k < mine.end; ++k) {
    const int32_t i = hb::load(mine.order + k);
    write(i, hb::load(index.data + index.offset(i)));
  }
}

}  // namespace

#define HB_GATHER(T, suffix) HB_FAMILY_KERNEL(tensorlib_gather##suffix, &gather<T>, FC_FAMILY_GATHER, 0, T)
HB_GATHER(uint8_t, _Byte)
HB_GATHER(int16_t, _Short)
HB_GATHER(int32_t, _Int)
HB_GATHER(int64_t, _Long)
#define HB_SCATTER(name, Join, opcode, T, suffix) \
  HB_FAMILY_KERNEL(tensorlib_scatter##name##suffix, (&scatter<Join, T>), FC_FAMILY_SCATTER, opcode, T)
HB_SCATTER(, Set, FC_SCATTER_SET, uint8_t, _Byte)
HB_SCATTER(, Set, FC_SCATTER_SET, int16_t, _Short)
HB_SCATTER(, Set, FC_SCATTER_SET, int32_t, _Int)
HB_SCATTER(, Set, FC_SCATTER_SET, int64_t, _Long)
HB_NUMBERS(HB_SCATTER, _add, Add, FC_SCATTER_ADD)
HB_NUMBERS(HB_SCATTER, _mul, Mul, FC_SCATTER_MUL)
HB_NUMBERS(HB_SCATTER, _max, Max, FC_SCATTER_MAX)
HB_NUMBERS(HB_SCATTER, _min, Min, FC_SCATTER_MIN)
