// SPDX-License-Identifier: Apache-2.0
// What the front has beyond operators: modes, seeds, threads, and in terms of the core's tensor what facula.h and
// tensor.h wrap. It is compiled once (src/front), and not again when an operator is added.
#pragma once
#include <iosfwd>

#include <facula/indexing.h>
#include <facula/types.h>

namespace facula::front {

Scalar item(const fc::Tensor& t);
fc::Tensor to(const fc::Tensor& t, const TensorOptions& options);
std::ostream& print(std::ostream& out, const fc::Tensor& t);
fc::Tensor get_item(const fc::Tensor& self, std::initializer_list<fc::TensorIndex> indices);
void set_item(const fc::Tensor& self, std::initializer_list<fc::TensorIndex> indices, const fc::Tensor& value);
void set_item(const fc::Tensor& self, std::initializer_list<fc::TensorIndex> indices, const Scalar& value);

bool requires_grad(const fc::Tensor& t);
void set_requires_grad(const fc::Tensor& t, bool on);
bool is_leaf(const fc::Tensor& t);
fc::Tensor grad(const fc::Tensor& t);
fc::Tensor& mutable_grad(const fc::Tensor& t);
void retain_grad(const fc::Tensor& t);
fc::Tensor variable_data(const fc::Tensor& t);
void backward(const fc::Tensor& t, const fc::Tensor& gradient, std::optional<bool> retain_graph, bool create_graph);
std::vector<fc::Tensor> grad(fc::TensorSpan outputs, fc::TensorSpan inputs, fc::TensorSpan grad_outputs,
                             std::optional<bool> retain_graph, bool create_graph, bool allow_unused);

fc::Tensor tensor(std::initializer_list<double> values, const TensorOptions& options);
fc::Tensor tensor(std::initializer_list<int64_t> values, const TensorOptions& options);
fc::Tensor tensor(double value, const TensorOptions& options);
fc::Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options);

}  // namespace facula::front

namespace facula {

void manual_seed(uint64_t seed);
void set_num_threads(int n);
int get_num_threads();
const char* version();
std::string show_config();

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

}  // namespace facula
