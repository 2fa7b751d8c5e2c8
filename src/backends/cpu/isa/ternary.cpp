// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/isa/tile.h"

namespace facula::cpu::FC_ISA {
namespace {

// where(condition, a, b): the condition is bool, and the values only move, so they are chosen by size.
template <class T>
void where_tile(char* const* ptr, const int64_t* s, int64_t n0, int64_t n1, const void*) {
  for (int64_t j = 0; j < n1; ++j) {
    char* out = ptr[0] + j * s[4];
    const char* c = ptr[1] + j * s[5];
    const char* a = ptr[2] + j * s[6];
    const char* b = ptr[3] + j * s[7];
    if (s[0] == sizeof(T) && s[1] == 1 && (s[2] == sizeof(T) || s[2] == 0) && (s[3] == sizeof(T) || s[3] == 0)) {
      auto* r = reinterpret_cast<T*>(out);
      auto* x = reinterpret_cast<const T*>(a);
      auto* y = reinterpret_cast<const T*>(b);
      const int64_t sx = s[2] ? 1 : 0, sy = s[3] ? 1 : 0;
FC_IVDEP
      for (int64_t i = 0; i < n0; ++i) r[i] = c[i] ? x[i * sx] : y[i * sy];
    } else {
      for (int64_t i = 0; i < n0; ++i)
        *reinterpret_cast<T*>(out + i * s[0]) =
            *reinterpret_cast<const T*>(c[i * s[1]] ? a + i * s[2] : b + i * s[3]);
    }
  }
}

template <class T>
void add_where(KernelTable& t) {
  t.map[FC_MAP_where][static_cast<int>(dtype_of<T>())] = {where_tile<T>, dtype_of<T>(), 1};
}

}  // namespace

void fill_ternary(KernelTable& t) {
  add_ops(t, scalar::ternary_ops{}, 2);
  add_ops(t, scalar::derivative_ops{}, 8);
  add_where<bool>(t);
  add_where<uint8_t>(t);
  add_where<int8_t>(t);
  add_where<int16_t>(t);
  add_where<int32_t>(t);
  add_where<int64_t>(t);
  add_where<float>(t);
  add_where<double>(t);
  add_where<std::complex<float>>(t);
  add_where<std::complex<double>>(t);
}

}  // namespace facula::cpu::FC_ISA
