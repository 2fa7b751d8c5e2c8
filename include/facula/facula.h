// SPDX-License-Identifier: Apache-2.0
// The whole C++ front. Programs include this and nothing else:
//   #include <facula/facula.h>
//   facula::Tensor x = facula::randn({2, 3}, facula::requires_grad());
//   (x * x).sum().backward();
#pragma once
#include <facula/tensor.h>

namespace facula {

inline Tensor tensor(std::initializer_list<double> values, const TensorOptions& options = {}) {
  return front::tensor(values, options);
}
inline Tensor tensor(std::initializer_list<int64_t> values, const TensorOptions& options = {}) {
  return front::tensor(values, options);
}
inline Tensor tensor(double value, const TensorOptions& options = {}) { return front::tensor(value, options); }
// Memory of the caller's, not copied; it must outlive the tensor.
inline Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options = {}) {
  return front::from_blob(data, sizes, options);
}

void manual_seed(uint64_t seed);
void set_num_threads(int n);
int get_num_threads();
inline std::vector<Tensor> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                                const std::vector<Tensor>& grad_outputs = {},
                                std::optional<bool> retain_graph = std::nullopt, bool create_graph = false,
                                bool allow_unused = false) {
  return front::outside(front::grad(front::span(outputs), front::span(inputs), front::span(grad_outputs), retain_graph,
                                    create_graph, allow_unused));
}

class AutoGradMode {  // switches recording on or off for this thread and scope
 public:
  explicit AutoGradMode(bool on);
  ~AutoGradMode();
  AutoGradMode(const AutoGradMode&) = delete;
  AutoGradMode& operator=(const AutoGradMode&) = delete;

 private:
  bool before_;
};
class NoGradGuard : public AutoGradMode {
 public:
  NoGradGuard() : AutoGradMode(false) {}
};
class InferenceMode {  // no recording, no version counting on what is made inside
 public:
  explicit InferenceMode(bool on = true);
  ~InferenceMode();
  InferenceMode(const InferenceMode&) = delete;
  InferenceMode& operator=(const InferenceMode&) = delete;

 private:
  bool before_, grad_before_;
};

const char* version();
std::string show_config();

}  // namespace facula
