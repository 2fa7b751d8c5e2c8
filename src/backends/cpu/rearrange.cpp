// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "backends/cpu/register.h"
#include "core/threads.h"
#include "define/calls.h"
#include "dispatch/call.h"

namespace fc::cpu {
namespace {

constexpr int64_t kGrain = 32768;

// --- joins

// Contiguous pieces into a contiguous result: rows of bytes, cut evenly among threads. Anything else goes the general
// way, through copies.
void cat(void* general, const Operator& op, const Arg* args, Value* results) {
  TensorSpan tensors = args[0].tensors();
  auto go_general = [&] {
    const Kernel& k = static_cast<const Operator*>(general)->all_devices();
    k.fn(k.context, op, args, results);
  };
  if (tensors.empty() || tensors[0].dim() == 0) return go_general();
  const Tensor& first = tensors[0];
  IntSpan shape = first.sizes();
  int64_t dim = args[1].integer(), ndim = first.dim();
  if (dim < -ndim || dim >= ndim) return go_general();
  size_t d = static_cast<size_t>(dim < 0 ? dim + ndim : dim);
  Dims sizes(shape);
  int64_t joined = 0;
  for (const Tensor& t : tensors) {
    if (!t.is_contiguous() || t.dim() != ndim || t.dtype() != first.dtype() || !t.device().is_cpu() ||
        t.impl().is_channels_last())
      return go_general();
    for (size_t k = 0; k < shape.size(); ++k)
      if (k != d && t.sizes()[k] != shape[k]) return go_general();
    if (__builtin_add_overflow(joined, t.sizes()[d], &joined)) return go_general();
  }
  sizes[d] = joined;
  Tensor out = empty_tensor(sizes, first.dtype(), first.device());
  int64_t inner = static_cast<int64_t>(item_size(first.dtype())), outer = 1;
  for (size_t k = 0; k < shape.size(); ++k) (k < d ? outer : inner) *= k == d ? 1 : shape[k];
  const int64_t row = joined * inner;  // bytes
  if (out.numel() > 0) {
    std::vector<int64_t> starts;  // of each piece in a row
    int64_t at = 0;
    for (const Tensor& t : tensors) {
      starts.push_back(at);
      at += t.sizes()[d] * inner;
    }
    starts.push_back(at);
    char* to = out.data_as<char>();
    parallel_for(0, outer * row, 4 * kGrain, [&](int64_t from, int64_t end) {
      while (from < end) {
        int64_t r = from / row, column = from % row;
        size_t piece = static_cast<size_t>(std::upper_bound(starts.begin(), starts.end(), column) - starts.begin()) - 1;
        int64_t width = starts[piece + 1] - starts[piece], inside = column - starts[piece],
                n = std::min(width - inside, end - from);
        std::memcpy(to + from, tensors[piece].data_as<char>() + r * width + inside, static_cast<size_t>(n));
        from += n;
      }
    });
  }
  results[0] = Value(std::move(out));
}

// --- triangles

template <bool lower>
Tensor triangle(const Tensor& self, int64_t diagonal) {
  FC_CHECK(self.dim() >= 2, lower ? "tril" : "triu", ": input tensor must have at least 2 dimensions");
  Tensor in = contiguous(self), out = empty_tensor(self.sizes(), self.dtype(), self.device());
  if (out.numel() == 0) return out;
  int64_t rows = in.size(-2), columns = in.size(-1);
  size_t item = item_size(in.dtype());
  const char* from = in.data_as<char>();
  char* to = out.data_as<char>();
  diagonal = std::clamp(diagonal, -rows, columns);
  parallel_for(0, in.numel() / columns, std::max<int64_t>(kGrain / columns, 1), [&](int64_t first, int64_t last) {
    for (int64_t r = first; r < last; ++r) {
      // Columns before `cut` are kept by tril and cleared by triu.
      size_t width = static_cast<size_t>(columns) * item, offset = static_cast<size_t>(r) * width;
      size_t cut = static_cast<size_t>(std::clamp<int64_t>(r % rows + diagonal + (lower ? 1 : 0), 0, columns)) * item;
      if (lower) {
        std::memcpy(to + offset, from + offset, cut);
        std::memset(to + offset + cut, 0, width - cut);
      } else {
        std::memset(to + offset, 0, cut);
        std::memcpy(to + offset + cut, from + offset + cut, width - cut);
      }
    }
  });
  return out;
}

}  // namespace

void register_rearrange() {
  Operator* join = find_operator("aten::cat");
  join->set_kernel(Device::CPU, {cat, join});
  set_cpu_kernel("aten::tril", kernel<&triangle<true>>());
  set_cpu_kernel("aten::triu", kernel<&triangle<false>>());
}

}  // namespace fc::cpu
