// SPDX-License-Identifier: Apache-2.0
// Attention in blocks of queries by blocks of keys: scores exist one block at a time, softmax is kept up to date as
// blocks of keys pass (its largest score and its sum per query), and the backward computes scores again from what the
// forward kept, one number per query. Products are matmul's; half types are computed in float32.
#include "plan/attention.h"

#include <limits>
#include <vector>

#include "backends/cpu/matmul.h"
#include "backends/cpu/register.h"
#include "backends/cpu/rows.h"
#include "core/half.h"
#include "core/threads.h"

namespace fc::cpu {
namespace {

constexpr int64_t kQueries = 64, kKeys = 512, kBackwardKeys = 256;  // of a block: scores stay in the second cache
constexpr int64_t kParts = 16;  // pieces of work that a backward of few heads is cut into
constexpr const char* kName = "_scaled_dot_product_flash_attention_for_cpu";

// A matrix of one head, last dimension contiguous.
struct Matrix {
  char* data;
  int64_t row;  // bytes
};
struct Heads {
  Tensor t;
  int64_t item;
  Heads(const Tensor& from, DType type) : t(to_dtype(from, type)), item(static_cast<int64_t>(item_size(type))) {
    if (t.numel() != 0 && t.strides()[3] != 1 && t.size(3) != 1) t = contiguous(t);
  }
  Matrix at(int64_t batch, int64_t head, int64_t position) const {
    const IntSpan s = t.strides();
    return {static_cast<char*>(t.data()) + (batch * s[0] + head * s[1] + position * s[2]) * item, s[2] * item};
  }
};

// c = alpha * a @ b + beta * c on this thread; `flip` reads an operand transposed.
template <class T>
void product(int64_t m, int64_t n, int64_t k, Matrix a, bool flip_a, Matrix b, bool flip_b, Matrix c, double alpha,
             double beta) {
  constexpr auto item = static_cast<int64_t>(sizeof(T));
  fc_matmul p{};
  p.size = sizeof p;
  p.dtype = static_cast<int32_t>(std::is_same_v<T, double> ? DType::Float64 : DType::Float32);
  p.batch = 1;
  p.m = m, p.n = n, p.k = k;
  p.a = a.data, p.a_row = flip_a ? item : a.row, p.a_col = flip_a ? a.row : item;
  p.b = b.data, p.b_row = flip_b ? item : b.row, p.b_col = flip_b ? b.row : item;
  p.c = c.data, p.c_row = c.row, p.c_col = item;
  p.alpha = alpha, p.beta = beta;
  matmul(nullptr, Device{}, p);
}

// Adds a row of the mask to a row of scores.
template <class T>
void add_mask(T* scores, const Tensor& mask, int64_t at, int64_t step, int64_t n) {
  constexpr T lowest = -std::numeric_limits<T>::infinity();
  auto each = [&]<class M>(const M* m, auto value) {
    for (int64_t i = 0; i < n; ++i) scores[i] += value(m[at + i * step]);
  };
  switch (mask.dtype()) {
    case DType::Bool: {
      const bool* m = mask.data_as<bool>();
      for (int64_t i = 0; i < n; ++i) scores[i] = m[at + i * step] ? scores[i] : lowest;
      return;
    }
    case DType::Float32: return each(mask.data_as<float>(), [](float v) { return static_cast<T>(v); });
    case DType::Float64: return each(mask.data_as<double>(), [](double v) { return static_cast<T>(v); });
    case DType::Float16: return each(mask.data_as<uint16_t>(), [](uint16_t v) { return T(half_to_float(v)); });
    default: return each(mask.data_as<uint16_t>(), [](uint16_t v) { return T(bfloat_to_float(v)); });
  }
}

// Of dropout: which scores of a row were kept, and what they are multiplied by.
struct Kept {
  Tensor bits;  // undefined: all
  double by = 1;
  const uint8_t* row(const Attention& a, int64_t batch, int64_t head, int64_t query, int64_t key) const {
    return bits.data_as<uint8_t>() + ((batch * a.heads + head) * a.queries + query) * bits.size(3) + key / 8;
  }
};
template <class T>
T kept_factor(const uint8_t* bits, int64_t i, T by) {
  return bits[i / 8] >> (i % 8) & 1 ? by : T(0);
}

template <class T>
struct Block {
  const Attention& a;
  bool causal;
  int64_t batch, head, query, queries, key, keys;  // which part

  // scale * q @ k.T, masked.
  void scores(const Heads& q, const Heads& k, Matrix to) const {
    const int64_t group = a.heads / a.shared;
    product<T>(queries, keys, a.size, q.at(batch, head, query), false, k.at(batch, head / group, key), true, to,
               a.scale, 0);
    for (int64_t r = 0; r < queries; ++r) {
      T* row = reinterpret_cast<T*>(to.data + r * to.row);
      if (a.mask.defined()) {
        const IntSpan s = a.mask.strides();
        add_mask(row, a.mask, batch * s[0] + head * s[1] + (query + r) * s[2] + key * s[3], s[3], keys);
      }
      if (causal)
        for (int64_t c = std::max<int64_t>(query + r + 1 - key, 0); c < keys; ++c)
          row[c] = -std::numeric_limits<T>::infinity();
    }
  }
};
// Keys that a block of queries sees.
int64_t seen(const Attention& a, bool causal, int64_t query, int64_t queries) {
  return causal ? std::min(a.keys, query + queries) : a.keys;
}

template <class T>
void forward(const Attention& a, bool causal, const Heads& q, const Heads& k, const Heads& v, const Heads& out,
             const Tensor& sums, const Kept& kept_scores) {
  constexpr auto item = static_cast<int64_t>(sizeof(T));
  const int64_t blocks = (a.queries + kQueries - 1) / kQueries, width = std::min(kKeys, a.keys);
  const RowKernels& rows = row_kernels(std::is_same_v<T, double> ? DType::Float64 : DType::Float32);
  T* kept = sums.data_as<T>();
  parallel_for(0, a.batch * a.heads * blocks, 1, [&](int64_t from, int64_t to) {
    std::vector<T> memory(static_cast<size_t>(kQueries * (width + a.out)));
    const Matrix scores{reinterpret_cast<char*>(memory.data()), width * item},
        sum{scores.data + kQueries * scores.row, a.out * item};
    double top[kQueries], total[kQueries];
    for (int64_t i = from; i < to; ++i) {
      const int64_t batch = i / blocks / a.heads, head = i / blocks % a.heads, query = i % blocks * kQueries;
      const int64_t queries = std::min(kQueries, a.queries - query), end = seen(a, causal, query, queries);
      std::fill(top, top + kQueries, -std::numeric_limits<double>::infinity());
      std::fill(total, total + kQueries, 0.0);
      for (int64_t key = 0; key < end; key += kKeys) {
        const int64_t keys = std::min(kKeys, end - key);
        Block<T>{a, causal, batch, head, query, queries, key, keys}.scores(q, k, scores);
        for (int64_t r = 0; r < queries; ++r) {
          T *row = reinterpret_cast<T*>(scores.data + r * scores.row),
            *mixed = reinterpret_cast<T*>(sum.data + r * sum.row);
          const double most = std::max(top[r], rows.largest(row, keys));
          // Nothing allowed so far: exp of minus infinity is 0 against any finite number.
          const double shift = std::isinf(most) && most < 0 ? 0 : most;
          const double fade = std::exp(top[r] - shift), here = rows.exp_less(row, keys, shift);
          total[r] = total[r] * fade + here;
          top[r] = most;
          if (kept_scores.bits.defined()) {
            const uint8_t* bits = kept_scores.row(a, batch, head, query + r, key);
            for (int64_t c = 0; c < keys; ++c) row[c] *= kept_factor(bits, c, static_cast<T>(kept_scores.by));
          }
          if (key > 0 && fade != 1)
            for (int64_t c = 0; c < a.out; ++c) mixed[c] *= static_cast<T>(fade);
        }
        product<T>(queries, a.out, keys, scores, false, v.at(batch, head / (a.heads / a.shared), key), false, sum, 1,
                   key > 0);
      }
      const Matrix result = out.at(batch, head, query);
      for (int64_t r = 0; r < queries; ++r) {
        const T *mixed = reinterpret_cast<const T*>(sum.data + r * sum.row),
                by = static_cast<T>(total[r] == 0 ? 0 : 1 / total[r]);
        T* to_row = reinterpret_cast<T*>(result.data + r * result.row);
        for (int64_t c = 0; c < a.out; ++c) to_row[c] = total[r] == 0 ? T(0) : mixed[c] * by;
        // 0 for a query that sees nothing: its scores are minus infinity, its weights then 0.
        kept[(batch * a.heads + head) * a.queries + query + r] =
            static_cast<T>(total[r] == 0 ? 0 : top[r] + std::log(total[r]));
      }
    }
  });
}

template <class T>
void backward(const Attention& a, bool causal, const Heads& g, const Heads& q, const Heads& k, const Heads& v,
              const Heads& out, const Tensor& sums, const Heads& dq, const Heads& dk, const Heads& dv, int64_t parts,
              const Kept& kept_scores) {
  constexpr auto item = static_cast<int64_t>(sizeof(T));
  const int64_t group = a.heads / a.shared, width = std::min(kBackwardKeys, a.keys);
  const RowKernels& rows = row_kernels(std::is_same_v<T, double> ? DType::Float64 : DType::Float32);
  const T* kept = sums.data_as<T>();
  // A head of keys and values per thread, or, where there are few, every parts-th block of its keys: nothing is added
  // to by two.
  parallel_for(0, a.batch * a.shared * parts, 1, [&](int64_t from, int64_t to) {
    std::vector<T> memory(static_cast<size_t>(2 * kQueries * width));
    const Matrix weights{reinterpret_cast<char*>(memory.data()), width * item},
        flow{weights.data + kQueries * weights.row, width * item};
    T delta[kQueries];
    for (int64_t i = from; i < to; ++i) {
      const int64_t share = i % parts, batch = i / parts / a.shared, head = i / parts % a.shared;
      for (int64_t own = head * group; own < (head + 1) * group; ++own)
        for (int64_t query = 0; query < a.queries; query += kQueries) {
          const int64_t queries = std::min(kQueries, a.queries - query), end = seen(a, causal, query, queries);
          const Matrix go = g.at(batch, own, query), o = out.at(batch, own, query);
          for (int64_t r = 0; r < queries; ++r) {
            const T *x = reinterpret_cast<const T*>(go.data + r * go.row),
                    *y = reinterpret_cast<const T*>(o.data + r * o.row);
            T sum = 0;
            for (int64_t c = 0; c < a.out; ++c) sum += x[c] * y[c];
            delta[r] = sum;
          }
          for (int64_t key = share * kBackwardKeys; key < end; key += parts * kBackwardKeys) {
            const int64_t keys = std::min(kBackwardKeys, end - key);
            Block<T>{a, causal, batch, own, query, queries, key, keys}.scores(q, k, weights);
            for (int64_t r = 0; r < queries; ++r)
              rows.exp_less(weights.data + r * weights.row, keys,
                            static_cast<double>(kept[(batch * a.heads + own) * a.queries + query + r]));
            product<T>(queries, keys, a.out, go, false, v.at(batch, head, key), true, flow, 1, 0);
            for (int64_t r = 0; r < queries; ++r) {
              T *w = reinterpret_cast<T*>(weights.data + r * weights.row),
                *f = reinterpret_cast<T*>(flow.data + r * flow.row);
              if (!kept_scores.bits.defined()) {
                for (int64_t c = 0; c < keys; ++c) f[c] = w[c] * (f[c] - delta[r]);
                continue;
              }
              const uint8_t* bits = kept_scores.row(a, batch, own, query + r, key);
              for (int64_t c = 0; c < keys; ++c) {
                const T by = kept_factor(bits, c, static_cast<T>(kept_scores.by));
                f[c] = w[c] * (f[c] * by - delta[r]);
                w[c] *= by;
              }
            }
            product<T>(keys, a.out, queries, weights, true, go, false, dv.at(batch, head, key), 1, 1);
            product<T>(queries, a.size, keys, flow, false, k.at(batch, head, key), false,
                       dq.at(share * a.batch + batch, own, query), a.scale, 1);
            product<T>(keys, a.size, queries, flow, true, q.at(batch, own, query), false, dk.at(batch, head, key),
                       a.scale, 1);
          }
        }
    }
  });
}

DType wide(const Tensor& t) { return compute_type(t.dtype()); }

std::tuple<Tensor, Tensor> run_forward(const Attention& a, const Tensor& query, const Tensor& key, const Tensor& value,
                                       bool causal, const Kept& kept) {
  const DType type = wide(query);
  const Heads q(query, type), k(key, type), v(value, type), out(like_query(query, a.out, type), type);
  Tensor sums = empty_tensor(Dims{a.batch, a.heads, a.queries}, type, Device{});
  if (a.keys == 0) return {to_dtype(zero_(out.t), query.dtype()), zero_(sums)};
  if (type == DType::Float64) forward<double>(a, causal, q, k, v, out, sums, kept);
  else forward<float>(a, causal, q, k, v, out, sums, kept);
  return {to_dtype(out.t, query.dtype()), sums};
}
std::tuple<Tensor, Tensor> attention(const Tensor& query, const Tensor& key, const Tensor& value, double dropout,
                                     bool causal, const Tensor& mask, std::optional<double> scale) {
  return run_forward(plan_attention(kName, query, key, value, mask, dropout, causal, scale), query, key, value, causal,
                     {});
}

using Three = std::tuple<Tensor, Tensor, Tensor>;
Three run_backward(const Attention& a, const Tensor& grad, const Tensor& query, const Tensor& key, const Tensor& value,
                   const Tensor& output, const Tensor& logsumexp, bool causal, const Kept& kept) {
  const DType type = wide(query);
  check_attention_backward(kName, a, grad, query, output, logsumexp);
  const Heads g(grad, type), q(query, type), k(key, type), v(value, type), out(output, type);
  auto fresh = [&](const Tensor& like) { return Heads(zero_(like_query(like, like.size(-1), type)), type); };
  const Heads dk = fresh(key), dv = fresh(value);
  Heads dq = fresh(query);
  // As many parts as the shapes say, whatever the threads: each adds to a gradient of queries of its own.
  const int64_t blocks = (a.keys + kBackwardKeys - 1) / kBackwardKeys,
                parts = std::clamp<int64_t>(kParts / std::max<int64_t>(a.batch * a.heads, 1), 1,
                                            std::max<int64_t>(blocks, 1));
  const Tensor whole = dq.t;
  if (parts > 1) dq = Heads(zeros(Dims{parts * a.batch, a.heads, a.queries, a.size}, type, Device{}), type);
  const Tensor sums = contiguous(logsumexp);
  if (a.keys != 0 && a.queries != 0) {
    if (type == DType::Float64) backward<double>(a, causal, g, q, k, v, out, sums, dq, dk, dv, parts, kept);
    else backward<float>(a, causal, g, q, k, v, out, sums, dq, dk, dv, parts, kept);
  }
  if (parts > 1) copy_(whole, sum(view(dq.t, Dims{parts, a.batch, a.heads, a.queries, a.size}), Dims{0}));
  return {to_dtype(whole, query.dtype()), to_dtype(dk.t, query.dtype()), to_dtype(dv.t, query.dtype())};
}
Three attention_backward(const Tensor& grad, const Tensor& query, const Tensor& key, const Tensor& value,
                         const Tensor& output, const Tensor& logsumexp, double dropout, bool causal, const Tensor& mask,
                         std::optional<double> scale) {
  return run_backward(plan_attention(kName, query, key, value, mask, dropout, causal, scale), grad, query, key, value,
                      output, logsumexp, causal, {});
}

// --- with dropout
// The numbers that dropout of all scores would draw, some rows at a time.
Tensor draw_kept(const Tensor& query, int64_t keys, double dropout) {
  check_kept(query, keys, dropout);
  Tensor bits = zero_(empty_tensor(kept_sizes(query, keys), DType::UInt8, Device{}));
  const int64_t rows = query.size(0) * query.size(1) * query.size(2), width = bits.size(3),
                step = std::max<int64_t>(65536 / std::max<int64_t>(keys, 1), 1);
  uint8_t* to = bits.data_as<uint8_t>();
  for (int64_t from = 0; keys > 0 && from < rows; from += step) {
    const int64_t n = std::min(step, rows - from);
    Tensor noise = empty_tensor(Dims{n, keys}, query.dtype(), Device{});
    noise = ne(call<"aten::bernoulli_.float", Tensor>(noise, 1 - dropout, static_cast<Generator*>(nullptr)), 0);
    const bool* drawn = noise.data_as<bool>();
    for (int64_t r = 0; r < n; ++r)
      for (int64_t c = 0; c < keys; ++c)
        to[(from + r) * width + c / 8] =
            static_cast<uint8_t>(to[(from + r) * width + c / 8] | drawn[r * keys + c] << (c % 8));
  }
  return bits;
}
Kept checked_kept(const Tensor& query, const Tensor& key, const Tensor& kept, double dropout) {
  check_kept(query, key.size(2), dropout);
  FC_CHECK(kept.dtype() == DType::UInt8 && Dims::same(kept.sizes(), kept_sizes(query, key.size(2))),
           "attention_dropout: expected bits of size ", IntSpan(kept_sizes(query, key.size(2))), ", got ", kept.dtype(),
           " ", kept.sizes());
  return {contiguous(kept), 1 / (1 - dropout)};
}
std::tuple<Tensor, Tensor> attention_dropout(const Tensor& query, const Tensor& key, const Tensor& value,
                                             const Tensor& kept, double dropout, bool causal, const Tensor& mask,
                                             std::optional<double> scale) {
  const Attention a = plan_attention("attention_dropout", query, key, value, mask, 0, causal, scale);
  return run_forward(a, query, key, value, causal, checked_kept(query, key, kept, dropout));
}
Three attention_dropout_backward(const Tensor& grad, const Tensor& query, const Tensor& key, const Tensor& value,
                                 const Tensor& output, const Tensor& logsumexp, const Tensor& kept, double dropout,
                                 bool causal, const Tensor& mask, std::optional<double> scale) {
  const Attention a = plan_attention("attention_dropout_backward", query, key, value, mask, 0, causal, scale);
  return run_backward(a, grad, query, key, value, output, logsumexp, causal, checked_kept(query, key, kept, dropout));
}

}  // namespace

void register_attention() {
  set_cpu_kernel("aten::_scaled_dot_product_flash_attention_for_cpu", kernel<&attention>());
  set_cpu_kernel("aten::_scaled_dot_product_flash_attention_for_cpu_backward", kernel<&attention_backward>());
  set_cpu_kernel("facula::attention_kept", kernel<&draw_kept>());
  set_cpu_kernel("facula::attention_dropout", kernel<&attention_dropout>());
  set_cpu_kernel("facula::attention_dropout_backward", kernel<&attention_dropout_backward>());
}

}  // namespace fc::cpu
