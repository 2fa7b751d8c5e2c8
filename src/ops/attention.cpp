// SPDX-License-Identifier: Apache-2.0
// Scaled dot-product attention in blocks, without the matrix of all scores; written in products and a softmax where
// shapes or types do not fit that, and for derivatives of higher order.
#include "plan/attention.h"

#include <algorithm>
#include <limits>

#include "define/row.h"
#include "dispatch/forward_level.h"
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

// Of queries from `first` on.
Tensor scores_of(const Tensor& query, const Tensor& key, const Tensor& mask, bool causal, double scale,
                 int64_t first = 0) {
  Tensor scores = mul(matmul(query, transpose(key, -2, -1)), scale);
  if (causal) {
    Tensor allowed =
        call<"aten::tril", Tensor>(full(Dims{query.size(-2), key.size(-2)}, true, DType::Bool, query.device()), first);
    return masked_fill(scores, logical_not(allowed), kLowest);
  }
  if (!mask.defined()) return scores;
  return mask.dtype() == DType::Bool ? masked_fill(scores, logical_not(mask), kLowest)
                                     : to_dtype(add(scores, mask), query.dtype());
}
Tensor weights_of(const Tensor& scores, const Tensor& mask) {
  Tensor weights = call<"aten::softmax.int", Tensor>(scores, -1, std::optional<DType>());
  if (!mask.defined()) return weights;  // a row without any allowed position attends to nothing
  return masked_fill(weights, call<"aten::all.dim", Tensor>(eq(detach(scores), kLowest), -1, true), 0);
}

Two in_products(const Tensor& query, const Tensor& key_in, const Tensor& value_in, const Tensor& mask, double dropout,
                bool causal, const Tensor& dropout_mask, std::optional<double> scale, bool grouped) {
  check(query, key_in, value_in, mask, dropout, causal);
  if (grouped) check_groups(query, key_in, value_in);
  Tensor key = grouped ? repeat_heads(key_in, query.size(-3)) : key_in,
         value = grouped ? repeat_heads(value_in, query.size(-3)) : value_in;
  Tensor weights = weights_of(scores_of(query, key, mask, causal, attention_scale(query, scale)), mask);
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
    if (key.dim() != rank || value.dim() != rank || is_complex(query.dtype()) || !is_floating(query.dtype()) ||
        is_barebones(query.dtype()))
      return false;
    if (dropout > 0 && (dropout == 1 || (!query.device().is_cpu() && !query.device().is_meta()))) return false;
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
  // Any number of dimensions before the heads is one batch.
  auto four = [&](Tensor t) {
    while (t.dim() < 4) t = unsqueeze(t, 0);
    if (t.dim() == 4) return t;
    const IntSpan sizes = t.sizes(), last = sizes.last(3);
    return reshape(t, Dims{checked_numel(sizes.first(sizes.size() - 3)), last[0], last[1], last[2]});
  };
  Tensor m = mask;
  if (rank > 4 && mask.defined() && mask.dim() > 3) {
    Dims whole(query.sizes().first(static_cast<size_t>(rank) - 3));
    for (int64_t n : mask.sizes().last(3)) whole.push_back(n);
    m = four(expand(mask, whole));
  }
  const Tensor q = four(query), k = four(key), v = four(value);
  Tensor out;
  if (dropout > 0) {
    Tensor kept = call<"facula::attention_kept", Tensor>(q, k.size(2), dropout);
    out = std::get<0>(call<"facula::attention_dropout", Two>(q, k, v, kept, dropout, causal, m, scale));
  } else {
    out = std::get<0>(call<"aten::_scaled_dot_product_flash_attention_for_cpu", Two>(q, k, v, 0.0, causal, m, scale));
  }
  for (int64_t d = rank; d < 4; ++d) out = squeeze(out, 0);
  if (rank <= 4) return out;
  Dims shape(query.sizes());
  shape.back() = value.size(-1);
  return reshape(out, shape);
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

// A gradient of heads that were repeated, for each of the heads that there are.
Tensor sum_heads(const Tensor& grad, int64_t shared) {
  const int64_t group = grad.size(1) / shared;
  if (group == 1) return grad;
  return sum(reshape(grad, Dims{grad.size(0), shared, group, grad.size(2), grad.size(3)}), Dims{2});
}

// On devices without a kernel: all keys at once, but few queries.
template <class Part>
void by_queries(const Attention& a, const Part& part) {
  constexpr int64_t most = int64_t{1} << 22;  // scores at a time
  const int64_t each = std::max<int64_t>(a.batch * a.heads * a.keys, 1), step = std::max<int64_t>(most / each, 1);
  for (int64_t from = 0; from < a.queries; from += step) part(from, std::min(step, a.queries - from));
}
Two blocks_decomposition(const Tensor& query, const Tensor& key, const Tensor& value, double dropout, bool causal,
                         const Tensor& mask, std::optional<double> scale) {
  const Attention a = plan_attention(kName, query, key, value, mask, dropout, causal, scale);
  const DType type = sums_type(query);
  const Tensor q = to_dtype(query, type), k = repeat_heads(to_dtype(key, type), a.heads),
               v = repeat_heads(to_dtype(value, type), a.heads);
  Tensor out = like_query(query, a.out, query.dtype()),
         sums = empty_tensor(Dims{a.batch, a.heads, a.queries}, type, query.device());
  if (a.keys == 0) return {zero_(out), zero_(sums)};
  by_queries(a, [&](int64_t from, int64_t n) {
    Tensor part = a.mask.defined() ? narrow(a.mask, 2, from, n) : Tensor();
    Tensor scores = scores_of(narrow(q, 2, from, n), k, part, causal, a.scale, from);
    Tensor top = call<"aten::amax", Tensor>(scores, Dims{-1}, true);
    top = masked_fill(top, eq(top, kLowest), 0);
    Tensor e = exp(sub(scores, top)), total = sum(e, Dims{-1}, true), none = eq(total, 0);
    total = masked_fill(total, none, 1);
    copy_(narrow(out, 2, from, n), div(matmul(e, v), total));
    copy_(narrow(sums, 2, from, n), squeeze(masked_fill(add(top, log(total)), none, 0), -1));
  });
  return {out, sums};
}
Three blocks_backward_decomposition(const Tensor& grad, const Tensor& query, const Tensor& key, const Tensor& value,
                                    const Tensor& output, const Tensor& sums, double dropout, bool causal,
                                    const Tensor& mask, std::optional<double> scale) {
  const Attention a = plan_attention(kName, query, key, value, mask, dropout, causal, scale);
  check_attention_backward(kName, a, grad, query, output, sums);
  const DType type = sums_type(query);
  const Tensor q = to_dtype(query, type), k = repeat_heads(to_dtype(key, type), a.heads),
               v = repeat_heads(to_dtype(value, type), a.heads);
  Tensor dq = like_query(query, a.size, query.dtype()), dk = zeros_like(k), dv = zeros_like(v);
  by_queries(a, [&](int64_t from, int64_t n) {
    auto part = [&](const Tensor& t) { return t.defined() ? narrow(t, 2, from, n) : t; };
    const Tensor here = part(q), go = to_dtype(part(grad), type);
    Tensor weights = exp(sub(scores_of(here, k, part(a.mask), causal, a.scale, from), unsqueeze(part(sums), -1)));
    add_(dv, matmul(transpose(weights, -2, -1), go));
    Tensor delta = sum(mul(go, to_dtype(part(output), type)), Dims{-1}, true);
    Tensor flow = mul(mul(weights, sub(matmul(go, transpose(v, -2, -1)), delta)), a.scale);
    copy_(part(dq), matmul(flow, k));
    add_(dk, matmul(transpose(flow, -2, -1), here));
  });
  return {dq, to_dtype(sum_heads(dk, a.shared), query.dtype()), to_dtype(sum_heads(dv, a.shared), query.dtype())};
}

// Whether each score was kept, from a bit for each.
Tensor unpacked(const Tensor& kept, int64_t keys) {
  Tensor bit = call<"aten::arange", Tensor>(Scalar(8), std::optional<DType>(DType::UInt8), std::optional<Layout>(),
                                            std::optional<Device>(kept.device()), std::optional<bool>());
  Tensor bits = call<"aten::bitwise_right_shift.Tensor", Tensor>(unsqueeze(kept, -1), bit);
  bits = ne(call<"aten::bitwise_and.Scalar", Tensor>(bits, Scalar(1)), 0);
  return narrow(reshape(bits, Dims{kept.size(0), kept.size(1), kept.size(2), 8 * kept.size(3)}), -1, 0, keys);
}
// Gradients in operators that have derivatives, with all scores: for derivatives of higher order, and of a mask that
// learns, whose own gradient is as large.
void grads_in_products(Grad& g, const Tensor& mask, int mask_at, bool causal, double scale, const Tensor& kept,
                       double dropout) {
  const Tensor &go = g.out(0), query = g.in(0), key = g.in(1), value = g.in(2);
  const Tensor k = repeat_heads(key, query.size(1)), v = repeat_heads(value, query.size(1));
  const Tensor weights = weights_of(scores_of(query, k, mask, causal, scale), mask);
  auto dropped = [&](const Tensor& t) {
    return kept.defined() ? mul(mul(t, unpacked(kept, key.size(2))), 1 / (1 - dropout)) : t;
  };
  if (g.needs(2)) g.set(2, sum_heads(matmul(transpose(dropped(weights), -2, -1), go), key.size(1)));
  const Tensor along = dropped(matmul(go, transpose(v, -2, -1)));
  const Tensor flow = mul(weights, sub(along, sum(mul(along, weights), Dims{-1}, true)));
  if (g.needs(0)) g.set(0, mul(matmul(flow, k), scale));
  if (g.needs(1)) g.set(1, mul(sum_heads(matmul(transpose(flow, -2, -1), query), key.size(1)), scale));
  if (g.needs(mask_at)) g.set(mask_at, flow);
}
double scale_of(Grad& g, int at) {
  return g.arg(at).is_none() ? attention_scale(g.in(0), std::nullopt) : g.arg(at).real();
}
void set_three(Grad& g, const Three& grads) {
  if (g.needs(0)) g.set(0, std::get<0>(grads));
  if (g.needs(1)) g.set(1, std::get<1>(grads));
  if (g.needs(2)) g.set(2, std::get<2>(grads));
}
void blocks_grad(Grad& g) {  // (query, key, value, dropout_p, is_causal, attn_mask, scale)
  if (!g.out(0).defined()) return;
  const double scale = scale_of(g, 6);
  const bool causal = g.arg(4).boolean();
  if (is_differentiated() || g.needs(5)) return grads_in_products(g, g.in(5), 5, causal, scale, Tensor(), 0);
  set_three(g, call<"aten::_scaled_dot_product_flash_attention_for_cpu_backward", Three>(
                   g.out(0), g.in(0), g.in(1), g.in(2), g.result(0), g.result(1), 0.0, causal, g.in(5),
                   std::optional(scale)));
}

// --- the same with dropout: what is kept is drawn before, a bit for each score
Tensor kept_meta(const Tensor& query, int64_t keys, double dropout) {
  check_kept(query, keys, dropout);
  return empty_tensor(kept_sizes(query, keys), DType::UInt8, query.device());
}
Two dropout_meta(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor&, double, bool causal,
                 const Tensor& mask, std::optional<double> scale) {
  return blocks_meta(query, key, value, 0, causal, mask, scale);
}
Three dropout_backward_meta(const Tensor& grad, const Tensor& query, const Tensor& key, const Tensor& value,
                            const Tensor& out, const Tensor& sums, const Tensor&, double, bool causal,
                            const Tensor& mask, std::optional<double> scale) {
  return blocks_backward_meta(grad, query, key, value, out, sums, 0, causal, mask, scale);
}
void dropout_grad(Grad& g) {  // (query, key, value, kept, dropout_p, is_causal, attn_mask, scale)
  if (!g.out(0).defined()) return;
  const double scale = scale_of(g, 7);
  const bool causal = g.arg(5).boolean();
  const double dropout = g.arg(4).real();
  if (is_differentiated() || g.needs(6)) return grads_in_products(g, g.in(6), 6, causal, scale, g.in(3), dropout);
  set_three(g, call<"facula::attention_dropout_backward", Three>(g.out(0), g.in(0), g.in(1), g.in(2), g.result(0),
                                                                 g.result(1), g.in(3), dropout, causal, g.in(6),
                                                                 std::optional(scale)));
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
     .decomposition = kernel<&blocks_decomposition>(),
     .saves = "query key value is_causal attn_mask scale result result1",
     .grad = blocks_grad,
     .differentiable_results = 1,
     .hidden = true,
     .flops = blocks_flops<0, 1, 1>},
    {.schema = "_scaled_dot_product_flash_attention_for_cpu_backward(Tensor grad_out, Tensor query, Tensor key, Tensor "
               "value, Tensor out, Tensor logsumexp, float dropout_p, bool is_causal, *, Tensor? attn_mask=None, "
               "float? scale=None) -> (Tensor grad_query, Tensor grad_key, Tensor grad_value)",
     .meta = kernel<&blocks_backward_meta>(),
     .decomposition = kernel<&blocks_backward_decomposition>(),
     .hidden = true,
     .flops = blocks_flops<1, 3, 2>},
    {.schema = "facula::attention_kept(Tensor query, int keys, float dropout_p) -> Tensor",
     .meta = kernel<&kept_meta>(),
     .differentiable = false,
     .random = true,
     .hidden = true},
    {.schema = "facula::attention_dropout(Tensor query, Tensor key, Tensor value, Tensor kept, float dropout_p, bool "
               "is_causal, Tensor? attn_mask, float? scale) -> (Tensor output, Tensor logsumexp)",
     .meta = kernel<&dropout_meta>(),
     .saves = "query key value kept dropout_p is_causal attn_mask scale result result1",
     .grad = dropout_grad,
     .differentiable_results = 1,
     .hidden = true,
     .flops = blocks_flops<0, 1, 1>},
    {.schema = "facula::attention_dropout_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor "
               "out, Tensor logsumexp, Tensor kept, float dropout_p, bool is_causal, Tensor? attn_mask, float? scale) "
               "-> (Tensor grad_query, Tensor grad_key, Tensor grad_value)",
     .meta = kernel<&dropout_backward_meta>(),
     .hidden = true,
     .flops = blocks_flops<1, 3, 2>},
};

}  // namespace

void define_attention() { define_all(defs); }

}  // namespace fc
