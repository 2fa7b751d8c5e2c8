// SPDX-License-Identifier: Apache-2.0
// Reading and writing along one dimension by an index tensor: gather, scatter, index_select, index_add, embedding …
#include "dispatch/warn_once.h"
#include "plan/index.h"

#include "dispatch/family_table.h"
#include "dispatch/joins.h"
#include "ops/register.h"
#include "plan/pointwise.h"
#include "plan/shape.h"

namespace fc {
namespace {

#define G (g.out())

// Family calls need at least one dimension, and index errors that name the operator.
template <class Exception, class F>
void named(const char* op, const F& f) {
  try {
    f();
  } catch (const IndexError& e) { raise<Exception>(op, "(): ", e.message()); }
}

// --- gather and scatter

Tensor gather_kernel(const Tensor& self, int64_t dim, const Tensor& index, bool) {
  int64_t d = wrap_dim(dim, self.dim(), "gather");
  if (index.numel() == 0) return empty_tensor(index.sizes(), self.dtype(), self.device());  // of any type
  Tensor at = int64_index("gather", index);
  Tensor out = empty_tensor(index.sizes(), self.dtype(), self.device());
  Tensor from = at_least_1d(self), where = at_least_1d(at);
  FC_CHECK(from.dim() == where.dim(),
           "gather(): Index tensor must have the same number of dimensions as input tensor: index is ", index.sizes(),
           ", input is ", self.sizes());
  for (int64_t k = 0; k < from.dim(); ++k)
    FC_CHECK(k == d || where.size(k) <= from.size(k), "gather(): Size does not match at dimension ", k,
             " expected index ", index.sizes(), " to be no larger than self ", self.sizes(), " apart from dimension ",
             d);
  named<Error>("gather", [&] { gather_into(at_least_1d(out), from, d, where); });
  return out;
}

void check_scatter(const char* op, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  FC_CHECK(self.dtype() == src.dtype(), op, "(): Expected self.dtype to be equal to src.dtype, got ", self.dtype(),
           " and ", src.dtype());
  if (index.numel() == 0) return;
  Tensor to = at_least_1d(self), at = at_least_1d(index), from = at_least_1d(src);
  FC_CHECK(at.dim() == to.dim(), op,
           "(): Index tensor must have the same number of dimensions as self tensor: index is ", index.sizes(),
           ", self is ", self.sizes());
  FC_CHECK(at.dim() == from.dim(), op,
           "(): Index tensor must have the same number of dimensions as src tensor: index is ", index.sizes(),
           ", src is ", src.sizes());
  for (int64_t k = 0; k < to.dim(); ++k)
    FC_CHECK((k == dim || at.size(k) <= to.size(k)) && at.size(k) <= from.size(k), op, "(): Expected index ",
             index.sizes(), " to be no larger than self ", self.sizes(), " apart from dimension ", dim,
             " and to be no larger size than src ", src.sizes());
}

Tensor scatter_any(const char* op, fc_scatter_opcode opcode, const Tensor& self, int64_t dim, const Tensor& index,
                   const Tensor& src) {
  int64_t d = wrap_dim(dim, self.dim(), op);
  check_scatter(op, self, d, index, src);
  if (index.numel() == 0) return self;  // of any type
  Tensor at = int64_index(op, index);
  named<Error>(op, [&] { scatter_into(opcode, at_least_1d(self), d, at_least_1d(at), at_least_1d(src)); });
  return self;
}

fc_scatter_opcode reduce_opcode(std::string_view how) {
  FC_CHECK(how == "add" || how == "multiply", "scatter(): reduce argument must be either add or multiply, got ", how);
  return how == "add" ? FC_SCATTER_ADD : FC_SCATTER_MUL;
}

Tensor scatter_src(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  return scatter_any("scatter", FC_SCATTER_SET, self, dim, index, src);
}
Tensor scatter_value(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  return scatter_any("scatter", FC_SCATTER_SET, self, dim, index, repeated_number(value, self, index.sizes()));
}
Tensor scatter_src_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                          std::string_view how) {
  return scatter_any("scatter", reduce_opcode(how), self, dim, index, src);
}
Tensor scatter_value_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value,
                            std::string_view how) {
  return scatter_any("scatter", reduce_opcode(how), self, dim, index, repeated_number(value, self, index.sizes()));
}
Tensor scatter_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  return scatter_any("scatter_add", FC_SCATTER_ADD, self, dim, index, src);
}

Scalar identity_of(fc_scatter_opcode opcode, DType t) {
  if (opcode == FC_SCATTER_ADD) return 0;
  if (opcode == FC_SCATTER_MUL) return 1;
  bool low = opcode == FC_SCATTER_MAX;
  if (is_floating(t)) return low ? -__builtin_inf() : __builtin_inf();
  if (t == DType::Bool) return !low;
  if (!is_signed(t)) return low ? int64_t{0} : int64_t{255};
  int64_t most = INT64_MAX >> (64 - 8 * item_size(t));
  return low ? -most - 1 : most;
}

// Reduces values into positions; write(opcode, target, values) says where. `shape` is that of the values.
template <class Write>
Tensor reduce_into(const Tensor& self, const Tensor& src, IntSpan shape, std::string_view how, bool include_self,
                   const Write& write) {
  const fc_scatter_opcode opcode = how == "sum" || how == "mean" ? FC_SCATTER_ADD
                                   : how == "prod"               ? FC_SCATTER_MUL
                                   : how == "amax"               ? FC_SCATTER_MAX
                                                                 : FC_SCATTER_MIN;
  if (!include_self) write(FC_SCATTER_SET, self, repeated_number(identity_of(opcode, self.dtype()), self, shape));
  write(opcode, self, src);
  if (how != "mean") return self;
  Tensor count = full(self.sizes(), include_self ? 1 : 0, self.dtype(), self.device());
  write(FC_SCATTER_ADD, count, repeated_number(1, self, shape));
  count = masked_fill(count, eq(count, 0), 1);
  if (is_integral(self.dtype(), true))
    return copy_(self, call<"aten::div.Tensor_mode", Tensor>(self, count, std::string_view("floor")));
  return copy_(self, div(self, count));
}
bool is_product_mean_or_extreme(std::string_view how) {
  return how == "prod" || how == "mean" || how == "amax" || how == "amin";
}

Tensor scatter_reduce_two(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, std::string_view how,
                          bool include_self) {
  FC_CHECK(how == "sum" || is_product_mean_or_extreme(how),
           "scatter_reduce: reduce argument must be either sum, prod, mean, amax or amin, got ", how);
  return reduce_into(self, src, index.sizes(), how, include_self,
                     [&](fc_scatter_opcode opcode, const Tensor& to, const Tensor& from) {
                       scatter_any("scatter_reduce", opcode, to, dim, index, from);
                     });
}

// --- one index for whole slices

Tensor index_select_kernel(const Tensor& self, int64_t dim, const Tensor& index) {
  int64_t d = wrap_dim(dim, self.dim(), "index_select");
  Tensor at = index_vector("index_select", index, self.device());
  FC_CHECK(self.dim() > 0 || at.numel() == 1, "index_select(): Index to scalar can have only 1 value, got ", at.numel(),
           " value(s)");
  Dims shape(self.sizes());
  if (self.dim() > 0) shape[static_cast<size_t>(d)] = at.numel();
  Tensor out = empty_tensor(shape, self.dtype(), self.device());
  Tensor to = at_least_1d(out);
  if (at.numel() > 0)
    named<IndexError>("index_select", [&] { gather_into(to, at_least_1d(self), d, along(at, d, to.sizes())); });
  return out;
}

// Where there is nothing to name, no index is right: PyTorch says so with another exception than for a wrong index.
void check_not_empty(const char* op, const Tensor& self, int64_t dim, const Tensor& index) {
  FC_CHECK(index.numel() == 0 || self.dim() == 0 || self.size(dim) > 0, op, "(): dimension ", dim, " of self ",
           self.sizes(), " has no elements that an index could name");
}

// self and source side by side, checked: for index_add_ and index_copy_.
Tensor slices_index(const char* op, fc_scatter_opcode opcode, const Tensor& self, int64_t dim, const Tensor& index,
                    const Tensor& source) {
  Tensor at = index_vector(op, index, self.device());
  FC_CHECK(self.dtype() == source.dtype(), op, "(): self (", info(self.dtype()).legacy, ") and source (",
           info(source.dtype()).legacy, ") must have the same scalar type");
  Tensor to = at_least_1d(self), from = at_least_1d(source);
  if (to.dim() != from.dim() && opcode == FC_SCATTER_SET)
    raise<IndexError>(
        op, "(): When source and destination are not scalars, their dimensionality must match. Source dimensionality (",
        source.dim(), "), destination dimensionality (", self.dim(), ")");
  FC_CHECK(to.dim() == from.dim(), op,
           "(): source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = ",
           self.sizes(), " source.shape = ", source.sizes());
  FC_CHECK(at.numel() == from.size(dim), op, "(): Number of indices (", at.numel(),
           ") should be equal to source.size(dim): (", from.size(dim), "), for dim: ", dim);
  for (int64_t k = 0; k < to.dim(); ++k)
    FC_CHECK(
        k == dim || to.size(k) == from.size(k), op,
        "(): source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = ",
        self.sizes(), " source.shape = ", source.sizes());
  return at;
}
Tensor write_slices(const char* op, fc_scatter_opcode opcode, const Tensor& self, int64_t dim, const Tensor& index,
                    const Tensor& source) {
  int64_t d = wrap_dim(dim, self.dim(), op);
  Tensor at = slices_index(op, opcode, self, d, index, source), from = at_least_1d(source);
  if (opcode == FC_SCATTER_SET && source.numel() > 0) check_not_empty(op, self, d, at);
  if (at.numel() > 0 && self.numel() + source.numel() > 0)
    named<IndexError>(op, [&] { scatter_into(opcode, at_least_1d(self), d, along(at, d, from.sizes()), from); });
  return self;
}
Tensor index_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha) {
  bool plain = alpha.equals(1);
  return write_slices("index_add_", FC_SCATTER_ADD, self, dim, index,
                      plain ? source : to_dtype(mul(source, alpha), source.dtype()));
}
Tensor index_copy(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  return write_slices("index_copy_", FC_SCATTER_SET, self, dim, index, source);
}

Tensor index_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, std::string_view how,
                    bool include_self) {
  static std::atomic<bool> said;
  warn_once(said, "index_reduce() is in beta and the API may change at any time.");
  FC_CHECK(is_product_mean_or_extreme(how),
           "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got ", how, ".");
  // Looked at before anything is written.
  slices_index("index_reduce_", FC_SCATTER_ADD, self, wrap_dim(dim, self.dim(), "index_reduce_"), index, source);
  return reduce_into(self, source, source.sizes(), how, include_self,
                     [&](fc_scatter_opcode opcode, const Tensor& to, const Tensor& from) {
                       write_slices("index_reduce_", opcode, to, dim, index, from);
                     });
}

// Negative indices count from the end here, unlike above.
Tensor fill_slices(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value) {
  int64_t d = wrap_dim(dim, self.dim(), "index_fill_");
  if (self.device().is_meta() || index.numel() == 0) return self;
  check_not_empty("index_fill_", self, d, index);
  Tensor to = at_least_1d(self), at = index_vector("index_fill_", index, Device{});
  const Tensor list[] = {at};
  named<IndexError>("index_fill_", [&] {
    at = call<"aten::_linear_index", Tensor>(TensorSpan(list), Dims{d}, Dims{to.size(d)}, Dims{1});
  });
  Dims sizes(to.sizes());
  sizes[static_cast<size_t>(d)] = at.numel();
  scatter_into(FC_SCATTER_SET, to, d, along(index_vector("index_fill_", at, self.device()), d, sizes),
               make_view(value, sizes, Dims(sizes.size()), value.offset()));
  return self;
}
Tensor index_fill_scalar(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  return fill_slices(self, dim, index, repeated_number(value, self, {}));
}
Tensor index_fill_tensor(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value) {
  FC_CHECK(value.dim() == 0, "index_fill_ only supports a 0-dimensional value tensor, but got tensor with ",
           value.dim(), " dimension(s).");
  return fill_slices(self, dim, index, call<"aten::to.other", Tensor>(value, self, false, false, nullptr));
}

Tensor take_along_dim(const Tensor& self, const Tensor& indices, std::optional<int64_t> dim) {
  FC_CHECK(indices.dtype() == DType::Int64 || indices.dtype() == DType::Int32,
           "take_along_dim(): dtype of indices should be Long but got ", info(indices.dtype()).legacy);
  auto wrap = [](const Tensor& at, int64_t size) {
    return add(at, mul(to_dtype(lt(at, 0), at.dtype()), Scalar(size)));
  };
  if (!dim)
    return call<"aten::gather", Tensor>(reshape(self, Dims{-1}), 0, wrap(reshape(indices, Dims{-1}), self.numel()),
                                        false);
  FC_CHECK(self.dim() == indices.dim(),
           "take_along_dim(): input and indices should have the same number of dimensions, but got ", self.dim(),
           " dimensions for input, and ", indices.dim(), " dimensions for indices");
  int64_t d = wrap_dim(*dim, self.dim(), "take_along_dim");
  Dims a(self.sizes()), b(indices.sizes());
  if (!a.empty()) a[static_cast<size_t>(d)] = b[static_cast<size_t>(d)] = 1;
  const Tensor ends[] = {empty_tensor(a, DType::Bool, Device{Device::Meta}),
                         empty_tensor(b, DType::Bool, Device{Device::Meta})};
  Dims shape(call<"aten::broadcast_tensors", std::vector<Tensor>>(TensorSpan(ends))[0].sizes());
  Dims mine(shape), theirs(shape);
  if (!a.empty()) {
    mine[static_cast<size_t>(d)] = self.size(d);
    theirs[static_cast<size_t>(d)] = indices.size(d);
  }
  return call<"aten::gather", Tensor>(expand(self, mine), d,
                                      expand(wrap(indices, self.dim() ? self.size(d) : 1), theirs), false);
}

// --- embeddings

void check_embedding_index(const Tensor& indices) {
  FC_CHECK(indices.dtype() == DType::Int64 || indices.dtype() == DType::Int32,
           "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got ",
           info(indices.dtype()).legacy, " instead (while checking arguments for embedding)");
}

Tensor embedding_kernel(const Tensor& weight, const Tensor& indices, int64_t, bool, bool) {
  FC_CHECK(weight.dim() == 2, "embedding: 'weight' must be 2-D, got ", weight.dim(), "-D");
  check_embedding_index(indices);
  Dims shape(indices.sizes());
  shape.push_back(weight.size(1));
  Tensor out = empty_tensor(shape, weight.dtype(), weight.device());
  FC_CHECK(weight.size(0) > 0 || indices.numel() == 0, "embedding: weight ", weight.sizes(),
           " has no rows that an index could name");
  Tensor at = index_vector("embedding", reshape(indices, Dims{-1}), weight.device());
  Tensor rows = make_view(out, Dims{at.numel(), weight.size(1)}, Dims{weight.size(1), 1}, 0);
  named<IndexError>("embedding", [&] {
    try {
      gather_into(rows, weight, 0, along(at, 0, rows.sizes()));
    } catch (IndexError& e) {
      e.add_context("index out of range in self");
      throw;
    }
  });
  return out;
}

Tensor embedding_dense_backward(const Tensor& grad, const Tensor& indices, int64_t num_weights, int64_t padding_idx,
                                bool scale_by_frequency) {
  check_embedding_index(indices);
  Tensor at = reshape(indices, Dims{-1}), rows = reshape(grad, Dims{at.numel(), grad.size(-1)});
  if (scale_by_frequency) {
    Tensor ones = full(at.sizes(), 1, grad.dtype(), grad.device());
    Tensor counts =
        call<"aten::index_add_", Tensor>(zeros(Dims{num_weights}, grad.dtype(), grad.device()), 0, at, ones, Scalar(1));
    rows = div(rows, unsqueeze(call<"aten::index_select", Tensor>(counts, 0, at), 1));
  }
  Tensor out = call<"aten::index_add_", Tensor>(zeros(Dims{num_weights, grad.size(-1)}, grad.dtype(), grad.device()), 0,
                                                at, rows, Scalar(1));
  if (padding_idx >= 0 && padding_idx < num_weights) zero_(select(out, 0, padding_idx));
  return out;
}

// Rows that are longer than max_norm are scaled to it; of rows that are named several times all copies are equal.
// A gradient with an entry for each index; those of the padding are left out.
Tensor embedding_sparse_backward(const Tensor& grad, const Tensor& indices, int64_t num_weights, int64_t padding_idx,
                                 bool scale_by_frequency) {
  FC_CHECK(!scale_by_frequency, "embedding_backward: scale_grad_by_freq not supported with sparse gradients");
  check_embedding_index(indices);
  Tensor at = reshape(to_dtype(indices, DType::Int64), Dims{-1}), rows = reshape(grad, Dims{at.numel(), grad.size(-1)});
  if (padding_idx >= 0) {
    const Tensor kept = reshape(call<"aten::nonzero", Tensor>(ne(at, Scalar(padding_idx))), Dims{-1});
    at = call<"aten::index_select", Tensor>(at, 0, kept);
    rows = call<"aten::index_select", Tensor>(rows, 0, kept);
  }
  return call<"aten::_sparse_coo_tensor_unsafe", Tensor>(
      unsqueeze(at, 0), rows, Dims{num_weights, grad.size(-1)}, std::optional<DType>(), std::optional<Layout>(),
      std::optional<Device>(), std::optional<bool>(), std::optional<bool>());
}

Tensor embedding_renorm(const Tensor& self, const Tensor& indices, double max_norm, double norm_type) {
  FC_CHECK(self.dim() == 2, "embedding_renorm_: 'weight' must be 2-D, got ", self.dim(), "-D");
  check_embedding_index(indices);
  Tensor at = reshape(to_dtype(indices, DType::Int64), Dims{-1});
  Tensor rows = call<"aten::index_select", Tensor>(self, 0, at);
  Tensor norms =
      call<"aten::linalg_vector_norm", Tensor>(rows, Scalar(norm_type), Dims{1}, true, std::optional<DType>());
  Tensor scale = where(gt(norms, max_norm), mul(reciprocal(add(norms, 1e-7)), max_norm), 1);
  call<"aten::index_copy_", Tensor>(self, 0, at, mul(rows, scale));
  return self;
}

Tensor one_hot(const Tensor& self, int64_t classes) {
  FC_CHECK(self.dtype() == DType::Int64, "one_hot is only applicable to index tensor of type LongTensor, got ",
           info(self.dtype()).legacy);
  FC_CHECK(classes >= -1 && (classes != 0 || self.numel() == 0),
           "one_hot: Class values must be smaller than num_classes, num_classes is ", classes);
  FC_CHECK(self.numel() > 0 || classes > 0, "one_hot: Can not infer total number of classes from empty tensor.");
  if (self.numel() > 0) {
    auto extreme = [&](const Tensor& t) { return call<"aten::_local_scalar_dense", Scalar>(t).to_int(); };
    FC_CHECK(extreme(call<"aten::amin", Tensor>(self, Dims{}, false)) >= 0,
             "one_hot: Class values must be non-negative.");
    int64_t most = extreme(call<"aten::amax", Tensor>(self, Dims{}, false));
    if (classes == -1) classes = most + 1;
    FC_CHECK(most < classes, "one_hot: Class values must be smaller than num_classes.");
  }
  Dims shape(self.sizes());
  shape.push_back(classes);
  Tensor out = zeros(shape, DType::Int64, self.device());
  return call<"aten::scatter_.value", Tensor>(out, -1, unsqueeze(self, -1), Scalar(1));
}

// --- derivatives

Tensor scatter_zero(const Tensor& t, int64_t dim, const Tensor& index) {
  return call<"aten::scatter.value", Tensor>(t, dim, index, Scalar(0));
}

// What flows back to src, which may be larger than the index: the surplus was not read.
Tensor grad_of_src(Grad& g, const Tensor& flow, const Tensor& index, int src) {
  Tensor part = gather(flow, g.arg(1).integer(), index);
  IntSpan sizes = g.sizes(src);
  if (Dims::same(part.sizes(), sizes)) return part;
  Dims pad;
  for (size_t d = sizes.size(); d-- > 0;) {
    pad.push_back(0);
    pad.push_back(sizes[d] - part.sizes()[d]);
  }
  return call<"aten::constant_pad_nd", Tensor>(part, pad, Scalar(0));
}

// Of index_reduce the index is a vector, one for a whole slice.
template <bool slices>
void scatter_reduce_grad(Grad& g) {
  int64_t dim = g.arg(1).integer();
  std::string_view how = g.arg(4).text();
  bool include_self = g.arg(5).boolean();
  Tensor self = g.in(0), index = g.in(2), src = g.in(3);
  if (slices) {
    Dims line(static_cast<size_t>(src.dim()), 1);
    if (src.dim() > 0) line[static_cast<size_t>(wrap_dim(dim, src.dim(), "index_reduce"))] = index.numel();
    index = expand(reshape(to_dtype(index, DType::Int64), line), src.sizes());
  }
  auto scatter_sum = [&](const Tensor& to, const Tensor& what) {
    return call<"aten::scatter_add", Tensor>(to, dim, index, what);
  };
  Tensor for_self, for_src;
  if (how == "sum") {
    for_self = G;
    for_src = grad_of_src(g, G, index, 3);
  } else if (how == "mean") {
    Tensor n = scatter_sum(include_self ? ones_like(G) : zeros_like(G), ones_like(src));
    for_self = div(G, masked_fill(n, eq(n, 0), 1));
    for_src = grad_of_src(g, for_self, index, 3);
  } else if (how == "prod") {
    Tensor result = g.result(), no_zero = masked_fill(self, eq(self, 0), 1);
    Tensor others = call<"aten::scatter_reduce.two", Tensor>(no_zero, dim, index, src, how, include_self);
    for_self = div(mul(G, others), no_zero);
    // A single zero among the sources of a position gets the product of the others; with several, all get zero.
    Tensor zero = eq(src, 0);
    Tensor zeros_here = gather(scatter_sum(zeros_like(self), to_dtype(zero, self.dtype())), dim, index);
    Tensor lone = call<"aten::logical_and", Tensor>(zero, eq(zeros_here, 1));
    Tensor without =
        gather(call<"aten::scatter_reduce.two", Tensor>(self, dim, index, masked_fill(src, lone, 1), how, include_self),
               dim, index);
    Tensor plain = div(gather(mul(G, result), dim, index), masked_fill(src, zero, 1));
    for_src = where(lone, mul(gather(G, dim, index), without), plain);
  } else {  // amax, amin: ties share
    Tensor result = g.result();
    Tensor self_wins = to_dtype(eq(self, result), G.dtype()),
           src_wins = to_dtype(eq(src, gather(result, dim, index)), G.dtype());
    Tensor winners = scatter_sum(self_wins, src_wins);
    Tensor share = div(G, masked_fill(winners, eq(winners, 0), 1));
    for_self = mul(self_wins, share);
    for_src = mul(src_wins, gather(share, dim, index));
  }
  if (g.needs(0)) g.set(0, include_self ? for_self : scatter_zero(for_self, dim, index));
  if (g.needs(3)) g.set(3, for_src);
}

constexpr OpDef defs[] = {
    {.schema = "gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
     .doc = "Elements picked along a dimension by an index tensor.",
     .all = kernel<&gather_kernel>(),
     .saves = "dim index",
     .grad =
         [](Grad& g) {
           g.set(0, call<"aten::scatter_add", Tensor>(zeros(g.sizes(0), G.dtype(), G.device()), g.arg(1).integer(),
                                                      g.in(2), G));
         },
     .out = true,
     .writes = Writes::Apart},
    {.schema = "index_select(Tensor self, int dim, Tensor index) -> Tensor",
     .doc = "The rows that the index names, along a dimension.",
     .all = kernel<&index_select_kernel>(),
     .saves = "dim index",
     .grad =
         [](Grad& g) {
           Tensor all = zeros(g.sizes(0), G.dtype(), G.device());
           g.set(0, call<"aten::index_add", Tensor>(all, g.arg(1).integer(), g.in(2), G, Scalar(1)));
         },
     .out = true,
     .writes = Writes::Apart},
    {.schema = "take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor",
     .doc = "Elements picked along a dimension by an index tensor that broadcasts.",
     .composite = kernel<&take_along_dim>(),
     .out = true,
     .writes = Writes::Apart},
    {.schema = "embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool "
               "sparse=False) -> Tensor",
     .doc = "The rows of a table that the indices name.",
     .all = kernel<&embedding_kernel>(),
     .saves = "indices padding_idx scale_grad_by_freq sparse",
     .grad =
         [](Grad& g) {
           const auto backward = [&]<FixedString name>() {
             return call<name, Tensor>(G, g.in(1), g.sizes(0)[0], g.arg(2).integer(), g.arg(3).boolean());
           };
           const bool scaled = g.arg(3).boolean();
           const bool sparse = g.arg(4).boolean() || (!scaled && gradient_joins_strided());
           g.set(0, sparse ? backward.operator()<"aten::embedding_sparse_backward">()
                           : backward.operator()<"aten::embedding_dense_backward">());
         }},
    {.schema = "embedding_sparse_backward(Tensor grad, Tensor indices, int num_weights, int padding_idx, bool "
               "scale_grad_by_freq) -> Tensor",
     .composite = kernel<&embedding_sparse_backward>(),
     .hidden = true},
    {.schema = "embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, SymInt padding_idx, "
               "bool scale_grad_by_freq) -> Tensor",
     .all = kernel<&embedding_dense_backward>(),
     .saves = "indices padding_idx scale_grad_by_freq",
     .grad =
         [](Grad& g) {
           FC_CHECK(!g.arg(4).boolean(),
                    "embedding_dense_backward: double backward is not supported with scale_grad_by_freq");
           Tensor flow = call<"aten::embedding", Tensor>(G, g.in(1), g.arg(3).integer(), false, false);
           int64_t padding = g.arg(3).integer();
           g.set(0, padding < 0 ? flow : masked_fill(flow, unsqueeze(eq(g.in(1), Scalar(padding)), -1), 0));
         },
     .hidden = true},
    {.schema = "embedding_renorm_(Tensor(a!) self, Tensor indices, float max_norm, float norm_type) -> Tensor(a!)",
     .doc = "Scales the rows that the indices name down to max_norm where they are longer.",
     .all = kernel<&embedding_renorm>(),
     .differentiable = false,
     .partial = "self"},
    {.schema = "one_hot(Tensor self, int num_classes=-1) -> Tensor",
     .doc = "A row of zeros with a one at each class index.",
     .composite = kernel<&one_hot>()},
    {.schema = "_linear_index(Tensor[] indices, int[] dims, int[] sizes, int[] strides) -> Tensor",
     .differentiable = false,
     .hidden = true},
};

constexpr WriteDef write_defs[] = {
    replacing(writes<&scatter_src>("scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
                                   "Writes elements of src to the positions along a dimension that the index names.",
                                   "dim index",
                                   [](Grad& g) {
                                     if (g.needs(0)) g.set(0, scatter_zero(G, g.arg(1).integer(), g.in(2)));
                                     if (g.needs(3)) g.set(3, grad_of_src(g, G, g.in(2), 3));
                                   })),
    replacing(writes<&scatter_value>(
        "scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", nullptr, "dim index",
        [](Grad& g) { g.set(0, scatter_zero(G, g.arg(1).integer(), g.in(2))); }, Devices::Same, "ScatterBackward1")),
    writes<&scatter_src_reduce>(
        "scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor"),
    writes<&scatter_value_reduce>(
        "scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor"),
    writes<&scatter_add>("scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
                         "Adds elements of src at the positions along a dimension that the index names.", "dim index",
                         [](Grad& g) {
                           if (g.needs(0)) g.set(0, G);
                           if (g.needs(3)) g.set(3, grad_of_src(g, G, g.in(2), 3));
                         }),
    writes<&scatter_reduce_two>("scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, "
                                "bool include_self=True) -> Tensor",
                                "Reduces elements of src into the positions along a dimension that the index names.",
                                "self dim index src reduce include_self result", scatter_reduce_grad<false>),
    writes<&index_add>(
        "index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor",
        "Adds rows of source to the rows that the index names.", "dim index alpha",
        [](Grad& g) {
          if (g.needs(0)) g.set(0, G);
          if (!g.needs(3)) return;
          Tensor part = call<"aten::index_select", Tensor>(G, g.arg(1).integer(), g.in(2));
          g.set(3, reshape(g.arg(4).scalar().equals(1) ? part : mul(part, conj(wrapped_number(g.arg(4).scalar()))),
                           g.sizes(3)));
        }),
    writes<&index_reduce>("index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool "
                          "include_self=True) -> Tensor",
                          "Reduces rows of source into the rows that the index names.",
                          "self dim index source reduce include_self result", scatter_reduce_grad<true>),
    replacing(writes<&index_copy>(
        "index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor",
        "Copies rows of source to the rows that the index names.", "dim index",
        [](Grad& g) {
          if (g.needs(0))
            g.set(0, call<"aten::index_fill.int_Scalar", Tensor>(G, g.arg(1).integer(), g.in(2), Scalar(0)));
          if (g.needs(3))
            g.set(3, reshape(call<"aten::index_select", Tensor>(G, g.arg(1).integer(), g.in(2)), g.sizes(3)));
        })),
    repeating(replacing(writes<&index_fill_tensor, MemoryFormat::Preserve>(
        "index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor",
        "Sets the rows that the index names to a value.", "dim index",
        [](Grad& g) {
          Tensor rest = call<"aten::index_fill.int_Scalar", Tensor>(G, g.arg(1).integer(), g.in(2), Scalar(0));
          if (g.needs(0)) g.set(0, rest);
          if (g.needs(3)) g.set(3, sum(sub(G, rest)));
        },
        Devices::Numbers, "IndexFillBackward1"))),
    repeating(replacing(writes<&index_fill_scalar, MemoryFormat::Preserve>(
        "index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", nullptr, "dim index",
        [](Grad& g) {
          g.set(0, call<"aten::index_fill.int_Scalar", Tensor>(G, g.arg(1).integer(), g.in(2), Scalar(0)));
        }))),
};
#undef G

}  // namespace

void define_index() {
  define_all(defs);
  for (const WriteDef& d : write_defs) define_write(d);
}

}  // namespace fc
