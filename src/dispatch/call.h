// SPDX-License-Identifier: Apache-2.0
// Typed C++ on both sides of the boxed convention:
//   call<"aten::add.Tensor", Tensor>(a, b, alpha)   calls an operator; the lookup happens once per place
//   kernel<&my_add>()                               wraps a C++ function as a Kernel
#pragma once
#include <algorithm>
#include <optional>
#include <tuple>

#include "dispatch/operator.h"

namespace fc {

template <size_t N>
struct FixedString {
  constexpr FixedString(const char (&text)[N]) { std::copy_n(text, N, value); }
  char value[N];
};

namespace detail {

template <class T>
struct FromResult;
template <>
struct FromResult<Tensor> {
  static Tensor get(Value& v) { return v.take_tensor(); }
};
template <>
struct FromResult<std::vector<Tensor>> {
  static std::vector<Tensor> get(Value& v) { return v.take_tensors(); }
};
template <>
struct FromResult<bool> {
  static bool get(Value& v) { return v.arg().boolean(); }
};
template <>
struct FromResult<int64_t> {
  static int64_t get(Value& v) { return v.arg().integer(); }
};
template <>
struct FromResult<double> {
  static double get(Value& v) { return v.arg().real(); }
};
template <>
struct FromResult<Scalar> {
  static Scalar get(Value& v) { return v.arg().scalar(); }
};

template <class T>
Arg to_arg(const T& v) {
  return Arg(v);
}
template <class T>
Arg to_arg(const std::optional<T>& v) {
  return v ? Arg(*v) : Arg();
}

// How a kernel's parameter reads its argument, and what it is called in a schema.
template <class T>
struct FromArg {
  static_assert(sizeof(T) == 0,
                "a kernel takes Tensor, Scalar, bool, int64_t, double, std::string_view, Device, DType, Layout, "
                "MemoryFormat, Generator*, IntSpan, TensorSpan, std::span<const double, bool or Scalar>, or "
                "std::optional of one of these");
};
#define FC_FROM_ARG(cpp, expression, ...)                          \
  template <>                                                      \
  struct FromArg<cpp> {                                            \
    static decltype(auto) get(const Arg& a) { return expression; } \
    static constexpr FlatType type{__VA_ARGS__};                   \
  }
FC_FROM_ARG(Tensor, (a.tensor()), Kind::Tensor);
FC_FROM_ARG(Scalar, a.scalar(), Kind::Scalar);
FC_FROM_ARG(bool, a.boolean(), Kind::Bool);
FC_FROM_ARG(int64_t, a.integer(), Kind::Int);
FC_FROM_ARG(double, a.real(), Kind::Float);
FC_FROM_ARG(std::string_view, a.text(), Kind::Str);
FC_FROM_ARG(Device, a.device(), Kind::Device);
FC_FROM_ARG(DType, a.dtype(), Kind::DType);
FC_FROM_ARG(Layout, a.layout(), Kind::Layout);
FC_FROM_ARG(MemoryFormat, a.memory_format(), Kind::MemoryFormat);
FC_FROM_ARG(Generator*, a.generator(), Kind::Generator);
FC_FROM_ARG(IntSpan, a.ints(), Kind::Int, true);
FC_FROM_ARG(std::span<const double>, a.doubles(), Kind::Float, true);
FC_FROM_ARG(std::span<const bool>, a.bools(), Kind::Bool, true);
FC_FROM_ARG(std::span<const Scalar>, a.scalars(), Kind::Scalar, true);
FC_FROM_ARG(TensorSpan, a.tensors(), Kind::Tensor, true);
#undef FC_FROM_ARG
template <class T>
struct FromArg<std::optional<T>> {
  static std::optional<T> get(const Arg& a) {
    return a.is_none() ? std::nullopt : std::optional<T>(FromArg<T>::get(a));
  }
  static constexpr FlatType type{FromArg<T>::type.kind, FromArg<T>::type.list, 0, true};
};

// The schema's types of what a kernel returns.
template <class R>
struct ResultTypes {
  static constexpr FlatType value[] = {FromArg<R>::type};
  static constexpr std::span<const FlatType> get() { return value; }
};
template <>
struct ResultTypes<void> {
  static constexpr std::span<const FlatType> get() { return {}; }
};
template <>
struct ResultTypes<std::vector<Tensor>> : ResultTypes<TensorSpan> {};
template <class... R>
struct ResultTypes<std::tuple<R...>> {
  static constexpr FlatType value[] = {ResultTypes<R>::value[0]...};
  static constexpr std::span<const FlatType> get() { return value; }
};

template <class R>
void store(Value* results, R&& r) {
  results[0] = Value(std::forward<R>(r));
}
template <class... R>
void store(Value* results, std::tuple<R...>&& r) {
  [&]<size_t... I>(std::index_sequence<I...>) { ((results[I] = Value(std::move(std::get<I>(r)))), ...); }
  (std::index_sequence_for<R...>{});
}

template <auto F>
struct Unboxed;
template <class R, class... A, R (*F)(A...)>
struct Unboxed<F> {
  static void run(void*, const Operator&, const Arg* args, Value* results) {
    [&]<size_t... I>(std::index_sequence<I...>) {
      if constexpr (std::is_void_v<R>) F(FromArg<std::remove_cvref_t<A>>::get(args[I])...);
      else store(results, F(FromArg<std::remove_cvref_t<A>>::get(args[I])...));
    }
    (std::index_sequence_for<A...>{});
  }
  static constexpr FlatType parameters[] = {FromArg<std::remove_cvref_t<A>>::type..., FlatType{}};
  static constexpr Signature signature{{parameters, sizeof...(A)}, ResultTypes<std::remove_cvref_t<R>>::get()};
};

template <class R>
struct CountResults {
  static constexpr size_t value = 1;
};
template <>
struct CountResults<void> {
  static constexpr size_t value = 0;
};
template <class... R>
struct CountResults<std::tuple<R...>> {
  static constexpr size_t value = sizeof...(R);
};

template <class R>
struct Results {
  static R get(Value* v) { return FromResult<R>::get(v[0]); }
};
template <class... R>
struct Results<std::tuple<R...>> {
  static std::tuple<R...> get(Value* v) {
    return [&]<size_t... I>(std::index_sequence<I...>) { return std::tuple<R...>(FromResult<R>::get(v[I])...); }
    (std::index_sequence_for<R...>{});
  }
};

}  // namespace detail

// Wraps a function whose parameters follow the schema: Tensor, Scalar, int64_t, bool, double, IntSpan, TensorSpan,
// std::optional of these … Optional tensors are undefined tensors.
template <auto F>
constexpr Kernel kernel() {
  return {detail::Unboxed<F>::run, nullptr, &detail::Unboxed<F>::signature};
}

// Calls a known operator with exactly its schema's arguments and results.
template <class R, class... A>
R call_operator(const Operator& op, const A&... args) {
  const Arg boxed[sizeof...(A) + 1] = {detail::to_arg(args)..., Arg()};
  Value results[std::max<size_t>(detail::CountResults<R>::value, 1)];
  op.call(boxed, results);
  if constexpr (!std::is_void_v<R>) return detail::Results<R>::get(results);
}

template <FixedString name, class R, class... A>
R call(const A&... args) {
  static const Operator& op = get_operator(name.value, sizeof...(A), detail::CountResults<R>::value);
  return call_operator<R>(op, args...);
}

}  // namespace fc
