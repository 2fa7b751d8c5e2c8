// SPDX-License-Identifier: Apache-2.0
// Shapes of attention, shared by operators and kernels.
#pragma once
#include <cmath>

#include "define/calls.h"

namespace fc {

// query [batch, heads, queries, size], key [batch, shared, keys, size], value [batch, shared, keys, out]; each head of
// key and value serves heads / shared heads of query. mask: a view expanded to [batch, heads, queries, keys].
struct Attention {
  int64_t batch, heads, shared, queries, keys, size, out;
  double scale;
  Tensor mask;
};
Attention plan_attention(const char* op, const Tensor& query, const Tensor& key, const Tensor& value,
                         const Tensor& mask, double dropout, bool causal, std::optional<double> scale);

inline double attention_scale(const Tensor& query, std::optional<double> scale) {
  const auto size = static_cast<double>(query.size(-1));
  return scale.value_or(size > 0 ? 1 / std::sqrt(size) : 1);
}
// Throws unless the tensors that a backward takes besides have the shapes of the forward's.
void check_attention_backward(const char* op, const Attention& a, const Tensor& grad, const Tensor& query,
                              const Tensor& output, const Tensor& logsumexp);
// With dropout a bit says whether a score was kept: [batch, heads, queries, bytes], rows of whole bytes.
void check_kept(const Tensor& query, int64_t keys, double dropout);
Dims kept_sizes(const Tensor& query, int64_t keys);
// Memory for results of this shape in query's order of dimensions: heads outside or inside of positions.
Tensor like_query(const Tensor& query, int64_t size, DType type);

}  // namespace fc
