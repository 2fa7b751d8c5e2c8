// SPDX-License-Identifier: Apache-2.0
// Sorting and what follows from order: topk, kthvalue, medians, mode, unique, searchsorted. NaN counts as the largest
// number everywhere. Derivatives go back to the positions that the elements came from.
#include "define/calls.h"
#include "define/row.h"
#include "dispatch/family_table.h"
#include "ops/register.h"

namespace fc {
namespace {

using Pair = std::tuple<Tensor, Tensor>;
using Three = std::tuple<Tensor, Tensor, Tensor>;

// --- sort
void sort_into(Value* results, const Tensor& self, int64_t dim, bool descending) {
  dim = wrap_dim(dim, self.dim(), "sort");
  FC_CHECK_AS(TypeError, !is_complex(self.dtype()), "sort: sorting of complex tensors is not supported, got ",
              self.dtype(), " (complex)");
  auto like_self = [&](DType t) {
    return self.impl().is_dense() ? empty_strided_tensor(self.sizes(), self.strides(), t, self.device())
                                  : empty_tensor(self.sizes(), t, self.device());
  };
  Tensor values = like_self(self.dtype()), indices = like_self(DType::Int64);
  if (!self.device().is_meta()) {
    ByteStrides in(self), out(values), positions(indices);
    fc_sort c{};
    c.size = sizeof c;
    c.ndim = static_cast<int32_t>(self.dim());
    c.dim = static_cast<int32_t>(dim);
    c.descending = descending;
    c.shape = self.sizes().data();
    c.in = operand(self, in);
    c.out = operand(values, out);
    c.indices = operand(indices, positions);
    if (self.dim() == 0) {
      copy_(values, self);
      zero_(indices);
    } else if (self.numel() > 0) {
      run_family(self.device(), c);
    }
  }
  results[0] = Value(std::move(values));
  results[1] = Value(std::move(indices));
}
void sort_stable(void*, const Operator&, const Arg* args, Value* results) {  // (self, *, stable, dim, descending)
  sort_into(results, args[0].tensor(), args[2].integer(), args[3].boolean());
}
void sort_plain(void*, const Operator&, const Arg* args, Value* results) {  // (self, dim, descending)
  sort_into(results, args[0].tensor(), args[1].integer(), args[2].boolean());
}
Pair sorted(const Tensor& self, int64_t dim, bool descending) {
  return call<"aten::sort.stable", Pair>(self, std::optional<bool>(true), dim, descending);
}
Tensor argsort(const Tensor& self, int64_t dim, bool descending) {
  wrap_dim(dim, self.dim(), "argsort");
  FC_CHECK_AS(TypeError, !is_complex(self.dtype()), "argsort: complex tensors have no order, got ", self.dtype());
  return std::get<1>(sorted(self, dim, descending));
}
Tensor argsort_stable(const Tensor& self, bool, int64_t dim, bool descending) { return argsort(self, dim, descending); }
Tensor msort(const Tensor& self) { return std::get<0>(sorted(self, 0, false)); }

// The gradient of elements chosen along dim by `indices`, both with dim kept.
Tensor put_back(const Tensor& g, int64_t dim, const Tensor& indices, IntSpan sizes) {
  return sizes.empty() ? g : scatter_to(g, dim, indices, sizes);
}

// --- chosen elements
Dims with_size(IntSpan sizes, int64_t dim, int64_t n) {
  Dims out(sizes);
  if (!out.empty()) out[static_cast<size_t>(dim)] = n;
  return out;
}

int64_t checked_k(const Tensor& self, int64_t k, int64_t dim) {
  int64_t size = self.dim() ? self.size(dim) : 1;
  FC_CHECK(k >= 0 && k <= size, "topk: selected index k out of range: k is ", k, ", dimension ", dim, " has size ",
           size);
  return size;
}
Pair topk_meta(const Tensor& self, int64_t k, int64_t dim, bool, bool) {
  dim = wrap_dim(dim, self.dim(), "topk");
  checked_k(self, k, dim);
  Dims sizes = with_size(self.sizes(), dim, k);
  return {empty_tensor(sizes, self.dtype(), self.device()), empty_tensor(sizes, DType::Int64, self.device())};
}
Pair topk_decomposition(const Tensor& self, int64_t k, int64_t dim, bool largest, bool) {
  dim = wrap_dim(dim, self.dim(), "topk");
  checked_k(self, k, dim);
  auto [values, indices] = sorted(self, dim, largest);
  if (self.dim() == 0) return {values, indices};
  return {contiguous(narrow(values, dim, 0, k)), contiguous(narrow(indices, dim, 0, k))};
}

// One element of the sorted order, per line; removes dim unless it is kept.
Pair pick(const Tensor& self, int64_t dim, int64_t position, bool keepdim) {
  auto [values, indices] = sorted(self, dim, false);
  if (self.dim() == 0) return {values, indices};
  Tensor v = narrow(values, dim, position, 1), i = narrow(indices, dim, position, 1);
  return {clone(keepdim ? v : squeeze(v, dim), MemoryFormat::Contiguous),
          clone(keepdim ? i : squeeze(i, dim), MemoryFormat::Contiguous)};
}
Pair kthvalue(const Tensor& self, int64_t k, int64_t dim, bool keepdim) {
  dim = wrap_dim(dim, self.dim(), "kthvalue");
  int64_t size = self.dim() ? self.size(dim) : 1;
  FC_CHECK(k >= 1 && k <= size, "kthvalue(): selected number k out of range for dimension ", dim, ": k is ", k,
           ", the size is ", size);
  return pick(self, dim, k - 1, keepdim);
}

void refuse_empty_line(const char* op, const Tensor& self, int64_t dim) {
  FC_CHECK_AS(IndexError, self.dim() == 0 || self.size(dim) != 0, op, "(): Expected reduction dim ", dim,
              " to have non-zero size.");
}
// NaN sorts last: the median of a line with one is that NaN, while nanmedian counts the others.
Pair median_of(const char* op, const Tensor& self, int64_t dim, bool keepdim, bool ignore_nan) {
  dim = wrap_dim(dim, self.dim(), op);
  refuse_empty_line(op, self, dim);
  auto [values, indices] = sorted(self, dim, false);
  if (self.dim() == 0) return {values, indices};
  int64_t n = self.size(dim);
  Tensor nan = call<"aten::isnan", Tensor>(self), position;
  Tensor numbers = rsub(sum(nan, Dims{dim}, true), n);  // per line
  Tensor last = sub(numbers, 1);
  Tensor half = call<"aten::clamp_min", Tensor>(
      call<"aten::div.Scalar_mode", Tensor>(last, Scalar(2), std::string_view("floor")), Scalar(0));
  if (ignore_nan) position = half;
  else position = where(eq(numbers, n), half, numbers);  // the first NaN
  Tensor v = gather(values, dim, position), i = gather(indices, dim, position);
  return {keepdim ? v : squeeze(v, dim), keepdim ? i : squeeze(i, dim)};
}
Pair median_dim(const Tensor& self, int64_t dim, bool keepdim) {
  return median_of("median", self, dim, keepdim, false);
}
Pair nanmedian_dim(const Tensor& self, int64_t dim, bool keepdim) {
  return median_of("nanmedian", self, dim, keepdim, true);
}
Tensor median_whole(const char* op, const Tensor& self, bool ignore_nan) {
  if (self.numel() == 0) {
    FC_CHECK(is_floating(self.dtype()), op, "(): an empty tensor of integers has no median");
    return full({}, __builtin_nan(""), self.dtype(), self.device());
  }
  return std::get<0>(median_of(op, reshape(self, Dims{-1}), 0, false, ignore_nan));
}
Tensor median(const Tensor& self) { return median_whole("median", self, false); }
Tensor nanmedian(const Tensor& self) { return median_whole("nanmedian", self, true); }

// The most frequent element of each line; of several the smallest. Lengths of runs in sorted order come from the
// distance between an element's first and last position.
Pair mode(const Tensor& self, int64_t dim, bool keepdim) {
  dim = wrap_dim(dim, self.dim(), "mode");
  refuse_empty_line("mode", self, dim);
  auto [values, indices] = sorted(self, dim, false);
  if (self.dim() == 0) return {values, indices};
  Tensor lines = contiguous(transpose(values, dim, -1));
  auto bound = [&](bool right) {
    return call<"aten::searchsorted.Tensor", Tensor>(lines, lines, false, right, Arg(), Arg());
  };
  Tensor counts = transpose(sub(bound(true), bound(false)), dim, -1);
  Tensor first = std::get<1>(call<"aten::max.dim", Pair>(counts, dim, true));
  Tensor last = sub(add(first, gather(counts, dim, first)), 1);  // PyTorch names the last of the equal ones
  Tensor v = gather(values, dim, first), i = gather(indices, dim, last);
  return {keepdim ? v : squeeze(v, dim), keepdim ? i : squeeze(i, dim)};
}

// (…, dim, keepdim) at these positions.
template <int dim_arg, int keepdim_arg>
void choice_grad(Grad& g) {
  int64_t dim = g.arg(dim_arg).integer();
  bool keepdim = g.arg(keepdim_arg).boolean() || g.sizes(0).empty();
  g.set(0, put_back(keepdim ? g.out() : unsqueeze(g.out(), dim), dim,
                    keepdim ? g.result(1) : unsqueeze(g.result(1), dim), g.sizes(0)));
}
template <int dim_arg>
void order_grad(Grad& g) {
  g.set(0, put_back(g.out(), g.arg(dim_arg).integer(), g.result(1), g.sizes(0)));
}
void median_grad(Grad& g) {  // equal elements share, as for max
  Tensor x = g.in(0), y = g.result();
  Tensor mask = to_dtype(
      call<"aten::logical_or", Tensor>(
          eq(x, y), call<"aten::logical_and", Tensor>(call<"aten::isnan", Tensor>(x), call<"aten::isnan", Tensor>(y))),
      g.out().dtype());
  g.set(0, mul(mask, div(g.out(), sum(mask))));
}

// --- searchsorted
Tensor searchsorted_meta(const Tensor& sequence, const Tensor& self, bool out_int32, bool,
                         std::optional<std::string_view>, const Tensor&) {
  (void)sequence;
  return empty_tensor(self.sizes(), out_int32 ? DType::Int32 : DType::Int64, self.device());
}
Tensor searchsorted_scalar(const Tensor& sequence, const Scalar& self, bool out_int32, bool right,
                           std::optional<std::string_view> side, const Tensor& sorter) {
  return call<"aten::searchsorted.Tensor", Tensor>(sequence, wrapped_number(self, sequence.device()), out_int32, right,
                                                   side, sorter);
}
Tensor bucketize(const Tensor& self, const Tensor& boundaries, bool out_int32, bool right) {
  FC_CHECK(boundaries.dim() == 1, "bucketize: boundaries tensor must be 1 dimension, but got dim(", boundaries.dim(),
           ")");
  return call<"aten::searchsorted.Tensor", Tensor>(boundaries, self, out_int32, right,
                                                   std::optional<std::string_view>(), Tensor());
}
Tensor bucketize_scalar(const Scalar& self, const Tensor& boundaries, bool out_int32, bool right) {
  return bucketize(wrapped_number(self, boundaries.device()), boundaries, out_int32, right);
}

// --- unique: sort, mark the starts of runs, number them
Tensor run_starts(const Tensor& rows) {  // bool[n]: does row i differ from row i - 1?
  int64_t n = rows.size(0);
  Tensor starts = full(Dims{n}, true, DType::Bool, rows.device());
  if (n < 2) return starts;
  Tensor differs = call<"aten::ne.Tensor", Tensor>(narrow(rows, 0, 1, n - 1), narrow(rows, 0, 0, n - 1));
  if (differs.dim() > 1)
    differs = call<"aten::any.dims", Tensor>(reshape(differs, Dims{n - 1, -1}), std::optional<IntSpan>(Dims{1}), false);
  copy_(narrow(starts, 0, 1, n - 1), differs);
  return starts;
}
// order: the permutation that sorted `rows`, or undefined when they stand in their own order.
Three runs(const Tensor& rows, const Tensor& order, bool return_inverse, bool return_counts, IntSpan inverse_sizes) {
  Tensor starts = run_starts(rows);
  Tensor first = reshape(call<"aten::nonzero", Tensor>(starts), Dims{-1});
  Tensor none = empty_tensor(Dims{0}, DType::Int64, rows.device()), inverse = none, counts = none;
  if (return_inverse) {
    Tensor numbers = sub(call<"aten::cumsum", Tensor>(starts, 0, std::optional<DType>()), 1);
    inverse = order.defined() ? scatter(numbers, 0, order, numbers) : numbers;
    inverse = reshape(inverse, inverse_sizes);
  }
  if (return_counts) {
    const Tensor ends[] = {
        narrow(first, 0, std::min<int64_t>(1, first.numel()), std::max<int64_t>(first.numel() - 1, 0)),
        full(Dims{first.numel() ? 1 : 0}, rows.size(0), DType::Int64, rows.device())};
    counts = sub(cat(ends, 0), first);
  }
  return {call<"aten::index_select", Tensor>(rows, 0, first), inverse, counts};
}
Three unique2(const Tensor& self, bool, bool return_inverse, bool return_counts) {
  Tensor flat = reshape(contiguous(self), Dims{-1});
  auto [values, order] = sorted(flat, 0, false);
  return runs(values, order, return_inverse, return_counts, self.sizes());
}
Pair unique1(const Tensor& self, bool sorted, bool return_inverse) {
  auto [values, inverse, counts] = unique2(self, sorted, return_inverse, false);
  return {values, inverse};
}
// Rows are compared column by column: a stable sort by the last column, then the one before, …
Three unique_dim(const Tensor& self, int64_t dim, bool, bool return_inverse, bool return_counts) {
  dim = wrap_dim(dim, self.dim(), "unique_dim");
  FC_CHECK_AS(NotImplementedError, !self.device().is_meta(), "unique_dim: the size of the result depends on values");
  FC_CHECK(self.numel() > 0 || self.size(dim) == 0,
           "unique_dim: there are 0 sized dimensions, and they aren't selected, so unique cannot be applied");
  Tensor rows = contiguous(transpose(self, dim, 0));
  int64_t n = rows.size(0);
  Tensor flat = reshape(rows, Dims{n, n ? rows.numel() / n : 1}),
         order = argsort(narrow(flat, 1, flat.size(1) - 1, 1), 0, false);
  order = reshape(order, Dims{n});
  for (int64_t c = flat.size(1) - 1; c-- > 0;) {
    Tensor column = call<"aten::index_select", Tensor>(select(flat, 1, c), 0, order);
    order = call<"aten::index_select", Tensor>(order, 0, argsort(column, 0, false));
  }
  auto [values, inverse, counts] =
      runs(call<"aten::index_select", Tensor>(rows, 0, order), order, return_inverse, return_counts, Dims{n});
  return {transpose(values, 0, dim), inverse, counts};
}
Three unique_consecutive(const Tensor& self, bool return_inverse, bool return_counts, std::optional<int64_t> dim) {
  if (!dim) return runs(reshape(contiguous(self), Dims{-1}), Tensor(), return_inverse, return_counts, self.sizes());
  int64_t d = wrap_dim(*dim, self.dim(), "unique_consecutive");
  auto [values, inverse, counts] =
      runs(contiguous(transpose(self, d, 0)), Tensor(), return_inverse, return_counts, Dims{self.size(d)});
  return {transpose(values, 0, d), inverse, counts};
}

#define VALUES " -> (Tensor values, Tensor indices)"

constexpr OpDef defs[] = {
    {.schema = "sort(Tensor self, int dim=-1, bool descending=False)" VALUES,
     .doc = "The tensor sorted along a dimension, and the indices that sort it.",
     .all = {sort_plain},
     .saves = "dim result1",
     .grad = order_grad<1>,
     .out = true},
    {.schema = "sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False)" VALUES,
     .node = "SortBackward1",
     .all = {sort_stable},
     .saves = "dim result1",
     .grad = order_grad<2>,
     .out = true},
    {.schema = "argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor",
     .doc = "The indices that sort the tensor along a dimension.",
     .composite = kernel<&argsort>(),
     .differentiable = false},
    {.schema = "argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor",
     .composite = kernel<&argsort_stable>(),
     .differentiable = false},
    {.schema = "msort(Tensor self) -> Tensor",
     .doc = "The tensor sorted along its first dimension.",
     .composite = kernel<&msort>(),
     .out = true},
    {.schema = "topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True)" VALUES,
     .doc = "The k largest or smallest elements along a dimension, and their indices.",
     .meta = kernel<&topk_meta>(),
     .decomposition = kernel<&topk_decomposition>(),
     .saves = "dim result1",
     .grad = order_grad<2>,
     .out = true},
    {.schema = "kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False)" VALUES,
     .doc = "The k-th smallest element along a dimension, and its index.",
     .all = kernel<&kthvalue>(),
     .saves = "dim keepdim result1",
     .grad = choice_grad<2, 3>,
     .out = true,
     .writes = Writes::Apart},
    {.schema = "median(Tensor self) -> Tensor",
     .doc = "The middle element (the lower of two), of all or along a dimension with its index.",
     .all = kernel<&median>(),
     .saves = "self result",
     .grad = median_grad},
    {.schema = "median.dim(Tensor self, int dim, bool keepdim=False)" VALUES,
     .node = "MedianBackward1",
     .all = kernel<&median_dim>(),
     .saves = "dim keepdim result1",
     .grad = choice_grad<1, 2>,
     .out = true},
    {.schema = "nanmedian(Tensor self) -> Tensor",
     .doc = "The middle one of the elements that are not NaN.",
     .all = kernel<&nanmedian>(),
     .saves = "self result",
     .grad = median_grad},
    {.schema = "nanmedian.dim(Tensor self, int dim, bool keepdim=False)" VALUES,
     .node = "NanmedianBackward1",
     .all = kernel<&nanmedian_dim>(),
     .saves = "dim keepdim result1",
     .grad = choice_grad<1, 2>,
     .out = true},
    {.schema = "mode(Tensor self, int dim=-1, bool keepdim=False)" VALUES,
     .doc = "The most frequent element along a dimension, and an index of it.",
     .all = kernel<&mode>(),
     .saves = "dim keepdim result1",
     .grad = choice_grad<1, 2>,
     .out = true},
    {.schema = "searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, "
               "str? side=None, Tensor? sorter=None) -> Tensor",
     .doc = "Where each value would be inserted into sorted sequences.",
     .meta = kernel<&searchsorted_meta>(),
     .differentiable = false,
     .out = true},
    {.schema = "searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, "
               "str? side=None, Tensor? sorter=None) -> Tensor",
     .composite = kernel<&searchsorted_scalar>(),
     .differentiable = false},
    {.schema = "bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
     .doc = "The index of the bucket between sorted boundaries that each element falls into.",
     .composite = kernel<&bucketize>(),
     .differentiable = false,
     .out = true},
    {.schema = "bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
     .composite = kernel<&bucketize_scalar>(),
     .differentiable = false},
    {.schema = "_unique(Tensor self, bool sorted=True, bool return_inverse=False) -> (Tensor, Tensor)",
     .all = kernel<&unique1>(),
     .differentiable = false,
     .hidden = true},
    {.schema = "_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> "
               "(Tensor, Tensor, Tensor)",
     .all = kernel<&unique2>(),
     .differentiable = false,
     .hidden = true},
    {.schema = "unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool "
               "return_counts=False) -> (Tensor, Tensor, Tensor)",
     .all = kernel<&unique_dim>(),
     .differentiable = false,
     .hidden = true},
    {.schema = "unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) -> "
               "(Tensor, Tensor, Tensor)",
     .all = kernel<&unique_consecutive>(),
     .differentiable = false,
     .hidden = true},
};

}  // namespace

void define_sort() { define_all(defs); }

}  // namespace fc
