// SPDX-License-Identifier: Apache-2.0
// Channels moved into space and back, and channels dealt out among groups: one copy between two views that match
// element by element.
#include "define/calls.h"
#include "define/row.h"
#include "ops/register.h"

namespace fc {
namespace {

// A view whose dimension `dim` (counted from the end) is split in two; the second gets `inner` elements.
Tensor split(const Tensor& t, int64_t dim, int64_t inner) {
  Dims sizes, strides;
  for (int64_t d = 0; d < t.dim(); ++d) {
    const int64_t stride = t.strides()[static_cast<size_t>(d)];
    if (d == t.dim() + dim) {
      sizes.push_back(t.size(d) / inner);
      strides.push_back(stride * inner);
    }
    sizes.push_back(d == t.dim() + dim ? inner : t.size(d));
    strides.push_back(stride);
  }
  return make_view(t, sizes, strides, t.offset());
}

void check_factor(const char* op, const char* name, const Tensor& self, int64_t factor) {
  FC_CHECK(self.dim() >= 3, op, " expects input to have at least 3 dimensions, but got input with ", self.dim(),
           " dimension(s)");
  FC_CHECK(factor > 0, op, " expects a positive ", name, ", but got ", factor);
}

// space[…, C, H * r, W * r] as […, C, r, r, H, W]
Tensor as_channels(const Tensor& space, int64_t r) {
  Tensor v = split(split(space, -1, r), -3, r);
  const auto n = static_cast<size_t>(v.dim());
  Dims sizes(v.sizes()), strides(v.strides());
  const size_t from[] = {n - 3, n - 1, n - 4, n - 2};  // of [H, r, W, r]
  for (size_t i = 0; i < 4; ++i) {
    sizes[n - 4 + i] = v.sizes()[from[i]];
    strides[n - 4 + i] = v.strides()[from[i]];
  }
  return make_view(v, sizes, strides, v.offset());
}

Tensor pixel_shuffle(const Tensor& self, int64_t r) {
  check_factor("pixel_shuffle", "upscale_factor", self, r);
  const int64_t channels = self.size(-3);
  int64_t square;
  FC_CHECK(!__builtin_mul_overflow(r, r, &square), "upscale factor is too large, (upscale_factor)^2 overflowed");
  FC_CHECK(channels % square == 0,
           "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
           "input.size(-3)=",
           channels, " is not divisible by ", square);
  Dims shape(self.sizes());
  const size_t n = shape.size();
  shape[n - 3] = channels / square;
  for (size_t d : {n - 2, n - 1})
    FC_CHECK(!__builtin_mul_overflow(shape[d], r, &shape[d]), "pixel_shuffle: an upscale_factor of ", r,
             " is too large for an input of size ", self.sizes());
  Tensor out = empty_tensor(shape, self.dtype(), self.device(), suggest_memory_format(self));
  copy_(as_channels(out, r), split(split(self, -3, r), -4, r));
  return out;
}

Tensor pixel_unshuffle(const Tensor& self, int64_t r) {
  check_factor("pixel_unshuffle", "downscale_factor", self, r);
  for (int64_t d : {-2, -1})
    FC_CHECK(self.size(d) % r == 0, "pixel_unshuffle expects ", d == -2 ? "height" : "width",
             " to be divisible by downscale_factor, but input.size(", d, ")=", self.size(d), " is not divisible by ",
             r);
  Dims shape(self.sizes());
  const size_t n = shape.size();
  FC_CHECK(!__builtin_mul_overflow(shape[n - 3], r, &shape[n - 3]) &&
               !__builtin_mul_overflow(shape[n - 3], r, &shape[n - 3]),
           "pixel_unshuffle: a downscale_factor of ", r, " is too large for an input of size ", self.sizes());
  shape[n - 2] /= r;
  shape[n - 1] /= r;
  Tensor out = empty_tensor(shape, self.dtype(), self.device(), suggest_memory_format(self));
  copy_(split(split(out, -3, r), -4, r), as_channels(self, r));
  return out;
}

Tensor channel_shuffle(const Tensor& self, int64_t groups) {
  FC_CHECK(self.dim() > 2, "channel_shuffle expects input to have > 2 dims, but got input with sizes ", self.sizes());
  FC_CHECK(groups > 0,
           "channel_shuffle: Number of groups to divide channels in must be positive. Value of groups:", groups);
  const int64_t channels = self.size(1);
  FC_CHECK(channels % groups == 0, "channel_shuffle: Number of channels must be divisible by groups. Got ", channels,
           " channels and ", groups, " groups.");
  Tensor out = empty_tensor(self.sizes(), self.dtype(), self.device(), suggest_memory_format(self));
  if (out.numel() == 0) return out;
  copy_(transpose(split(out, 1 - self.dim(), groups), 1, 2), split(self, 1 - self.dim(), channels / groups));
  return out;
}
void channel_shuffle_grad(Grad& g) {
  const int64_t channels = g.sizes(0)[1], groups = g.arg(1).integer();
  g.set(0, channels == 0 ? g.out() : call<"aten::native_channel_shuffle", Tensor>(g.out(), channels / groups));
}

constexpr OpDef defs[] = {
    {.schema = "pixel_shuffle(Tensor self, int upscale_factor) -> Tensor",
     .doc = "Channels of [C * r * r, H, W] moved into space: [C, H * r, W * r].",
     .all = kernel<&pixel_shuffle>(),
     .saves = "upscale_factor",
     .grad = [](Grad& g) { g.set(0, call<"aten::pixel_unshuffle", Tensor>(g.out(), g.arg(1).integer())); },
     .out = true},
    {.schema = "pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor",
     .doc = "Space of [C, H * r, W * r] moved into channels: [C * r * r, H, W].",
     .all = kernel<&pixel_unshuffle>(),
     .saves = "downscale_factor",
     .grad = [](Grad& g) { g.set(0, call<"aten::pixel_shuffle", Tensor>(g.out(), g.arg(1).integer())); },
     .out = true},
    {.schema = "channel_shuffle(Tensor self, SymInt groups) -> Tensor",
     .doc = "Channels dealt out: the first of every group, the second of every group and so on.",
     .all = kernel<&channel_shuffle>(),
     .saves = "groups",
     .grad = channel_shuffle_grad,
     .out = true},
    {.schema = "native_channel_shuffle(Tensor self, SymInt groups) -> Tensor",
     .doc = "The same as channel_shuffle.",
     .all = kernel<&channel_shuffle>(),
     .saves = "groups",
     .grad = channel_shuffle_grad},
};

}  // namespace

void define_shuffle() { define_all(defs); }

}  // namespace fc
