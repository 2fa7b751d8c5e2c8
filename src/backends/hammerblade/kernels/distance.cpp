// SPDX-License-Identifier: Apache-2.0
// Euclidean distances between the rows of two matrices, in any number of batches of them.
#include <facula_hb/kernel.h>

#include "kernels/math.h"

namespace {

void cdist(hb::DenseOut<float> out, hb::DenseIn<float> a, hb::DenseIn<float> b, hb::Ignored, hb::Ignored) {
  const int32_t width = a.size[a.ndim - 1], rows = a.size[a.ndim - 2], columns = b.size[b.ndim - 2];
  hb::each(out.numel, [&](int32_t i) {
    const int32_t group = i / (rows * columns), rest = i - group * rows * columns;
    const float *x = a.data + (group * rows + rest / columns) * width,
                *y = b.data + (group * columns + rest % columns) * width;
    float sum = 0;
    for (int32_t k = 0; k < width; ++k) {
      const float d = hb::load(x + k) - hb::load(y + k);
      sum += d * d;
    }
    hb::store(out.data + i, fc::math::target::sqrt(sum));
  });
}

bool euclidean(const hb::Call& c) {
  if (c[2].number != 2 || c[0].n != c[1].n) return false;
  for (int32_t d = 0; d + 2 < c[0].n; ++d)
    if (c[0].list[d] != c[1].list[d]) return false;
  return true;
}

}  // namespace

HB_KERNEL_PLAIN_IF(cdist, "aten::_cdist_forward", euclidean)
