// SPDX-License-Identifier: Apache-2.0
// Operators that only the code of PyTorch's own layers calls, and so archives: whole layers in one call, sizes that
// follow from factors, the state of autocast.
#include <cmath>
#include <limits>

#include "define/autocast.h"
#include "define/calls.h"
#include "jit/ops/script_ops.h"

namespace fc::jit {
namespace {

using Optional = std::optional<Tensor>;

void no_autocast(void*, const Operator&, const Arg*, fc::Value* r) { r[0] = autocast_dtype(0) != DType::Undefined; }

void nested(void*, const Operator& op, const Arg*, fc::Value*) {
  raise<NotImplementedError>(op.schema().name, ": there are no nested tensors");
}

// upsample_….vec(input, output_size?, [align_corners,] scale_factors?)
void upsample(void*, const Operator& op, const Arg* a, fc::Value* r) {
  const size_t n = op.schema().parameters.size();
  const Tensor& input = a[0].tensor();
  const fc::Value given_sizes = value_of(a[1]), given_factors = value_of(a[n - 1]);  // lists come whole
  const Arg factors = given_factors.arg(), wanted = given_sizes.arg();
  const auto dims = static_cast<size_t>(input.dim()) - 2;
  Dims sizes;
  FC_CHECK(wanted.is_none() != factors.is_none(), op.schema().name, ": either output_size or scale_factors is given");
  FC_CHECK(input.dim() > 2 && (factors.is_none() ? wanted.ints().size() : factors.doubles().size()) == dims,
           op.schema().name, ": as many sizes as the input has beside batch and channels");
  for (size_t i = 0; i < dims; ++i)
    sizes.push_back(factors.is_none() ? wanted.ints()[i]
                                      : static_cast<int64_t>(std::floor(static_cast<double>(input.sizes()[i + 2]) *
                                                                        factors.doubles()[i])));
  std::vector<Arg> in{a[0], Arg(sizes)};
  if (n == 4) in.push_back(a[2]);
  for (size_t i = 0; i < dims; ++i) in.push_back(factors.is_none() ? Arg() : Arg(factors.doubles()[i]));
  get_operator("aten::" + op.schema().name).call(in.data(), r);
}

Tensor linear(T x, T weight, T bias) { return call<"aten::linear", Tensor>(x, weight, Optional(bias)); }

// Self-attention of [batch, length, features]; the weights too.
std::pair<Tensor, Tensor> attention(T q, T k, T v, int64_t heads, T weight, T bias, T out_weight, T out_bias, T mask,
                                    int64_t mask_type) {
  const int64_t features = q.size(2), own = features / heads;
  FC_CHECK(heads > 0 && own * heads == features, "attention: ", features, " features are not divided by ", heads,
           " heads");
  const auto part = [&](T x, int64_t i) {
    const Tensor w = call<"aten::slice.Tensor", Tensor>(weight, int64_t(0), std::optional<int64_t>(i * features),
                                                        std::optional<int64_t>((i + 1) * features), int64_t(1));
    const Tensor b = call<"aten::slice.Tensor", Tensor>(bias, int64_t(0), std::optional<int64_t>(i * features),
                                                        std::optional<int64_t>((i + 1) * features), int64_t(1));
    const Tensor y = linear(x, w, b);
    const Tensor split = call<"aten::reshape", Tensor>(y, Dims{y.size(0), y.size(1), heads, own});
    return call<"aten::transpose.int", Tensor>(split, int64_t(1), int64_t(2));
  };
  const Tensor keys = call<"aten::transpose.int", Tensor>(part(k, 1), int64_t(-2), int64_t(-1));
  Tensor scores = mul(call<"aten::matmul", Tensor>(part(q, 0), keys), Scalar(1 / std::sqrt(static_cast<double>(own))));
  if (mask.defined()) {
    Tensor hidden = to_dtype(mask, DType::Bool);
    if (mask_type == 1) hidden = call<"aten::reshape", Tensor>(hidden, Dims{hidden.size(0), 1, 1, hidden.size(-1)});
    else if (hidden.dim() == 3) hidden = call<"aten::unsqueeze", Tensor>(hidden, int64_t(1));
    scores = call<"aten::masked_fill.Scalar", Tensor>(scores, hidden, Scalar(-std::numeric_limits<double>::infinity()));
  }
  const Tensor weights = call<"aten::softmax.int", Tensor>(scores, int64_t(-1), std::optional<DType>());
  const Tensor mixed =
      call<"aten::transpose.int", Tensor>(call<"aten::matmul", Tensor>(weights, part(v, 2)), int64_t(1), int64_t(2));
  const Tensor joined = call<"aten::reshape", Tensor>(mixed, Dims{q.size(0), q.size(1), features});
  return {linear(joined, out_weight, out_bias), weights};
}

void multi_head_attention(void*, const Operator&, const Arg* a, fc::Value* r) {
  auto [out, weights] =
      attention(a[0].tensor(), a[1].tensor(), a[2].tensor(), a[4].integer(), a[5].tensor(), a[6].tensor(),
                a[7].tensor(), a[8].tensor(), a[9].tensor(), a[12].is_none() ? 2 : a[12].integer());
  r[0] = fc::Value(std::move(out));
  if (!a[10].boolean()) r[1] = fc::Value(Tensor());
  else
    r[1] = fc::Value(a[11].boolean() ? call<"aten::mean.dim", Tensor>(weights, Dims{1}, false, std::optional<DType>())
                                     : weights);
}

void encoder_layer(void*, const Operator&, const Arg* a, fc::Value* r) {
  const auto t = [&](size_t i) -> const Tensor& { return a[i].tensor(); };
  const bool first = a[8].boolean();
  const auto norm = [&](T x, size_t at) {
    return call<"aten::layer_norm", Tensor>(x, Dims{a[1].integer()}, Optional(t(at)), Optional(t(at + 1)), a[9].real(),
                                            true);
  };
  const auto attend = [&](T x) {
    return attention(x, x, x, a[2].integer(), t(3), t(4), t(5), t(6), t(18), a[19].is_none() ? 2 : a[19].integer())
        .first;
  };
  const auto feed = [&](T x) {
    const Tensor inner = linear(x, t(14), t(15));
    return linear(a[7].boolean() ? call<"aten::gelu", Tensor>(inner, "none") : call<"aten::relu", Tensor>(inner), t(16),
                  t(17));
  };
  Tensor x = t(0);
  x = first ? add(x, attend(norm(x, 10))) : norm(add(x, attend(x)), 10);
  x = first ? add(x, feed(norm(x, 12))) : norm(add(x, feed(x)), 12);
  r[0] = fc::Value(std::move(x));
}

constexpr ScriptRow rows[] = {
    {"aten::is_autocast_enabled() -> bool", no_autocast},
    {"aten::is_autocast_cpu_enabled() -> bool", no_autocast},
    {"aten::_upsample_nearest_exact1d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor",
     upsample},
    {"aten::_upsample_nearest_exact2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor",
     upsample},
    {"aten::_upsample_nearest_exact3d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor",
     upsample},
    {"aten::_upsample_bilinear2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? "
     "scale_factors) -> Tensor",
     upsample},
    {"aten::_upsample_bicubic2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? "
     "scale_factors) -> Tensor",
     upsample},
    {"aten::_upsample_lanczos2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? "
     "scale_factors) -> Tensor",
     upsample},
    {"aten::_nested_tensor_from_mask(Tensor t, Tensor mask, bool mask_check=True) -> Tensor", nested},
    {"aten::_nested_tensor_from_mask_left_aligned(Tensor t, Tensor mask) -> bool", nested},
    {"aten::upsample_nearest1d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor", upsample},
    {"aten::upsample_nearest2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor", upsample},
    {"aten::upsample_nearest3d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor", upsample},
    {"aten::upsample_linear1d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> "
     "Tensor",
     upsample},
    {"aten::upsample_bilinear2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) "
     "-> Tensor",
     upsample},
    {"aten::upsample_trilinear3d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) "
     "-> Tensor",
     upsample},
    {"aten::upsample_bicubic2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) "
     "-> Tensor",
     upsample},
    {"aten::_native_multi_head_attention(Tensor query, Tensor key, Tensor value, int embed_dim, int num_head, Tensor "
     "qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, Tensor? mask=None, bool need_weights=True, "
     "bool average_attn_weights=True, int? mask_type=None) -> (Tensor, Tensor)",
     multi_head_attention},
    {"aten::_transformer_encoder_layer_fwd(Tensor src, int embed_dim, int num_heads, Tensor qkv_weight, Tensor "
     "qkv_bias, Tensor proj_weight, Tensor proj_bias, bool use_gelu, bool norm_first, float eps, Tensor norm_weight_1, "
     "Tensor norm_bias_1, Tensor norm_weight_2, Tensor norm_bias_2, Tensor ffn_weight_1, Tensor ffn_bias_1, Tensor "
     "ffn_weight_2, Tensor ffn_bias_2, Tensor? mask=None, int? mask_type=None) -> Tensor",
     encoder_layer},
};

}  // namespace

void define_layer_operators() { define_rows(rows); }

}  // namespace fc::jit
