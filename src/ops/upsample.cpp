// SPDX-License-Identifier: Apache-2.0
// Resizing of sequences, images and volumes, one dimension after the other: picking the nearest element, or mixing
// neighbours. Positions are computed as PyTorch does, in the type that the elements are computed in.
#include <cmath>
#include <numbers>

#include "define/calls.h"
#include "define/row.h"
#include "ops/register.h"
#include "plan/resample.h"

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

// What each of `out` elements is mixed from: [out, taps] positions, clamped to the input, and their weights.
struct Taps {
  Tensor index, weight;
};
struct Kind {
  int64_t reach;  // neighbours on either side: 1 linear, 2 cubic, 3 Lanczos
  bool align, antialias;
};

template <class T>
T cubic(T x, T a) {  // the convolution kernel of Keys
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((x - 5) * x + 8) * x * a - 4 * a : T(0);
}

template <class T>
T lanczos(T x) {  // of three lobes
  auto sinc = [](T v) { return v == 0 ? T(1) : std::sin(v) / v; };
  const T pi = std::numbers::pi_v<T>;
  return std::abs(x) < 3 ? sinc(pi * x) * sinc(pi * x / 3) : T(0);
}

template <class T>
Taps make_taps(int64_t in, int64_t out, Scale scale, const Kind& kind, DType dtype, Device device) {
  const T by = !kind.align ? step<T>(in, out, scale)
               : out > 1   ? static_cast<T>(in - 1) / static_cast<T>(out - 1)
                           : T(0);
  const bool wide = kind.antialias && by >= 1;
  const T support = static_cast<T>(kind.reach) * (wide ? by : T(1)), shrink = wide ? 1 / by : T(1);
  const int64_t taps = !kind.antialias   ? 2 * kind.reach
                       : support < T(in) ? static_cast<int64_t>(std::ceil(support)) * 2 + 1
                                         : in;
  Taps made{empty_tensor(Dims{out, taps}, DType::Int64, Device{}), zeros(Dims{out, taps}, dtype, Device{})};
  auto* index = made.index.template data_as<int64_t>();
  auto* weight = made.weight.template data_as<T>();
  for (int64_t i = 0; i < out; ++i, index += taps, weight += taps) {
    if (kind.antialias) {
      const T centre = by * (static_cast<T>(i) + T(0.5));
      const int64_t first = std::max<int64_t>(static_cast<int64_t>(std::min(centre - support + T(0.5), T(in))), 0);
      const int64_t last = static_cast<int64_t>(std::min(centre + support + T(0.5), T(in)));
      const int64_t count = std::clamp<int64_t>(last - first, 0, taps);
      T total = 0;
      for (int64_t j = 0; j < taps; ++j) {
        index[j] = std::min(first + j, in - 1);
        if (j >= count) continue;
        const T x = (static_cast<T>(j + first) - centre + T(0.5)) * shrink;
        weight[j] = kind.reach == 1   ? std::max(1 - std::abs(x), T(0))
                    : kind.reach == 2 ? cubic(x, T(-0.5))
                                      : lanczos(x);
        total += weight[j];
      }
      if (total != 0)
        for (int64_t j = 0; j < count; ++j) weight[j] /= total;
      continue;
    }
    T at = kind.align ? by * static_cast<T>(i) : by * (static_cast<T>(i) + T(0.5)) - T(0.5);
    if (kind.reach == 1) at = std::max(at, T(0));
    const int64_t floor = at < T(0x1p62) ? std::min(static_cast<int64_t>(std::floor(at)), in - 1) : in - 1;
    const T part = std::clamp(at - static_cast<T>(floor), T(0), T(1));
    for (int64_t j = 0; j < taps; ++j) {
      const int64_t away = j + 1 - kind.reach;  // from the neighbour below
      index[j] = std::clamp<int64_t>(floor + away, 0, in - 1);
      weight[j] = kind.reach == 2 ? cubic(part - static_cast<T>(away), T(-0.75)) : j ? part : 1 - part;
    }
  }
  auto there = [&](const Tensor& t) {
    return call<"aten::to.device", Tensor>(t, device, t.dtype(), false, false, std::optional<MemoryFormat>());
  };
  return {there(made.index), there(made.weight)};
}

Tensor pick(const Tensor& x, int64_t dim, const Tensor& positions) {
  return call<"aten::index_select", Tensor>(x, dim, positions);
}
Tensor resample(const Tensor& x, int64_t dim, const Taps& t) {
  return call<"facula::resample", Tensor>(x, dim, t.index, t.weight);
}

// --- the mix itself: result[…, i, …] = sum over t of weight[i, t] * self[…, index[i, t], …]
Tensor resample_meta(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& weight) {
  check_resample(self, dim, index, weight);
  Dims shape(self.sizes());
  shape[static_cast<size_t>(dim)] = index.size(0);
  return empty_tensor(shape, self.dtype(), self.device());
}
Tensor along(const Tensor& weight, int64_t tap, const Tensor& x, int64_t dim) {  // one tap's weights, for broadcasting
  Dims shape(static_cast<size_t>(x.dim() - dim), 1);
  shape[0] = weight.size(0);
  return reshape(select(weight, 1, tap), shape);
}
Tensor resample_decomposition(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& weight) {
  check_resample(self, dim, index, weight);
  Tensor out;
  for (int64_t t = 0; t < index.size(1); ++t) {
    Tensor part = mul(pick(self, dim, select(index, 1, t)), along(weight, t, self, dim));
    out = out.defined() ? add(out, part) : part;
  }
  return out;
}
Tensor resample_backward_meta(const Tensor& grad, int64_t dim, const Tensor& index, const Tensor& weight,
                              int64_t size) {
  check_resample(grad, dim, index, weight);
  Dims shape(grad.sizes());
  shape[static_cast<size_t>(dim)] = size;
  return empty_tensor(shape, grad.dtype(), grad.device());
}
Tensor resample_backward_decomposition(const Tensor& grad, int64_t dim, const Tensor& index, const Tensor& weight,
                                       int64_t size) {
  check_resample(grad, dim, index, weight);
  Dims shape(grad.sizes());
  shape[static_cast<size_t>(dim)] = size;
  Tensor out = zeros(shape, grad.dtype(), grad.device());
  for (int64_t t = 0; t < index.size(1); ++t)
    out = call<"aten::index_add", Tensor>(out, dim, select(index, 1, t), mul(grad, along(weight, t, grad, dim)),
                                          Scalar(1));
  return out;
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
Tensor mix_bytes(const Tensor& x, int64_t dim, const Taps& t) {
  const int64_t out = t.index.size(0), taps = t.index.size(1);
  double largest = 1;
  Tensor whole = t.weight;
  int bits = 0;
  if (!x.device().is_meta()) {
    Tensor index = call<"aten::to.device", Tensor>(t.index, Device{}, DType::Int64, false, false, nullptr);
    Tensor weight = call<"aten::to.device", Tensor>(t.weight, Device{}, DType::Float64, false, true, nullptr);
    auto* w = weight.data_as<double>();
    const auto* at = index.data_as<int64_t>();
    largest = 0;
    for (int64_t i = 0; i < out * taps; ++i) {  // weights of one position add up before they are rounded
      if (i % taps && at[i] == at[i - 1]) {
        w[i] += w[i - 1];
        w[i - 1] = 0;
      }
      largest = std::max(largest, w[i]);
    }
    while (bits < 22 && static_cast<int64_t>(0.5 + largest * static_cast<double>(int64_t{2} << bits)) < (1 << 15))
      ++bits;
    const double one = static_cast<double>(int64_t{1} << bits);
    for (int64_t i = 0; i < out * taps; ++i) w[i] = std::trunc(w[i] * one + (w[i] < 0 ? -0.5 : 0.5));
    whole = call<"aten::to.device", Tensor>(weight, x.device(), DType::Float64, false, false, nullptr);
  }
  Tensor sum = add(resample(to_dtype(x, DType::Int32), dim, {t.index, to_dtype(whole, DType::Int32)}),
                   bits > 0 ? 1 << (bits - 1) : 0);
  sum = call<"aten::clamp", Tensor>(div_mode(sum, wrapped_number(1 << bits), "floor"), std::optional<Scalar>(0),
                                    std::optional<Scalar>(255));
  return to_dtype(sum, DType::UInt8);
}

// upsample_linear1d(self, output_size, align_corners, scales...) and its relatives; `context` is the
// reach, negative with antialias.
void run_mixed(void* context, const Operator& op, const Arg* args, Value* results) {
  const Tensor& self = args[0].tensor();
  IntSpan size = args[1].ints();
  check_sizes(op, self, size);
  const auto how = *static_cast<const int64_t*>(context);
  const Kind kind{std::abs(how), args[2].boolean(), how < 0};
  const bool bytes = self.dtype() == DType::UInt8;
  FC_CHECK_AS(NotImplementedError, !bytes || size.size() == 2,
              "\"compute_indices_weights_linear\" not implemented for 'Byte'");
  const DType wide = bytes || self.dtype() == DType::Float64 ? DType::Float64 : DType::Float32;
  Tensor x = bytes || self.dtype() == wide ? self : to_dtype(self, wide);
  // Channels-last memory is a contiguous tensor with the channels at the end.
  const bool last = suggest_memory_format(self) != MemoryFormat::Contiguous;
  if (last) x = call<"aten::movedim.int", Tensor>(x, 1, -1);
  for (size_t d = size.size(); d-- > 0;) {
    const int64_t dim = static_cast<int64_t>(d) + (last ? 1 : 2);
    const Scale scale = args[3 + d].is_none() ? 0 : args[3 + d].real();
    auto make = wide == DType::Float64 ? make_taps<double> : make_taps<float>;
    const Taps taps = make(x.size(dim), size[d], scale, kind, wide, x.device());
    x = bytes ? mix_bytes(x, dim, taps) : resample(x, dim, taps);
  }
  if (last) x = call<"aten::movedim.int", Tensor>(x, -1, 1);
  results[0] = Value(bytes || self.dtype() == wide ? x : to_dtype(x, self.dtype()));
}
constinit int64_t linearly = 1, cubically = 2, linearly_smooth = -1, cubically_smooth = -2, lanczos_smooth = -3;

char exactly;  // the context of the exact form

constexpr OpDef defs[] = {
    {.schema = "facula::resample(Tensor self, int dim, Tensor index, Tensor weight) -> Tensor",
     .meta = kernel<&resample_meta>(),
     .decomposition = kernel<&resample_decomposition>(),
     .saves = "dim index weight",
     .grad =
         [](Grad& g) {
           const int64_t dim = g.arg(1).integer();
           g.set(0, call<"facula::resample_backward", Tensor>(g.out(), dim, g.in(2), g.in(3),
                                                              g.sizes(0)[static_cast<size_t>(dim)]));
         },
     .hidden = true},
    {.schema = "facula::resample_backward(Tensor grad, int dim, Tensor index, Tensor weight, int size) -> Tensor",
     .meta = kernel<&resample_backward_meta>(),
     .decomposition = kernel<&resample_backward_decomposition>(),
     .saves = "dim index weight",
     .grad = [](Grad& g) { g.set(0, call<"facula::resample", Tensor>(g.out(), g.arg(1).integer(), g.in(2), g.in(3))); },
     .hidden = true},
    {.schema = "upsample_nearest1d(Tensor self, SymInt[1] output_size, float? scales=None) -> Tensor",
     .doc = "Sequences resized by repeating the nearest element.",
     .composite = {run_nearest},
     .out = true},
    {.schema =
         "upsample_nearest2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? scales_w=None) -> Tensor",
     .doc = "Images resized by repeating the nearest element.",
     .composite = {run_nearest},
     .out = true},
    {.schema = "upsample_nearest3d(Tensor self, SymInt[3] output_size, float? scales_d=None, float? scales_h=None, "
               "float? scales_w=None) -> Tensor",
     .doc = "Volumes resized by repeating the nearest element.",
     .composite = {run_nearest},
     .out = true},
    {.schema = "_upsample_nearest_exact1d(Tensor self, SymInt[1] output_size, float? scales=None) -> Tensor",
     .composite = {run_nearest, &exactly},
     .hidden = true},
    {.schema = "_upsample_nearest_exact2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? "
               "scales_w=None) -> Tensor",
     .composite = {run_nearest, &exactly},
     .hidden = true},
    {.schema = "_upsample_nearest_exact3d(Tensor self, SymInt[3] output_size, float? scales_d=None, float? "
               "scales_h=None, float? scales_w=None) -> Tensor",
     .composite = {run_nearest, &exactly},
     .hidden = true},
    {.schema =
         "upsample_linear1d(Tensor self, SymInt[1] output_size, bool align_corners, float? scales=None) -> Tensor",
     .doc = "Sequences resized by linear interpolation of two neighbours.",
     .composite = {run_mixed, &linearly},
     .out = true},
    {.schema = "upsample_bilinear2d(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, "
               "float? scales_w=None) -> Tensor",
     .doc = "Images resized by linear interpolation of four neighbours.",
     .composite = {run_mixed, &linearly},
     .out = true},
    {.schema = "upsample_trilinear3d(Tensor self, SymInt[3] output_size, bool align_corners, float? scales_d=None, "
               "float? scales_h=None, float? scales_w=None) -> Tensor",
     .doc = "Volumes resized by linear interpolation of eight neighbours.",
     .composite = {run_mixed, &linearly},
     .out = true},
    {.schema = "upsample_bicubic2d(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, "
               "float? scales_w=None) -> Tensor",
     .doc = "Images resized by cubic convolution of four neighbours each way.",
     .composite = {run_mixed, &cubically},
     .out = true},
    {.schema = "_upsample_bilinear2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, "
               "float? scales_w=None) -> Tensor",
     .composite = {run_mixed, &linearly_smooth},
     .hidden = true},
    {.schema = "_upsample_bicubic2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, "
               "float? scales_w=None) -> Tensor",
     .composite = {run_mixed, &cubically_smooth},
     .hidden = true},
    {.schema = "_upsample_lanczos2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, "
               "float? scales_w=None) -> Tensor",
     .composite = {run_mixed, &lanczos_smooth},
     .hidden = true},
};

}  // namespace

void define_upsample() { define_all(defs); }

}  // namespace fc
