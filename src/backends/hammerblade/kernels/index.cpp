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
void gather(hb::Out<T> out, hb::In<T> in, hb::In<int64_t> index, int64_t size, int64_t step, hb::Fault fault) {
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
// fewer lines than tiles, several tiles share one, each writing its own part of the result.
template <class Join, class T>
void scatter(hb::Changed<T> out, hb::In<T> src, hb::In<int64_t> index, int64_t size, int64_t step, hb::Fault fault) {
  const int32_t length = index.ndim ? index.size[index.ndim - 1] : 1, lines = index.numel / length;
  const int32_t owners = lines < hb::tiles() ? hb::tiles() / lines : 1;
  const int32_t part = (static_cast<int32_t>(size) + owners - 1) / owners;
  hb::each(lines * owners, [&](int32_t item) {
    const int32_t line = item / owners;
    const int32_t from = (item - line * owners) * part, to = from + part;
    for (int32_t k = 0, i = line * length; k < length; ++k, ++i) {
      const int64_t at = hb::load(index.data + index.offset(i));
      if (!inside(at, size, fault) || at < from || at >= to) continue;
      T* p = out.data + out.offset(i) + reach(at, step);
      const T value = hb::load(src.data + src.offset(i));
      hb::store(p, Join::join(hb::load(p), value));
    }
  });
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
