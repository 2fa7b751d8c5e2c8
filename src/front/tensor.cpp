// SPDX-License-Identifier: Apache-2.0
// What the front's tensor has beyond operators.
#include "autograd/meta.h"
#include "core/threads.h"
#include "front/call.h"

namespace facula {
namespace {

std::span<const fc::TensorIndex> span_of(std::initializer_list<fc::TensorIndex> v) { return {v.begin(), v.size()}; }

}  // namespace

Scalar Tensor::item() const { return front::call<Scalar>(front::find("aten::_local_scalar_dense"), *this); }

Tensor Tensor::to(Dtype t) const { return to(TensorOptions(t)); }
Tensor Tensor::to(Device d) const { return to(TensorOptions(d)); }
Tensor Tensor::to(Device d, Dtype t) const { return to(TensorOptions(t).device(d)); }
Tensor Tensor::to(const TensorOptions& o) const {
  static const fc::Operator& op = front::find("aten::to.dtype_layout");
  return front::call<Tensor>(op, *this, o.dtype_opt(), std::optional<Layout>(), o.device_opt(), std::optional<bool>(),
                             false, false, std::optional<MemoryFormat>());
}

Tensor Tensor::index(std::initializer_list<fc::TensorIndex> indices) const {
  return fc::get_item(*this, span_of(indices));
}
Tensor Tensor::index_put_(std::initializer_list<fc::TensorIndex> indices, const Tensor& value) const {
  fc::set_item(*this, span_of(indices), static_cast<const fc::Tensor&>(value));
  return *this;
}
Tensor Tensor::index_put_(std::initializer_list<fc::TensorIndex> indices, const Scalar& value) const {
  fc::set_item(*this, span_of(indices), value);
  return *this;
}
Tensor Tensor::operator[](int64_t i) const { return index({fc::TensorIndex(i)}); }

bool Tensor::requires_grad() const { return fc::autograd::requires_grad(*this); }
const Tensor& Tensor::requires_grad_(bool on) const {
  fc::autograd::set_requires_grad(*this, on);
  return *this;
}
bool Tensor::is_leaf() const { return fc::autograd::is_leaf(*this); }
Tensor Tensor::grad() const { return fc::autograd::grad_of(*this); }
Tensor& Tensor::mutable_grad() const { return reinterpret_cast<Tensor&>(fc::autograd::make_meta(*this).grad); }
void Tensor::backward(const Tensor& gradient, std::optional<bool> retain_graph, bool create_graph) const {
  fc::autograd::backward(*this, gradient, retain_graph.value_or(create_graph), create_graph);
}
void Tensor::retain_grad() const { fc::autograd::retain_grad(*this); }
Tensor Tensor::variable_data() const { return fc::autograd::data_of(*this); }

Tensor Tensor::operator-() const { return neg(); }
Tensor Tensor::operator~() const { return bitwise_not(); }
#define FC_ASSIGN(symbol, method)                                \
  const Tensor& Tensor::operator symbol(const Tensor& o) const { \
    method(o);                                                   \
    return *this;                                                \
  }                                                              \
  const Tensor& Tensor::operator symbol(const Scalar& o) const { \
    method(o);                                                   \
    return *this;                                                \
  }
FC_ASSIGN(+=, add_)
FC_ASSIGN(-=, sub_)
FC_ASSIGN(*=, mul_)
FC_ASSIGN(/=, div_)
#undef FC_ASSIGN

// `reflected` says number-op-tensor in terms of the tensor.
#define FC_OPERATOR(symbol, method, reflected)                                     \
  Tensor operator symbol(const Tensor& a, const Tensor& b) { return a.method(b); } \
  Tensor operator symbol(const Tensor& a, const Scalar& b) { return a.method(b); } \
  Tensor operator symbol(const Scalar& a, const Tensor& b) { return reflected; }
FC_OPERATOR(+, add, b.add(a))
FC_OPERATOR(-, sub, b.rsub(a))
FC_OPERATOR(*, mul, b.mul(a))
FC_OPERATOR(/, div, b.reciprocal().mul(a))
FC_OPERATOR(<, lt, b.gt(a))
FC_OPERATOR(<=, le, b.ge(a))
FC_OPERATOR(>, gt, b.lt(a))
FC_OPERATOR(>=, ge, b.le(a))
FC_OPERATOR(==, eq, b.eq(a))
FC_OPERATOR(!=, ne, b.ne(a))
FC_OPERATOR(&, bitwise_and, b.bitwise_and(a))
FC_OPERATOR(|, bitwise_or, b.bitwise_or(a))
FC_OPERATOR(^, bitwise_xor, b.bitwise_xor(a))
#undef FC_OPERATOR

namespace {

template <class T>
Tensor from_values(std::initializer_list<T> values, Dtype natural, const TensorOptions& options) {
  fc::initialise();
  Tensor t = fc::empty_tensor(fc::Dims{static_cast<int64_t>(values.size())}, natural, Device{});
  std::copy(values.begin(), values.end(), t.data_ptr<T>());
  return front::with_options(t.to(options), options);
}

}  // namespace

Tensor tensor(std::initializer_list<double> values, const TensorOptions& options) {
  return from_values(values, kFloat64, options.dtype_opt() ? options : options.dtype(fc::default_dtype()));
}
Tensor tensor(std::initializer_list<int64_t> values, const TensorOptions& options) {
  return from_values(values, kInt64, options);
}
Tensor tensor(double value, const TensorOptions& options) {
  return full({}, value, options.dtype_opt() ? options : options.dtype(fc::default_dtype()));
}

Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options) {
  fc::initialise();
  Dtype t = options.dtype_opt().value_or(fc::default_dtype());
  size_t bytes = fc::checked_bytes(fc::checked_numel(sizes), t);
  auto storage = fc::make_ref<fc::Storage>(fc::Block{data, nullptr, nullptr}, bytes, Device{}, nullptr);
  auto impl = fc::make_ref<fc::TensorImpl>(std::move(storage), t, Device{});
  impl->set_contiguous(sizes);
  return front::with_options(Tensor(fc::Tensor(std::move(impl))), options);
}

void manual_seed(uint64_t seed) {
  std::lock_guard lock(fc::default_generator().mutex);
  fc::default_generator().set_seed(seed);
}
void set_num_threads(int n) { fc::set_num_threads(n); }
int get_num_threads() { return fc::num_threads(); }

std::vector<Tensor> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                         const std::vector<Tensor>& grad_outputs, std::optional<bool> retain_graph, bool create_graph,
                         bool allow_unused) {
  return front::outside(fc::autograd::run_backward(
      front::boxed(TensorList(outputs)), front::boxed(TensorList(grad_outputs)), front::boxed(TensorList(inputs)),
      {.keep_graph = retain_graph.value_or(create_graph),
       .create_graph = create_graph,
       .allow_unused = allow_unused,
       .accumulate = false}));
}

}  // namespace facula
