// SPDX-License-Identifier: Apache-2.0
// What the samplers of all devices check.
#pragma once
#include "define/calls.h"

namespace fc {

enum class Interpolation : int64_t { Linear, Nearest, Cubic };
enum class GridPadding : int64_t { Zeros, Border, Reflection };

// Input [N, C, spatial…] and grid [N, out…, number of spatial dimensions]. Throws as PyTorch does; the result's sizes.
Dims check_grid(const Tensor& input, const Tensor& grid, int64_t spatial, int64_t interpolation, int64_t padding);

}  // namespace fc
