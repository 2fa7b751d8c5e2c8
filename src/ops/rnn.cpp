// SPDX-License-Identifier: Apache-2.0
// Recurrent networks. A layer in one direction is one operator: the input's product is made for all steps at once, a
// step multiplies the state and applies the cell in place, and the backward multiplies the state's weights step by
// step, and everything else at once. Sequences are packed (plan/rnn.h); a padded batch is the case where all steps have
// the same number of rows. What is here runs on any device; the CPU has kernels of its own for what it serves best.
#include <vector>

#include "define/autocast.h"
#include "define/calls.h"
#include "define/row.h"
#include "dispatch/forward_level.h"
#include "ops/register.h"
#include "ops/rnn_gradient.h"
#include "plan/rnn.h"

namespace fc {
namespace {

using Two = std::tuple<Tensor, Tensor>;
using Three = std::tuple<Tensor, Tensor, Tensor>;

void mul_into(const Tensor& out, const Tensor& a, const Tensor& b) { call<"aten::mul.out", Tensor>(a, b, out); }
void sigmoid_(const Tensor& t) { call<"aten::sigmoid_", Tensor>(t); }
void tanh_(const Tensor& t) { call<"aten::tanh_", Tensor>(t); }
Tensor addmm(const Tensor& c, const Tensor& a, const Tensor& b) {
  return call<"aten::addmm", Tensor>(c, a, b, Scalar(1), Scalar(1));
}
void addmm_(const Tensor& c, const Tensor& a, const Tensor& b) {
  call<"aten::addmm_", Tensor>(c, a, b, Scalar(1), Scalar(1));
}
void addcmul_(const Tensor& c, const Tensor& a, const Tensor& b) { call<"aten::addcmul_", Tensor>(c, a, b, Scalar(1)); }
Tensor less_square(const Tensor& t) { return rsub(square(t), 1); }  // the slope of tanh, by its result
Tensor slope(const Tensor& t) { return mul(t, rsub(t, 1)); }        // of the sigmoid

Layer layer(const Tensor& x, const Tensor& hx, const Tensor& cx, const Tensor& w_ih, const Tensor& w_hh,
            const Tensor& b_ih, const Tensor& b_hh, const Tensor& w_hr, IntSpan batch_sizes, int64_t mode,
            bool reverse) {
  Sequence s{batch_sizes, reverse};
  const RnnSizes z = check_layer(x, hx, cx, w_ih, w_hh, w_hr, mode, s);
  const int64_t n_all = x.size(0), size = z.hidden;
  const DType type = x.dtype();
  auto fresh = [&](int64_t n, int64_t m) { return empty_tensor(Dims{n, m}, type, x.device()); };
  const Tensor wt = t(w_hh);
  Tensor gates = gates_of_input(x, w_ih, b_ih, b_hh, mode);
  Tensor out = fresh(n_all, z.out), cells = fresh(mode >= kLstm ? n_all : 0, size);
  Tensor hy = fresh(z.batch, z.out), cy = fresh(mode == kLstm ? z.batch : 0, size);
  Tensor h = rows(hx, 0, 0), c = mode == kLstm ? rows(cx, 0, 0) : Tensor();
  // The state with n rows: what ends is kept as the last one, what begins takes the first.
  auto resize = [&](Tensor& state, const Tensor& first, const Tensor& last, int64_t n) {
    const int64_t have = state.size(0);
    if (n < have) {
      copy_(rows(last, n, have - n), rows(state, n, have - n));
      state = rows(state, 0, n);
    } else if (have == 0) {
      state = rows(first, 0, n);
    } else if (n > have) {
      const Tensor both[] = {state, rows(first, have, n - have)};
      state = cat(both, 0);
    }
  };
  for (int64_t i = 0; i < s.steps(); ++i) {
    const int64_t at = s.offset(s.step(i)), n = s.size(s.step(i));
    resize(h, hx, hy, n);
    const Tensor g = rows(gates, at, n), to = rows(out, at, n);
    if (mode == kLstm) {
      resize(c, cx, cy, n);
      const Tensor cell = rows(cells, at, n);
      addmm_(g, h, wt);
      sigmoid_(columns(g, 0, 2 * size));
      tanh_(columns(g, 2 * size, size));
      sigmoid_(columns(g, 3 * size, size));
      mul_into(cell, columns(g, size, size), c);
      addcmul_(cell, columns(g, 0, size), columns(g, 2 * size, size));
      if (w_hr.defined()) call<"aten::mm.out", Tensor>(mul(columns(g, 3 * size, size), tanh(cell)), t(w_hr), to);
      else mul_into(to, columns(g, 3 * size, size), tanh(cell));
      c = cell;
    } else if (mode == kGru) {
      const Tensor from_h = b_hh.defined() ? addmm(b_hh, h, wt) : mm(h, wt), both = columns(g, 0, 2 * size),
                   fresh_gate = columns(g, 2 * size, size), cell = rows(cells, at, n);
      add_(both, columns(from_h, 0, 2 * size));
      sigmoid_(both);
      copy_(cell, columns(from_h, 2 * size, size));
      addcmul_(fresh_gate, columns(g, 0, size), cell);
      tanh_(fresh_gate);
      call<"aten::addcmul.out", Tensor>(fresh_gate, columns(g, size, size), sub(h, fresh_gate), Scalar(1), to);
    } else {
      addmm_(g, h, wt);
      if (mode == kTanh) tanh_(g);
      else call<"aten::relu_", Tensor>(g);
      copy_(to, g);
    }
    h = to;
  }
  copy_(rows(hy, 0, h.size(0)), h);
  if (mode == kLstm) copy_(rows(cy, 0, c.size(0)), c);
  if (mode < kLstm) gates = fresh(0, size);  // the results say all that the backward needs
  return {out, hy, cy, gates, cells};
}

Gradients layer_backward(const Tensor& g_out, const Tensor& g_hy, const Tensor& g_cy, const Tensor& x, const Tensor& hx,
                         const Tensor& cx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& w_hr,
                         const Tensor& out, const Tensor& gates, const Tensor& cells, IntSpan batch_sizes, int64_t mode,
                         bool reverse, bool biases) {
  Sequence s{batch_sizes, reverse};
  const RnnSizes z = check_layer(x, hx, cx, w_ih, w_hh, w_hr, mode, s);
  const int64_t n_all = x.size(0), size = z.hidden;
  check_layer_backward(g_out, g_hy, g_cy, x, hx, cx, out, gates, cells, mode, z);
  const DType type = x.dtype();
  auto fresh = [&](int64_t n, int64_t m) { return empty_tensor(Dims{n, m}, type, x.device()); };
  auto gate = [&](int64_t i) { return columns(gates, i * size, size); };
  auto stacked = [](const Tensor& a, const Tensor& b, const Tensor& c) {
    const Tensor all[] = {a, b, c};
    return stack(all, 1);
  };
  const Tensor h_before = s.before(hx, out);

  // Factors of all steps at once: what the gradient of a state is multiplied by, to give those of the gates.
  Tensor three, last, keep, through, mixed, tanh_cells;
  if (mode == kLstm) {
    tanh_cells = tanh(cells);
    three = stacked(mul(gate(2), slope(gate(0))), mul(s.before(cx, cells), slope(gate(1))),
                    mul(gate(0), less_square(gate(2))));
    last = mul(tanh_cells, slope(gate(3)));
    through = mul(gate(3), less_square(tanh_cells));
    keep = gate(1);
    if (w_hr.defined()) mixed = mul(gate(3), tanh_cells);
  } else if (mode == kGru) {
    last = mul(rsub(gate(1), 1), less_square(gate(2)));  // of the new state's gate
    three =
        stacked(mul(mul(last, cells), slope(gate(0))), mul(sub(h_before, gate(2)), slope(gate(1))), mul(last, gate(0)));
    keep = gate(1);
  } else {
    last = mode == kTanh ? less_square(out) : to_dtype(gt(out, 0), type);
  }

  Tensor flow = fresh(n_all, z.gates);  // gradients of the gates
  Tensor own = mode == kGru ? fresh(n_all, size) : Tensor(),
         projected = w_hr.defined() ? fresh(n_all, z.out) : Tensor();
  Tensor dhx = fresh(z.batch, z.out), dcx = fresh(mode == kLstm ? z.batch : 0, size);
  const Tensor end_h = g_hy.defined() ? g_hy : zeros(hx.sizes(), type, x.device());
  const Tensor end_c = mode != kLstm ? Tensor() : g_cy.defined() ? g_cy : zeros(cx.sizes(), type, x.device());
  Tensor dh = rows(end_h, 0, 0), dc = mode == kLstm ? rows(end_c, 0, 0) : Tensor();
  auto resize = [&](Tensor& state, const Tensor& end, const Tensor& begin, int64_t n) {
    const int64_t have = state.size(0);
    if (n < have) {
      copy_(rows(begin, n, have - n), rows(state, n, have - n));
      state = rows(state, 0, n);
    } else if (n > have) {
      const Tensor both[] = {state, rows(end, have, n - have)};
      state = cat(both, 0);
    }
  };
  for (int64_t i = s.steps() - 1; i >= 0; --i) {
    const int64_t at = s.offset(s.step(i)), n = s.size(s.step(i));
    resize(dh, end_h, dhx, n);
    if (g_out.defined()) dh = add(dh, rows(g_out, at, n));
    const Tensor to = rows(flow, at, n);
    auto first_three = [&](const Tensor& by) {
      const Tensor view = make_view(to, Dims{n, 3, size}, Dims{to.strides()[0], size, 1}, to.offset());
      mul_into(view, unsqueeze(by, 1), rows(three, at, n));
    };
    if (mode == kLstm) {
      resize(dc, end_c, dcx, n);
      if (w_hr.defined()) {
        copy_(rows(projected, at, n), dh);
        dh = mm(dh, w_hr);
      }
      dc = call<"aten::addcmul", Tensor>(dc, dh, rows(through, at, n), Scalar(1));
      first_three(dc);
      mul_into(columns(to, 3 * size, size), dh, rows(last, at, n));
      dc = mul(dc, rows(keep, at, n));
      dh = mm(to, w_hh);
    } else if (mode == kGru) {
      first_three(dh);
      mul_into(rows(own, at, n), dh, rows(last, at, n));
      dh = addmm(mul(dh, rows(keep, at, n)), to, w_hh);
    } else {
      mul_into(to, dh, rows(last, at, n));
      dh = mm(to, w_hh);
    }
  }
  copy_(rows(dhx, 0, dh.size(0)), dh);
  if (mode == kLstm) copy_(rows(dcx, 0, dc.size(0)), dc);
  return gradients_of_flow(flow, own, dhx, dcx, x, h_before, w_ih, w_hr.defined() ? mm(t(projected), mixed) : Tensor(),
                           mode, biases);
}

void layer_grad(Grad& g) {  // (input, hx, cx, w_ih, w_hh, b_ih, b_hh, w_hr, batch_sizes, mode, reverse)
  const RnnLayer l{g.in(0),
                   g.in(1),
                   g.in(2),
                   g.in(3),
                   g.in(4),
                   g.in(5),
                   g.in(6),
                   g.in(7),
                   g.arg(8).ints(),
                   g.arg(9).integer(),
                   g.arg(10).boolean()};
  bool wanted[8];
  for (int i = 0; i < 8; ++i) wanted[i] = g.needs(i);
  Tensor all[8];
  if (is_differentiated()) {
    differentiable_rnn_gradients(l, g.out(0), g.out(1), g.out(2), wanted, all);
  } else {
    std::tie(all[0], all[1], all[2], all[3], all[4], all[5], all[6], all[7]) =
        call<"facula::rnn_layer_backward", Gradients>(g.out(0), g.out(1), g.out(2), l.x, l.hx, l.cx, l.w_ih, l.w_hh,
                                                      l.w_hr, g.result(0), g.result(3), g.result(4), l.batch_sizes,
                                                      l.mode, l.reverse, wanted[5] || wanted[6]);
  }
  for (int i = 0; i < 8; ++i)
    if (wanted[i]) g.set(i, all[i]);
}

// --- all layers
struct Network {
  int64_t mode;
  bool biases, train, bidirectional;
  int64_t layers;
  double dropout;

  // Data packed by batch_sizes; h and c [layers * directions, batch, …]. Under autocast the GRU, unlike others, answers
  // in its state's type.
  Three run(const Tensor& data, IntSpan batch_sizes, const Tensor& h, const Tensor& c, TensorSpan params) const {
    if (mode != kGru || autocast_dtype(h.device().type) == DType::Undefined || !is_floating(h.dtype()))
      return all_layers(data, batch_sizes, h, c, params);
    ExcludeLayers as_it_is(layer::Autocast);
    std::vector<Tensor> cast;
    for (const Tensor& p : params) cast.push_back(to_dtype(p, h.dtype()));
    return all_layers(to_dtype(data, h.dtype()), batch_sizes, h, c, cast);
  }
  Three all_layers(const Tensor& data, IntSpan batch_sizes, const Tensor& h, const Tensor& c, TensorSpan params) const {
    const int64_t directions = bidirectional ? 2 : 1;
    FC_CHECK(layers > 0 && layers <= (int64_t{1} << 32), "rnn: num_layers must be positive, got ", layers);
    FC_CHECK(dropout >= 0 && dropout <= 1, "dropout probability has to be between 0 and 1, but got ", dropout);
    FC_CHECK(h.dim() == 3 && h.size(0) == layers * directions, "rnn: Expected a hidden state of ", layers * directions,
             " layers and directions, got ", h.sizes());
    FC_CHECK(mode != kLstm || (c.dim() == 3 && c.size(0) == h.size(0)), "rnn: Expected a cell state of ",
             layers * directions, " layers and directions");
    const bool projects = mode == kLstm && h.size(2) != c.size(2);
    const size_t each = 2 + (biases ? 2 : 0) + (projects ? 1 : 0);
    FC_CHECK(params.size() == each * static_cast<size_t>(layers * directions), "rnn: expected ",
             each * static_cast<size_t>(layers * directions), " parameters, got ", params.size());
    Tensor x = data;
    std::vector<Tensor> hs, cs;
    for (int64_t l = 0; l < layers; ++l) {
      std::vector<Tensor> outs;
      for (int64_t d = 0; d < directions; ++d) {
        const int64_t at = l * directions + d;
        const Tensor* p = &params[static_cast<size_t>(at) * each];
        auto [out, hy, cy, gates, cells] = call<"facula::rnn_layer", Layer>(
            x, select(h, 0, at), mode == kLstm ? select(c, 0, at) : Tensor(), p[0], p[1], biases ? p[2] : Tensor(),
            biases ? p[3] : Tensor(), projects ? p[each - 1] : Tensor(), batch_sizes, mode, d == 1);
        outs.push_back(out);
        hs.push_back(hy);
        cs.push_back(cy);
      }
      x = directions == 2 ? cat(outs, 1) : outs[0];
      if (dropout > 0 && train && l + 1 < layers) x = call<"aten::dropout", Tensor>(x, dropout, true);
    }
    return {x, stack(hs, 0), mode == kLstm ? stack(cs, 0) : Tensor()};
  }
  Three padded(const Tensor& input, const Tensor& h, const Tensor& c, TensorSpan params, bool batch_first) const {
    FC_CHECK(input.dim() == 3, "rnn: expected an input of 3 dimensions, got ", input.sizes());
    const Tensor x = batch_first ? transpose(input, 0, 1) : input;
    const int64_t steps = x.size(0), batch = x.size(1);
    const std::vector<int64_t> sizes(static_cast<size_t>(steps), batch);
    auto [out, hy, cy] = run(reshape(x, Dims{checked_numel(Dims{steps, batch}), x.size(2)}), sizes, h, c, params);
    out = view(out, Dims{steps, batch, out.size(1)});
    return {batch_first ? transpose(out, 0, 1) : out, hy, cy};
  }
};

std::vector<int64_t> numbers(const char* op, const Tensor& t) {
  FC_CHECK(t.dim() == 1 && t.dtype() == DType::Int64 && t.device().is_cpu(), op,
           ": expected a vector of int64 on the CPU, got ", t.dtype(), " ", t.sizes(), " on ", t.device());
  const Tensor dense = contiguous(t);
  const auto* v = dense.data_as<int64_t>();
  return {v, v + t.numel()};
}

void need_pair(TensorSpan hx, const char* op) { FC_CHECK(hx.size() == 2, op, " expects two hidden states"); }
Three lstm(const Tensor& input, TensorSpan hx, TensorSpan params, bool biases, int64_t layers, double dropout,
           bool train, bool bidirectional, bool batch_first) {
  need_pair(hx, "lstm");
  return Network{kLstm, biases, train, bidirectional, layers, dropout}.padded(input, hx[0], hx[1], params, batch_first);
}
Three lstm_packed(const Tensor& data, const Tensor& batch_sizes, TensorSpan hx, TensorSpan params, bool biases,
                  int64_t layers, double dropout, bool train, bool bidirectional) {
  need_pair(hx, "lstm");
  return Network{kLstm, biases, train, bidirectional, layers, dropout}.run(data, numbers("lstm", batch_sizes), hx[0],
                                                                           hx[1], params);
}
template <int64_t mode>
Two rnn(const Tensor& input, const Tensor& hx, TensorSpan params, bool biases, int64_t layers, double dropout,
        bool train, bool bidirectional, bool batch_first) {
  auto [out, hy, cy] =
      Network{mode, biases, train, bidirectional, layers, dropout}.padded(input, hx, Tensor(), params, batch_first);
  return {out, hy};
}
template <int64_t mode>
Two rnn_packed(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx, TensorSpan params, bool biases,
               int64_t layers, double dropout, bool train, bool bidirectional) {
  auto [out, hy, cy] = Network{mode, biases, train, bidirectional, layers, dropout}.run(
      data, numbers("rnn", batch_sizes), hx, Tensor(), params);
  return {out, hy};
}

// --- one step, in operators that have derivatives of every order
Tensor linear(const Tensor& x, const Tensor& w, const Tensor& b) { return call<"aten::linear", Tensor>(x, w, b); }
void check_cell(const Tensor& x, const Tensor& h, const Tensor& w_ih, const Tensor& w_hh) {
  FC_CHECK(x.dim() == 2 && h.dim() == 2 && w_ih.dim() == 2 && w_hh.dim() == 2,
           "rnn cell: expected matrices, got input ", x.sizes(), ", hidden state ", h.sizes(), ", weights ",
           w_ih.sizes(), " and ", w_hh.sizes());
  FC_CHECK(x.size(1) == w_ih.size(1), "input has inconsistent input_size: got ", x.size(1), " expected ", w_ih.size(1));
  FC_CHECK(x.size(0) == h.size(0), "Input batch size ", x.size(0), " doesn't match hidden0 batch size ", h.size(0));
  FC_CHECK(h.size(1) == w_hh.size(1), "hidden0 has inconsistent hidden_size: got ", h.size(1), ", expected ",
           w_hh.size(1));
}
Tensor chunk_of(const Tensor& t, int64_t i, int64_t count) {
  FC_CHECK(t.size(-1) % count == 0, "rnn cell: expected weights with a multiple of ", count, " rows, got ", t.size(-1));
  return narrow(t, -1, i * (t.size(-1) / count), t.size(-1) / count);
}
Two lstm_cell(const Tensor& x, TensorSpan hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih,
              const Tensor& b_hh) {
  need_pair(hx, "lstm_cell");
  for (const Tensor& state : hx) check_cell(x, state, w_ih, w_hh);
  const Tensor gates = add(linear(x, w_ih, b_ih), linear(hx[0], w_hh, b_hh));
  auto gate = [&](int64_t i) { return chunk_of(gates, i, 4); };
  const Tensor c = add(mul(sigmoid(gate(1)), hx[1]), mul(sigmoid(gate(0)), tanh(gate(2))));
  return {mul(sigmoid(gate(3)), tanh(c)), c};
}
Tensor gru_cell(const Tensor& x, const Tensor& h, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih,
                const Tensor& b_hh) {
  check_cell(x, h, w_ih, w_hh);
  const Tensor a = linear(x, w_ih, b_ih), b = linear(h, w_hh, b_hh);
  auto both = [&](int64_t i) { return sigmoid(add(chunk_of(a, i, 3), chunk_of(b, i, 3))); };
  const Tensor fresh = tanh(add(chunk_of(a, 2, 3), mul(both(0), chunk_of(b, 2, 3))));
  return add(fresh, mul(both(1), sub(h, fresh)));
}
template <int64_t mode>
Tensor rnn_cell(const Tensor& x, const Tensor& h, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih,
                const Tensor& b_hh) {
  check_cell(x, h, w_ih, w_hh);
  const Tensor sum = add(linear(x, w_ih, b_ih), linear(h, w_hh, b_hh));
  return mode == kTanh ? tanh(sum) : call<"aten::relu", Tensor>(sum);
}

// --- packing: rows of a padded batch picked step by step
Tensor on(const Tensor& like, const std::vector<int64_t>& values) {
  Tensor t = empty_tensor(Dims{static_cast<int64_t>(values.size())}, DType::Int64, Device{});
  std::copy(values.begin(), values.end(), t.data_as<int64_t>());
  return call<"aten::to.device", Tensor>(t, like.device(), DType::Int64, false, false, nullptr);
}
// Positions in [steps, batch] of what each step has.
std::vector<int64_t> places(const std::vector<int64_t>& sizes, int64_t batch) {
  std::vector<int64_t> at;
  for (size_t t = 0; t < sizes.size(); ++t)
    for (int64_t b = 0; b < sizes[t]; ++b) at.push_back(static_cast<int64_t>(t) * batch + b);
  return at;
}
Dims flattened(const Tensor& t) {  // [steps, batch, …] -> [steps * batch, …]
  Dims shape{t.size(0) * t.size(1)};
  for (int64_t n : t.sizes().subspan(2)) shape.push_back(n);
  return shape;
}

Two pack(const Tensor& input, const Tensor& lengths_in, bool batch_first) {
  FC_CHECK(input.dim() >= 2, "pack_padded_sequence: expected an input of 2 dimensions or more, got ", input.sizes());
  const Tensor x = batch_first ? transpose(input, 0, 1) : input;
  const std::vector<int64_t> lengths = numbers("pack_padded_sequence", lengths_in);
  const int64_t batch = x.size(1);
  FC_CHECK(input.numel() > 0, "Cannot pack empty tensors.");
  FC_CHECK(static_cast<int64_t>(lengths.size()) == batch, "Expected `len(lengths)` to be equal to batch_size, but got ",
           lengths.size(), " (batch_size=", batch, ")");
  for (size_t i = 0; i < lengths.size(); ++i) {
    FC_CHECK(lengths[i] > 0,
             "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0");
    FC_CHECK(i == 0 || lengths[i] <= lengths[i - 1],
             "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
             "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you "
             "do not need ONNX exportability.");
  }
  FC_CHECK(lengths[0] <= x.size(0), "Expected sequence length to be larger than or equal to ", lengths[0], ", got ",
           x.size(0));
  std::vector<int64_t> sizes(static_cast<size_t>(lengths[0]), 0);
  for (int64_t n : lengths)
    for (int64_t t = 0; t < n; ++t) ++sizes[static_cast<size_t>(t)];
  Tensor data = call<"aten::index_select", Tensor>(reshape(x, flattened(x)), 0, on(input, places(sizes, batch)));
  Tensor cpu = empty_tensor({}, DType::Int64, Device{});
  return {data, on(cpu, sizes)};
}

Two unpack(const Tensor& data, const Tensor& batch_sizes, bool batch_first, const Scalar& padding, int64_t total) {
  std::vector<int64_t> sizes = numbers("pad_packed_sequence", batch_sizes);
  FC_CHECK(!sizes.empty() && data.dim() >= 1, "pad_packed_sequence: batch_sizes can not be empty");
  const int64_t batch = sizes[0], have = static_cast<int64_t>(sizes.size());
  int64_t all = 0;
  for (size_t t = 0; t < sizes.size(); ++t) {
    FC_CHECK(sizes[t] > 0 && (t == 0 || sizes[t] <= sizes[t - 1]) && !__builtin_add_overflow(all, sizes[t], &all),
             "pad_packed_sequence: batch_sizes must be positive and must not grow, got ", IntSpan(sizes));
  }
  FC_CHECK(all == data.size(0), "pad_packed_sequence: batch_sizes add up to ", all, ", but data has ", data.size(0),
           " rows");
  FC_CHECK(total <= 0 || total >= have,
           "Expected total_length to be at least the length of the longest sequence in input, but got total_length=",
           total, " and max sequence length being ", have);
  const int64_t steps = std::max(total, have);
  Dims shape{checked_numel(Dims{steps, batch})}, full_shape{steps, batch};
  for (int64_t n : data.sizes().subspan(1)) {
    shape.push_back(n);
    full_shape.push_back(n);
  }
  Tensor out = call<"aten::index_copy", Tensor>(full(shape, padding, data.dtype(), data.device()), 0,
                                                on(data, places(sizes, batch)), data);
  out = reshape(out, full_shape);
  std::vector<int64_t> lengths(static_cast<size_t>(batch), 0);
  for (int64_t n : sizes)
    for (int64_t b = 0; b < n; ++b) ++lengths[static_cast<size_t>(b)];
  return {batch_first ? transpose(out, 0, 1) : out, on(empty_tensor({}, DType::Int64, Device{}), lengths)};
}

#define REST "bool has_biases, int num_layers, float dropout, bool train, bool bidirectional"
#define CELL "Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None"
#define RNN(name, mode, text)                                                                                          \
  {.schema = name ".input(Tensor input, Tensor hx, Tensor[] params, " REST ", bool batch_first) -> (Tensor, Tensor)",  \
   .doc = text,                                                                                                        \
   .composite = kernel<&rnn<mode>>(),                                                                                  \
   .autocast = (mode) == kGru ? Autocast::None : Autocast::Lower,                                                      \
   .random = true},                                                                                                    \
  {                                                                                                                    \
    .schema = name ".data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, " REST ") -> (Tensor, Tensor)", \
    .doc = text, .composite = kernel<&rnn_packed<mode>>(),                                                             \
    .autocast = (mode) == kGru ? Autocast::None : Autocast::Lower, .random = true                                      \
  }

constexpr OpDef defs[] = {
    {.schema = "facula::rnn_layer(Tensor input, Tensor hx, Tensor? cx, Tensor w_ih, Tensor w_hh, Tensor? b_ih, Tensor? "
               "b_hh, Tensor? w_hr, int[] batch_sizes, int mode, bool reverse) -> (Tensor output, Tensor hy, Tensor "
               "cy, Tensor gates, Tensor cells)",
     .all = kernel<&layer>(),
     .saves = "input hx cx w_ih w_hh b_ih b_hh w_hr batch_sizes mode reverse result result3 result4",
     .grad = layer_grad,
     .differentiable_results = 3,
     .hidden = true},
    {.schema = "facula::rnn_layer_backward(Tensor? grad_output, Tensor? grad_hy, Tensor? grad_cy, Tensor input, Tensor "
               "hx, Tensor? cx, Tensor w_ih, Tensor w_hh, Tensor? w_hr, Tensor output, Tensor gates, Tensor cells, "
               "int[] batch_sizes, int mode, bool reverse, bool biases) -> (Tensor, Tensor, Tensor, Tensor, Tensor, "
               "Tensor, Tensor, Tensor)",
     .all = kernel<&layer_backward>(),
     .hidden = true},
    {.schema = "lstm.input(Tensor input, Tensor[] hx, Tensor[] params, " REST
               ", bool batch_first) -> (Tensor, Tensor, Tensor)",
     .doc = "All layers of a long short-term memory network over sequences.",
     .composite = kernel<&lstm>(),
     .autocast = Autocast::Lower,
     .random = true},
    {.schema = "lstm.data(Tensor data, Tensor batch_sizes, Tensor[] hx, Tensor[] params, " REST
               ") -> (Tensor, Tensor, Tensor)",
     .doc = "All layers of a long short-term memory network over sequences.",
     .composite = kernel<&lstm_packed>(),
     .autocast = Autocast::Lower,
     .random = true},
    RNN("gru", kGru, "All layers of a gated recurrent network over sequences."),
    RNN("rnn_tanh", kTanh, "All layers of a recurrent network with tanh over sequences."),
    RNN("rnn_relu", kRelu, "All layers of a recurrent network with relu over sequences."),
    {.schema = "lstm_cell(Tensor input, Tensor[] hx, " CELL ") -> (Tensor, Tensor)",
     .doc = "One step of a long short-term memory network: the next hidden and cell state.",
     .composite = kernel<&lstm_cell>()},
    {.schema = "gru_cell(Tensor input, Tensor hx, " CELL ") -> Tensor",
     .doc = "One step of a gated recurrent network: the next hidden state.",
     .composite = kernel<&gru_cell>()},
    {.schema = "rnn_tanh_cell(Tensor input, Tensor hx, " CELL ") -> Tensor",
     .doc = "One step of a recurrent network with tanh: the next hidden state.",
     .composite = kernel<&rnn_cell<kTanh>>()},
    {.schema = "rnn_relu_cell(Tensor input, Tensor hx, " CELL ") -> Tensor",
     .doc = "One step of a recurrent network with relu: the next hidden state.",
     .composite = kernel<&rnn_cell<kRelu>>()},
    {.schema = "_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first) -> (Tensor, Tensor)",
     .doc = "A padded batch of sequences as the rows of each step, and how many rows each step has.",
     .composite = kernel<&pack>(),
     .devices = Devices::Any},
    {.schema = "_pad_packed_sequence(Tensor data, Tensor batch_sizes, bool batch_first, Scalar padding_value, int "
               "total_length) -> (Tensor, Tensor)",
     .doc = "The inverse of _pack_padded_sequence: a padded batch and the sequences' lengths.",
     .composite = kernel<&unpack>(),
     .devices = Devices::Any},
};
#undef RNN
#undef REST
#undef CELL

}  // namespace

void define_rnn() { define_all(defs); }

}  // namespace fc
