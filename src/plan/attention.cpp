// SPDX-License-Identifier: Apache-2.0
#include "plan/attention.h"

namespace fc {

Attention plan_attention(const char* op, const Tensor& query, const Tensor& key, const Tensor& value,
                         const Tensor& mask, double dropout, bool causal, std::optional<double> scale) {
  FC_CHECK(query.dim() == 4 && key.dim() == 4 && value.dim() == 4, op,
           ": expected query, key and value of 4 dimensions, got ", query.sizes(), ", ", key.sizes(), " and ",
           value.sizes());
  FC_CHECK(query.dtype() == key.dtype() && query.dtype() == value.dtype() && is_floating(query.dtype()) &&
               !is_barebones(query.dtype()),
           op, ": expected query, key and value of one floating type, got ", query.dtype(), ", ", key.dtype(), " and ",
           value.dtype());
  FC_CHECK(dropout == 0, op, ": dropout > 0 is not supported here; scaled_dot_product_attention has it");
  FC_CHECK(!mask.defined() || !causal, op, ": Explicit attn_mask should not be set when is_causal=True");
  Attention a{query.size(0), query.size(1), key.size(1),   query.size(2),
              key.size(2),   query.size(3), value.size(3), attention_scale(query, scale),
              Tensor()};
  FC_CHECK(key.size(0) == a.batch && value.size(0) == a.batch && value.size(1) == a.shared && value.size(2) == a.keys &&
               key.size(3) == a.size && a.shared > 0 && a.heads % a.shared == 0,
           op, ": query ", query.sizes(), ", key ", key.sizes(), " and value ", value.sizes(), " do not fit together");
  if (mask.defined()) {
    FC_CHECK(mask.dtype() == DType::Bool || mask.dtype() == query.dtype() || mask.dtype() == DType::Float32, op,
             ": Expected attn_mask dtype to be bool, float or query's, but got ", mask.dtype());
    a.mask = expand(mask, Dims{a.batch, a.heads, a.queries, a.keys});
  }
  return a;
}

void check_attention_backward(const char* op, const Attention& a, const Tensor& grad, const Tensor& query,
                              const Tensor& output, const Tensor& logsumexp) {
  const Dims result{a.batch, a.heads, a.queries, a.out};
  FC_CHECK(Dims::same(grad.sizes(), result) && Dims::same(output.sizes(), result) &&
               logsumexp.dtype() == compute_type(query.dtype()) &&
               Dims::same(logsumexp.sizes(), Dims{a.batch, a.heads, a.queries}),
           op, "_backward: expected grad_out and out of size ", IntSpan(result),
           " and the logsumexp of the forward, got ", grad.sizes(), ", ", output.sizes(), " and ", logsumexp.sizes());
}

void check_kept(const Tensor& query, int64_t keys, double dropout) {
  FC_CHECK(query.dim() == 4 && keys >= 0, "attention_kept: expected a query of 4 dimensions and a number of keys, got ",
           query.sizes(), " and ", keys);
  FC_CHECK(dropout > 0 && dropout < 1, "attention_kept: expected dropout between 0 and 1, got ", dropout);
}
Dims kept_sizes(const Tensor& query, int64_t keys) {
  return {query.size(0), query.size(1), query.size(2), keys / 8 + (keys % 8 != 0)};
}

Tensor like_query(const Tensor& query, int64_t size, DType type) {
  const int64_t b = query.size(0), h = query.size(1), n = query.size(2);
  if (query.strides()[1] >= query.strides()[2]) return empty_tensor(Dims{b, h, n, size}, type, query.device());
  return empty_strided_tensor(Dims{b, h, n, size}, Dims{n * h * size, size, h * size, 1}, type, query.device());
}

}  // namespace fc
