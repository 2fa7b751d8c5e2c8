// SPDX-License-Identifier: Apache-2.0
// What kernels of a recurrent layer share on all devices: modes, the walk over a packed sequence, checks, and what is
// computed for all steps at once. `hidden` is the size of a gate, `out` of the state; they differ with a projection.
#pragma once
#include <vector>

#include "define/calls.h"
#include "plan/rnn_modes.h"

namespace fc {

using Layer = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>;  // output, hy, cy, gates, cells
using Gradients = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor>;

// Views of rows and columns; callers have checked the range.
Tensor rows(const Tensor& t, int64_t first, int64_t n);
Tensor columns(const Tensor& t, int64_t first, int64_t n);

// All rows of step 0, then of step 1 …; a step has no more rows than the one before.
struct Sequence {
  IntSpan sizes;
  bool reverse;
  std::vector<int64_t> offsets = {};  // filled by check_layer
  int64_t steps() const { return static_cast<int64_t>(sizes.size()); }
  int64_t step(int64_t i) const { return reverse ? steps() - 1 - i : i; }  // the i-th to be computed
  int64_t size(int64_t t) const { return sizes[static_cast<size_t>(t)]; }
  int64_t offset(int64_t t) const { return offsets[static_cast<size_t>(t)]; }
  // What the state was before each step: the initial one, or the result of the step computed before, and the initial
  // one again for rows that begin with this step.
  Tensor before(const Tensor& initial, const Tensor& results) const;
};

struct RnnSizes {
  int64_t batch, hidden, out, gates;
};
// Views are made and memory is read without a check: all sizes are looked at here.
RnnSizes check_layer(const Tensor& x, const Tensor& hx, const Tensor& cx, const Tensor& w_ih, const Tensor& w_hh,
                     const Tensor& w_hr, int64_t mode, Sequence& s);
void check_layer_backward(const Tensor& g_out, const Tensor& g_hy, const Tensor& g_cy, const Tensor& x,
                          const Tensor& hx, const Tensor& cx, const Tensor& out, const Tensor& gates,
                          const Tensor& cells, int64_t mode, const RnnSizes& z);

// What the input adds to the gates of all steps, with the biases that can be added at once.
Tensor gates_of_input(const Tensor& x, const Tensor& w_ih, const Tensor& b_ih, const Tensor& b_hh, int64_t mode);

// All gradients, once those of the gates are known. flow: of the gates as the state's product enters them; own: of the
// GRU's last gate as the input enters it.
Gradients gradients_of_flow(const Tensor& flow, const Tensor& own, const Tensor& dhx, const Tensor& dcx,
                            const Tensor& x, const Tensor& h_before, const Tensor& w_ih, const Tensor& dw_hr,
                            int64_t mode, bool biases);

}  // namespace fc
