// SPDX-License-Identifier: Apache-2.0
// Batch and layer normalisation, forward and backward. Statistics of one channel or row are one tile's work.
#include <facula_hb/kernel.h>

#include "kernels/math.h"

namespace {

struct Statistics {
  float mean, rstd, variance;
};
// Of n elements that element(i) gives, in two passes: the mean first, so that large means cost no digits.
template <class F>
HB_INLINE Statistics statistics(int32_t n, float eps, F element) {
  float sum[4] = {}, square[4] = {};
  for (int32_t i = 0; i < n; ++i) sum[i % 4] += element(i);
  const float mean = (sum[0] + sum[1] + sum[2] + sum[3]) / static_cast<float>(n);
  for (int32_t i = 0; i < n; ++i) {
    const float d = element(i) - mean;
    square[i % 4] += d * d;
  }
  const float variance = (square[0] + square[1] + square[2] + square[3]) / static_cast<float>(n);
  return {mean, 1 / fc::math::target::sqrt(variance + eps), variance};
}

// [N, C, S] of a tensor without gaps: the elements of channel c.
struct Channel {
  template <class T>
  Channel(const T& t, int32_t c) : channels(t.size[1]), area(t.numel / (t.size[0] * t.size[1])), first(c * area) {}
  int32_t operator()(int32_t i) const { return i / area * channels * area + first + i % area; }
  int32_t channels, area, first;
};

void native_batch_norm(hb::DenseOut<float> out, hb::DenseOut<float> save_mean, hb::DenseOut<float> save_rstd,
                       hb::DenseIn<float> in, hb::Maybe<float> weight, hb::Maybe<float> bias,
                       hb::Changed<float> running_mean, hb::Changed<float> running_var, bool training, float momentum,
                       float eps) {
  const int32_t n = in.numel / in.size[1];
  hb::each(in.size[1], [&](int32_t c) {
    const Channel at(in, c);
    Statistics s;
    if (training) {
      s = statistics(n, eps, [&](int32_t i) { return hb::load(in.data + at(i)); });
      hb::store(save_mean.data + c, s.mean);
      hb::store(save_rstd.data + c, s.rstd);
      if (running_mean.defined()) {
        running_mean.set((1 - momentum) * running_mean.get(c) + momentum * s.mean, c);
        const float unbiased = s.variance * static_cast<float>(n) / static_cast<float>(n - 1);
        running_var.set((1 - momentum) * running_var.get(c) + momentum * unbiased, c);
      }
    } else {
      s.mean = running_mean.get(c);
      s.rstd = 1 / fc::math::target::sqrt(running_var.get(c) + eps);
    }
    const float scale = s.rstd * (weight.defined() ? hb::load(weight.data + c) : 1.0f);
    const float offset = bias.defined() ? hb::load(bias.data + c) : 0.0f;
    for (int32_t i = 0; i < n; ++i) hb::store(out.data + at(i), (hb::load(in.data + at(i)) - s.mean) * scale + offset);
  });
}

void native_batch_norm_backward(hb::DenseOut<float> to_in, hb::DenseOut<float> to_weight, hb::DenseOut<float> to_bias,
                                hb::DenseIn<float> grad, hb::DenseIn<float> in, hb::Maybe<float> weight,
                                hb::Maybe<float> running_mean, hb::Maybe<float> running_var, hb::Maybe<float> mean,
                                hb::Maybe<float> rstd, bool training, float eps, hb::Ignored) {
  const int32_t n = in.numel / in.size[1];
  hb::each(in.size[1], [&](int32_t c) {
    const Channel at(in, c);
    const float m = training ? hb::load(mean.data + c) : hb::load(running_mean.data + c);
    const float r =
        training ? hb::load(rstd.data + c) : 1 / fc::math::target::sqrt(hb::load(running_var.data + c) + eps);
    float sum[4] = {}, product[4] = {};
    for (int32_t i = 0; i < n; ++i) {
      const float g = hb::load(grad.data + at(i));
      sum[i % 4] += g;
      product[i % 4] += g * (hb::load(in.data + at(i)) - m);
    }
    const float all = sum[0] + sum[1] + sum[2] + sum[3];
    const float along = (product[0] + product[1] + product[2] + product[3]) * r;
    if (to_weight.defined()) hb::store(to_weight.data + c, along);
    if (to_bias.defined()) hb::store(to_bias.data + c, all);
    if (!to_in.defined()) return;
    const float scale = r * (weight.defined() ? hb::load(weight.data + c) : 1.0f);
    const float mean_grad = training ? all / static_cast<float>(n) : 0.0f;
    const float slope = training ? along * r / static_cast<float>(n) : 0.0f;
    for (int32_t i = 0; i < n; ++i) {
      const float g = hb::load(grad.data + at(i)), d = hb::load(in.data + at(i)) - m;
      hb::store(to_in.data + at(i), scale * (g - mean_grad - d * slope));
    }
  });
}

void native_layer_norm(hb::DenseOut<float> out, hb::DenseOut<float> mean, hb::DenseOut<float> rstd,
                       hb::DenseIn<float> in, hb::Ignored, hb::Maybe<float> weight, hb::Maybe<float> bias, float eps) {
  const int32_t rows = mean.numel, n = in.numel / rows;
  hb::each(rows, [&](int32_t row) {
    const float* p = in.data + row * n;
    const Statistics s = statistics(n, eps, [&](int32_t i) { return hb::load(p + i); });
    hb::store(mean.data + row, s.mean);
    hb::store(rstd.data + row, s.rstd);
    for (int32_t i = 0; i < n; ++i) {
      float y = (hb::load(p + i) - s.mean) * s.rstd;
      if (weight.defined()) y *= hb::load(weight.data + i);
      if (bias.defined()) y += hb::load(bias.data + i);
      hb::store(out.data + row * n + i, y);
    }
  });
}

void native_layer_norm_backward(hb::DenseOut<float> to_in, hb::DenseOut<float> to_weight, hb::DenseOut<float> to_bias,
                                hb::DenseIn<float> grad, hb::DenseIn<float> in, hb::Ignored, hb::DenseIn<float> mean,
                                hb::DenseIn<float> rstd, hb::Maybe<float> weight, hb::Ignored, hb::Ignored) {
  const int32_t rows = mean.numel, n = in.numel / rows;
  if (to_in.defined())
    hb::each(rows, [&](int32_t row) {
      const float *g = grad.data + row * n, *x = in.data + row * n;
      const float m = hb::load(mean.data + row), r = hb::load(rstd.data + row);
      float sum = 0, along = 0;
      for (int32_t i = 0; i < n; ++i) {
        const float gw = hb::load(g + i) * (weight.defined() ? hb::load(weight.data + i) : 1.0f);
        sum += gw;
        along += gw * (hb::load(x + i) - m) * r;
      }
      for (int32_t i = 0; i < n; ++i) {
        const float gw = hb::load(g + i) * (weight.defined() ? hb::load(weight.data + i) : 1.0f);
        const float hat = (hb::load(x + i) - m) * r;
        hb::store(to_in.data + row * n + i, r * (gw - (sum + hat * along) / static_cast<float>(n)));
      }
    });
  if (!to_weight.defined() && !to_bias.defined()) return;
  hb::each(n, [&](int32_t i) {
    float sum = 0, along = 0;
    for (int32_t row = 0; row < rows; ++row) {
      const float g = hb::load(grad.data + row * n + i);
      sum += g;
      along += g * (hb::load(in.data + row * n + i) - hb::load(mean.data + row)) * hb::load(rstd.data + row);
    }
    if (to_weight.defined()) hb::store(to_weight.data + i, along);
    if (to_bias.defined()) hb::store(to_bias.data + i, sum);
  });
}

bool has_rows(const hb::Call& c) {  // a normalised row of nothing is left to the host
  for (int32_t d = 0; d < c[0].n; ++d)
    if (c[0].list[d] == 0) return false;
  return true;
}

}  // namespace

HB_KERNEL_PLAIN_IF(native_batch_norm, "aten::native_batch_norm", has_rows)
HB_KERNEL_PLAIN_IF(native_batch_norm_backward, "aten::native_batch_norm_backward", has_rows)
HB_KERNEL_PLAIN_IF(native_layer_norm, "aten::native_layer_norm", has_rows)
HB_KERNEL_PLAIN_IF(native_layer_norm_backward, "aten::native_layer_norm_backward", has_rows)
