// SPDX-License-Identifier: Apache-2.0
// Resizing of sequences, images and volumes, one dimension after the other: picking the nearest element, or mixing the
// two neighbours. Positions are computed as PyTorch does, in the type that the elements are computed in.
#include <cmath>

#include "define/calls.h"
#include "define/row.h"
#include "ops/register.h"

namespace fc {
namespace {

using Scale = double;  // not above 0: follows from the sizes

void check_sizes(const Operator& op, const Tensor& x, IntSpan size) {
  const char* name = op.schema().name.c_str();
  const auto n = static_cast<size_t>(op.schema().parameters[1].type.length);
  FC_CHECK(size.size() == n, name, ": It is expected output_size equals to ", n, ", but got size ", size.size());
  FC_CHECK(x.dim() == static_cast<int64_t>(size.size()) + 2, name, ": expected an input of ", size.size() + 2,
           " dimensions, but got ", x.sizes());
  FC_CHECK(x.size(1) > 0, name, ": Non-empty ", x.dim(), "D data tensor expected but got a tensor with sizes ",
           x.sizes());
  for (size_t d = 0; d < size.size(); ++d)
    FC_CHECK(size[d] > 0 && x.size(static_cast<int64_t>(d) + 2) > 0, name,
             ": Input and output sizes should be greater than 0, but got input ", x.sizes(), " and output size ", size);
  FC_CHECK_AS(NotImplementedError, is_floating(x.dtype()) || x.dtype() == DType::UInt8, "\"", name,
              "\" not implemented for '", info(x.dtype()).legacy, "'");
}

template <class T>
T step(int64_t in, int64_t out, Scale scale) {
  return scale > 0 ? static_cast<T>(1.0 / scale) : static_cast<T>(in) / static_cast<T>(out);
}

// The element of `in` that each of `out` takes.
Tensor nearest(int64_t in, int64_t out, Scale scale, bool exact, Device device) {
  Tensor positions = empty_tensor(Dims{out}, DType::Int64, Device{});
  auto* to = positions.data_as<int64_t>();
  const float by = step<float>(in, out, scale);
  for (int64_t i = 0; i < out; ++i) {
    float at = (static_cast<float>(i) + (exact ? 0.5f : 0.0f)) * by;
    to[i] = out == in && !exact ? i : at < 0x1p62f ? std::min(static_cast<int64_t>(at), in - 1) : in - 1;
  }
  return call<"aten::to.device", Tensor>(positions, device, DType::Int64, false, false, std::optional<MemoryFormat>());
}

// Two neighbours and the weight of the second.
struct Mix {
  Tensor low, high, weight;
};
template <class T>
Mix linear(int64_t in, int64_t out, Scale scale, bool align, DType dtype, Device device) {
  Tensor low = empty_tensor(Dims{out}, DType::Int64, Device{}), high = empty_tensor(Dims{out}, DType::Int64, Device{});
  Tensor weight = empty_tensor(Dims{out}, dtype, Device{});
  auto *l = low.data_as<int64_t>(), *h = high.data_as<int64_t>();
  auto* w = weight.data_as<T>();
  const T by = !align ? step<T>(in, out, scale) : out > 1 ? static_cast<T>(in - 1) / static_cast<T>(out - 1) : T(0);
  for (int64_t i = 0; i < out; ++i) {
    T at = align ? by * static_cast<T>(i) : std::max(by * (static_cast<T>(i) + T(0.5)) - T(0.5), T(0));
    l[i] = at < T(0x1p62) ? std::min(static_cast<int64_t>(at), in - 1) : in - 1;
    h[i] = std::min(l[i] + 1, in - 1);
    w[i] = std::clamp(at - static_cast<T>(l[i]), T(0), T(1));
  }
  auto there = [&](const Tensor& t) {
    return call<"aten::to.device", Tensor>(t, device, t.dtype(), false, false, std::optional<MemoryFormat>());
  };
  return {there(low), there(high), there(weight)};
}

Tensor pick(const Tensor& x, int64_t dim, const Tensor& positions) {
  return call<"aten::index_select", Tensor>(x, dim, positions);
}

// upsample_nearest1d(self, output_size, scales...), and the exact form.
void run_nearest(void* exact, const Operator& op, const Arg* args, Value* results) {
  Tensor x = args[0].tensor();
  IntSpan size = args[1].ints();
  check_sizes(op, x, size);
  for (size_t d = 0; d < size.size(); ++d) {
    const int64_t dim = static_cast<int64_t>(d) + 2;
    Scale scale = args[2 + d].is_none() ? 0 : args[2 + d].real();
    x = pick(x, dim, nearest(x.size(dim), size[d], scale, exact != nullptr, x.device()));
  }
  results[0] = Value(std::move(x));
}

// The same for bytes, as PyTorch does it: weights are whole numbers of as many bits as fit into 16 with their sign, and
// every dimension's result is rounded to bytes.
Tensor mix_bytes(const Tensor& x, int64_t dim, const Mix& m) {
  const Tensor second = m.weight, first = rsub(second, 1);
  const double largest = x.device().is_meta()
                             ? 1
                             : call<"aten::_local_scalar_dense", Scalar>(
                                   amax(call<"aten::maximum", Tensor>(first, where(eq(m.low, m.high), 1, second)), {}))
                                   .to_double();
  int bits = 0;
  while (bits < 22 && static_cast<int64_t>(0.5 + largest * static_cast<double>(int64_t{2} << bits)) < (1 << 15)) ++bits;
  auto whole = [&](const Tensor& w) {
    return to_dtype(add(mul(w, static_cast<double>(int64_t{1} << bits)), 0.5), DType::Int32);
  };
  auto part = [&](const Tensor& index, const Tensor& w) {
    Dims shape(static_cast<size_t>(x.dim() - dim), 1);
    shape[0] = w.numel();
    return mul(to_dtype(pick(x, dim, index), DType::Int32), view(whole(w), shape));
  };
  Tensor sum = add(add(part(m.low, first), part(m.high, second)), 1 << (bits - 1));
  sum = call<"aten::clamp", Tensor>(div_mode(sum, wrapped_number(1 << bits), "floor"), std::optional<Scalar>(0),
                                    std::optional<Scalar>(255));
  return to_dtype(sum, DType::UInt8);
}

// upsample_linear1d(self, output_size, align_corners, scales...)
void run_linear(void*, const Operator& op, const Arg* args, Value* results) {
  const Tensor& self = args[0].tensor();
  IntSpan size = args[1].ints();
  check_sizes(op, self, size);
  if (self.dtype() == DType::UInt8) {
    FC_CHECK_AS(NotImplementedError, size.size() == 2, "\"compute_indices_weights_linear\" not implemented for 'Byte'");
    Tensor x = self;
    for (size_t d = 2; d-- > 0;) {
      const int64_t dim = static_cast<int64_t>(d) + 2;
      const Scale scale = args[3 + d].is_none() ? 0 : args[3 + d].real();
      x = mix_bytes(x, dim, linear<double>(x.size(dim), size[d], scale, args[2].boolean(), DType::Float64, x.device()));
    }
    results[0] = Value(std::move(x));
    return;
  }
  const DType wide = self.dtype() == DType::Float64 ? DType::Float64 : DType::Float32;
  Tensor x = self.dtype() == wide ? self : to_dtype(self, wide);
  for (size_t d = size.size(); d-- > 0;) {
    const int64_t dim = static_cast<int64_t>(d) + 2, in = x.size(dim);
    Scale scale = args[3 + d].is_none() ? 0 : args[3 + d].real();
    auto mix = wide == DType::Float64 ? linear<double> : linear<float>;
    Mix m = mix(in, size[d], scale, args[2].boolean(), wide, x.device());
    Dims shape(size.size() - d, 1);
    shape[0] = size[d];
    Tensor w = view(m.weight, shape);
    x = add(mul(pick(x, dim, m.low), sub(wrapped_number(1), w)), mul(pick(x, dim, m.high), w));
  }
  results[0] = Value(self.dtype() == wide ? x : to_dtype(x, self.dtype()));
}

char exactly;  // the context of the exact form

constexpr OpDef defs[] = {
    {.schema = "upsample_nearest1d(Tensor self, int[1] output_size, float? scales=None) -> Tensor",
     .composite = {run_nearest},
     .out = true},
    {.schema = "upsample_nearest2d(Tensor self, int[2] output_size, float? scales_h=None, float? scales_w=None) -> "
               "Tensor",
     .composite = {run_nearest},
     .out = true},
    {.schema = "upsample_nearest3d(Tensor self, int[3] output_size, float? scales_d=None, float? scales_h=None, float? "
               "scales_w=None) -> Tensor",
     .composite = {run_nearest},
     .out = true},
    {.schema = "_upsample_nearest_exact1d(Tensor self, int[1] output_size, float? scales=None) -> Tensor",
     .composite = {run_nearest, &exactly},
     .hidden = true},
    {.schema = "_upsample_nearest_exact2d(Tensor self, int[2] output_size, float? scales_h=None, float? "
               "scales_w=None) -> Tensor",
     .composite = {run_nearest, &exactly},
     .hidden = true},
    {.schema = "_upsample_nearest_exact3d(Tensor self, int[3] output_size, float? scales_d=None, float? scales_h=None, "
               "float? scales_w=None) -> Tensor",
     .composite = {run_nearest, &exactly},
     .hidden = true},
    {.schema = "upsample_linear1d(Tensor self, int[1] output_size, bool align_corners, float? scales=None) -> Tensor",
     .composite = {run_linear},
     .out = true},
    {.schema = "upsample_bilinear2d(Tensor self, int[2] output_size, bool align_corners, float? scales_h=None, float? "
               "scales_w=None) -> Tensor",
     .composite = {run_linear},
     .out = true},
    {.schema = "upsample_trilinear3d(Tensor self, int[3] output_size, bool align_corners, float? scales_d=None, float? "
               "scales_h=None, float? scales_w=None) -> Tensor",
     .composite = {run_linear},
     .out = true},
};

}  // namespace

void define_upsample() { define_all(defs); }

}  // namespace fc
