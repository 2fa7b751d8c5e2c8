// SPDX-License-Identifier: Apache-2.0
// facula::Tensor: the core's tensor with every operator as a method (methods.h is printed from the schemas).
#pragma once
#include <iosfwd>

#include <facula/types.h>

#include "ops/indexing.h"

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
  Scalar item() const;

  Tensor to(Dtype t) const;
  Tensor to(Device d) const;
  Tensor to(Device d, Dtype t) const;
  Tensor to(const TensorOptions& o) const;
  Tensor cpu() const { return to(kCPU); }

  Tensor index(std::initializer_list<fc::TensorIndex> indices) const;
  Tensor index_put_(std::initializer_list<fc::TensorIndex> indices, const Tensor& value) const;
  Tensor index_put_(std::initializer_list<fc::TensorIndex> indices, const Scalar& value) const;
  Tensor operator[](int64_t i) const;

  bool requires_grad() const;
  const Tensor& requires_grad_(bool on = true) const;
  const Tensor& set_requires_grad(bool on) const { return requires_grad_(on); }
  bool is_leaf() const;
  Tensor grad() const;
  Tensor& mutable_grad() const;
  void backward(const Tensor& gradient = {}, std::optional<bool> retain_graph = std::nullopt,
                bool create_graph = false) const;
  void retain_grad() const;
  Tensor variable_data() const;

  Tensor operator-() const;
  Tensor operator~() const;
  const Tensor& operator+=(const Tensor& o) const;
  const Tensor& operator-=(const Tensor& o) const;
  const Tensor& operator*=(const Tensor& o) const;
  const Tensor& operator/=(const Tensor& o) const;
  const Tensor& operator+=(const Scalar& o) const;
  const Tensor& operator-=(const Scalar& o) const;
  const Tensor& operator*=(const Scalar& o) const;
  const Tensor& operator/=(const Scalar& o) const;

#include <facula/methods.h>
};

inline TensorList::TensorList(std::initializer_list<Tensor> v) : data_(std::data(v)), size_(v.size()) {}
inline TensorList::TensorList(const std::vector<Tensor>& v) : data_(v.data()), size_(v.size()) {}

#define FC_OPERATOR(symbol)                                 \
  Tensor operator symbol(const Tensor& a, const Tensor& b); \
  Tensor operator symbol(const Tensor& a, const Scalar& b); \
  Tensor operator symbol(const Scalar& a, const Tensor& b);
FC_OPERATOR(+)
FC_OPERATOR(-)
FC_OPERATOR(*)
FC_OPERATOR(/)
FC_OPERATOR(<)
FC_OPERATOR(<=)
FC_OPERATOR(>)
FC_OPERATOR(>=)
FC_OPERATOR(==)
FC_OPERATOR(!=)
FC_OPERATOR(&)
FC_OPERATOR(|)
FC_OPERATOR(^)
#undef FC_OPERATOR

std::ostream& operator<<(std::ostream& out, const Tensor& t);

}  // namespace facula
