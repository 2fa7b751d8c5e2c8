// SPDX-License-Identifier: Apache-2.0
// Sampling of images and volumes at any positions, and the grid of positions of an affine map.
#include "plan/grid.h"

#include "define/row.h"
#include "ops/register.h"

namespace fc {
namespace {

using Pair = std::tuple<Tensor, Tensor>;

template <int64_t spatial>
Tensor sample_meta(const Tensor& input, const Tensor& grid, int64_t interpolation, int64_t padding, bool) {
  return empty_tensor(check_grid(input, grid, spatial, interpolation, padding), input.dtype(), input.device());
}
template <int64_t spatial>
Pair sample_backward_meta(const Tensor&, const Tensor& input, const Tensor& grid, int64_t interpolation,
                          int64_t padding, bool, std::span<const bool> mask) {
  check_grid(input, grid, spatial, interpolation, padding);
  return {mask[0] ? empty_tensor(input.sizes(), input.dtype(), input.device()) : Tensor(),
          empty_tensor(grid.sizes(), grid.dtype(), grid.device())};
}
template <FixedString backward>
void sample_grad(Grad& g) {  // (input, grid, interpolation_mode, padding_mode, align_corners)
  const bool mask[] = {g.needs(0), g.needs(1)};
  const Tensor input = g.in(0), grid = g.in(1);
  auto [to_input, to_grid] = call<backward, Pair>(g.out(), input, grid, g.arg(2).integer(), g.arg(3).integer(),
                                                  g.arg(4).boolean(), std::span<const bool>(mask));
  if (mask[0]) g.set(0, to_input);
  if (mask[1]) g.set(1, to_grid);
}

Tensor grid_sampler(const Tensor& input, const Tensor& grid, int64_t interpolation, int64_t padding, bool align) {
  FC_CHECK((input.dim() == 4 || input.dim() == 5) && input.dim() == grid.dim(),
           "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got input with sizes ",
           input.sizes(), " and grid with sizes ", grid.sizes());
  if (input.dim() == 4) return call<"aten::grid_sampler_2d", Tensor>(input, grid, interpolation, padding, align);
  return call<"aten::grid_sampler_3d", Tensor>(input, grid, interpolation, padding, align);
}

// The positions of `size` elements between -1 and 1: of their middles, or (align) with the first and last at the ends.
Tensor positions(const Tensor& like, int64_t size, bool align) {
  if (size <= 1) return zeros(Dims{size}, like.dtype(), like.device());
  Tensor p = call<"aten::linspace", Tensor>(Scalar(-1), Scalar(1), size, like.dtype(), nullptr, like.device(), nullptr);
  return align ? p : mul(p, static_cast<double>(size - 1) / static_cast<double>(size));
}
Tensor affine_grid(const Tensor& theta, IntSpan size, bool align) {
  FC_CHECK(size.size() == 4 || size.size() == 5, "AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.");
  const auto n = static_cast<int64_t>(size.size()) - 2;
  FC_CHECK(theta.dim() == 3 && theta.size(0) == size[0] && theta.size(1) == n && theta.size(2) == n + 1,
           "Expected a batch of ", n, "D affine matrices of shape Nx", n, "x", n + 1, " for size ", size, ". Got ",
           theta.sizes(), ".");
  Dims shape(size.subspan(2));
  shape.push_back(1);
  std::vector<Tensor> parts;  // x is the last dimension
  for (int64_t d = n - 1; d >= 0; --d) {
    Dims along(static_cast<size_t>(n) + 1, 1);
    along[static_cast<size_t>(d)] = size[static_cast<size_t>(d) + 2];
    parts.push_back(expand(reshape(positions(theta, size[static_cast<size_t>(d) + 2], align), along), shape));
  }
  parts.push_back(full(shape, 1, theta.dtype(), theta.device()));
  Tensor base = reshape(cat(parts, -1), Dims{1, -1, n + 1});
  Dims out{size[0]};
  for (int64_t s : size.subspan(2)) out.push_back(s);
  out.push_back(n);
  return reshape(matmul(base, transpose(theta, 1, 2)), out);
}

#define ARGS "Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners"

constexpr OpDef defs[] = {
    {.schema = "grid_sampler(" ARGS ") -> Tensor",
     .doc = "Images or volumes sampled at the positions of a grid.",
     .composite = kernel<&grid_sampler>(),
     .autocast = Autocast::Promote,
     .cpu_autocast = Autocast::Float32},
    {.schema = "grid_sampler_2d(" ARGS ") -> Tensor",
     .doc = "Images sampled at the positions of a grid.",
     .meta = kernel<&sample_meta<2>>(),
     .saves = "input grid interpolation_mode padding_mode align_corners",
     .grad = sample_grad<"aten::grid_sampler_2d_backward">},
    {.schema = "grid_sampler_2d_backward(Tensor grad_output, " ARGS ", bool[2] output_mask) -> (Tensor, Tensor)",
     .meta = kernel<&sample_backward_meta<2>>(),
     .hidden = true},
    {.schema = "grid_sampler_3d(" ARGS ") -> Tensor",
     .doc = "Volumes sampled at the positions of a grid.",
     .meta = kernel<&sample_meta<3>>(),
     .saves = "input grid interpolation_mode padding_mode align_corners",
     .grad = sample_grad<"aten::grid_sampler_3d_backward">},
    {.schema = "grid_sampler_3d_backward(Tensor grad_output, " ARGS ", bool[2] output_mask) -> (Tensor, Tensor)",
     .meta = kernel<&sample_backward_meta<3>>(),
     .hidden = true},
    {.schema = "affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor",
     .doc = "The grid of positions that affine maps take the elements of an image or volume to.",
     .composite = kernel<&affine_grid>()},
};
#undef ARGS

}  // namespace

void define_grid() { define_all(defs); }

}  // namespace fc
