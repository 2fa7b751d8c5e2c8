// SPDX-License-Identifier: Apache-2.0
#include "ops/rnn_gradient.h"

#include <algorithm>
#include <vector>

#include "define/calls.h"

namespace fc {
namespace {

Tensor rows(const Tensor& t, int64_t first, int64_t n) { return narrow(t, 0, first, n); }
Tensor joined(const Tensor& a, const Tensor& b, int64_t dim = 0) {
  const Tensor both[] = {a, b};
  return cat(both, dim);
}
Tensor slope(const Tensor& t) { return mul(t, rsub(t, 1)); }        // of the sigmoid, by its result
Tensor less_square(const Tensor& t) { return rsub(square(t), 1); }  // of tanh

// What one step computed: the states before it, the gates (LSTM: in, forget, cell, out; GRU: reset, update, new), the
// part of GRU's new gate that comes from the state, tanh of LSTM's cell, and the result before projection.
struct Step {
  int64_t at, n;
  Tensor h, c, gate[4], from_h, tanh_cell, result;
};

std::vector<Step> run_again(const RnnLayer& l, int64_t size) {
  const int64_t steps = static_cast<int64_t>(l.batch_sizes.size());
  std::vector<int64_t> offsets(l.batch_sizes.size());
  for (size_t t = 1; t < offsets.size(); ++t) offsets[t] = offsets[t - 1] + l.batch_sizes[t - 1];
  Tensor from_x = mm(l.x, t(l.w_ih));
  if (l.b_ih.defined()) from_x = add(from_x, l.b_ih);
  std::vector<Step> all;
  Tensor h = rows(l.hx, 0, 0), c = l.mode == kLstm ? rows(l.cx, 0, 0) : Tensor();
  auto resized = [](const Tensor& state, const Tensor& first, int64_t n) {
    const int64_t have = state.size(0);
    return n <= have ? rows(state, 0, n) : joined(state, rows(first, have, n - have));
  };
  for (int64_t i = 0; i < steps; ++i) {
    const auto at = static_cast<size_t>(l.reverse ? steps - 1 - i : i);
    Step s{offsets[at], l.batch_sizes[at], {}, {}, {}, {}, {}, {}};
    s.h = resized(h, l.hx, s.n);
    Tensor x = rows(from_x, s.at, s.n), y = mm(s.h, t(l.w_hh));
    if (l.b_hh.defined()) y = add(y, l.b_hh);
    auto part = [&](const Tensor& of, int64_t gate) { return narrow(of, 1, gate * size, size); };
    if (l.mode == kLstm) {
      s.c = resized(c, l.cx, s.n);
      const Tensor both = add(x, y);
      for (int64_t gate = 0; gate < 4; ++gate)
        s.gate[gate] = gate == 2 ? tanh(part(both, gate)) : sigmoid(part(both, gate));
      c = add(mul(s.gate[1], s.c), mul(s.gate[0], s.gate[2]));
      s.tanh_cell = tanh(c);
      s.result = mul(s.gate[3], s.tanh_cell);
      h = l.w_hr.defined() ? mm(s.result, t(l.w_hr)) : s.result;
    } else if (l.mode == kGru) {
      s.from_h = part(y, 2);
      for (int64_t gate = 0; gate < 2; ++gate) s.gate[gate] = sigmoid(add(part(x, gate), part(y, gate)));
      s.gate[2] = tanh(add(part(x, 2), mul(s.gate[0], s.from_h)));
      h = add(s.gate[2], mul(s.gate[1], sub(s.h, s.gate[2])));
    } else {
      h = s.result = l.mode == kTanh ? tanh(add(x, y)) : call<"aten::relu", Tensor>(add(x, y));
    }
    all.push_back(std::move(s));
  }
  return all;
}

// The gradient of a state on its way back: rows that end with a step come from the last state, rows that begin with it
// go to the first.
struct Flow {
  Tensor now, end;
  std::vector<Tensor> begun;
  Flow(const Tensor& grad, const Tensor& like) : end(grad.defined() ? grad : zeros_like(like)) {
    now = rows(end, 0, 0);
  }
  void resize(int64_t n) {
    const int64_t have = now.size(0);
    if (n < have) {
      begun.push_back(rows(now, n, have - n));
      now = rows(now, 0, n);
    } else if (n > have) {
      now = joined(now, rows(end, have, n - have));
    }
  }
  Tensor first() {
    begun.push_back(now);
    std::ranges::reverse(begun);
    return cat(begun, 0);
  }
};

}  // namespace

void differentiable_rnn_gradients(const RnnLayer& l, const Tensor& g_out, const Tensor& g_hy, const Tensor& g_cy,
                                  std::span<const bool> wanted, std::span<Tensor> out) {
  const int64_t gates = l.mode == kLstm ? 4 : l.mode == kGru ? 3 : 1, size = l.w_hh.size(0) / gates;
  const bool has_cell = l.mode == kLstm;
  std::vector<Step> all = run_again(l, size);
  Flow h(g_hy, l.hx), c(g_cy, has_cell ? l.cx : l.hx);
  // Of each step, in the order of the data: gradients of the gates, as they reach state and input, and of the result.
  std::vector<Tensor> to_state(all.size()), to_input(all.size()), projected(all.size()), before(all.size()),
      results(all.size());
  for (size_t i = all.size(); i-- > 0;) {
    const Step& s = all[i];
    const size_t at = l.reverse ? all.size() - 1 - i : i;
    h.resize(s.n);
    if (g_out.defined()) h.now = add(h.now, rows(g_out, s.at, s.n));
    before[at] = s.h;
    results[at] = s.result;
    if (has_cell) {
      c.resize(s.n);
      projected[at] = h.now;
      const Tensor dh = l.w_hr.defined() ? mm(h.now, l.w_hr) : h.now;
      const Tensor dc = add(c.now, mul(dh, mul(s.gate[3], less_square(s.tanh_cell))));
      const Tensor four[] = {mul(mul(dc, s.gate[2]), slope(s.gate[0])), mul(mul(dc, s.c), slope(s.gate[1])),
                             mul(mul(dc, s.gate[0]), less_square(s.gate[2])),
                             mul(mul(dh, s.tanh_cell), slope(s.gate[3]))};
      to_input[at] = to_state[at] = cat(four, 1);
      c.now = mul(dc, s.gate[1]);
      h.now = mm(to_state[at], l.w_hh);
    } else if (l.mode == kGru) {
      const Tensor fresh = mul(mul(h.now, rsub(s.gate[1], 1)), less_square(s.gate[2]));
      const Tensor two = joined(mul(mul(fresh, s.from_h), slope(s.gate[0])),
                                mul(mul(h.now, sub(s.h, s.gate[2])), slope(s.gate[1])), 1);
      to_state[at] = joined(two, mul(fresh, s.gate[0]), 1);
      to_input[at] = joined(two, fresh, 1);
      h.now = add(mul(h.now, s.gate[1]), mm(to_state[at], l.w_hh));
    } else {
      const Tensor by = l.mode == kTanh ? less_square(s.result) : to_dtype(gt(s.result, 0), s.result.dtype());
      to_input[at] = to_state[at] = mul(h.now, by);
      h.now = mm(to_state[at], l.w_hh);
    }
  }
  const Tensor state = cat(to_state, 0), input = l.mode == kGru ? cat(to_input, 0) : state;
  if (wanted[0]) out[0] = mm(input, l.w_ih);
  if (wanted[1]) out[1] = h.first();
  if (wanted[2] && has_cell) out[2] = c.first();
  if (wanted[3]) out[3] = mm(t(input), l.x);
  if (wanted[4]) out[4] = mm(t(state), cat(before, 0));
  if (wanted[5]) out[5] = sum(input, Dims{0});
  if (wanted[6]) out[6] = sum(state, Dims{0});
  if (wanted[7]) out[7] = mm(t(cat(projected, 0)), cat(results, 0));
}

}  // namespace fc
