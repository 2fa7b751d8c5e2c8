// SPDX-License-Identifier: Apache-2.0
// The operators that factorisations, solvers and their derivatives are written in, as functions.
#pragma once
#include "define/calls.h"
#include "dispatch/layers.h"
#include "plan/linalg.h"

namespace fc {

inline Tensor mT(T a) { return transpose(a, -2, -1); }
inline Tensor mH(T a) { return conj(mT(a)); }
inline Tensor tril(T a, int64_t k = 0) { return call<"aten::tril", Tensor>(a, k); }
inline Tensor triu(T a, int64_t k = 0) { return call<"aten::triu", Tensor>(a, k); }
inline Tensor diagonal(T a) { return call<"aten::diagonal", Tensor>(a, int64_t{0}, int64_t{-2}, int64_t{-1}); }
inline Tensor diag_embed(T a) { return call<"aten::diag_embed", Tensor>(a, int64_t{0}, int64_t{-2}, int64_t{-1}); }
inline Tensor eye_part(int64_t rows, int64_t columns, T like) {
  return call<"aten::eye.m", Tensor>(rows, columns, std::optional<DType>(like.dtype()), std::optional<Layout>(),
                                     std::optional<Device>(like.device()), std::optional<bool>());
}
inline Tensor eye(int64_t n, T like) { return eye_part(n, n, like); }
inline Tensor prod(T a, int64_t dim) {
  return call<"aten::prod.dim_int", Tensor>(a, dim, false, std::optional<DType>());
}
inline Tensor real(T a) { return is_complex(a.dtype()) ? call<"aten::real", Tensor>(a) : a; }
inline Tensor imag(T a) { return call<"aten::imag", Tensor>(a); }

inline Tensor solve_triangular(T a, T b, bool upper, bool left = true, bool unit = false) {
  return call<"aten::linalg_solve_triangular", Tensor>(a, b, upper, left, unit);
}
inline Tensor lu_solve(T lu, T pivots, T b, bool left = true, bool adjoint = false) {
  return call<"aten::linalg_lu_solve", Tensor>(lu, pivots, b, left, adjoint);
}
inline Tensor solve(T a, T b, bool left = true) { return call<"aten::linalg_solve", Tensor>(a, b, left); }
inline Three svd(T a, bool full_matrices = false) {
  return call<"aten::linalg_svd", Three>(a, full_matrices, std::optional<std::string_view>());
}
inline Tensor svdvals(T a) { return call<"aten::linalg_svdvals", Tensor>(a, std::optional<std::string_view>()); }
inline Tensor pinv(T a) { return call<"aten::linalg_pinv.atol_rtol_tensor", Tensor>(a, Tensor(), Tensor(), false); }

// dP = -P dA P + P P^H dA^H (1 - A P) + (1 - P A) dA^H P^H P for P = pinv(A), turned around.
inline Tensor pinv_gradient(T g, T p, T a) {
  Tensor h = mH(g), ph = mH(p), hp = matmul(h, p), ph_p = matmul(ph, p);
  Tensor first = matmul(hp, ph), second = matmul(ph_p, h);
  return sub(add(sub(first, matmul(a, matmul(p, first))), sub(second, matmul(matmul(second, p), a))),
             matmul(ph, matmul(g, ph)));
}

// Whether a call on these records a graph.
inline bool records(std::initializer_list<const Tensor*> tensors) {
  bool any = false;
  for (const Tensor* t : tensors) any |= t->defined() && (t->impl().layers() & layer::Autograd) != 0;
  return any && grad_enabled();
}

// check_info for operators on any device; results on "meta" have no values.
inline void check_info_of(const char* op, T info, std::string (*text)(int value)) {
  if (!info.device().is_meta())
    check_info(op,
               info.device().is_cpu() ? info
                                      : call<"aten::to.device", Tensor>(info, Device(), DType::Int32, false, false,
                                                                        std::optional<MemoryFormat>()),
               text);
}

}  // namespace fc
