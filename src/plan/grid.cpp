// SPDX-License-Identifier: Apache-2.0
#include "plan/grid.h"

namespace fc {

Dims check_grid(const Tensor& input, const Tensor& grid, int64_t spatial, int64_t interpolation, int64_t padding) {
  FC_CHECK(input.dim() == spatial + 2 && grid.dim() == input.dim(), "grid_sampler(): expected ", spatial + 2,
           "D input and grid with same number of dimensions, but got input with sizes ", input.sizes(),
           " and grid with sizes ", grid.sizes());
  FC_CHECK(input.size(0) == grid.size(0),
           "grid_sampler(): expected grid and input to have same batch size, but got input with sizes ", input.sizes(),
           " and grid with sizes ", grid.sizes());
  FC_CHECK(grid.size(-1) == spatial, "grid_sampler(): expected grid to have size ", spatial,
           " in last dimension, but got grid with sizes ", grid.sizes());
  FC_CHECK(input.dtype() == grid.dtype(), "grid_sampler(): expected input and grid to have same dtype, but input has ",
           input.dtype(), " and grid has ", grid.dtype());
  FC_CHECK_AS(NotImplementedError, is_floating(input.dtype()) && !is_barebones(input.dtype()), "\"grid_sampler_",
              spatial, "d_cpu\" not implemented for '", info(input.dtype()).legacy, "'");
  Dims shape{input.size(0), input.size(1)};
  for (int64_t d = 0; d < spatial; ++d) {
    FC_CHECK(input.size(d + 2) > 0,
             "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes ", input.sizes(),
             " with dimension ", d + 2, " being empty");
    shape.push_back(grid.size(d + 1));
  }
  FC_CHECK(interpolation >= 0 && interpolation <= 2 && padding >= 0 && padding <= 2,
           "grid_sampler(): unknown interpolation mode ", interpolation, " or padding mode ", padding);
  return shape;
}

}  // namespace fc
