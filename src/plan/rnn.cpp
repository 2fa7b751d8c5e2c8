// SPDX-License-Identifier: Apache-2.0
#include "plan/rnn.h"

#include <algorithm>

namespace fc {
namespace {

Tensor part(const Tensor& t, size_t dim, int64_t first, int64_t n) {
  Dims sizes(t.sizes());
  sizes[dim] = n;
  return make_view(t, sizes, t.strides(), t.offset() + first * t.strides()[dim]);
}

int64_t gate_count(int64_t mode) { return mode == kLstm ? 4 : mode == kGru ? 3 : 1; }

void need(const Tensor& t, IntSpan sizes, const char* name) {
  FC_CHECK(t.defined() && Dims::same(t.sizes(), sizes), "rnn: expected ", name, " of size ", sizes, ", got ",
           t.defined() ? t.sizes() : IntSpan());
}

}  // namespace

Tensor rows(const Tensor& t, int64_t first, int64_t n) { return part(t, 0, first, n); }
Tensor columns(const Tensor& t, int64_t first, int64_t n) { return part(t, 1, first, n); }

Tensor Sequence::before(const Tensor& initial, const Tensor& results) const {
  std::vector<Tensor> pieces(sizes.size() * 2);
  for (int64_t i = 0; i < steps(); ++i) {
    const int64_t t = step(i), n = size(t), last = i ? step(i - 1) : 0, have = i ? std::min(n, size(last)) : 0;
    auto* two = &pieces[static_cast<size_t>(t) * 2];
    two[0] = i ? rows(results, offset(last), have) : rows(initial, 0, 0);
    two[1] = rows(initial, have, n - have);
  }
  return cat(pieces, 0);
}

RnnSizes check_layer(const Tensor& x, const Tensor& hx, const Tensor& cx, const Tensor& w_ih, const Tensor& w_hh,
                     const Tensor& w_hr, int64_t mode, Sequence& s) {
  FC_CHECK(mode >= kTanh && mode <= kGru, "rnn: no mode ", mode);
  FC_CHECK(x.dim() == 2 && hx.dim() == 2 && w_ih.dim() == 2 && w_hh.dim() == 2, "rnn: expected matrices, got input ",
           x.sizes(), ", hidden state ", hx.sizes(), ", weights ", w_ih.sizes(), " and ", w_hh.sizes());
  const int64_t count = gate_count(mode), rows_of = w_hh.size(0);
  FC_CHECK(rows_of > 0 && rows_of % count == 0, "rnn: expected weights with a multiple of ", count, " rows, got ",
           w_hh.sizes());
  RnnSizes z{hx.size(0), rows_of / count, w_hh.size(1), rows_of};
  need(w_ih, Dims{rows_of, x.size(1)}, "weight_ih");
  need(hx, Dims{z.batch, z.out}, "hidden state");
  if (mode == kLstm) need(cx, Dims{z.batch, z.hidden}, "cell state");
  if (w_hr.defined()) need(w_hr, Dims{z.out, z.hidden}, "weight_hr");
  else FC_CHECK(z.out == z.hidden, "rnn: expected weight_hh of ", z.hidden, " columns, got ", w_hh.sizes());
  FC_CHECK(!w_hr.defined() || mode == kLstm, "rnn: only an LSTM has a projection");
  int64_t total = 0, last = z.batch;
  FC_CHECK(!s.sizes.empty(), "Expected sequence length to be larger than 0 in RNN");
  for (int64_t n : s.sizes) {
    FC_CHECK(n > 0 || z.batch == 0, "rnn: batch_sizes must be positive, got ", n);
    FC_CHECK(n <= last, "rnn: batch_sizes must not grow, and begin with the batch ", z.batch, ", got ", s.sizes);
    last = n;
    s.offsets.push_back(total);
    total += n;
  }
  FC_CHECK(s.sizes[0] == z.batch && total == x.size(0), "rnn: batch_sizes ", s.sizes, " do not fit an input of ",
           x.size(0), " rows and a hidden state of ", z.batch);
  return z;
}

void check_layer_backward(const Tensor& g_out, const Tensor& g_hy, const Tensor& g_cy, const Tensor& x,
                          const Tensor& hx, const Tensor& cx, const Tensor& out, const Tensor& gates,
                          const Tensor& cells, int64_t mode, const RnnSizes& z) {
  const int64_t n_all = x.size(0);
  need(out, Dims{n_all, z.out}, "output");
  if (g_out.defined()) need(g_out, out.sizes(), "gradient");
  if (g_hy.defined()) need(g_hy, hx.sizes(), "gradient of the hidden state");
  if (g_cy.defined() && mode == kLstm) need(g_cy, cx.sizes(), "gradient of the cell state");
  if (mode >= kLstm) {
    need(gates, Dims{n_all, z.gates}, "gates");
    need(cells, Dims{n_all, z.hidden}, "cells");
  }
}

Tensor gates_of_input(const Tensor& x, const Tensor& w_ih, const Tensor& b_ih, const Tensor& b_hh, int64_t mode) {
  FC_CHECK(b_ih.defined() == b_hh.defined(), "rnn: expected both biases or none, got only ",
           b_ih.defined() ? "bias_ih" : "bias_hh");
  Tensor bias = b_ih;
  if (b_ih.defined() && mode != kGru) bias = add(b_ih, b_hh);
  Tensor gates = bias.defined() ? call<"aten::addmm", Tensor>(bias, x, t(w_ih), Scalar(1), Scalar(1)) : mm(x, t(w_ih));
  FC_CHECK(gates.dtype() == x.dtype(), "rnn: expected weights of the input's type ", x.dtype(), ", got ",
           gates.dtype());
  return gates;
}

Gradients gradients_of_flow(const Tensor& flow, const Tensor& own, const Tensor& dhx, const Tensor& dcx,
                            const Tensor& x, const Tensor& h_before, const Tensor& w_ih, const Tensor& dw_hr,
                            int64_t mode, bool biases) {
  Tensor to_input = flow;
  if (mode == kGru) {
    const Tensor both[] = {columns(flow, 0, flow.size(1) / 3 * 2), own};
    to_input = cat(both, 1);
  }
  Tensor db_ih = biases ? sum(to_input, Dims{0}) : Tensor(),
         db_hh = biases ? (mode == kGru ? sum(flow, Dims{0}) : clone(db_ih)) : Tensor();
  return {mm(to_input, w_ih), dhx, dcx, mm(t(to_input), x), mm(t(flow), h_before), db_ih, db_hh, dw_hr};
}

}  // namespace fc
