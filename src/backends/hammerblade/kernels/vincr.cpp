// SPDX-License-Identifier: Apache-2.0
// The port's tutorial kernel.
#include <facula_hb/kernel.h>

namespace {

template <class T>
void vincr(hb::Out<T> out, hb::In<T> a) {
  hb::map(
      out, [](T x) { return static_cast<T>(x + T(1)); }, a);
}

}  // namespace

HB_KERNEL(vincr, "aten::vincr", HB_NUMBERS)
