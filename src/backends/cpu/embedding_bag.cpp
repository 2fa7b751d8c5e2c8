// SPDX-License-Identifier: Apache-2.0
// embedding_bag: rows of the table are added up where they are read; half types in float32.
#include "plan/embedding_bag.h"

#include <algorithm>
#include <vector>

#include "backends/cpu/register.h"
#include "core/half.h"
#include "core/threads.h"

namespace fc::cpu {
namespace {

constexpr int64_t kWork = 1 << 14;  // elements worth a thread
constexpr int64_t kAhead = 24;      // rows: a table is large, and each row waits for memory

// The beginning of a row; the processor finds the rest of a long one by itself.
void fetch(const void* row, size_t bytes) {
  const auto* p = static_cast<const char*>(row);
  for (size_t at = 0; at < std::min<size_t>(bytes, 1024); at += 64) __builtin_prefetch(p + at);
}

template <class F>
void with_type(DType t, const F& f) {
  auto same = [](auto v) { return v; };
  switch (t) {
    case DType::Float32: return f(float(), float(), same, same);
    case DType::Float64: return f(double(), double(), same, same);
    case DType::Float16: return f(uint16_t(), float(), half_to_float, float_to_half);
    case DType::BFloat16: return f(uint16_t(), float(), bfloat_to_float, float_to_bfloat);
    default: raise<NotImplementedError>("\"embedding_bag_cpu\" not implemented for '", info(t).legacy, "'");
  }
}

std::tuple<Tensor, Tensor, Tensor, Tensor> embedding_bag(const Tensor& weight, const Tensor& indices,
                                                         const Tensor& offsets, bool, int64_t mode, bool,
                                                         const Tensor& sample_weights, bool include_last,
                                                         int64_t padding) {
  const int64_t bags = check_bags(weight, indices, offsets, mode, sample_weights, include_last);
  const int64_t size = weight.size(1), count = indices.numel(), table_rows = weight.size(0);
  Tensor table = contiguous(weight), at = contiguous(to_dtype(indices, DType::Int64)),
         starts = contiguous(to_dtype(offsets, DType::Int64)),
         factors = sample_weights.defined() ? contiguous(sample_weights) : Tensor();
  const auto *index = at.data_as<int64_t>(), *start = starts.data_as<int64_t>();
  Tensor bag_of = empty_tensor(Dims{count}, DType::Int64, Device{}), sizes = zeros(Dims{bags}, DType::Int64, Device{}),
         most = mode == kBagMax ? full(Dims{bags, size}, -1, DType::Int64, Device{}) : Tensor();
  auto *owner = bag_of.data_as<int64_t>(), *kept = sizes.data_as<int64_t>();
  FC_CHECK(offsets.numel() == 0 || start[0] == 0,
           "embedding_bag: offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from "
           "position 0. However, got ",
           start[0]);
  for (int64_t b = 0; b < offsets.numel(); ++b)
    FC_CHECK(start[b] <= count && (b == 0 || start[b] >= start[b - 1]),
             "embedding_bag: offsets must not fall, and offsets[-1] can not be greater than input's length(", count,
             ") but got ", start[b], " at ", b);
  auto last = [&](int64_t b) { return b + 1 < offsets.numel() ? start[b + 1] : count; };
  FC_CHECK(bags > 0 || count == 0, "embedding_bag: ", count, " indices, but no bag for them");
  for (int64_t b = 0; b < bags; ++b)
    for (int64_t i = start[b]; i < last(b); ++i) {
      FC_CHECK(index[i] >= 0 && index[i] < table_rows,
               "embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be ", index[i]);
      owner[i] = b;
      kept[b] += index[i] != padding;
    }
  // With a last offset, what lies beyond it belongs to no bag.
  FC_CHECK(!include_last || start[bags] == count, "embedding_bag: the last offset must be the number of indices, ",
           count, ", but is ", include_last ? start[bags] : 0);
  Tensor out = empty_tensor(Dims{bags, size}, weight.dtype(), Device{});
  with_type(weight.dtype(), [&]<class T, class N>(T, N, auto read, auto write) {
    const T *rows = table.data_as<T>(), *by = factors.defined() ? factors.data_as<T>() : nullptr;
    T* to = out.data_as<T>();
    auto* chosen = most.defined() ? most.data_as<int64_t>() : nullptr;
    const int64_t work = bags > 0 ? std::max<int64_t>(1, count / bags * size) : 1;
    parallel_for(0, bags, std::max<int64_t>(1, kWork / work), [&](int64_t from, int64_t end) {
      std::vector<N> of_bag(static_cast<size_t>(size));
      N* const sum = of_bag.data();
      for (int64_t b = from; b < end; ++b) {
        std::fill_n(sum, size, N(0));
        bool first = true;
        for (int64_t i = start[b], stop = last(b); i < stop; ++i) {
          if (i + kAhead < count) fetch(rows + index[i + kAhead] * size, static_cast<size_t>(size) * sizeof(T));
          if (index[i] == padding) continue;
          const T* row = rows + index[i] * size;
          if (chosen) {
            for (int64_t d = 0; d < size; ++d) {
              const N v = read(row[d]);
              if (first || v > sum[d]) {
                sum[d] = v;
                chosen[b * size + d] = index[i];
              }
            }
            first = false;
          } else {
            const N factor = by ? read(by[i]) : N(1);
            for (int64_t d = 0; d < size; ++d) sum[d] += factor * read(row[d]);
          }
        }
        const N share = mode == kBagMean && kept[b] > 0 ? N(1) / static_cast<N>(kept[b]) : N(1);
        for (int64_t d = 0; d < size; ++d) to[b * size + d] = write(sum[d] * share);
      }
    });
  });
  auto like = [&](const Tensor& t) { return to_dtype(t, indices.dtype()); };
  return {out, like(bag_of), like(sizes), most.defined() ? like(most) : clone(like(sizes))};
}

}  // namespace

void register_embedding_bag() { set_cpu_kernel("aten::_embedding_bag", kernel<&embedding_bag>()); }

}  // namespace fc::cpu
