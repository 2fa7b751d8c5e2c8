// SPDX-License-Identifier: Apache-2.0
// Every formula and fold for every element type, as a kernel of whatever compiler reads this: nvcc, NVRTC or one for a
// processor without libraries (tools/check_formulas.py). Compiled, never run.
#include "kernels/formulas/base_folds.h"
#include "kernels/formulas/binary.h"
#include "kernels/formulas/common.h"
#include "kernels/formulas/derivative.h"
#include "kernels/formulas/folds.h"
#include "kernels/formulas/shared_folds.h"
#include "kernels/formulas/math.h"
#include "kernels/formulas/shared.h"
#include "kernels/formulas/special.h"
#include "kernels/formulas/unary.h"

// NVRTC compiles for the device only: one kernel that names the others.
#if defined(__CUDACC_RTC__)
#define FC_KERNEL __device__
#define FC_HOST __device__
#define FC_TABLE __global__
#define FC_INDEX (blockIdx.x * blockDim.x + threadIdx.x)
#elif defined(__CUDACC__)
#define FC_KERNEL __global__
#define FC_HOST
#define FC_TABLE
#define FC_INDEX (blockIdx.x * blockDim.x + threadIdx.x)
#else
#define FC_KERNEL
#define FC_HOST
#define FC_TABLE
#define FC_INDEX 0
#endif

namespace fc::scalar {

template <class Op, class T>
FC_KERNEL void kernel(const T* a, const T* b, const T* c, const T* p, void* out) {
  const unsigned i = FC_INDEX;
  if constexpr (Op::arity == 1) static_cast<decltype(Op::apply(a[i], p))*>(out)[i] = Op::apply(a[i], p);
  else if constexpr (Op::arity == 2)
    static_cast<decltype(Op::apply(a[i], b[i], p))*>(out)[i] = Op::apply(a[i], b[i], p);
  else static_cast<T*>(out)[i] = Op::apply(a[i], b[i], c[i], p);
}

template <class T>
constexpr unsigned kind_of = math::is_bool_v<T>      ? kBool
                             : math::is_real_v<T>    ? kReal
                             : math::is_complex_v<T> ? kComplex
                                                     : kInt;
template <class Fold, class T>
FC_KERNEL void fold(const T* x, const T* shift, T* out) {
  const unsigned i = FC_INDEX;
  out[i] = Fold::join(out[i], Fold::term(x[i], shift[i]));
  if constexpr (Fold::is_extreme) out[i] = Fold::moves(out[i], x[i]) ? x[i] : Fold::pick(out[i], x[i]);
}
template <class Op, class T>
FC_HOST void* address_of() {
  if constexpr (!(Op::accepts & kind_of<T>)) return nullptr;
  else if constexpr (requires { Op::is_sum; }) return reinterpret_cast<void*>(&fold<Op, T>);
  else return reinterpret_cast<void*>(&kernel<Op, T>);
}
template <class T, class... Op>
FC_HOST void addresses(void** out, op_list<void, Op...>) {
  ((*out++ = address_of<Op, T>()), ...);
}

// clang-format off
using all = op_list<void
#define FC_UNARY(number, name, ...) , name
#define FC_MATH FC_UNARY
#define FC_BINARY FC_UNARY
#define FC_COMPARE FC_UNARY
#define FC_DERIVATIVE FC_UNARY
#define FC_TERNARY FC_UNARY
#include "facula/formulas/rest.h"
#include "facula/formulas/all.h"
#include "facula/formulas/end.h"
>;
using all_folds = op_list<void
#define FC_SUM(number, name, ...) , folds::name
#define FC_MEAN FC_SUM
#define FC_FOLD FC_SUM
#define FC_EXTREME FC_SUM
#include "facula/formulas/rest.h"
#include "facula/formulas/base_folds.def"
#include "facula/formulas/shared_folds.def"
#include "facula/formulas/folds.def"
#include "facula/formulas/end.h"
>;
// clang-format on

template <class T>
FC_HOST void rows(void** out) {
  addresses<T>(out, all{});
  addresses<T>(out, all_folds{});
}

FC_TABLE void table(void** out) {
  rows<bool>(out);
  rows<unsigned char>(out);
  rows<signed char>(out);
  rows<short>(out);
  rows<int>(out);
  rows<long long>(out);
  rows<float>(out);
  rows<double>(out);
  rows<math::Complex<float>>(out);
  rows<math::Complex<double>>(out);
}

}  // namespace fc::scalar
