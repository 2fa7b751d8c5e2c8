// SPDX-License-Identifier: Apache-2.0
// A two-layer transformer learns the larger of two neighbouring symbols: examples/train_transformer.py in C++, the
// same losses.
//
//   train_transformer [--dtype float32|float64] [--steps N]
#include <facula/facula.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

using facula::Tensor;

constexpr int64_t kSymbols = 11, kLength = 16, kWidth = 32, kHeads = 4, kLayers = 2;
constexpr int64_t kSamples = 480, kBatch = 16;
constexpr double kRate = 0.5;

struct Data {
  Tensor sequences, answers;
};

Data make_data() {
  facula::manual_seed(0);
  Tensor x = facula::randint(0, kSymbols, {kSamples, kLength});
  Tensor previous =
      facula::cat({facula::zeros({kSamples, 1}, facula::dtype(facula::kInt64)), x.slice(1, 0, kLength - 1)}, 1);
  return {x, facula::maximum(x, previous)};
}

// Draws parameters in the order in which they are asked for, and remembers them all.
struct Parameters {
  facula::Dtype dtype;
  std::vector<Tensor> all;

  Tensor keep(const Tensor& t) {
    all.push_back(t);
    return t;
  }
  Tensor normal(int64_t rows, int64_t columns) {
    return keep((facula::randn({rows, columns}) * 0.5).to(dtype).requires_grad_());
  }
  Tensor weight(int64_t rows, int64_t columns) {
    double bound = 1.0 / std::sqrt(static_cast<double>(columns));
    return keep(facula::empty({rows, columns}).uniform_(-bound, bound).to(dtype).requires_grad_());
  }
  Tensor filled(double value, int64_t size) {
    return keep(facula::full({size}, value, facula::dtype(dtype).requires_grad(true)));
  }
};

struct Layer {
  Tensor norm1, shift1, qkv, out, norm2, shift2, up, up_bias, down, down_bias;

  explicit Layer(Parameters& p)
      : norm1(p.filled(1.0, kWidth)),
        shift1(p.filled(0.0, kWidth)),
        qkv(p.weight(3 * kWidth, kWidth)),
        out(p.weight(kWidth, kWidth)),
        norm2(p.filled(1.0, kWidth)),
        shift2(p.filled(0.0, kWidth)),
        up(p.weight(4 * kWidth, kWidth)),
        up_bias(p.filled(0.0, 4 * kWidth)),
        down(p.weight(kWidth, 4 * kWidth)),
        down_bias(p.filled(0.0, kWidth)) {}

  // Several heads look back over the sequence; x is [batch, length, width].
  Tensor attention(const Tensor& x, const Tensor& mask) const {
    int64_t batch = x.size(0);
    auto heads = [&](const Tensor& t) { return t.reshape({batch, kLength, kHeads, kWidth / kHeads}).transpose(1, 2); };
    std::vector<Tensor> parts = facula::linear(x, qkv).split(kWidth, 2);
    Tensor q = heads(parts[0]), k = heads(parts[1]), v = heads(parts[2]);
    Tensor scores = facula::matmul(q, k.transpose(2, 3)) / std::sqrt(static_cast<double>(kWidth / kHeads));
    Tensor weights = facula::softmax(facula::where(mask, scores, -INFINITY), -1);
    weights = facula::dropout(weights, 0.1, /*train=*/true);
    Tensor mixed = facula::matmul(weights, v).transpose(1, 2).reshape({batch, kLength, kWidth});
    return facula::linear(mixed, out);
  }

  Tensor forward(Tensor h, const Tensor& mask) const {
    h = h + attention(facula::layer_norm(h, {kWidth}, norm1, shift1), mask);
    Tensor n = facula::layer_norm(h, {kWidth}, norm2, shift2);
    return h + facula::linear(facula::gelu(facula::linear(n, up, up_bias)), down, down_bias);
  }
};

struct Net {
  Parameters p;
  Tensor symbols, places;
  std::vector<Layer> layers;
  Tensor norm, shift, answer;

  explicit Net(facula::Dtype dtype) : p{dtype, {}} {
    facula::manual_seed(1);
    symbols = p.normal(kSymbols, kWidth);
    places = p.normal(kLength, kWidth);
    for (int64_t i = 0; i < kLayers; ++i) layers.emplace_back(p);
    norm = p.filled(1.0, kWidth);
    shift = p.filled(0.0, kWidth);
    answer = p.weight(kSymbols, kWidth);
  }

  Tensor forward(const Tensor& x, const Tensor& mask) const {
    Tensor h = facula::embedding(symbols, x) + places;
    for (const Layer& layer : layers) h = layer.forward(h, mask);
    return facula::linear(facula::layer_norm(h, {kWidth}, norm, shift), answer);
  }
};

void train(facula::Dtype dtype, int64_t steps) {
  Data data = make_data();
  Net net(dtype);
  Tensor mask = facula::tril(facula::ones({kLength, kLength}, facula::dtype(facula::kBool)));
  facula::manual_seed(2);  // for dropout
  for (int64_t step = 0; step < steps; ++step) {
    int64_t first = step * kBatch % kSamples;
    Tensor x = data.sequences.slice(0, first, first + kBatch);
    Tensor y = data.answers.slice(0, first, first + kBatch);
    Tensor scores = net.forward(x, mask);
    Tensor loss = facula::cross_entropy_loss(scores.reshape({-1, kSymbols}), y.reshape({-1}));
    loss.backward();
    {
      facula::NoGradGuard no_grad;
      for (Tensor& parameter : net.p.all) {
        parameter.sub_(kRate * parameter.grad());
        parameter.mutable_grad() = Tensor();
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
