// SPDX-License-Identifier: Apache-2.0
// Softmax and its logarithm along one dimension, and their gradients. A tile takes whole lines of it.
#include <facula_hb/kernel.h>

#include "kernels/formulas/base.h"

namespace {

// The lines of a tensor without gaps: where each begins, how far its elements are apart.
template <class T>
struct Lines {
  Lines(const T& t, int64_t dim) : length(1), step(1) {
    const int32_t d = static_cast<int32_t>(dim < 0 ? dim + t.ndim : dim);
    if (t.ndim) length = t.size[d];
    for (int32_t i = d + 1; i < t.ndim; ++i) step *= t.size[i];
    count = length ? t.numel / length : 0;
  }
  int32_t begin(int32_t line) const { return line / step * step * length + line % step; }
  int32_t length, step, count;
};

float exponential(float x) { return fc::math::exp(x); }

template <bool logarithm>
void forward(const hb::DenseOut<float>& out, const hb::DenseIn<float>& in, int64_t dim) {
  const Lines lines(in, dim);
  hb::each(lines.count, [&](int32_t line) {
    const int32_t begin = lines.begin(line), step = lines.step;
    const float* p = in.data + begin;
    float* to = out.data + begin;
    float largest = -__builtin_inff(), sum = 0;
    for (int32_t i = 0; i < lines.length; ++i) {
      const float x = hb::load(p + i * step);
      if (x > largest || x != x) largest = x;
    }
    if (largest == -__builtin_inff()) largest = 0;
    for (int32_t i = 0; i < lines.length; ++i) {
      const float e = exponential(hb::load(p + i * step) - largest);
      if (!logarithm) hb::store(to + i * step, e);
      sum += e;
    }
    const float scale = logarithm ? largest + fc::math::log(sum) : 1 / sum;
    for (int32_t i = 0; i < lines.length; ++i) {
      if (logarithm) hb::store(to + i * step, hb::load(p + i * step) - scale);
      else hb::store(to + i * step, hb::load(to + i * step) * scale);
    }
  });
}

template <bool logarithm>
void backward(const hb::DenseOut<float>& out, const hb::DenseIn<float>& grad, const hb::DenseIn<float>& result,
              int64_t dim) {
  const Lines lines(grad, dim);
  hb::each(lines.count, [&](int32_t line) {
    const int32_t begin = lines.begin(line), step = lines.step;
    float sum = 0;
    for (int32_t i = 0, at = begin; i < lines.length; ++i, at += step) {
      const float g = hb::load(grad.data + at);
      sum += logarithm ? g : g * hb::load(result.data + at);
    }
    for (int32_t i = 0, at = begin; i < lines.length; ++i, at += step) {
      const float g = hb::load(grad.data + at), y = hb::load(result.data + at);
      hb::store(out.data + at, logarithm ? g - exponential(y) * sum : (g - sum) * y);
    }
  });
}

void _softmax(hb::DenseOut<float> out, hb::DenseIn<float> in, int64_t dim, hb::Ignored) {
  forward<false>(out, in, dim);
}
void _log_softmax(hb::DenseOut<float> out, hb::DenseIn<float> in, int64_t dim, hb::Ignored) {
  forward<true>(out, in, dim);
}
void _softmax_backward_data(hb::DenseOut<float> out, hb::DenseIn<float> grad, hb::DenseIn<float> result, int64_t dim,
                            hb::Ignored) {
  backward<false>(out, grad, result, dim);
}
void _log_softmax_backward_data(hb::DenseOut<float> out, hb::DenseIn<float> grad, hb::DenseIn<float> result,
                                int64_t dim, hb::Ignored) {
  backward<true>(out, grad, result, dim);
}

}  // namespace

HB_KERNEL_PLAIN(_softmax, "aten::_softmax")
HB_KERNEL_PLAIN(_log_softmax, "aten::_log_softmax")
HB_KERNEL_PLAIN(_softmax_backward_data, "aten::_softmax_backward_data")
HB_KERNEL_PLAIN(_log_softmax_backward_data, "aten::_log_softmax_backward_data")
