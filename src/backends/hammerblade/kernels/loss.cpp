// SPDX-License-Identifier: Apache-2.0
// The negative log likelihood of classes, [N, C] or [N, C, S…], with weights and the three reductions; and its
// gradient.
#include <facula_hb/kernel.h>

namespace {

enum Reduction { kNone, kMean, kSum };

// Samples of [N, C, S]: where the element of a class lies.
struct Classes {
  explicit Classes(const hb::DenseIn<float>& t) : classes(t.size[t.ndim > 1]), inner(1) {
    for (int32_t d = 2; d < t.ndim; ++d) inner *= t.size[d];
    samples = t.numel / classes;
  }
  int32_t at(int32_t sample, int64_t c) const {
    return (sample / inner * classes + static_cast<int32_t>(c)) * inner + sample % inner;
  }
  int32_t classes, inner, samples;
};

// The class of a sample; false: it is ignored, or no class.
HB_INLINE bool named(const Classes& s, const hb::DenseIn<int64_t>& target, int32_t sample, int64_t ignored,
                     const hb::Fault& fault, int64_t& c) {
  c = hb::load(target.data + sample);
  if (c == ignored) return false;
  if (c >= 0 && c < s.classes) return true;
  fault.bad_index(c);
  return false;
}

void nll_loss_forward(hb::DenseOut<float> out, hb::DenseOut<float> total, hb::DenseIn<float> in,
                      hb::DenseIn<int64_t> target, hb::Maybe<float> weight, int64_t reduction, int64_t ignored,
                      hb::Fault fault) {
  const Classes s(in);
  auto weight_of = [&](int64_t c) { return weight.defined() ? hb::load(weight.data + c) : 1.0f; };
  if (reduction == kNone && in.ndim > 1) {
    hb::each(s.samples, [&](int32_t i) {
      int64_t c;
      hb::store(out.data + i,
                named(s, target, i, ignored, fault, c) ? -hb::load(in.data + s.at(i, c)) * weight_of(c) : 0.0f);
    });
    if (hb::tile() == 0) hb::store(total.data, 0.0f);
    return;
  }
  if (hb::tile() != 0) return;  // one number: as many loads as samples, of which there are few
  float sum = 0, weights = 0;
  for (int32_t i = 0; i < s.samples; ++i) {
    int64_t c;
    if (!named(s, target, i, ignored, fault, c)) continue;
    weights += weight_of(c);
    sum -= hb::load(in.data + s.at(i, c)) * weight_of(c);
  }
  hb::store(out.data, reduction == kMean ? sum / weights : sum);
  hb::store(total.data, reduction == kNone ? 0.0f : weights);
}

void nll_loss_backward(hb::DenseOut<float> out, hb::DenseIn<float> grad, hb::DenseIn<float> in,
                       hb::DenseIn<int64_t> target, hb::Maybe<float> weight, int64_t reduction, int64_t ignored,
                       hb::DenseIn<float> total, hb::Fault fault) {
  const Classes s(in);
  hb::each(s.samples, [&](int32_t i) {
    for (int32_t c = 0; c < s.classes; ++c) hb::store(out.data + s.at(i, c), 0.0f);
    int64_t c;
    if (!named(s, target, i, ignored, fault, c)) return;
    float g = hb::load(grad.data + (reduction == kNone && in.ndim > 1 ? i : 0));
    if (reduction == kMean) g /= hb::load(total.data);
    hb::store(out.data + s.at(i, c), -g * (weight.defined() ? hb::load(weight.data + c) : 1.0f));
  });
}

bool has_classes(const hb::Call& c) {  // targets that are classes; samples of no class are left to the host
  for (int32_t d = 0; d < c[0].n; ++d)
    if (c[0].list[d] == 0) return false;
  return c[0].n > 0;
}
bool gradient_has_classes(const hb::Call& c) { return has_classes({c.arguments + 1, c.n - 1}); }

}  // namespace

HB_KERNEL_PLAIN_IF(nll_loss_forward, "aten::nll_loss_forward", has_classes)
HB_KERNEL_PLAIN_IF(nll_loss_backward, "aten::nll_loss_backward", gradient_has_classes)
