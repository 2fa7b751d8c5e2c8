// SPDX-License-Identifier: Apache-2.0
// Arithmetic, functions of elements, and sums of sparse tensors.
#include <algorithm>

#include "ops/register.h"
#include "ops/sparse.h"
#include "plan/pointwise.h"

namespace fc {

Tensor add_coo(const Tensor& a, const Tensor& b, const Scalar& alpha) {
  FC_CHECK(Dims::same(a.sizes(), b.sizes()), "add: expected sizes of 'self' and 'other' to match, but ", a.sizes(),
           " != ", b.sizes());
  const SparseParts &p = sparse_parts(a), &q = sparse_parts(b);
  FC_CHECK(p.sparse_dim() == q.sparse_dim(), "add: expected 'self' and 'other' to have same density, but 'self' has ",
           p.sparse_dim(), " sparse dimensions while 'other' has ", q.sparse_dim(), " sparse dimensions");
  const DType type = promote(a.dtype(), b.dtype());
  const Tensor scaled =
      alpha.to_bool() && alpha.is_integral(true) && alpha.to_int() == 1 ? q.values : mul(q.values, alpha);
  const Tensor indices[] = {p.indices, q.indices}, values[] = {to_dtype(p.values, type), to_dtype(scaled, type)};
  const Tensor both = coo_tensor(a.sizes(), cat(indices, 1), cat(values, 0), false);
  return p.coalesced && q.coalesced ? coalesced(both) : both;
}

namespace {

[[noreturn]] void refuse_sum() { raise<Error>("add(sparse, dense) is not supported. Use add(dense, sparse) instead."); }

void check_in_place_type(DType result, DType self) {
  FC_CHECK(can_cast(result, self), "result type ", info(result).legacy, " can't be cast to the desired output type ",
           info(self).legacy);
}
Tensor with_type(const Tensor& sparse, DType type) {
  return sparse.dtype() == type
             ? sparse
             : call<"aten::_to_copy", Tensor>(sparse, std::optional<DType>(type), std::optional<Layout>(),
                                              std::optional<Device>(), std::optional<bool>(), false,
                                              std::optional<MemoryFormat>());
}

// A strided tensor plus alpha times a sparse one.
Tensor add_to_strided(const Tensor& self, const Tensor& sparse, const Scalar& alpha, bool in_place) {
  FC_CHECK(Dims::same(self.sizes(), sparse.sizes()), "add: expected sizes of 'self' and 'other' to match, but ",
           self.sizes(), " != ", sparse.sizes());
  DType type = promote(self.dtype(), sparse.dtype());
  if (in_place) {
    check_in_place_type(type, self.dtype());
    type = self.dtype();
  }
  const Tensor coo = as_coo(sparse);
  const SparseParts& p = sparse_parts(coo);
  const Dims flat = flat_sizes(self.sizes(), p.sparse_dim());
  const Tensor at = positions(coo), values = to_dtype(p.values, type);
  if (in_place && self.is_contiguous()) {
    call<"aten::index_add_", Tensor>(view(self, flat), 0, at, values, alpha);
    return self;
  }
  const Tensor start = reshape(to_dtype(self, type), flat);
  const Tensor out = view(call<"aten::index_add", Tensor>(start, 0, at, values, alpha), self.sizes());
  return in_place ? copy_(self, out) : out;
}

Tensor add_kernel(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  if (!is_sparse(self)) return add_to_strided(self, other, alpha, false);
  if (!is_sparse(other)) {
    if (is_coo(self) || other.dim() != self.dim()) refuse_sum();
    return add_to_strided(alpha.to_double() == 1 ? other : mul(other, alpha), self, 1, false);
  }
  FC_CHECK(layout_of(self) == layout_of(other), "add: expected two tensors of one layout, got torch.",
           to_string(layout_of(self)), " and torch.", to_string(layout_of(other)));
  return as_layout(add_coo(as_coo(self), as_coo(other), alpha), layout_of(self));
}
Tensor add_in_place(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  if (!is_sparse(self)) return add_to_strided(self, other, alpha, true);
  if (!is_sparse(other)) refuse_sum();
  const Tensor sum = add_kernel(self, other, alpha);
  check_in_place_type(sum.dtype(), self.dtype());
  replace_sparse(self, with_type(sum, self.dtype()));
  return self;
}
Tensor sub_kernel(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  return add_kernel(self, other, -alpha);
}
Tensor sub_in_place(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  return add_in_place(self, other, -alpha);
}
Tensor refuse_number(const Tensor&, const Scalar&, const Scalar&) { refuse_sum(); }

// Elements that both have.
Tensor mul_coo(const Tensor& self, const Tensor& other) {
  FC_CHECK(
      Dims::same(self.sizes(), other.sizes()) && sparse_parts(self).sparse_dim() == sparse_parts(other).sparse_dim(),
      "mul: expected two sparse tensors of one size and with as many sparse dimensions, got ", self.sizes(), " with ",
      sparse_parts(self).sparse_dim(), " and ", other.sizes(), " with ", sparse_parts(other).sparse_dim());
  const Tensor a = coalesced(self), b = coalesced(other);
  const SparseParts &p = sparse_parts(a), &q = sparse_parts(b);
  const auto [in_a, in_b] = call<"aten::_sparse_common", Two>(positions(a), positions(b));
  return coo_tensor(a.sizes(), index_select(p.indices, 1, in_a),
                    mul(index_select(p.values, 0, in_a), index_select(q.values, 0, in_b)), true);
}
Tensor mul_strided(const Tensor& sparse, const Tensor& dense) {
  if (dense.dim() == 0) return with_values(sparse, mul(sparse_parts(sparse).values, dense));
  const Dims shape = broadcast_shapes("mul", sparse.sizes(), dense.sizes());
  FC_CHECK(Dims::same(shape, sparse.sizes()), "mul: a sparse tensor is not broadcast: sizes ", sparse.sizes(), " and ",
           dense.sizes());
  const Tensor coo = as_coo(sparse);
  const SparseParts& p = sparse_parts(coo);
  const Tensor product =
      coo_tensor(coo.sizes(), p.indices, mul(p.values, values_at(expand(dense, shape), p.indices)), p.coalesced);
  return as_layout(product, layout_of(sparse));
}
Tensor mul_kernel(const Tensor& self, const Tensor& other) {
  if (!is_sparse(self)) return mul_strided(other, self);
  if (!is_sparse(other)) return mul_strided(self, other);
  FC_CHECK(layout_of(self) == layout_of(other), "mul: expected two tensors of one layout, got torch.",
           to_string(layout_of(self)), " and torch.", to_string(layout_of(other)));
  return as_layout(mul_coo(as_coo(self), as_coo(other)), layout_of(self));
}
Tensor mul_in_place(const Tensor& self, const Tensor& other) {
  FC_CHECK(is_sparse(self),
           "mul_: a strided tensor cannot be multiplied in place by a sparse one, whose product is sparse");
  const Tensor product = mul_kernel(self, other);
  check_in_place_type(product.dtype(), self.dtype());
  replace_sparse(self, with_type(product, self.dtype()));
  return self;
}

// --- on the values alone: functions that keep 0, factors

void check_only_first(const Operator& op, const Arg* args) {
  FC_CHECK(is_sparse(args[0].tensor()), op.name(), ": the first argument must be the sparse one");
  for (uint8_t i : op.tensor_args()) {
    if (i == 0 || args[i].is_none()) continue;
    const Tensor& other = args[i].tensor();
    FC_CHECK(!is_sparse(other) && other.dim() == 0,
             op.schema().name.starts_with("div") || op.schema().name.starts_with("floor_div") ? "Sparse division"
                                                                                              : op.schema().name,
             " requires a scalar or zero-dim dense tensor divisor (got shape ", other.sizes(), " for divisor)");
  }
}
void on_values(void*, const Operator& op, const Arg* args, Value* results) {
  check_only_first(op, args);
  const Tensor& given = args[0].tensor();
  const Tensor self = op.keeps_zero == KeepsZero::Linear || !is_coo(given) ? given : coalesced(given);
  const Tensor values = part(sparse_parts(self).values);
  std::vector<Arg> inside(args, args + op.num_args());
  inside[0] = values;
  op.call(inside.data(), results);
  if (op.is_in_place) {
    if (!self.same(given)) replace_sparse(given, self);
    results[0] = Value(Tensor(given));
  } else {
    results[0] = Value(with_values(self, results[0].take_tensor()));
  }
}

// The same into a sparse out.
void on_values_out(void*, const Operator& op, const Arg* args, Value* results) {
  const Tensor& out = args[op.num_args() - 1].tensor();
  FC_CHECK(is_sparse(out) && layout_of(out) == layout_of(args[0].tensor()), op.schema().name,
           ": out must be a sparse tensor of the input's layout");
  on_values(nullptr, *op.functional, args, results);
  check_in_place_type(results[0].tensor().dtype(), out.dtype());
  replace_sparse(out, with_type(results[0].tensor(), out.dtype()));
  results[0] = Value(Tensor(out));
}

Tensor pow_kernel(const Tensor& self, const Scalar& exponent) {
  FC_CHECK(exponent.is_complex() || exponent.to_double() != 0,
           "pow: cannot raise to zeroth power on sparse tensor; it would make the result tensor dense");
  FC_CHECK(exponent.is_complex() || exponent.to_double() > 0,
           "pow: cannot raise a sparse tensor to a negative power: its zeros would become infinite");
  const Tensor whole = is_coo(self) ? coalesced(self) : self;
  return with_values(whole, pow(sparse_parts(whole).values, exponent));
}

// --- sums

Tensor sum_all(const Tensor& self, std::optional<DType> dtype) {
  return call<"aten::sum", Tensor>(sparse_parts(self).values, dtype);
}
Tensor sum_dims(const Tensor& self, std::optional<IntSpan> dim, bool keepdim, std::optional<DType> dtype) {
  if (is_compressed(self)) {
    FC_CHECK(keepdim, "reduction operations on CSR tensors with keepdim=False is unsupported");
    return as_layout(sum_dims(as_coo(self), dim, true, dtype), layout_of(self));
  }
  const SparseParts& p = sparse_parts(self);
  const auto dims = static_cast<size_t>(self.dim()), sparse = static_cast<size_t>(p.sparse_dim());
  std::vector<bool> gone(dims, !dim || dim->empty());
  for (int64_t d : dim.value_or(IntSpan())) {
    const auto at = static_cast<size_t>(wrap_dim(d, self.dim(), "sum"));
    FC_CHECK(at < dims, "sum: a tensor without dimensions has none to sum over");
    FC_CHECK(!gone[at], "dim ", d, " appears multiple times in the list of dims");
    gone[at] = true;
  }
  Dims dense, kept, sizes;
  for (size_t d = sparse; d < dims; ++d)
    if (gone[d]) dense.push_back(static_cast<int64_t>(d - sparse + 1));
  for (size_t d = 0; d < sparse; ++d)
    if (!gone[d]) kept.push_back(static_cast<int64_t>(d));
  for (size_t d = 0; d < dims; ++d)
    if (!gone[d]) sizes.push_back(self.sizes()[d]);
    else if (keepdim) sizes.push_back(1);
  const auto sum_of = [&](const Tensor& t, IntSpan over) {
    return call<"aten::sum.dim_IntList", Tensor>(t, std::optional<IntSpan>(over), keepdim, dtype);
  };
  Tensor values = dense.empty() ? (dtype ? to_dtype(p.values, *dtype) : p.values) : sum_of(p.values, dense);
  if (values.dtype() == DType::Bool || (is_integral(values.dtype(), true) && !dtype)) values = int64(values);
  if (kept.empty() && !keepdim) return sum(values, Dims{0});
  if (kept.size() == sparse) return coo_tensor(sizes, p.indices, values, p.coalesced);
  std::vector<Tensor> rows;
  for (size_t d = 0; d < sparse; ++d) {
    const Tensor row = select(p.indices, 0, static_cast<int64_t>(d));
    if (!gone[d]) rows.push_back(row);
    else if (keepdim) rows.push_back(zeros_like(row));
  }
  return coalesced(coo_tensor(sizes, stack(rows), values, false));
}

Tensor sparse_sum(const Tensor& self) {
  return sum(call<"aten::values", Tensor>(call<"aten::coalesce", Tensor>(self)));
}
Tensor sparse_sum_dtype(const Tensor& self, DType dtype) {
  return call<"aten::sum", Tensor>(call<"aten::values", Tensor>(call<"aten::coalesce", Tensor>(self)),
                                   std::optional(dtype));
}
Tensor sparse_sum_dims(const Tensor& self, IntSpan dim) {
  must_be_coo("_sparse_sum", self);
  FC_CHECK(!dim.empty(), "_sparse_sum: dim must name at least one dimension");
  return sum_dims(self, dim, false, {});
}
Tensor sparse_sum_dims_dtype(const Tensor& self, IntSpan dim, DType dtype) {
  return call<"aten::_sparse_sum.dim", Tensor>(to_dtype(self, dtype), dim);
}
// Each entry gets what arrived where it was added to.
void sparse_sum_grad(Grad& g) {
  const Tensor self = coalesced(g.in(0));
  const SparseParts& p = sparse_parts(self);
  std::vector<bool> gone(static_cast<size_t>(self.dim()));
  for (int64_t d : g.arg(1).ints()) gone[static_cast<size_t>(wrap_dim(d, self.dim()))] = true;
  std::vector<Tensor> rows;
  for (int64_t d = 0; d < p.sparse_dim(); ++d)
    if (!gone[static_cast<size_t>(d)]) rows.push_back(select(p.indices, 0, d));
  Tensor flow = rows.empty() ? unsqueeze(g.out(), 0) : call<"aten::_sparse_values_at", Tensor>(g.out(), stack(rows));
  for (int64_t d = p.sparse_dim(); d < self.dim(); ++d)
    if (gone[static_cast<size_t>(d)]) flow = unsqueeze(flow, d - p.sparse_dim() + 1);
  g.set(0, recorded_with_values(self, contiguous(expand(flow, p.values.sizes()))));
}

Tensor any_kernel(const Tensor& self) {
  const Tensor whole = is_coo(self) ? coalesced(self) : self;
  return call<"aten::any", Tensor>(sparse_parts(whole).values);
}
Tensor norm_kernel(const Tensor& self, const Scalar& p, std::optional<IntSpan> dim, bool keepdim,
                   std::optional<DType> dtype) {
  std::vector<bool> named(static_cast<size_t>(self.dim()), !dim || dim->empty());
  for (int64_t d : dim.value_or(IntSpan())) named[static_cast<size_t>(wrap_dim(d, self.dim(), "norm"))] = true;
  const bool whole_tensor = std::find(named.begin(), named.end(), false) == named.end();
  FC_CHECK_AS(NotImplementedError, whole_tensor && !keepdim && p.to_double() > 0,
              "norm of a sparse tensor: only over all dimensions and with p > 0; use to_dense() first");
  const Tensor whole = is_coo(self) ? coalesced(self) : self;
  return call<"aten::linalg_vector_norm", Tensor>(sparse_parts(whole).values, p, std::optional<IntSpan>(), false,
                                                  dtype);
}

}  // namespace

void define_sparse_math() {
  static constexpr OpDef defs[] = {
      {.schema = "_sparse_sum(Tensor self) -> Tensor", .composite = kernel<&sparse_sum>(), .hidden = true},
      {.schema = "_sparse_sum.dtype(Tensor self, *, ScalarType dtype) -> Tensor",
       .composite = kernel<&sparse_sum_dtype>(),
       .hidden = true},
      {.schema = "_sparse_sum.dim(Tensor self, int[1] dim) -> Tensor",
       .all = kernel<&sparse_sum_dims>(),
       .saves = "self dim",
       .grad = sparse_sum_grad,
       .hidden = true},
      {.schema = "_sparse_sum.dim_dtype(Tensor self, int[1] dim, *, ScalarType dtype) -> Tensor",
       .composite = kernel<&sparse_sum_dims_dtype>(),
       .hidden = true},
  };
  define_sparse_rows(defs);
  set_values_kernels(on_values, on_values_out);
  constexpr std::pair<const char*, Kernel> kernels[] = {
      {"aten::add.Tensor", kernel<&add_kernel>()},          {"aten::add_.Tensor", kernel<&add_in_place>()},
      {"aten::sub.Tensor", kernel<&sub_kernel>()},          {"aten::sub_.Tensor", kernel<&sub_in_place>()},
      {"aten::add.Scalar", kernel<&refuse_number>()},       {"aten::sub.Scalar", kernel<&refuse_number>()},
      {"aten::mul.Tensor", kernel<&mul_kernel>()},          {"aten::mul_.Tensor", kernel<&mul_in_place>()},
      {"aten::pow.Tensor_Scalar", kernel<&pow_kernel>()},   {"aten::sum", kernel<&sum_all>()},
      {"aten::sum.dim_IntList", kernel<&sum_dims>()},       {"aten::any", kernel<&any_kernel>()},
      {"aten::linalg_vector_norm", kernel<&norm_kernel>()},
  };
  for (const auto& [name, k] : kernels) set_sparse_kernel(name, k);
}

}  // namespace fc
