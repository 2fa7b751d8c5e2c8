// SPDX-License-Identifier: Apache-2.0
#include <facula/front.h>

#include "autograd/autograd.h"
#include "autograd/meta.h"
#include "core/config.h"
#include "core/device_record.h"
#include "core/threads.h"
#include "define/calls.h"
#include "dispatch/layers.h"
#include "ops/subscript.h"
#include "runtime.h"

namespace facula {
namespace front {

Scalar item(const fc::Tensor& t) { return fc::call<"aten::_local_scalar_dense", Scalar>(t); }

fc::Tensor to(const fc::Tensor& t, const TensorOptions& o) {
  return fc::call<"aten::to.dtype_layout", fc::Tensor>(t, o.dtype_opt(), fc::Arg(), o.device_opt(), fc::Arg(), false,
                                                       false, fc::Arg());
}

fc::Tensor get_item(const fc::Tensor& self, std::initializer_list<fc::TensorIndex> indices) {
  return fc::get_item(self, {indices.begin(), indices.size()});
}
void set_item(const fc::Tensor& self, std::initializer_list<fc::TensorIndex> indices, const fc::Tensor& value) {
  fc::set_item(self, {indices.begin(), indices.size()}, value);
}
void set_item(const fc::Tensor& self, std::initializer_list<fc::TensorIndex> indices, const Scalar& value) {
  fc::set_item(self, {indices.begin(), indices.size()}, value);
}

bool requires_grad(const fc::Tensor& t) { return fc::autograd::requires_grad(t); }
void set_requires_grad(const fc::Tensor& t, bool on) { fc::autograd::set_requires_grad(t, on); }
bool is_leaf(const fc::Tensor& t) { return fc::autograd::is_leaf(t); }
fc::Tensor grad(const fc::Tensor& t) { return fc::autograd::grad_of(t); }
fc::Tensor& mutable_grad(const fc::Tensor& t) { return fc::autograd::make_meta(t).slot().unguarded(); }
void retain_grad(const fc::Tensor& t) { fc::autograd::retain_grad(t); }
fc::Tensor variable_data(const fc::Tensor& t) { return fc::autograd::data_of(t); }
void backward(const fc::Tensor& t, const fc::Tensor& gradient, std::optional<bool> retain_graph, bool create_graph) {
  fc::autograd::backward(t, gradient, retain_graph.value_or(create_graph), create_graph);
}
std::vector<fc::Tensor> grad(fc::TensorSpan outputs, fc::TensorSpan inputs, fc::TensorSpan grad_outputs,
                             std::optional<bool> retain_graph, bool create_graph, bool allow_unused) {
  return fc::autograd::run_backward(outputs, grad_outputs, inputs,
                                    {.keep_graph = retain_graph.value_or(create_graph),
                                     .create_graph = create_graph,
                                     .allow_unused = allow_unused,
                                     .accumulate = false});
}

namespace {

fc::Tensor with_options(fc::Tensor t, const TensorOptions& o) {
  if (o.requires_grad_set()) set_requires_grad(t, true);
  return t;
}

template <class T>
fc::Tensor from_values(std::initializer_list<T> values, Dtype natural, const TensorOptions& options) {
  fc::initialise();
  fc::Tensor t = fc::empty_tensor(fc::Dims{static_cast<int64_t>(values.size())}, natural, Device{});
  std::copy(values.begin(), values.end(), t.data_as<T>());
  return with_options(to(t, options), options);
}

TensorOptions typed(const TensorOptions& o) { return o.dtype_opt() ? o : o.dtype(fc::default_dtype()); }

}  // namespace

fc::Tensor tensor(std::initializer_list<double> values, const TensorOptions& options) {
  return from_values(values, kFloat64, typed(options));
}
fc::Tensor tensor(std::initializer_list<int64_t> values, const TensorOptions& options) {
  return from_values(values, kInt64, options);
}
fc::Tensor tensor(double value, const TensorOptions& options) {
  fc::initialise();
  const TensorOptions o = typed(options);
  return with_options(fc::full({}, value, *o.dtype_opt(), o.device_opt().value_or(Device{})), o);
}

fc::Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options) {
  fc::initialise();
  Dtype t = options.dtype_opt().value_or(fc::default_dtype());
  size_t bytes = fc::checked_bytes(fc::checked_numel(sizes), t);
  auto storage = fc::make_ref<fc::Storage>(fc::Block{data, nullptr, nullptr}, bytes, Device{}, nullptr);
  auto impl = fc::make_ref<fc::TensorImpl>(std::move(storage), t, Device{});
  impl->set_contiguous(sizes);
  return with_options(fc::Tensor(std::move(impl)), options);
}

}  // namespace front

Generator::Generator(uint64_t seed) : impl_(fc::make_ref<fc::CpuGenerator>(seed)) {}
fc::Generator* Generator::get() const { return static_cast<fc::Generator*>(impl_.get()); }
void Generator::set_current_seed(uint64_t seed) {
  std::lock_guard lock(get()->mutex);
  get()->set_seed(seed);
}

AutoGradMode::AutoGradMode(bool on) : before_(fc::grad_enabled()) { fc::GradMode::set(on); }
AutoGradMode::~AutoGradMode() { fc::GradMode::set(before_); }
InferenceMode::InferenceMode(bool on) : before_(fc::thread_state().inference_mode), grad_before_(fc::grad_enabled()) {
  fc::set_inference_mode(on);
}
InferenceMode::~InferenceMode() {
  fc::set_inference_mode(before_);
  fc::GradMode::set(grad_before_);
}

void manual_seed(uint64_t seed) { fc::seed_all_devices(seed); }
void set_num_threads(int n) { fc::set_num_threads(n); }
int get_num_threads() { return fc::num_threads(); }
const char* version() { return fc::version(); }
std::string show_config() { return fc::show_config(); }

}  // namespace facula
