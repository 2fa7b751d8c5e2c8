// SPDX-License-Identifier: Apache-2.0
// How the front's printed functions reach the dispatcher. A facula::Tensor is a fc::Tensor with methods and nothing
// else, so references and lists of one are references and lists of the other.
#pragma once
#include <facula/facula.h>

#include "autograd/autograd.h"
#include "dispatch/call.h"
#include "runtime.h"

namespace facula::front {

static_assert(sizeof(Tensor) == sizeof(fc::Tensor));

inline const fc::Operator& find(const char* name) {
  fc::initialise();
  return fc::get_operator(name);
}

inline fc::IntSpan boxed(const IntArrayRef& v) { return v; }
inline fc::Arg boxed(const std::optional<IntArrayRef>& v) { return v ? fc::Arg(fc::IntSpan(*v)) : fc::Arg(); }
inline fc::TensorSpan boxed(const TensorList& v) { return {reinterpret_cast<const fc::Tensor*>(v.data()), v.size()}; }
inline fc::Arg boxed(const std::optional<Tensor>& v) {
  return v ? fc::Arg(static_cast<const fc::Tensor&>(*v)) : fc::Arg();
}
inline fc::Arg boxed(const std::optional<Scalar>& v) { return v ? fc::Arg(*v) : fc::Arg(); }
inline fc::Arg boxed(const std::optional<Generator>& g) { return g ? fc::Arg(g->get()) : fc::Arg(); }
inline fc::Arg boxed(const std::vector<double>& v) { return std::span<const double>(v); }
inline fc::Arg boxed(const std::optional<std::vector<double>>& v) { return v ? boxed(*v) : fc::Arg(); }
inline fc::Arg boxed(const std::vector<Scalar>& v) { return std::span<const Scalar>(v); }
struct Bools {  // std::vector<bool> has no array to borrow
  explicit Bools(const std::vector<bool>& v) : values(v.begin(), v.end()) {}
  operator fc::Arg() const { return std::span<const bool>(values); }
  std::basic_string<bool> values;
};
inline Bools boxed(const std::vector<bool>& v) { return Bools(v); }
template <class T>
const T& boxed(const T& v) {
  return v;
}
// int[2] accepts one number for both.
inline fc::Dims repeat(const IntArrayRef& v, size_t n) {
  return v.size() == 1 ? fc::Dims(n, v[0]) : fc::Dims(fc::IntSpan(v));
}
inline fc::Arg repeat(const std::optional<IntArrayRef>& v, size_t) { return boxed(v); }

template <class R>
struct Inside {
  using type = R;
};
template <>
struct Inside<Tensor> {
  using type = fc::Tensor;
};
template <>
struct Inside<std::vector<Tensor>> {
  using type = std::vector<fc::Tensor>;
};
template <class... R>
struct Inside<std::tuple<R...>> {
  using type = std::tuple<typename Inside<R>::type...>;
};

inline Tensor outside(fc::Tensor&& t) { return Tensor(std::move(t)); }
inline std::vector<Tensor> outside(std::vector<fc::Tensor>&& v) {
  std::vector<Tensor> out;
  for (fc::Tensor& t : v) out.emplace_back(std::move(t));
  return out;
}
template <class... R>
auto outside(std::tuple<R...>&& t) {
  return std::apply([](R&... r) { return std::make_tuple(outside(std::move(r))...); }, t);
}
template <class T>
T outside(T&& v) {
  return v;
}

template <class R, class... A>
R call(const fc::Operator& op, const A&... args) {
  if constexpr (std::is_void_v<R>) fc::call_operator<void>(op, args...);
  else return outside(fc::call_operator<typename Inside<R>::type>(op, args...));
}

inline Tensor with_options(Tensor t, const TensorOptions& o) {
  if (o.requires_grad_set()) fc::autograd::set_requires_grad(t, true);
  return t;
}

}  // namespace facula::front
