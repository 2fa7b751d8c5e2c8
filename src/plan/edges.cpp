// SPDX-License-Identifier: Apache-2.0
#include "plan/edges.h"

#include <algorithm>

#include "core/error.h"

namespace fc {

PadMode checked_mode(int64_t mode) {
  FC_CHECK(mode >= kReflect && mode <= kCircular, "pad: no mode ", mode);
  return static_cast<PadMode>(mode);
}

int64_t EdgeLine::source(PadMode mode, int64_t i) const {
  const int64_t at = i - before;
  if (mode == kCircular) return cut_before + ((at % size) + size) % size;
  if (mode == kReplicate) return std::clamp<int64_t>(at, 0, size - 1);
  return at < 0 ? -at : at < size ? at : 2 * (size - 1) - at;
}

std::vector<EdgeLine> plan_edges(const char* op, IntSpan sizes, IntSpan pad, PadMode mode) {
  std::vector<EdgeLine> lines;
  FC_CHECK(pad.size() % 2 == 0, op, ": Length of pad must be even but instead it equals ", pad.size());
  const size_t n = sizes.size(), padded = pad.size() / 2;
  FC_CHECK(n == padded + 1 || n == padded + 2, op, ": Expected ", padded + 1, "D or ", padded + 2,
           "D input for a pad of length ", pad.size(), ", but got input of size: ", sizes);
  for (size_t i = 0; i < padded; ++i) {
    const size_t dim = n - 1 - i;
    const int64_t size = sizes[dim], before = pad[2 * i], after = pad[2 * i + 1];
    if (before == 0 && after == 0) continue;
    const int64_t most = mode == kReflect ? size - 1 : mode == kCircular ? size : INT64_MAX / 4;
    FC_CHECK(size > 0, op, ": Expected a non-empty dimension ", dim, " of the input to pad, but got input of size ",
             sizes);
    if (mode == kCircular)
      FC_CHECK(before <= most && after <= most, op, ": Padding value causes wrapping around more than once.");
    FC_CHECK(before <= most && after <= most, op,
             ": Padding size should be less than the corresponding input dimension, but got: padding (", before, ", ",
             after, ") at dimension ", dim, " of input ", sizes);
    FC_CHECK(before >= -size && after >= -size && static_cast<__int128>(size) + before + after >= 0, op,
             ": negative padding (", before, ", ", after, ") removes more than dimension ", dim, " of input ", sizes,
             " has");
    EdgeLine line{dim,
                  size,
                  std::max<int64_t>(before, 0),
                  std::max<int64_t>(after, 0),
                  std::max<int64_t>(-before, 0),
                  std::max<int64_t>(-after, 0)};
    if (mode == kCircular) {
      line.size -= line.cut_before + line.cut_after;
      FC_CHECK(line.size > 0, op, ": negative padding (", before, ", ", after, ") leaves nothing of dimension ", dim,
               " of input ", sizes);
    }
    lines.push_back(line);
  }
  return lines;
}

void check_edges_backward(const Tensor& grad, IntSpan sizes, IntSpan pad, PadMode mode) {
  const char* op = pad_names[mode];
  Dims shape(sizes);
  for (size_t i = 0; i < pad.size() / 2 && i < shape.size(); ++i)
    for (size_t side = 0; side < 2; ++side)
      FC_CHECK(!__builtin_add_overflow(shape[shape.size() - 1 - i], pad[2 * i + side], &shape[shape.size() - 1 - i]),
               op, "_backward: sizes overflow");
  FC_CHECK(Dims::same(grad.sizes(), shape), op, "_backward: expected a gradient of size ", IntSpan(shape), ", got ",
           grad.sizes());
}

void check_padded(const Tensor& self, IntSpan pad, PadMode mode) {
  if (mode == kCircular) return;
  const auto spatial = static_cast<int64_t>(pad.size() / 2);
  const bool batch = self.dim() == spatial + 2;
  const IntSpan rest = self.sizes().subspan(batch);
  FC_CHECK((batch || self.dim() == spatial + 1) && std::ranges::find(rest, 0) == rest.end(), "Expected ", spatial + 1,
           "D or ", spatial + 2,
           "D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: ",
           self.sizes());
}

}  // namespace fc
