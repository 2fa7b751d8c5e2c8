// SPDX-License-Identifier: Apache-2.0
#include "plan/distance.h"

#include "plan/pointwise.h"

namespace fc {

Distances plan_distances(const Tensor& x1, const Tensor& x2, double p) {
  FC_CHECK(x1.dim() >= 2, "cdist only supports at least 2D tensors, X1 got: ", x1.dim(), "D");
  FC_CHECK(x2.dim() >= 2, "cdist only supports at least 2D tensors, X2 got: ", x2.dim(), "D");
  FC_CHECK(is_floating(x1.dtype()), "cdist only supports floating-point dtypes, X1 got: ", info(x1.dtype()).legacy);
  FC_CHECK(is_floating(x2.dtype()), "cdist only supports floating-point dtypes, X2 got: ", info(x2.dtype()).legacy);
  FC_CHECK(x1.dtype() == x2.dtype(), "cdist: expected two inputs of one type, got ", x1.dtype(), " and ", x2.dtype());
  FC_CHECK(x1.size(-1) == x2.size(-1), "cdist: X1 and X2 must have the same number of columns. X1: ", x1.size(-1),
           " X2: ", x2.size(-1));
  FC_CHECK(p >= 0, "cdist only supports non-negative p values");
  Distances d;
  d.n = x1.size(-2);
  d.m = x2.size(-2);
  d.size = x1.size(-1);
  auto batch_of = [](const Tensor& t) { return t.sizes().first(t.sizes().size() - 2); };
  Dims batch(broadcast_shapes("cdist", batch_of(x1), batch_of(x2)));
  d.batch = checked_numel(batch);
  d.output = batch;
  d.output.push_back(d.n);
  d.output.push_back(d.m);
  auto rows = [&](const Tensor& t, int64_t n) {
    Dims wide(batch);
    wide.push_back(n);
    wide.push_back(d.size);
    return view(contiguous(expand(t, wide)), Dims{d.batch, n, d.size});
  };
  d.x1 = rows(x1, d.n);
  d.x2 = rows(x2, d.m);
  return d;
}

int64_t check_pdist(const Tensor& self, double p) {
  FC_CHECK(self.dim() == 2, "pdist only supports 2D tensors, got: ", self.dim(), "D");
  FC_CHECK(is_floating(self.dtype()), "pdist only supports floating-point dtypes");
  FC_CHECK(p >= 0, "pdist only supports non-negative p values");
  const int64_t n = self.size(0);
  return n <= 1 ? 0 : checked_numel(Dims{n, n - 1}) / 2;
}

}  // namespace fc
