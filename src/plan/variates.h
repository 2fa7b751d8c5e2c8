// SPDX-License-Identifier: Apache-2.0
// Random variables with a tensor as parameter, in operators of any device that draws uniform and normal numbers: what
// is rejected is drawn again until nothing is (docs/random.md, section 9). Any thread.
#pragma once
#include "core/generator.h"
#include "core/tensor.h"

namespace fc {

Tensor draw_gamma(const Tensor& concentration, Generator* generator);
Tensor draw_dirichlet(const Tensor& concentration, Generator* generator);
Tensor draw_poisson(const Tensor& rate, Generator* generator);
Tensor draw_binomial(const Tensor& count, const Tensor& probability, Generator* generator);

}  // namespace fc
