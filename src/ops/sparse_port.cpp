// SPDX-License-Identifier: Apache-2.0
// The operators that the PyTorch port for the HammerBlade manycore added, under its names, for every device. They are
// written in those of sparse_matrix.cpp, so they have derivatives as well.
#include "ops/register.h"
#include "ops/sparse.h"

namespace fc {
namespace {

void check_matrices(const char* op, const Tensor& sparse, std::initializer_list<const Tensor*> dense) {
  FC_CHECK(is_sparse(sparse) && sparse.dim() == 2 && sparse_parts(sparse).sparse_dim() == 2, op,
           ": expected a sparse matrix, got ", is_sparse(sparse) ? "sizes " : "a strided tensor of sizes ",
           sparse.sizes());
  for (const Tensor* t : dense) {
    FC_CHECK(!is_sparse(*t) && t->dim() == 2, op, ": expected a strided matrix, got ",
             is_sparse(*t) ? "a sparse one of sizes " : "sizes ", t->sizes());
    FC_CHECK(t->dtype() == sparse.dtype(), op, ": expected tensors of one type, got ", sparse.dtype(), " and ",
             t->dtype());
  }
}
Tensor sparse_product(const Tensor& a, const Tensor& b) { return call<"aten::_sparse_mm", Tensor>(a, b); }

void check_dstmm(const char* op, const Tensor& a, const Tensor& b) {
  check_matrices(op, b, {&a});
  FC_CHECK(a.size(1) == b.size(1), op, ": a of sizes ", a.sizes(), " and the transpose of b of sizes ", b.sizes(),
           " cannot be multiplied: their second sizes differ");
}
Tensor dstmm(const Tensor& a, const Tensor& b) {
  check_dstmm("dstmm", a, b);
  return sparse_product(a, t(b));
}
Tensor dstmmt(const Tensor& a, const Tensor& b) {
  check_dstmm("dstmmt", a, b);
  return sparse_product(b, t(a));
}

Tensor sampled(const char* op, const Tensor& sample, const Tensor& b, const Tensor& c) {
  check_matrices(op, sample, {&b, &c});
  FC_CHECK(b.size(1) == c.size(1) && b.size(0) == sample.size(0) && c.size(0) == sample.size(1), op,
           ": b @ c.T of sizes ", b.sizes(), " and ", c.sizes(), " does not have the sizes of the sample, ",
           sample.sizes());
  return call<"aten::_sparse_sampled", Tensor>(b, c, detach(sample));
}
Tensor sddtmm(const Tensor& sample, const Tensor& b, const Tensor& c) { return sampled("sddtmm", sample, b, c); }
Tensor sddtmmd(const Tensor& sample, const Tensor& b, const Tensor& c) {
  return call<"aten::to_dense", Tensor>(sampled("sddtmmd", sample, b, c), std::optional<DType>(),
                                        std::optional<bool>());
}

Tensor sreciprocal_(const Tensor& self) {
  must_be_coo("sreciprocal_", self);
  const SparseParts& p = sparse_parts(self);
  FC_CHECK(p.coalesced, "sreciprocal_: expected a coalesced tensor: repeated entries would have to be added first");
  FC_CHECK(is_floating(self.dtype()) || is_complex(self.dtype()), "sreciprocal_: expected floating point numbers, got ",
           self.dtype());
  replace_sparse(self, with_values(self, reciprocal(p.values)));
  return self;
}

Tensor spmvx(const Tensor& self, const Tensor& vector) {
  FC_CHECK(!is_sparse(vector) && vector.dim() == 1, "spmvx: expected a strided vector, got sizes ", vector.sizes());
  check_matrices("spmvx", self, {});
  FC_CHECK(self.size(1) == vector.size(0), "spmvx: a matrix of sizes ", self.sizes(), " and a vector of ",
           vector.size(0), " elements cannot be multiplied");
  return select(sparse_product(self, unsqueeze(vector, 1)), 1, 0);
}
Tensor spmmx(const Tensor& self, const Tensor& matrix) {
  check_matrices("spmmx", self, {&matrix});
  return sparse_product(self, matrix);
}

// The kernels as rows of a sparse matrix, times the windows of the images as columns.
Tensor sparse_convolution(const Tensor& input, const Tensor& weight, const Tensor& bias, IntSpan padding,
                          IntSpan stride, IntSpan dilation, int64_t groups) {
  const char* op = "hb_sparse_convolution";
  must_be_coo(op, weight);
  FC_CHECK(!is_sparse(input) && input.dim() == 4 && weight.dim() == 4, op,
           ": expected strided images [n, channels, height, width] and sparse kernels of four dimensions, got ",
           input.sizes(), " and ", weight.sizes());
  FC_CHECK(sparse_parts(weight).sparse_dim() == 4, op, ": all four dimensions of the kernels must be sparse, got ",
           sparse_parts(weight).sparse_dim(), " sparse ones");
  FC_CHECK(groups == 1, op, ": groups must be 1, got ", groups);
  FC_CHECK(input.size(1) == weight.size(1), op, ": the images have ", input.size(1), " channels, the kernels ",
           weight.size(1));
  FC_CHECK(input.dtype() == weight.dtype(), op, ": expected tensors of one type, got ", input.dtype(), " and ",
           weight.dtype());
  const auto two = [&](const char* name, IntSpan given) {
    FC_CHECK(given.size() == 1 || given.size() == 2, op, ": expected one or two numbers as ", name, ", got ",
             given.size());
    return Dims{given.front(), given.back()};
  };
  const Dims pads = two("padding", padding), steps = two("stride", stride), spread = two("dilation", dilation);
  const Tensor whole = call<"aten::coalesce", Tensor>(weight);
  const Tensor indices = sparse_parts(whole).indices;
  const IntSpan kernel = weight.sizes().last(3);
  const Tensor both[] = {select(indices, 0, 0), positions_of(narrow(indices, 0, 1, 3), kernel)};
  const Tensor rows = call<"aten::_sparse_coo_tensor_unsafe", Tensor>(
      stack(both), call<"aten::values", Tensor>(whole), Dims{weight.size(0), checked_numel(kernel)},
      std::optional<DType>(), std::optional<Layout>(), std::optional<Device>(), std::optional<bool>(),
      std::optional<bool>(true));
  const Tensor windows =
      call<"aten::im2col", Tensor>(input, kernel.last(2), spread, pads, steps);  // [n, depth, places]
  const Tensor columns = reshape(transpose(windows, 0, 1), Dims{windows.size(1), -1});
  const auto places = [&](size_t d) {
    return (input.sizes()[d + 2] + 2 * pads[d] - spread[d] * (kernel[d + 1] - 1) - 1) / steps[d] + 1;
  };
  Tensor out = reshape(sparse_product(rows, columns), Dims{weight.size(0), input.size(0), places(0), places(1)});
  out = contiguous(transpose(out, 0, 1));
  if (!bias.defined()) return out;
  FC_CHECK(bias.dim() == 1 && bias.size(0) == weight.size(0), op, ": expected a bias of ", weight.size(0),
           " elements, got sizes ", bias.sizes());
  return add(out, view(bias, Dims{-1, 1, 1}));
}

constexpr OpDef defs[] = {
    {.schema = "dstmm(Tensor a, Tensor b) -> Tensor",
     .doc = "a @ b.T of a strided matrix and a sparse one.",
     .composite = kernel<&dstmm>()},
    {.schema = "dstmmt(Tensor a, Tensor b) -> Tensor",
     .doc = "(a @ b.T).T of a strided matrix and a sparse one.",
     .composite = kernel<&dstmmt>()},
    {.schema = "sddtmm(Tensor sample, Tensor b, Tensor c) -> Tensor",
     .doc = "The elements of b @ c.T that a sparse matrix has entries for, as a sparse matrix.",
     .composite = kernel<&sddtmm>()},
    {.schema = "sddtmmd(Tensor sample, Tensor b, Tensor c) -> Tensor",
     .doc = "The elements of b @ c.T that a sparse matrix has entries for, 0 elsewhere.",
     .composite = kernel<&sddtmmd>()},
    {.schema = "sreciprocal_(Tensor(a!) self) -> Tensor(a!)",
     .doc = "Replaces the entries of a coalesced sparse tensor by their reciprocals.",
     .all = kernel<&sreciprocal_>(),
     .saves = "result",
     .grad = [](Grad& g) { g.set(0, mul(g.out(), neg(square(g.result())))); }},
    {.schema = "spmvx(Tensor self, Tensor vec) -> Tensor",
     .doc = "The product of a sparse matrix and a vector.",
     .composite = kernel<&spmvx>()},
    {.schema = "spmmx(Tensor self, Tensor mat) -> Tensor",
     .doc = "The product of a sparse matrix and a strided one.",
     .composite = kernel<&spmmx>()},
    {.schema = "hb_sparse_convolution(Tensor input, Tensor weight, Tensor? bias, int[] padding, int[] stride, int[] "
               "dilation, int groups) -> Tensor",
     .doc = "Cross-correlates images with a sparse bank of kernels.",
     .composite = kernel<&sparse_convolution>()},
};

}  // namespace

void define_sparse_port() { define_sparse_rows(defs); }

}  // namespace fc
