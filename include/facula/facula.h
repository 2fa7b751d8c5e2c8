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

inline std::vector<Tensor> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                                const std::vector<Tensor>& grad_outputs = {},
                                std::optional<bool> retain_graph = std::nullopt, bool create_graph = false,
                                bool allow_unused = false) {
  return front::outside(front::grad(front::span(outputs), front::span(inputs), front::span(grad_outputs), retain_graph,
                                    create_graph, allow_unused));
}

}  // namespace facula
