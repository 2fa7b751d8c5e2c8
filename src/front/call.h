// SPDX-License-Identifier: Apache-2.0
// How the front's printed functions reach the dispatcher.
#pragma once
#include <facula/tensor.h>

#include <atomic>

#include "dispatch/call.h"
#include "runtime.h"

namespace facula::front {

class Op {  // an operator, found at its first call
 public:
  constexpr explicit Op(const char* name) : name_(name) {}
  const fc::Operator& get() {
    const fc::Operator* op = op_.load(std::memory_order_acquire);
    return op ? *op : find();
  }

 private:
  const fc::Operator& find() {
    fc::initialise();
    const fc::Operator& op = fc::get_operator(name_);
    op_.store(&op, std::memory_order_release);
    return op;
  }
  const char* name_;
  std::atomic<const fc::Operator*> op_ = nullptr;
};

template <class T>
fc::Arg boxed(const T& v) {
  return v;
}
inline fc::Arg boxed(const Tensor& v) { return static_cast<const fc::Tensor&>(v); }
inline fc::Arg boxed(const IntArrayRef& v) { return fc::IntSpan(v); }
inline fc::Arg boxed(const OptionalIntArrayRef& v) { return v ? boxed(*v) : fc::Arg(); }
inline fc::Arg boxed(const Flag& v) { return static_cast<bool>(v); }
inline fc::Arg boxed(const TensorList& v) { return span(v); }
inline fc::Arg boxed(const Generator& g) { return g.get(); }
inline fc::Arg boxed(const std::vector<double>& v) { return std::span<const double>(v); }
inline fc::Arg boxed(const std::vector<Scalar>& v) { return std::span<const Scalar>(v); }
struct Bools {  // std::vector<bool> has no array to borrow
  explicit Bools(const std::vector<bool>& v) : values(v.begin(), v.end()) {}
  operator fc::Arg() const { return std::span<const bool>(values); }
  std::basic_string<bool> values;
};
inline Bools boxed(const std::vector<bool>& v) { return Bools(v); }
template <class T>
fc::Arg boxed(const std::optional<T>& v) {
  return v ? boxed(*v) : fc::Arg();
}
// int[2] accepts one number for both.
inline fc::Dims repeat(const IntArrayRef& v, size_t n) {
  return v.size() == 1 ? fc::Dims(n, v[0]) : fc::Dims(fc::IntSpan(v));
}
struct OptionalDims {
  fc::Dims dims;
  bool given = false;
  operator fc::Arg() const { return given ? fc::Arg(dims) : fc::Arg(); }
};
inline OptionalDims repeat(const OptionalIntArrayRef& v, size_t n) {
  return v ? OptionalDims{repeat(*v, n), true} : OptionalDims{};
}

template <class R>
struct Result {
  static R get(fc::Value* v) { return fc::detail::FromResult<R>::get(*v); }
};
template <>
struct Result<Tensor> {
  static Tensor get(fc::Value* v) { return v->take_tensor(); }
};
template <>
struct Result<std::vector<Tensor>> {
  static std::vector<Tensor> get(fc::Value* v) { return outside(v->take_tensors()); }
};
template <class... R>
struct Result<std::tuple<R...>> {
  static std::tuple<R...> get(fc::Value* v) {
    return [&]<size_t... I>(std::index_sequence<I...>) { return std::tuple<R...>(Result<R>::get(v + I)...); }
    (std::index_sequence_for<R...>{});
  }
};

// Arguments as the schema has them. Few kinds of result, so this is compiled a few times, not once per operator.
template <class R>
[[gnu::noinline]] R call(Op& op, std::initializer_list<fc::Arg> args) {
  fc::Value results[std::max<size_t>(fc::detail::CountResults<R>::value, 1)];
  op.get().call(args.begin(), results);
  if constexpr (!std::is_void_v<R>) return Result<R>::get(results);
}

inline Tensor with_options(Tensor t, const TensorOptions& o) {
  if (o.requires_grad_set()) set_requires_grad(t, true);
  return t;
}

}  // namespace facula::front
