// SPDX-License-Identifier: Apache-2.0
// A small convnet learns to tell four noisy patterns apart: examples/train_convnet.py in C++, the same losses.
//
//   train_convnet [--dtype float32|float64] [--steps N]
#include <facula/facula.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

using facula::Tensor;

constexpr int64_t kClasses = 4, kPixels = 12, kSamples = 480, kBatch = 16;
constexpr double kRate = 0.05;

struct Data {
  Tensor images, labels;
};

Data make_data(facula::Dtype dtype) {
  facula::manual_seed(0);
  Tensor patterns = facula::randn({kClasses, 1, kPixels, kPixels});
  Tensor labels = facula::randint(0, kClasses, {kSamples});
  Tensor images = patterns.index_select(0, labels) + 0.7 * facula::randn({kSamples, 1, kPixels, kPixels});
  return {images.to(dtype), labels};
}

struct Net {
  Tensor conv1, scale, shift, conv2, bias2, full, bias;

  explicit Net(facula::Dtype dtype) {
    facula::manual_seed(1);
    auto weight = [&](std::vector<int64_t> shape) {
      double inputs = 1;
      for (size_t i = 1; i < shape.size(); ++i) inputs *= static_cast<double>(shape[i]);
      double bound = 1.0 / std::sqrt(inputs);
      return facula::empty(shape).uniform_(-bound, bound).to(dtype).requires_grad_();
    };
    auto filled = [&](double value, int64_t size) {
      return facula::full({size}, value, facula::dtype(dtype).requires_grad(true));
    };
    conv1 = weight({8, 1, 3, 3});
    scale = filled(1.0, 8);
    shift = filled(0.0, 8);
    conv2 = weight({16, 8, 3, 3});
    bias2 = filled(0.0, 16);
    full = weight({kClasses, 16 * 3 * 3});
    bias = filled(0.0, kClasses);
  }

  std::vector<Tensor*> parameters() { return {&conv1, &scale, &shift, &conv2, &bias2, &full, &bias}; }

  Tensor forward(Tensor x) const {
    x = facula::conv2d(x, conv1, {}, {1, 1}, {1, 1});
    x = facula::batch_norm(x, scale, shift, {}, {}, /*training=*/true, /*momentum=*/0.1, /*eps=*/1e-5,
                           /*cudnn_enabled=*/false);
    x = facula::max_pool2d(facula::relu(x), {2, 2});
    x = facula::conv2d(x, conv2, bias2, {1, 1}, {1, 1});
    x = facula::max_pool2d(facula::relu(x), {2, 2});
    x = facula::dropout(x.flatten(1), 0.1, /*train=*/true);
    return facula::linear(x, full, bias);
  }
};

void train(facula::Dtype dtype, int64_t steps) {
  Data data = make_data(dtype);
  Net net(dtype);
  facula::manual_seed(2);  // for dropout
  for (int64_t step = 0; step < steps; ++step) {
    int64_t first = step * kBatch % kSamples;
    Tensor x = data.images.slice(0, first, first + kBatch);
    Tensor y = data.labels.slice(0, first, first + kBatch);
    Tensor loss = facula::cross_entropy_loss(net.forward(x), y);
    loss.backward();
    {
      facula::NoGradGuard no_grad;
      for (Tensor* parameter : net.parameters()) {
        parameter->sub_(kRate * parameter->grad());
        parameter->mutable_grad() = Tensor();
      }
    }
    std::printf("%3d  %.17g\n", static_cast<int>(step), loss.item<double>());
  }
}

}  // namespace

int main(int argc, char** argv) {
  facula::Dtype dtype = facula::kFloat32;
  int64_t steps = 30;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!std::strcmp(argv[i], "--dtype") && !std::strcmp(argv[i + 1], "float64")) dtype = facula::kFloat64;
    if (!std::strcmp(argv[i], "--steps")) steps = std::stoll(argv[i + 1]);
  }
  train(dtype, steps);
}
