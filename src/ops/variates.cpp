// SPDX-License-Identifier: Apache-2.0
// Random numbers whose distribution has a tensor as parameter: gamma, Dirichlet, binomial, Poisson, and how samples of
// the first two move with the parameter (implicit reparameterisation). Kernels: backends/cpu/variates.cpp; what other
// devices do: plan/variates.cpp.
#include "define/calls.h"
#include "define/row.h"
#include "ops/register.h"
#include "plan/pointwise.h"
#include "plan/variates.h"

namespace fc {
namespace {

Tensor same_shape(const Tensor& self, Generator*) { return empty_tensor(self.sizes(), self.dtype(), self.device()); }
Tensor common_shape(const Tensor& count, const Tensor& prob, Generator*) {
  return empty_tensor(broadcast_shapes("binomial", count.sizes(), prob.sizes()), prob.dtype(), prob.device());
}
Tensor poisson_shape(const Tensor& self, Generator*) {
  check_kind("poisson", "bc", self.dtype());
  return same_shape(self, nullptr);
}
Tensor gamma_slope_shape(const Tensor& self, const Tensor&) { return same_shape(self, nullptr); }
Tensor dirichlet_slope_shape(const Tensor& x, const Tensor&, const Tensor&) { return same_shape(x, nullptr); }

void no_slopes(Grad& g) {
  for (int i : {0, 1}) g.set(i, zeros(g.in(i).sizes(), g.in(i).dtype(), g.in(i).device()));
}

constexpr OpDef defs[] = {
    {.schema = "_standard_gamma(Tensor self, Generator? generator=None) -> Tensor",
     .doc = "A gamma variable of rate 1 for each concentration in self.",
     .meta = kernel<&same_shape>(),
     .decomposition = kernel<&draw_gamma>(),
     .saves = "self result",
     .grad = [](Grad& g) { g.set(0, mul(g.out(), call<"aten::_standard_gamma_grad", Tensor>(g.in(0), g.result()))); },
     .random = true},
    {.schema = "_standard_gamma_grad(Tensor self, Tensor output) -> Tensor",
     .doc = "How samples of _standard_gamma move with their concentration, at the same quantile.",
     .meta = kernel<&gamma_slope_shape>()},
    {.schema = "_sample_dirichlet(Tensor self, Generator? generator=None) -> Tensor",
     .doc = "Dirichlet variables for concentrations along the last dimension.",
     .meta = kernel<&same_shape>(),
     .decomposition = kernel<&draw_dirichlet>(),
     .random = true},
    {.schema = "_dirichlet_grad(Tensor x, Tensor alpha, Tensor total) -> Tensor",
     .doc = "How samples of _sample_dirichlet move with their own concentration, over 1 - x; total: the "
            "concentrations' sum.",
     .meta = kernel<&dirichlet_slope_shape>()},
    {.schema = "binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor",
     .doc = "How many of count trials succeed, each with probability prob.",
     .meta = kernel<&common_shape>(),
     .decomposition = kernel<&draw_binomial>(),
     .saves = "count prob",
     .grad = no_slopes,
     .random = true},
    {.schema = "poisson(Tensor self, Generator? generator=None) -> Tensor",
     .doc = "Draws from Poisson distributions with the elements as rates.",
     .meta = kernel<&poisson_shape>(),
     .decomposition = kernel<&draw_poisson>(),
     .grad = [](Grad& g) { g.set(0, zeros_like(g.out())); },
     .random = true},
};

}  // namespace

void define_variates() { define_all(defs); }

}  // namespace fc
