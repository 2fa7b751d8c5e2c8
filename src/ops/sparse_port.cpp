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

Tensor sparse_convolution(const Tensor& input, const Tensor& weight, const Tensor& bias, IntSpan padding,
                          IntSpan stride, IntSpan dilation, int64_t groups) {
  return call<"aten::_sparse_conv2d", Tensor>(input, weight, bias, padding, stride, dilation, groups);
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
