// SPDX-License-Identifier: Apache-2.0
// Scaled dot-product attention: in blocks, without the matrix of all scores, where the device has a kernel for it;
// written in products and a softmax otherwise.
#include "plan/attention.h"

#include <limits>

#include "define/row.h"
#include "ops/register.h"

namespace fc {
namespace {

using Two = std::tuple<Tensor, Tensor>;
using Three = std::tuple<Tensor, Tensor, Tensor>;
constexpr double kLowest = -std::numeric_limits<double>::infinity();

void check(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask, double dropout,
           bool causal) {
  FC_CHECK(query.dim() >= 2 && key.dim() >= 2 && value.dim() >= 2,
           "scaled_dot_product_attention: Expected query, key, and value to all be  at least 2 dimensional, but got "
           "query.dim: ",
           query.dim(), " key.dim: ", key.dim(), " and value.dim: ", value.dim(), " instead.");
  FC_CHECK(query.dtype() == key.dtype() && query.dtype() == value.dtype(),
           "scaled_dot_product_attention: Expected query, key, and value to have the same dtype, but got query.dtype: ",
           query.dtype(), " key.dtype: ", key.dtype(), " and value.dtype: ", value.dtype(), " instead.");
  FC_CHECK(!mask.defined() || !causal,
           "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True");
  FC_CHECK(!mask.defined() || mask.dtype() == DType::Bool || is_floating(mask.dtype()),
           "scaled_dot_product_attention: Expected attn_mask dtype to be bool or float or to match query dtype, but "
           "got attn_mask.dtype: ",
           mask.defined() ? mask.dtype() : DType::Bool, " and  query.dtype: ", query.dtype(), " instead.");
  FC_CHECK(dropout >= 0 && dropout <= 1,
           "scaled_dot_product_attention: dropout probability has to be between 0 and 1, "
           "but got ",
           dropout);
}

// Each head of key or value as often as query needs it.
Tensor repeat_heads(const Tensor& x, int64_t heads) {
  const int64_t times = heads / x.size(-3);
  if (times == 1) return x;
  Tensor wide = unsqueeze(x, -3);
  Dims shape(wide.sizes()), flat(x.sizes());
  shape[shape.size() - 3] = times;
  flat[flat.size() - 3] = heads;
  return reshape(expand(wide, shape), flat);
}
void check_groups(const Tensor& query, const Tensor& key, const Tensor& value) {
  FC_CHECK(query.dim() >= 3 && key.dim() >= 3 && value.dim() >= 3 && key.size(-3) > 0 &&
               query.size(-3) % key.size(-3) == 0 && key.size(-3) == value.size(-3),
           "scaled_dot_product_attention: enable_gqa needs a number of heads in query that is a multiple of that in "
           "key and value");
}

Tensor scores_of(const Tensor& query, const Tensor& key, const Tensor& mask, bool causal, double scale) {
  Tensor scores = mul(matmul(query, transpose(key, -2, -1)), scale);
  if (causal) {
    Tensor allowed =
        call<"aten::tril", Tensor>(full(Dims{query.size(-2), key.size(-2)}, true, DType::Bool, query.device()), 0);
    return masked_fill(scores, logical_not(allowed), kLowest);
  }
  if (!mask.defined()) return scores;
  return mask.dtype() == DType::Bool ? masked_fill(scores, logical_not(mask), kLowest)
                                     : to_dtype(add(scores, mask), query.dtype());
}

Two in_products(const Tensor& query, const Tensor& key_in, const Tensor& value_in, const Tensor& mask, double dropout,
                bool causal, const Tensor& dropout_mask, std::optional<double> scale, bool grouped) {
  check(query, key_in, value_in, mask, dropout, causal);
  if (grouped) check_groups(query, key_in, value_in);
  Tensor key = grouped ? repeat_heads(key_in, query.size(-3)) : key_in,
         value = grouped ? repeat_heads(value_in, query.size(-3)) : value_in;
  Tensor scores = scores_of(query, key, mask, causal, attention_scale(query, scale));
  Tensor weights = call<"aten::softmax.int", Tensor>(scores, -1, std::optional<DType>());
  if (mask.defined())  // a row without any allowed position attends to nothing
    weights = masked_fill(weights, call<"aten::all.dim", Tensor>(eq(detach(scores), kLowest), -1, true), 0);
  Tensor kept = weights;
  if (dropout_mask.defined()) kept = mul(masked_fill(weights, logical_not(dropout_mask), 0), 1 / (1 - dropout));
  else if (dropout > 0) kept = call<"aten::dropout", Tensor>(weights, dropout, true);
  return {matmul(kept, value), weights};
}

Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask, double dropout,
                 bool causal, std::optional<double> scale, bool grouped) {
  check(query, key, value, mask, dropout, causal);
  if (grouped) check_groups(query, key, value);
  const int64_t rank = query.dim();
  auto fits = [&] {  // one batch for all, heads that match
    if (rank > 4 || key.dim() != rank || value.dim() != rank || dropout > 0 || is_complex(query.dtype()) ||
        !is_floating(query.dtype()) || is_barebones(query.dtype()))
      return false;
    if (!query.device().is_cpu() && !query.device().is_meta()) return false;
    if (mask.defined() && (mask.dim() > rank || (mask.dtype() != DType::Bool && mask.dtype() != query.dtype() &&
                                                 mask.dtype() != DType::Float32)))
      return false;
    for (int64_t d = 0; d < rank - 2; ++d) {
      const bool heads = d == rank - 3;
      if (key.size(d) != value.size(d) || (!(heads && grouped) && key.size(d) != query.size(d))) return false;
    }
    return key.size(-1) == query.size(-1) && key.size(-2) == value.size(-2) && (rank < 3 || key.size(-3) > 0);
  };
  if (!fits())
    return std::get<0>(call<"aten::_scaled_dot_product_attention_math", Two>(query, key, value, mask, dropout, causal,
                                                                             Tensor(), scale, grouped));
  auto four = [&](Tensor t) {
    while (t.dim() < 4) t = unsqueeze(t, 0);
    return t;
  };
  auto [out, sums] = call<"aten::_scaled_dot_product_flash_attention_for_cpu", Two>(four(query), four(key), four(value),
                                                                                    0.0, causal, mask, scale);
  for (int64_t d = rank; d < 4; ++d) out = squeeze(out, 0);
  return out;
}

// --- in blocks
constexpr const char* kName = "_scaled_dot_product_flash_attention_for_cpu";
DType sums_type(const Tensor& query) { return query.dtype() == DType::Float64 ? DType::Float64 : DType::Float32; }

Two blocks_meta(const Tensor& query, const Tensor& key, const Tensor& value, double dropout, bool causal,
                const Tensor& mask, std::optional<double> scale) {
  const Attention a = plan_attention(kName, query, key, value, mask, dropout, causal, scale);
  return {like_query(query, a.out, query.dtype()),
          empty_tensor(Dims{a.batch, a.heads, a.queries}, sums_type(query), query.device())};
}
Three blocks_backward_meta(const Tensor&, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor&,
                           const Tensor&, double, bool, const Tensor&, std::optional<double>) {
  auto like = [](const Tensor& t) { return like_query(t, t.size(-1), t.dtype()); };
  return {like(query), like(key), like(value)};
}
void blocks_grad(Grad& g) {  // (query, key, value, dropout_p, is_causal, attn_mask, scale)
  if (!g.out(0).defined()) return;
  const Tensor query = g.in(0), key = g.in(1), value = g.in(2), mask = g.in(5), out = g.result(0), sums = g.result(1);
  const auto scale = g.arg(6).is_none() ? std::nullopt : std::optional(g.arg(6).real());
  const bool causal = g.arg(4).boolean();
  if (g.needs(0) || g.needs(1) || g.needs(2)) {
    auto [dq, dk, dv] = call<"aten::_scaled_dot_product_flash_attention_for_cpu_backward", Three>(
        g.out(0), query, key, value, out, sums, 0.0, causal, mask, scale);
    if (g.needs(0)) g.set(0, dq);
    if (g.needs(1)) g.set(1, dk);
    if (g.needs(2)) g.set(2, dv);
  }
  if (g.needs(5)) {  // a mask that learns has a gradient of its own size: the scores in full
    const Tensor k = repeat_heads(key, query.size(1)), v = repeat_heads(value, query.size(1));
    Tensor weights = exp(sub(scores_of(query, k, mask, causal, attention_scale(query, scale)), unsqueeze(sums, -1)));
    Tensor flow = sub(matmul(g.out(0), transpose(v, -2, -1)), sum(mul(g.out(0), out), Dims{-1}, true));
    g.set(5, mul(weights, flow));
  }
}

// Products alone: of queries and keys, and of weights and values; backward the first again and two for each.
template <int query, int keys, int values>
int64_t blocks_flops(const Arg* args) {
  const Tensor &q = args[query].tensor(), &k = args[query + 1].tensor(), &v = args[query + 2].tensor();
  FC_CHECK(q.dim() == 4 && k.dim() == 4 && v.dim() == 4, kName, ": expected four dimensions");
  const int64_t scores = flop_product({2, q.size(0), q.size(1), q.size(2), k.size(2)});
  return flop_product({scores, keys * q.size(3) + values * v.size(3)});
}

constexpr OpDef defs[] = {
    {.schema = "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float "
               "dropout_p=0.0, bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor",
     .doc = "softmax(query @ key.T / sqrt(size)) @ value, with mask and dropout.",
     .composite = kernel<&attention>(),
     .autocast = Autocast::Lower},
    {.schema = "_scaled_dot_product_attention_math(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, "
               "float dropout_p=0.0, bool is_causal=False, Tensor? dropout_mask=None, *, float? scale=None, bool "
               "enable_gqa=False) -> (Tensor, Tensor)",
     .composite = kernel<&in_products>(),
     .hidden = true},
    {.schema = "_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float "
               "dropout_p=0.0, bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor output, "
               "Tensor logsumexp)",
     .meta = kernel<&blocks_meta>(),
     .saves = "query key value is_causal attn_mask scale result result1",
     .grad = blocks_grad,
     .differentiable_results = 1,
     .hidden = true,
     .flops = blocks_flops<0, 1, 1>},
    {.schema = "_scaled_dot_product_flash_attention_for_cpu_backward(Tensor grad_out, Tensor query, Tensor key, Tensor "
               "value, Tensor out, Tensor logsumexp, float dropout_p, bool is_causal, *, Tensor? attn_mask=None, "
               "float? scale=None) -> (Tensor grad_query, Tensor grad_key, Tensor grad_value)",
     .meta = kernel<&blocks_backward_meta>(),
     .hidden = true,
     .flops = blocks_flops<1, 3, 2>},
};

}  // namespace

void define_attention() { define_all(defs); }

}  // namespace fc
