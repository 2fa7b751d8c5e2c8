// SPDX-License-Identifier: Apache-2.0
// facula::Tensor: the core's tensor with every operator as a method (methods.h is printed from the schemas).
#pragma once
#include <facula/front.h>

namespace facula {

class Tensor;

// Tensors for parameters: from {a, b} or a vector. Borrows.
class TensorList {
 public:
  TensorList(std::initializer_list<Tensor> v);
  TensorList(const std::vector<Tensor>& v);
  const Tensor* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  const Tensor* data_;
  size_t size_;
};
using OptionalTensorList = TensorList;  // undefined tensors stand for None

namespace indexing {
using Slice = fc::Slice;
using TensorIndex = fc::TensorIndex;
inline constexpr std::nullopt_t None = std::nullopt;
inline TensorIndex Ellipsis() { return TensorIndex::ellipsis(); }
}  // namespace indexing

class Tensor : public fc::Tensor {
 public:
  Tensor() = default;
  Tensor(fc::Tensor t) : fc::Tensor(std::move(t)) {}

  TensorOptions options() const { return TensorOptions(dtype()).device(device()); }
  ScalarType scalar_type() const { return dtype(); }
  bool is_floating_point() const { return fc::is_floating(dtype()); }
  bool is_complex() const { return fc::is_complex(dtype()); }
  template <class T>
  T* data_ptr() const {
    return data_as<T>();
  }
  template <class T>
  T item() const {
    if constexpr (std::is_same_v<T, bool>) return item().to_bool();
    else if constexpr (std::is_floating_point_v<T>) return static_cast<T>(item().to_double());
    else if constexpr (std::is_same_v<T, uint64_t>)
      return item().is_unsigned() ? item().bits() : static_cast<T>(item().to_int());
    else return static_cast<T>(item().to_int());
  }
  Scalar item() const { return front::item(*this); }

  Tensor to(const TensorOptions& o) const { return front::to(*this, o); }
  Tensor to(Dtype t) const { return to(TensorOptions(t)); }
  Tensor to(Device d) const { return to(TensorOptions(d)); }
  Tensor to(Device d, Dtype t) const { return to(TensorOptions(t).device(d)); }
  Tensor cpu() const { return to(kCPU); }

  Tensor index(std::initializer_list<fc::TensorIndex> indices) const { return front::get_item(*this, indices); }
  Tensor index_put_(std::initializer_list<fc::TensorIndex> indices, const Tensor& value) const {
    front::set_item(*this, indices, static_cast<const fc::Tensor&>(value));
    return *this;
  }
  Tensor index_put_(std::initializer_list<fc::TensorIndex> indices, const Scalar& value) const {
    front::set_item(*this, indices, value);
    return *this;
  }
  Tensor operator[](int64_t i) const { return index({fc::TensorIndex(i)}); }

  bool requires_grad() const { return front::requires_grad(*this); }
  const Tensor& requires_grad_(bool on = true) const {
    front::set_requires_grad(*this, on);
    return *this;
  }
  const Tensor& set_requires_grad(bool on) const { return requires_grad_(on); }
  bool is_leaf() const { return front::is_leaf(*this); }
  Tensor grad() const { return front::grad(*this); }
  Tensor& mutable_grad() const { return static_cast<Tensor&>(front::mutable_grad(*this)); }
  void backward(const Tensor& gradient = {}, std::optional<bool> retain_graph = std::nullopt,
                bool create_graph = false) const {
    front::backward(*this, gradient, retain_graph, create_graph);
  }
  void retain_grad() const { front::retain_grad(*this); }
  Tensor variable_data() const { return front::variable_data(*this); }

  Tensor operator-() const { return neg(); }
  Tensor operator~() const { return bitwise_not(); }
#define FC_ASSIGN(symbol, method)                        \
  const Tensor& operator symbol(const Tensor& o) const { \
    method(o);                                           \
    return *this;                                        \
  }                                                      \
  const Tensor& operator symbol(const Scalar& o) const { \
    method(o);                                           \
    return *this;                                        \
  }
  FC_ASSIGN(+=, add_)
  FC_ASSIGN(-=, sub_)
  FC_ASSIGN(*=, mul_)
  FC_ASSIGN(/=, div_)
#undef FC_ASSIGN

#include <facula/methods.h>
};

inline TensorList::TensorList(std::initializer_list<Tensor> v) : data_(std::data(v)), size_(v.size()) {}
inline TensorList::TensorList(const std::vector<Tensor>& v) : data_(v.data()), size_(v.size()) {}

static_assert(sizeof(Tensor) == sizeof(fc::Tensor));  // a Tensor is a fc::Tensor with methods and nothing else

namespace front {
inline fc::TensorSpan span(const TensorList& v) { return {static_cast<const fc::Tensor*>(v.data()), v.size()}; }
inline std::vector<Tensor> outside(std::vector<fc::Tensor> v) {
  return {std::make_move_iterator(v.begin()), std::make_move_iterator(v.end())};
}
}  // namespace front

// `reflected` says number-op-tensor in terms of the tensor.
#define FC_OPERATOR(symbol, method, reflected)                                            \
  inline Tensor operator symbol(const Tensor& a, const Tensor& b) { return a.method(b); } \
  inline Tensor operator symbol(const Tensor& a, const Scalar& b) { return a.method(b); } \
  inline Tensor operator symbol(const Scalar& a, const Tensor& b) { return reflected; }
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

inline std::ostream& operator<<(std::ostream& out, const Tensor& t) { return front::print(out, t); }

}  // namespace facula

#include <facula/functions.h>
