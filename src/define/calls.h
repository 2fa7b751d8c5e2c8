// SPDX-License-Identifier: Apache-2.0
// The operators that the framework's own code calls (derivatives, decompositions, compositions). One line each; an
// operator nobody calls from C++ inside needs no line, and adding one elsewhere rebuilds nothing that includes this.
#pragma once
#include "dispatch/call.h"

namespace fc {

using T = const Tensor&;

// --- copies and casts
inline Tensor copy_(T self, T src, bool non_blocking = false) {
  return call<"aten::copy_", Tensor>(self, src, non_blocking);
}
inline Tensor clone(T self, std::optional<MemoryFormat> f = {}) { return call<"aten::clone", Tensor>(self, f); }
inline Tensor contiguous(T self, MemoryFormat f = MemoryFormat::Contiguous) {
  return call<"aten::contiguous", Tensor>(self, f);
}
inline Tensor to_dtype(T self, DType t) {
  return call<"aten::to.dtype", Tensor>(self, t, false, false, std::optional<MemoryFormat>());
}
inline Tensor detach(T self) { return call<"aten::detach", Tensor>(self); }
inline Tensor fill_(T self, const Scalar& v) { return call<"aten::fill_.Scalar", Tensor>(self, v); }
inline Tensor zero_(T self) { return call<"aten::zero_", Tensor>(self); }

// --- pointwise
inline Tensor add(T a, T b, const Scalar& alpha = 1) { return call<"aten::add.Tensor", Tensor>(a, b, alpha); }
inline Tensor add(T a, const Scalar& b, const Scalar& alpha = 1) {
  return call<"aten::add.Scalar", Tensor>(a, b, alpha);
}
inline Tensor add_(T a, T b, const Scalar& alpha = 1) { return call<"aten::add_.Tensor", Tensor>(a, b, alpha); }
inline Tensor sub(T a, T b, const Scalar& alpha = 1) { return call<"aten::sub.Tensor", Tensor>(a, b, alpha); }
inline Tensor sub(T a, const Scalar& b, const Scalar& alpha = 1) {
  return call<"aten::sub.Scalar", Tensor>(a, b, alpha);
}
inline Tensor rsub(T a, const Scalar& b, const Scalar& alpha = 1) {
  return call<"aten::rsub.Scalar", Tensor>(a, b, alpha);
}
inline Tensor mul(T a, T b) { return call<"aten::mul.Tensor", Tensor>(a, b); }
inline Tensor mul(T a, const Scalar& b) { return call<"aten::mul.Scalar", Tensor>(a, b); }
inline Tensor mul_(T a, const Scalar& b) { return call<"aten::mul_.Scalar", Tensor>(a, b); }
inline Tensor div(T a, T b) { return call<"aten::div.Tensor", Tensor>(a, b); }
inline Tensor div_mode(T a, T b, std::string_view mode) { return call<"aten::div.Tensor_mode", Tensor>(a, b, mode); }
inline Tensor div(T a, const Scalar& b) { return call<"aten::div.Scalar", Tensor>(a, b); }
inline Tensor pow(T a, const Scalar& b) { return call<"aten::pow.Tensor_Scalar", Tensor>(a, b); }
inline Tensor pow(T a, T b) { return call<"aten::pow.Tensor_Tensor", Tensor>(a, b); }
inline Tensor neg(T a) { return call<"aten::neg", Tensor>(a); }
inline Tensor abs(T a) { return call<"aten::abs", Tensor>(a); }
inline Tensor exp(T a) { return call<"aten::exp", Tensor>(a); }
inline Tensor log(T a) { return call<"aten::log", Tensor>(a); }
inline Tensor sin(T a) { return call<"aten::sin", Tensor>(a); }
inline Tensor cos(T a) { return call<"aten::cos", Tensor>(a); }
inline Tensor sinh(T a) { return call<"aten::sinh", Tensor>(a); }
inline Tensor cosh(T a) { return call<"aten::cosh", Tensor>(a); }
inline Tensor tanh(T a) { return call<"aten::tanh", Tensor>(a); }
inline Tensor sigmoid(T a) { return call<"aten::sigmoid", Tensor>(a); }
inline Tensor sqrt(T a) { return call<"aten::sqrt", Tensor>(a); }
inline Tensor rsqrt(T a) { return call<"aten::rsqrt", Tensor>(a); }
inline Tensor reciprocal(T a) { return call<"aten::reciprocal", Tensor>(a); }
inline Tensor square(T a) { return call<"aten::square", Tensor>(a); }
inline Tensor sgn(T a) { return call<"aten::sgn", Tensor>(a); }
inline Tensor exp2(T a) { return call<"aten::exp2", Tensor>(a); }
inline Tensor polygamma(int64_t n, T a) { return call<"aten::polygamma", Tensor>(n, a); }
inline Tensor digamma(T a) { return call<"aten::digamma", Tensor>(a); }
inline Tensor conj(T a) { return is_complex(a.dtype()) ? call<"aten::_conj_physical", Tensor>(a) : a; }
inline Tensor isnan(T a) { return call<"aten::isnan", Tensor>(a); }
inline Tensor isfinite(T a) { return call<"aten::isfinite", Tensor>(a); }
inline Tensor logical_and(T a, T b) { return call<"aten::logical_and", Tensor>(a, b); }
inline Tensor logical_or(T a, T b) { return call<"aten::logical_or", Tensor>(a, b); }
inline Tensor logical_not(T a) { return call<"aten::logical_not", Tensor>(a); }
inline Tensor eq(T a, T b) { return call<"aten::eq.Tensor", Tensor>(a, b); }
inline Tensor eq(T a, const Scalar& b) { return call<"aten::eq.Scalar", Tensor>(a, b); }
inline Tensor ne(T a, const Scalar& b) { return call<"aten::ne.Scalar", Tensor>(a, b); }
inline Tensor lt(T a, T b) { return call<"aten::lt.Tensor", Tensor>(a, b); }
inline Tensor lt(T a, const Scalar& b) { return call<"aten::lt.Scalar", Tensor>(a, b); }
inline Tensor le(T a, const Scalar& b) { return call<"aten::le.Scalar", Tensor>(a, b); }
inline Tensor le(T a, T b) { return call<"aten::le.Tensor", Tensor>(a, b); }
inline Tensor gt(T a, const Scalar& b) { return call<"aten::gt.Scalar", Tensor>(a, b); }
inline Tensor gt(T a, T b) { return call<"aten::gt.Tensor", Tensor>(a, b); }
inline Tensor ge(T a, const Scalar& b) { return call<"aten::ge.Scalar", Tensor>(a, b); }
inline Tensor ge(T a, T b) { return call<"aten::ge.Tensor", Tensor>(a, b); }
inline Tensor where(T condition, const Scalar& a, T b) {
  return call<"aten::where.ScalarSelf", Tensor>(condition, a, b);
}
inline Tensor where(T condition, T a, const Scalar& b) {
  return call<"aten::where.ScalarOther", Tensor>(condition, a, b);
}
inline Tensor where(T condition, T a, T b) { return call<"aten::where.self", Tensor>(condition, a, b); }
inline Tensor masked_fill(T self, T mask, const Scalar& v) {
  return call<"aten::masked_fill.Scalar", Tensor>(self, mask, v);
}

// --- creation
inline Tensor full_like(T a, const Scalar& v) {
  return call<"aten::full_like", Tensor>(a, v, std::optional<DType>(), std::optional<Layout>(), std::optional<Device>(),
                                         std::optional<bool>(), std::optional<MemoryFormat>());
}
inline Tensor zeros_like(T a) { return full_like(a, 0); }
inline Tensor ones_like(T a) { return full_like(a, 1); }
Tensor zeros(IntSpan sizes, DType dtype, Device device);
Tensor full(IntSpan sizes, const Scalar& value, DType dtype, Device device);
Tensor wrapped_number(const Scalar& v, Device device = {});  // a 0-d tensor that promotes like a number

// --- shapes
inline Tensor view(T a, IntSpan sizes) { return call<"aten::view", Tensor>(a, sizes); }
inline Tensor reshape(T a, IntSpan sizes) { return call<"aten::reshape", Tensor>(a, sizes); }
inline Tensor expand(T a, IntSpan sizes) { return call<"aten::expand", Tensor>(a, sizes, false); }
inline Tensor permute(T a, IntSpan dims) { return call<"aten::permute", Tensor>(a, dims); }
inline Tensor transpose(T a, int64_t d0, int64_t d1) { return call<"aten::transpose.int", Tensor>(a, d0, d1); }
inline Tensor unsqueeze(T a, int64_t dim) { return call<"aten::unsqueeze", Tensor>(a, dim); }
inline Tensor squeeze(T a, int64_t dim) { return call<"aten::squeeze.dim", Tensor>(a, dim); }
inline Tensor select(T a, int64_t dim, int64_t index) { return call<"aten::select.int", Tensor>(a, dim, index); }
inline Tensor narrow(T a, int64_t dim, int64_t start, int64_t length) {
  return call<"aten::narrow", Tensor>(a, dim, start, length);
}
inline Tensor slice(T a, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step = 1) {
  return call<"aten::slice.Tensor", Tensor>(a, dim, start, end, step);
}
inline Tensor as_strided(T a, IntSpan sizes, IntSpan strides, std::optional<int64_t> offset = {}) {
  return call<"aten::as_strided", Tensor>(a, sizes, strides, offset);
}
inline Tensor cat(TensorSpan tensors, int64_t dim = 0) { return call<"aten::cat", Tensor>(tensors, dim); }
inline Tensor stack(TensorSpan tensors, int64_t dim = 0) { return call<"aten::stack", Tensor>(tensors, dim); }
inline Tensor flip(T a, IntSpan dims) { return call<"aten::flip", Tensor>(a, dims); }

// --- reductions
inline Tensor sum(T a) { return call<"aten::sum", Tensor>(a, std::optional<DType>()); }
inline Tensor sum(T a, IntSpan dims, bool keepdim = false) {
  return call<"aten::sum.dim_IntList", Tensor>(a, dims, keepdim, std::optional<DType>());
}
inline Tensor mean(T a, IntSpan dims, bool keepdim = false) {
  return call<"aten::mean.dim", Tensor>(a, dims, keepdim, std::optional<DType>());
}
inline Tensor amax(T a, IntSpan dims, bool keepdim = false) { return call<"aten::amax", Tensor>(a, dims, keepdim); }
inline Tensor amin(T a, IntSpan dims, bool keepdim = false) { return call<"aten::amin", Tensor>(a, dims, keepdim); }
inline bool all_true(T a) { return call<"aten::_local_scalar_dense", Scalar>(call<"aten::all", Tensor>(a)).to_bool(); }
Tensor sum_to_size(T a, IntSpan sizes);  // undoes broadcasting

// --- indexing
inline Tensor gather(T a, int64_t dim, T index) { return call<"aten::gather", Tensor>(a, dim, index, false); }
inline Tensor scatter(T a, int64_t dim, T index, T src) {
  return call<"aten::scatter.src", Tensor>(a, dim, index, src);
}
// Zeros of these sizes, with src at the positions that index names along dim.
inline Tensor scatter_to(T src, int64_t dim, T index, IntSpan sizes) {
  return scatter(zeros(sizes, src.dtype(), src.device()), dim, index, src);
}

// --- matrices
inline Tensor mm(T a, T b) { return call<"aten::mm", Tensor>(a, b); }
inline Tensor bmm(T a, T b) { return call<"aten::bmm", Tensor>(a, b); }
inline Tensor matmul(T a, T b) { return call<"aten::matmul", Tensor>(a, b); }
inline Tensor t(T a) { return call<"aten::t", Tensor>(a); }

}  // namespace fc
