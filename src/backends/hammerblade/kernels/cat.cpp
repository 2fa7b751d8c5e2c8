// SPDX-License-Identifier: Apache-2.0
// Tensors joined along a dimension, one after the other.
#include <facula_hb/kernel.h>

namespace {

template <class T>
void cat(hb::DenseOut<T> out, hb::List<T> tensors, int64_t dim) {
  int32_t before = 0;
  for (int32_t n = 0; n < tensors.n(); ++n) {
    const hb::In<T> in = tensors[n];
    if (in.numel == 0) continue;
    const int32_t d = static_cast<int32_t>(dim < 0 ? dim + in.ndim : dim);
    int32_t inner = 1;
    for (int32_t i = d + 1; i < in.ndim; ++i) inner *= in.size[i];
    const int32_t length = in.size[d] * inner, line = out.size[d] * inner;
    hb::each(in.numel, [&](int32_t i) {
      hb::store(out.data + i / length * line + before + i % length, hb::load(in.data + in.offset(i)));
    });
    before += length;
  }
}

}  // namespace

HB_KERNEL(cat, "aten::cat", HB_NUMBERS)
