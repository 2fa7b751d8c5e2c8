// SPDX-License-Identifier: Apache-2.0
// Every fact about the reductions: one row each. A row says which fold it is (include/facula/formulas), of what type
// its result is, and its derivative; dim, keepdim and dtype are parameters of these names. Those made of several folds
// (var, norms, logsumexp) are in statistics.cpp.
#include "plan/reduce.h"

#include <algorithm>
#include <string_view>

#include "define/calls.h"
#include "define/row.h"
#include "facula/opcodes/base.h"
#include "facula/opcodes/reduce.h"
#include "facula/opcodes/shared.h"
#include "ops/register.h"

namespace fc {

namespace {

#define G (g.out())
#define X (g.in(0))
#define Y (g.result())

enum class Result : uint8_t {
  Sum,   // integers and bool become int64; dtype= decides otherwise
  Mean,  // floating and complex; dtype= decides otherwise
  Same,
  Truth,  // bool; uint8 stays uint8
  Count,  // int64
};

// The index of a parameter in a schema; -1: it has none of that name.
constexpr int8_t parameter_index(std::string_view schema, std::string_view name) {
  size_t at = 0;
  do at = schema.find(name, at + 1);
  while (at != schema.npos && (schema[at - 1] != ' ' || std::string_view(",=)").find(schema[at + name.size()]) > 2));
  if (at == schema.npos) return -1;
  const std::string_view before = schema.substr(0, at);
  return static_cast<int8_t>(std::ranges::count(before, ',') -
                             std::ranges::count(before, '*'));  // "*," is no parameter
}

struct ReduceRow {
  const char* schema;
  const char* doc = nullptr;
  int fold;  // the opcode
  Result result;
  const char* saves = "";
  GradFormula grad = nullptr;  // null: no derivative flows
  const char* node = nullptr;  // autograd's name for a call, where that is not <Name>Backward0
  bool out = true;
  std::optional<Autocast> cpu_autocast{};
  int8_t dim = parameter_index(schema, "dim"), keepdim = parameter_index(schema, "keepdim"),
         dtype = parameter_index(schema, "dtype");
};

bool flag(Grad& g, int arg) { return g.arg(arg).boolean(); }
int64_t rank(Grad& g) { return static_cast<int64_t>(g.sizes(0).size()); }

// Equal extremes share the gradient evenly.
void share(Grad& g, const Arg& dim, bool keepdim) {
  int64_t n = rank(g);
  Tensor x = X, y = restore_dims(Y, dim, keepdim, n);
  Tensor both_nan = call<"aten::logical_and", Tensor>(call<"aten::isnan", Tensor>(x), call<"aten::isnan", Tensor>(y));
  Tensor mask = to_dtype(call<"aten::logical_or", Tensor>(eq(x, y), both_nan), G.dtype());
  Tensor count =
      dim.is_none() ? sum(mask) : call<"aten::sum.dim_IntList", Tensor>(mask, dim, true, std::optional<DType>());
  g.set(0, mul(mask, div(restore_dims(G, dim, keepdim, n), count)));
}

void select_grad(Grad& g) {  // max.dim and its like: the gradient goes to the chosen element
  int64_t n = rank(g), dim = g.arg(1).integer();
  if (n == 0) {
    g.set(0, G);
    return;
  }
  bool keepdim = flag(g, 2);
  g.set(0, scatter_to(restore_dims(G, dim, keepdim, n), dim, restore_dims(g.result(1), dim, keepdim, n), g.sizes(0)));
}

// d prod / d x[i] is the product of the others. Without zeros that is prod / x[i]; with zeros, products from both ends.
Tensor product_of_others(const Tensor& x, int64_t dim) {
  int64_t n = x.size(dim);
  if (n == 0) return x;
  Dims one_sizes(x.sizes());
  one_sizes[static_cast<size_t>(dim)] = 1;
  Tensor one = full(one_sizes, 1, x.dtype(), x.device());
  auto before = [&](const Tensor& t) {
    const Tensor parts[] = {one, narrow(t, dim, 0, n - 1)};
    return call<"aten::cumprod", Tensor>(cat(parts, dim), dim, std::optional<DType>());
  };
  return mul(before(x), flip(before(flip(x, Dims{dim})), Dims{dim}));
}

bool has_zero(const Tensor& x) {
  if (x.device().is_meta()) return true;
  return call<"aten::_local_scalar_dense", Scalar>(call<"aten::any", Tensor>(eq(x, 0))).to_bool();
}

void prod_grad(Grad& g, const Arg& dim, bool keepdim) {
  Tensor x = to_dtype(X, G.dtype());
  if (x.dim() == 0) g.set(0, G);
  else if (!has_zero(x))
    g.set(0, mul(restore_dims(G, dim, keepdim, x.dim()), conj(div(restore_dims(Y, dim, keepdim, x.dim()), x))));
  else if (dim.is_none()) g.set(0, mul(G, conj(reshape(product_of_others(reshape(x, Dims{-1}), 0), x.sizes()))));
  else
    g.set(0, mul(restore_dims(G, dim, keepdim, x.dim()), conj(product_of_others(x, wrap_dim(dim.integer(), x.dim())))));
}

#define DTYPE "*, ScalarType? dtype=None"

constexpr ReduceRow rows[] = {
    {.schema = "sum(Tensor self, " DTYPE ") -> Tensor",
     .doc = "The sum of all elements or along dimensions.",
     .fold = FC_REDUCE_sum,
     .result = Result::Sum,
     .grad = [](Grad& g) { g.set(0, expand(G, g.sizes(0))); }},
    {.schema = "sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, " DTYPE ") -> Tensor",
     .fold = FC_REDUCE_sum,
     .result = Result::Sum,
     .saves = "dim keepdim",
     .grad = [](Grad& g) { g.set(0, expand(restore_dims(G, g.arg(1), flag(g, 2), rank(g)), g.sizes(0))); },
     .node = "SumBackward1"},
    {.schema = "nansum(Tensor self, int[1]? dim=None, bool keepdim=False, " DTYPE ") -> Tensor",
     .doc = "The sum of the elements that are not NaN.",
     .fold = FC_REDUCE_nansum,
     .result = Result::Sum,
     .saves = "self dim keepdim",
     .grad =
         [](Grad& g) {
           Tensor x = X;
           g.set(0, mul(expand(restore_dims(G, g.arg(1), flag(g, 2), rank(g)), g.sizes(0)), eq(x, x)));
         }},
    {.schema = "mean(Tensor self, " DTYPE ") -> Tensor",
     .doc = "The mean of all elements or along dimensions.",
     .fold = FC_REDUCE_mean,
     .result = Result::Mean,
     .grad = [](Grad& g) { g.set(0, expand(div(G, static_cast<int64_t>(checked_numel(g.sizes(0)))), g.sizes(0))); }},
    {.schema = "mean.dim(Tensor self, int[1]? dim, bool keepdim=False, " DTYPE ") -> Tensor",
     .fold = FC_REDUCE_mean,
     .result = Result::Mean,
     .saves = "dim keepdim",
     .grad =
         [](Grad& g) {
           int64_t n = reduced_numel(g.sizes(0), reduced_dims("mean", g.arg(1), rank(g)));
           g.set(0, expand(div(restore_dims(G, g.arg(1), flag(g, 2), rank(g)), n), g.sizes(0)));
         },
     .node = "MeanBackward1"},
    {.schema = "prod(Tensor self, " DTYPE ") -> Tensor",
     .doc = "The product of all elements or along a dimension.",
     .fold = FC_REDUCE_prod,
     .result = Result::Sum,
     .saves = "self result",
     .grad = [](Grad& g) { prod_grad(g, Arg(), false); },
     .cpu_autocast = Autocast::Float32},
    {.schema = "prod.dim_int(Tensor self, int dim, bool keepdim=False, " DTYPE ") -> Tensor",
     .fold = FC_REDUCE_prod,
     .result = Result::Sum,
     .saves = "self dim keepdim result",
     .grad = [](Grad& g) { prod_grad(g, g.arg(1), flag(g, 2)); },
     .node = "ProdBackward1",
     .cpu_autocast = Autocast::Float32},
    // --- extremes
    {.schema = "amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
     .doc = "The largest element along dimensions; ties share the gradient.",
     .fold = FC_REDUCE_max,
     .result = Result::Same,
     .saves = "self dim keepdim result",
     .grad = [](Grad& g) { share(g, g.arg(1), flag(g, 2)); }},
    {.schema = "amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
     .doc = "The smallest element along dimensions; ties share the gradient.",
     .fold = FC_REDUCE_min,
     .result = Result::Same,
     .saves = "self dim keepdim result",
     .grad = [](Grad& g) { share(g, g.arg(1), flag(g, 2)); }},
    {.schema = "max(Tensor self) -> Tensor",
     .doc = "The largest element: of all, along a dimension with its index, or of two tensors.",
     .fold = FC_REDUCE_max,
     .result = Result::Same,
     .saves = "self result",
     .grad = [](Grad& g) { share(g, Arg(), false); },
     .node = "MaxBackward1"},
    {.schema = "min(Tensor self) -> Tensor",
     .doc = "The smallest element: of all, along a dimension with its index, or of two tensors.",
     .fold = FC_REDUCE_min,
     .result = Result::Same,
     .saves = "self result",
     .grad = [](Grad& g) { share(g, Arg(), false); },
     .node = "MinBackward1"},
    {.schema = "max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
     .fold = FC_REDUCE_max,
     .result = Result::Same,
     .saves = "dim keepdim result1",
     .grad = select_grad},
    {.schema = "min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
     .fold = FC_REDUCE_min,
     .result = Result::Same,
     .saves = "dim keepdim result1",
     .grad = select_grad},
    {.schema = "argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
     .doc = "The index of the largest element, of the flattened tensor or along a dimension.",
     .fold = FC_REDUCE_argmax,
     .result = Result::Same},
    {.schema = "argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
     .doc = "The index of the smallest element, of the flattened tensor or along a dimension.",
     .fold = FC_REDUCE_argmin,
     .result = Result::Same},
    // --- truth
    {.schema = "any(Tensor self) -> Tensor",
     .doc = "Whether any element is true, of the whole tensor or along dimensions.",
     .fold = FC_REDUCE_any,
     .result = Result::Truth},
    {.schema = "any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor",
     .fold = FC_REDUCE_any,
     .result = Result::Truth},
    {.schema = "any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
     .fold = FC_REDUCE_any,
     .result = Result::Truth},
    {.schema = "all(Tensor self) -> Tensor",
     .doc = "Whether all elements are true, of the whole tensor or along dimensions.",
     .fold = FC_REDUCE_all,
     .result = Result::Truth},
    {.schema = "all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor",
     .fold = FC_REDUCE_all,
     .result = Result::Truth},
    {.schema = "all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
     .fold = FC_REDUCE_all,
     .result = Result::Truth},
    // --- counts
    {.schema = "count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor",
     .doc = "How many elements are not zero.",
     .fold = FC_REDUCE_count_nonzero,
     .result = Result::Count,
     .out = false},
    {.schema = "count_nonzero(Tensor self, int? dim=None) -> Tensor",
     .fold = FC_REDUCE_count_nonzero,
     .result = Result::Count,
     .out = false},
};

#undef G
#undef X
#undef Y

constexpr bool is_extreme(int fold) { return fold >= FC_REDUCE_max && fold <= FC_REDUCE_argmin; }

void choose_types(const ReduceRow& row, const char* op, const Tensor& in, const Arg& dtype, DType& compute,
                  DType& result) {
  result = dtype.is_none() ? in.dtype() : dtype.dtype();
  switch (row.result) {
    case Result::Sum:
      if (dtype.is_none() && is_integral(result, true)) result = DType::Int64;
      compute = is_integral(result, true) ? DType::Int64 : compute_type(result);
      return;
    case Result::Mean:
      FC_CHECK_AS(NotImplementedError, is_floating(result) || is_complex(result), op,
                  "(): could not infer output dtype. ", dtype.is_none() ? "Input dtype" : "Optional dtype",
                  " must be either a floating point or complex dtype. Got: ", info(result).legacy);
      compute = compute_type(result);
      return;
    case Result::Same:  // of integers, extremes alone have kernels for each type
      compute = is_integral(result, false) && !is_extreme(row.fold) ? DType::Int64 : compute_type(result);
      return;
    case Result::Truth:
      compute = DType::Bool;
      if (result != DType::UInt8) result = DType::Bool;
      return;
    case Result::Count:
      compute = DType::Bool;
      result = DType::Int64;
      return;
  }
}

void refuse_empty(const char* op, const Tensor& in, DimSet dims, bool whole, bool arg_only) {
  if (whole && arg_only) raise<IndexError>(op, "(): Expected reduction dim to be specified for input.numel() == 0.");
  FC_CHECK(!whole, op,
           "(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the "
           "'dim' argument.");
  for (int64_t d = 0; d < in.dim(); ++d)
    FC_CHECK_AS(IndexError, !(dims >> d & 1) || in.size(d) != 0, op, "(): Expected reduction dim ", d,
                " to have non-zero size.");
}

void run(void* context, const Operator& op, const Arg* args, Value* results) {
  const auto& row = *static_cast<const ReduceRow*>(context);
  const char* name = op.schema().name.c_str();
  Tensor in = args[0].tensor();
  const Arg dim = row.dim < 0 ? Arg() : args[row.dim];
  const bool keepdim = row.keepdim >= 0 && args[row.keepdim].boolean();
  const bool extreme = is_extreme(row.fold);
  const bool arg_only = row.fold == FC_REDUCE_argmax || row.fold == FC_REDUCE_argmin;
  DimSet dims = reduced_dims(name, dim, in.dim());
  if (row.result == Result::Truth && dim.tag() == Tag::IntList && dim.ints().empty()) dims = 0;  // as PyTorch has it
  if (extreme && in.numel() == 0)
    refuse_empty(name, in, dims, dim.is_none() || (dim.tag() == Tag::IntList && dim.ints().empty()), arg_only);
  Tensor values, indices;
  ReduceRequest r{
      .op = name, .opcode = row.fold, .in = in, .dims = dims, .keepdim = keepdim, .compute = {}, .result = {}};
  choose_types(row, name, in, row.dtype < 0 ? Arg() : args[row.dtype], r.compute, r.result);
  if (row.fold == FC_REDUCE_sum && in.dtype() == DType::Bool && r.compute == DType::Int64) {  // ten times as fast
    r.opcode = FC_REDUCE_count_nonzero;
    r.compute = DType::Bool;
  }
  if (arg_only || op.num_results() == 2) r.indices = &indices;
  r.values = !arg_only;
  Dims kept_sizes;
  if (arg_only && dim.is_none()) {  // the position in the flattened input
    if (keepdim) kept_sizes = Dims(static_cast<size_t>(in.dim()), 1);
    in = contiguous(in);
    in = make_view(in, Dims{in.numel()}, Dims{1}, in.offset());
    r.dims = 1;
    r.keepdim = false;
  }
  if (!try_reduce(r, values)) throw Unsupported{};
  if (arg_only && !kept_sizes.empty()) indices = make_view(indices, kept_sizes, contiguous_strides(kept_sizes), 0);
  size_t at = 0;
  if (r.values) results[at++] = Value(std::move(values));
  if (r.indices) results[at] = Value(std::move(indices));
}

Tensor max_other(const Tensor& a, const Tensor& b) { return call<"aten::maximum", Tensor>(a, b); }
Tensor min_other(const Tensor& a, const Tensor& b) { return call<"aten::minimum", Tensor>(a, b); }

constexpr OpDef defs[] = {
    {.schema = "max.other(Tensor self, Tensor other) -> Tensor",
     .composite = kernel<&max_other>(),
     .out = true,
     .out_type = OutType::Castable},
    {.schema = "min.other(Tensor self, Tensor other) -> Tensor",
     .composite = kernel<&min_other>(),
     .out = true,
     .out_type = OutType::Castable},
};

}  // namespace

void define_reduce() {
  define_all(defs);  // before max.dim: a 0-d tensor of integers is also a number, and the first overload that fits wins
  for (const ReduceRow& row : rows)
    define({.schema = row.schema,
            .doc = row.doc,
            .node = row.node,
            .all = {run, const_cast<ReduceRow*>(&row)},
            .saves = row.saves,
            .grad = row.grad,
            .differentiable = row.grad != nullptr,
            .out = row.out,
            .out_type = row.dtype >= 0                ? OutType::Chosen
                        : row.result == Result::Truth ? OutType::Castable
                                                      : OutType::Exact,
            .cpu_autocast = row.cpu_autocast,
            .flops = element_flops<1>});
}

}  // namespace fc
