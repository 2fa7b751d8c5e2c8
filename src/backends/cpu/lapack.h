// SPDX-License-Identifier: Apache-2.0
// LAPACK through its Fortran interface: everything by address, matrices column by column, names that begin with the
// letter of the element type. It is loaded when it is first needed, from the library behind BLAS= or liblapack.
//
//   lapack<T, "getrf">(op, &m, &n, a, &m, pivots, &info)      sgetrf_, dgetrf_, cgetrf_ or zgetrf_
//   lapack<T, "orgqr", "ungqr">(op, ...)                      where the complex routine has another name
#pragma once
#include <complex>
#include <vector>

#include "core/dtype.h"
#include "core/error.h"
#include "dispatch/call.h"
#include "dispatch/observe.h"

namespace fc::cpu {

// The routine of that name; throws if there is none, in the name of `op`.
void* lapack_routine(const char* op, char letter, const char* name);

template <class T>
struct LapackType;
template <>
struct LapackType<float> {
  using Real = float;
  static constexpr char letter = 's';
  static constexpr bool complex = false;
};
template <>
struct LapackType<double> {
  using Real = double;
  static constexpr char letter = 'd';
  static constexpr bool complex = false;
};
template <>
struct LapackType<std::complex<float>> {
  using Real = float;
  static constexpr char letter = 'c';
  static constexpr bool complex = true;
};
template <>
struct LapackType<std::complex<double>> {
  using Real = double;
  static constexpr char letter = 'z';
  static constexpr bool complex = true;
};
template <class T>
using RealOf = typename LapackType<T>::Real;

// Fortran's compilers hand the length of each text behind all arguments.
template <class T, FixedString name, FixedString complex_name = name, class... A>
void lapack(const char* op, A*... args) {
  static void* const found =
      lapack_routine(op, LapackType<T>::letter, LapackType<T>::complex ? complex_name.value : name.value);
  constexpr size_t texts = (size_t{std::is_same_v<std::remove_const_t<A>, char>} + ... + 0);
  [&]<size_t... I>(std::index_sequence<I...>) {
    reinterpret_cast<void (*)(A * ..., decltype(I)...)>(found)(args..., ((void)I, size_t{1})...);
  }
  (std::make_index_sequence<texts>{});
}

// Calls f.operator()<T>() with the C++ type of a floating or complex dtype.
template <class F>
void with_lapack_type(const char* op, DType dtype, const F& f) {
  EventScope told(EventKind::Library, [&](Event& e) {
    e.name = "LAPACK";
    e.text = op;
  });
  switch (dtype) {
    case DType::Float32: return f.template operator()<float>();
    case DType::Float64: return f.template operator()<double>();
    case DType::Complex64: return f.template operator()<std::complex<float>>();
    case DType::Complex128: return f.template operator()<std::complex<double>>();
    default: raise<NotImplementedError>("\"", op, "\" not implemented for '", info(dtype).legacy, "'");
  }
}

}  // namespace fc::cpu
