// SPDX-License-Identifier: Apache-2.0
// The softmax of a sparse COO tensor: of the entries that a line has. What is not there counts as minus infinity.
#include "ops/register.h"
#include "ops/sparse.h"

namespace fc {
namespace {

// Entries that lie on one line along a sparse dimension have one number.
struct Lines {
  Lines(const Tensor& coo, int64_t dim) : values(sparse_parts(coo).values.sizes()) {
    const SparseParts& p = sparse_parts(coo);
    std::vector<Tensor> rows;
    Dims sizes;
    for (int64_t d = 0; d < p.sparse_dim(); ++d)
      if (d != dim) {
        rows.push_back(select(p.indices, 0, d));
        sizes.push_back(coo.size(d));
      }
    const Tensor at =
        rows.empty() ? zeros(Dims{p.nnz()}, DType::Int64, coo.device()) : positions_of(stack(rows), sizes);
    const Three found = call<"aten::_unique2", Three>(at, true, true, false);
    line = std::get<1>(found);
    sums = values;
    sums[0] = std::get<0>(found).size(0);
  }
  Tensor zero(const Tensor& like) const { return zeros(sums, like.dtype(), like.device()); }
  Tensor spread(const Tensor& per_line) const { return index_select(per_line, 0, line); }
  Tensor sum(const Tensor& t) const { return spread(call<"aten::index_add", Tensor>(zero(t), 0, line, t, Scalar(1))); }
  Tensor most(const Tensor& t) const {
    Dims column(values.size(), 1);
    column[0] = -1;
    const Tensor index = expand(view(line, column), values);
    return spread(call<"aten::scatter_reduce.two", Tensor>(zero(t), 0, index, t, std::string_view("amax"), false));
  }

  Tensor line;
  Dims values, sums;  // sizes of the values, and of one per line
};

template <bool log>
Tensor softmax(const Tensor& self, int64_t dim, bool half_to_float) {
  must_be_coo("softmax", self);
  FC_CHECK(!half_to_float, "softmax of a sparse tensor: half_to_float is not supported: convert with to(dtype)");
  const Tensor whole = coalesced(self);
  const SparseParts& p = sparse_parts(whole);
  const int64_t at = wrap_dim(dim, self.dim(), "softmax");
  if (at >= p.sparse_dim()) {
    const int64_t d = at - p.sparse_dim() + 1;
    return with_values(whole, log ? call<"aten::_log_softmax", Tensor>(p.values, d, false)
                                  : call<"aten::_softmax", Tensor>(p.values, d, false));
  }
  if (p.nnz() == 0) return whole;
  const Lines lines(whole, at);
  const DType type = p.values.dtype();
  const bool widens = p.values.device().is_cpu() && !is_complex(type);  // a device may have no float64
  const Tensor wide = to_dtype(p.values, widens ? DType::Float64 : compute_type(type));
  const Tensor shifted = sub(wide, lines.most(wide)), powers = exp(shifted), total = lines.sum(powers);
  return with_values(whole, to_dtype(log ? sub(shifted, fc::log(total)) : div(powers, total), self.dtype()));
}

template <bool log>
void softmax_grad(Grad& g) {
  const Tensor y = g.result(), values = call<"aten::values", Tensor>(y);
  const SparseParts& p = sparse_parts(y);
  const Tensor flow = call<"aten::_sparse_values_at", Tensor>(g.out(), part(p.indices));
  const int64_t at = wrap_dim(g.arg(1).integer(), y.dim());
  const Tensor weighted = log ? flow : mul(flow, values);
  const Tensor total = at >= p.sparse_dim() ? sum(weighted, Dims{at - p.sparse_dim() + 1}, true)
                       : p.nnz() == 0       ? weighted
                                            : Lines(y, at).sum(weighted);
  g.set(0, recorded_with_values(y, log ? sub(flow, mul(exp(values), total)) : mul(values, sub(flow, total))));
}

template <bool log>
Tensor softmax_dtype(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  const Tensor x = dtype ? to_dtype(self, *dtype) : self;
  return log ? call<"aten::_sparse_log_softmax", Tensor>(x, dim, false)
             : call<"aten::_sparse_softmax", Tensor>(x, dim, false);
}

constexpr OpDef defs[] = {
    {.schema = "_sparse_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
     .composite = kernel<&softmax_dtype<false>>(),
     .hidden = true},
    {.schema = "_sparse_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
     .all = kernel<&softmax<false>>(),
     .saves = "dim result",
     .grad = softmax_grad<false>,
     .hidden = true},
    {.schema = "_sparse_log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
     .composite = kernel<&softmax_dtype<true>>(),
     .hidden = true},
    {.schema = "_sparse_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
     .all = kernel<&softmax<true>>(),
     .saves = "dim result",
     .grad = softmax_grad<true>,
     .hidden = true},
};

}  // namespace

void define_sparse_softmax() { define_sparse_rows(defs); }

}  // namespace fc
