// SPDX-License-Identifier: Apache-2.0
// Operators on strided tensors that the PyTorch port for the HammerBlade manycore added, under its names, for every
// device; those on sparse tensors are in sparse_port.cpp.
#include "define/calls.h"
#include "define/row.h"
#include "ops/register.h"

namespace fc {
namespace {

Tensor vincr(const Tensor& self) { return add(self, 1); }

// --- embedding(…).sum(1, keepdim=True), without the rows of the padding
Dims bag_sizes(const Tensor& weight, const Tensor& indices) {
  FC_CHECK(weight.dim() == 2, "embedding_recsys: expected a table of two dimensions, got sizes ", weight.sizes());
  FC_CHECK(indices.dim() == 2, "embedding_recsys: expected indices [batch, number of rows to add], got sizes ",
           indices.sizes());
  FC_CHECK(indices.dtype() == DType::Int64 || indices.dtype() == DType::Int32,
           "embedding_recsys: expected indices of type int64 or int32, got ", indices.dtype());
  return {indices.size(0), 1, weight.size(1)};
}
Tensor bags_shape(const Tensor& weight, const Tensor& indices, int64_t, bool, bool) {
  return empty_tensor(bag_sizes(weight, indices), weight.dtype(), weight.device());
}
Tensor bags_in_one(const Tensor& weight, const Tensor& indices, int64_t padding, bool, bool) {
  const Dims sizes = bag_sizes(weight, indices);
  const Tensor starts =
      mul(call<"aten::arange", Tensor>(Scalar(sizes[0]), std::optional<DType>(indices.dtype()), std::optional<Layout>(),
                                       std::optional<Device>(indices.device()), std::optional<bool>()),
          Scalar(indices.size(1)));
  const Tensor sums = std::get<0>(call<"aten::_embedding_bag", std::tuple<Tensor, Tensor, Tensor, Tensor>>(
      weight, reshape(indices, Dims{-1}), starts, false, int64_t{0}, false, Tensor(), false, padding));
  return view(sums, sizes);
}
Tensor without_padding(const Tensor& rows, const Tensor& indices, int64_t padding) {
  return padding < 0 ? rows : masked_fill(rows, unsqueeze(eq(indices, Scalar(padding)), -1), 0);
}
Tensor bags_by_rows(const Tensor& weight, const Tensor& indices, int64_t padding, bool, bool) {
  bag_sizes(weight, indices);
  const Tensor rows = call<"aten::embedding", Tensor>(weight, indices, int64_t{-1}, false, false);
  return sum(without_padding(rows, indices, padding), Dims{1}, true);
}

// --- its gradient: of one row for each bag, or of a row for each index
Dims each_row(const char* op, const Tensor& grad, const Tensor& indices) {
  FC_CHECK(indices.dim() == 2 && grad.dim() == 3 && grad.size(0) == indices.size(0) &&
               (grad.size(1) == 1 || grad.size(1) == indices.size(1)),
           op, ": expected indices [batch, n] and gradients [batch, 1 or n, width], got sizes ", indices.sizes(),
           " and ", grad.sizes());
  return {indices.size(0), indices.size(1), grad.size(2)};
}
Tensor bags_backward(const Tensor& grad, const Tensor& indices, int64_t rows, int64_t padding, bool by_frequency) {
  const Dims sizes = each_row("embedding_dense_backward_recsys", grad, indices);
  return call<"aten::embedding_dense_backward", Tensor>(expand(grad, sizes), indices, rows, padding, by_frequency);
}
void bags_grad(Grad& g) {
  const Tensor indices = g.in(1);
  const int64_t rows = g.sizes(0)[0], padding = g.arg(2).integer();
  const bool by_frequency = g.arg(3).boolean();
  g.set(0,
        g.arg(4).boolean()
            ? call<"aten::embedding_sparse_backward", Tensor>(
                  expand(g.out(), each_row("embedding_recsys", g.out(), indices)), indices, rows, padding, by_frequency)
            : call<"aten::embedding_dense_backward_recsys", Tensor>(g.out(), indices, rows, padding, by_frequency));
}
void bags_backward_grad(Grad& g) {
  FC_CHECK(!g.arg(4).boolean(),
           "embedding_dense_backward_recsys: no second derivatives with scale_grad_by_freq: leave it off");
  const Tensor indices = g.in(1);
  const Tensor flow = call<"aten::embedding", Tensor>(g.out(), indices, int64_t{-1}, false, false);
  g.set(0, sum_to_size(without_padding(flow, indices, g.arg(3).integer()), g.sizes(0)));
}

constexpr OpDef defs[] = {
    {.schema = "vincr(Tensor self) -> Tensor",
     .doc = "self + 1.",
     .all = kernel<&vincr>(),
     .grad = [](Grad& g) { g.set(0, g.out()); }},
    {.schema =
         "embedding_recsys(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool "
         "sparse=False) -> Tensor",
     .doc = "The sum of the table's rows that each row of indices names, without those of padding_idx: [batch, 1, "
            "width].",
     .cpu = kernel<&bags_in_one>(),
     .meta = kernel<&bags_shape>(),
     .decomposition = kernel<&bags_by_rows>(),
     .saves = "indices padding_idx scale_grad_by_freq sparse",
     .grad = bags_grad},
    {.schema = "embedding_dense_backward_recsys(Tensor grad_output, Tensor indices, int num_weights, int padding_idx, "
               "bool scale_grad_by_freq) -> Tensor",
     .doc = "The gradient of a table from those of the sums of embedding_recsys.",
     .all = kernel<&bags_backward>(),
     .saves = "indices padding_idx scale_grad_by_freq",
     .grad = bags_backward_grad},
};

}  // namespace

void define_port() { define_all(defs); }

}  // namespace fc
