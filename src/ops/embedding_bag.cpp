// SPDX-License-Identifier: Apache-2.0
// Sums, means and maxima of rows of a table, bag by bag.
#include "plan/embedding_bag.h"

#include "define/row.h"
#include "ops/register.h"

namespace fc {

int64_t check_bags(const Tensor& weight, const Tensor& indices, const Tensor& offsets, int64_t mode,
                   const Tensor& sample_weights, bool include_last) {
  auto whole = [](const Tensor& t) { return t.dtype() == DType::Int64 || t.dtype() == DType::Int32; };
  FC_CHECK(whole(indices) && whole(offsets), "embedding_bag: expected indices and offsets of type int or long, got ",
           indices.dtype(), " and ", offsets.dtype());
  FC_CHECK(weight.dim() == 2, "embedding_bag: weight has to be a 2D Tensor, but got Tensor of dimension ",
           weight.dim());
  FC_CHECK(indices.dim() == 1 && offsets.dim() == 1,
           "embedding_bag: input has to be a 1D or 2D Tensor, but got Tensor of dimension ", indices.dim(),
           " and offsets of dimension ", offsets.dim());
  FC_CHECK(mode >= kBagSum && mode <= kBagMax, "embedding_bag: mode must be 0 (sum), 1 (mean) or 2 (max), got ", mode);
  FC_CHECK(!include_last || offsets.numel() > 0,
           "embedding_bag: include_last_offset: number of offsets should be at least 1");
  FC_CHECK(!sample_weights.defined() || mode == kBagSum,
           "embedding_bag: per_sample_weights only supported with mode='sum'");
  FC_CHECK(!sample_weights.defined() || (sample_weights.dtype() == weight.dtype() && sample_weights.dim() == 1 &&
                                         sample_weights.numel() == indices.numel()),
           "embedding_bag: expected per_sample_weights of type ", weight.dtype(), " and as many as indices (",
           indices.numel(), "), got ", sample_weights.dtype(), " ", sample_weights.sizes());
  return offsets.numel() - include_last;
}

namespace {

using Bags = std::tuple<Tensor, Tensor, Tensor, Tensor>;

Bags bags_meta(const Tensor& weight, const Tensor& indices, const Tensor& offsets, bool, int64_t mode, bool,
               const Tensor& sample_weights, bool include_last, int64_t) {
  const int64_t n = check_bags(weight, indices, offsets, mode, sample_weights, include_last);
  auto whole = [&](IntSpan sizes) { return empty_tensor(sizes, indices.dtype(), weight.device()); };
  return {empty_tensor(Dims{n, weight.size(1)}, weight.dtype(), weight.device()), whole(indices.sizes()),
          whole(Dims{n}), whole(mode == kBagMax ? Dims{n, weight.size(1)} : Dims{n})};
}

// (weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, padding_idx)
void bags_grad(Grad& g) {
  if (!g.out(0).defined()) return;
  const Tensor go = g.out(0), indices = g.in(1), bag = g.result(1);
  const int64_t mode = g.arg(4).integer(), padding = g.arg(8).integer();
  if (g.needs(0)) {
    const bool sparse = g.arg(5).boolean();
    FC_CHECK(!sparse || mode != kBagMax, "embedding_bag: the mode max has no sparse gradients: use sum or mean");
    const int64_t count = g.sizes(0)[0];
    if (mode == kBagMax) {
      const Tensor chosen = to_dtype(g.result(3), DType::Int64), none = lt(chosen, 0);  // bags without a row
      g.set(0, call<"aten::scatter_add", Tensor>(zeros(g.sizes(0), go.dtype(), go.device()), 0,
                                                 masked_fill(chosen, none, 0), masked_fill(go, none, 0)));
    } else {
      Tensor each = go;
      if (mode == kBagMean) {
        const Tensor sizes = to_dtype(call<"aten::clamp_min", Tensor>(g.result(2), Scalar(1)), go.dtype());
        each = div(go, unsqueeze(sizes, 1));
      }
      each = call<"aten::index_select", Tensor>(each, 0, bag);
      if (const Tensor w = g.in(6); w.defined()) each = mul(each, unsqueeze(w, 1));
      g.set(0, sparse
                   ? call<"aten::embedding_sparse_backward", Tensor>(each, indices, count, padding, g.arg(3).boolean())
                   : call<"aten::embedding_dense_backward", Tensor>(each, indices, count, padding, g.arg(3).boolean()));
    }
  }
  if (g.needs(6)) {
    const Tensor weight = g.in(0);
    Tensor d =
        sum(mul(call<"aten::index_select", Tensor>(go, 0, bag), call<"aten::index_select", Tensor>(weight, 0, indices)),
            Dims{1});
    g.set(6, padding >= 0 ? masked_fill(d, eq(indices, padding), 0) : d);
  }
}

Bags embedding_bag_padding(const Tensor& weight, const Tensor& indices, const Tensor& offsets, bool scale, int64_t mode,
                           bool sparse, const Tensor& sample_weights, bool include_last,
                           std::optional<int64_t> padding) {
  int64_t p = padding.value_or(-1);
  if (padding) {
    const int64_t n = weight.dim() > 0 ? weight.size(0) : 0;
    FC_CHECK(p >= -n && p < n, "embedding_bag: padding_idx must be within the number of embeddings, -", n, " through ",
             n - 1, ", but got ", p);
    if (p < 0) p += n;
  }
  return call<"aten::_embedding_bag", Bags>(weight, indices, offsets, scale, mode, sparse, sample_weights, include_last,
                                            p);
}
Bags embedding_bag(const Tensor& weight, const Tensor& indices, const Tensor& offsets, bool scale, int64_t mode,
                   bool sparse, const Tensor& sample_weights, bool include_last) {
  return embedding_bag_padding(weight, indices, offsets, scale, mode, sparse, sample_weights, include_last, {});
}

#define BAG "Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq"

constexpr OpDef defs[] = {
    {.schema = "_embedding_bag(" BAG "=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool "
               "include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)",
     .meta = kernel<&bags_meta>(),
     .saves = "weight:per_sample_weights indices scale_grad_by_freq mode sparse per_sample_weights padding_idx result1 "
              "result2 "
              "result3",
     .grad = bags_grad,
     .differentiable_results = 1,
     .hidden = true},
    {.schema = "embedding_bag(" BAG "=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool "
               "include_last_offset=False) -> (Tensor, Tensor, Tensor, Tensor)",
     .doc = "Sums, means or maxima of rows of a table, bag by bag.",
     .composite = kernel<&embedding_bag>()},
    {.schema = "embedding_bag.padding_idx(" BAG ", int mode, bool sparse, Tensor? per_sample_weights, bool "
               "include_last_offset, int? padding_idx) -> (Tensor, Tensor, Tensor, Tensor)",
     .doc = "Sums, means or maxima of rows of a table, bag by bag.",
     .composite = kernel<&embedding_bag_padding>()},
};
#undef BAG

}  // namespace

void define_embedding_bag() { define_all(defs); }

}  // namespace fc
