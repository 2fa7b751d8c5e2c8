// SPDX-License-Identifier: Apache-2.0
// Recurrent layers of float32 and float64 without projection; others take the way of all devices. What is the same for
// all steps is done once: the input's product, and packing the state's weights, which a library would do in each step.
#include "backends/cpu/rnn.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/blas_choice.h"
#include "backends/cpu/register.h"
#include "core/threads.h"
#include "dispatch/call.h"
#include "plan/rnn.h"

namespace fc::cpu {
namespace {

constexpr int64_t kWork = 1 << 17;  // multiplications that a thread is worth

const RnnKernels& kernels_of(DType type) {
  static const RnnKernels both[] = {FC_VARIANT(rnn_kernels)(false), FC_VARIANT(rnn_kernels)(true)};
  return both[type == DType::Float64];
}

// The weights [gate_count * hidden, depth] of the state, or their transpose for the way back, as panels.
struct Panels {
  int64_t blocks;
  Tensor memory;
  Panels(const RnnKernels& k, const Tensor& w, int64_t hidden, int64_t depth, int64_t gate_count, bool transposed) {
    blocks = (hidden + k.width - 1) / k.width;
    memory = empty_tensor(Dims{checked_numel(Dims{blocks * k.width, gate_count * depth})}, w.dtype(), Device{});
    const int64_t unit = w.strides()[transposed ? 1 : 0], deep = w.strides()[transposed ? 0 : 1];
    parallel_for(0, blocks, std::max<int64_t>(1, kWork / (16 * gate_count * depth)), [&](int64_t from, int64_t to) {
      for (int64_t b = from; b < to; ++b) k.pack(w.data(), unit, deep, hidden, depth, gate_count, b, memory.data());
    });
  }
};

// f(block, row) for all pieces of a step; `per_row` multiplications in a row of a piece.
template <class F>
void each_piece(const RnnKernels& k, int64_t blocks, int64_t rows, int64_t per_row, const F& f) {
  if (rows == 0) return;
  const int64_t height = k.rows_of_piece(rows), down = (rows + height - 1) / height;
  // Pieces of one block follow each other, so that a thread reads its panels once.
  parallel_for(0, blocks * down, std::max<int64_t>(1, kWork / (height * per_row)), [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) f(i / down, i % down * height);
  });
}

bool suits(DType type, int64_t hidden, TensorSpan tensors) {
  if ((type != DType::Float32 && type != DType::Float64) || hidden == 0) return false;
  if (!blas_choice().allows(Engine::Facula)) return false;  // a forced library does every product
  return std::all_of(tensors.begin(), tensors.end(),
                     [&](const Tensor& t) { return !t.defined() || (t.dtype() == type && t.device().is_cpu()); });
}

void general(void* op, const Operator& self, const Arg* args, Value* results) {
  const Kernel& k = static_cast<const Operator*>(op)->all_devices();
  k.fn(k.context, self, args, results);
}

char* at(const Tensor& t, int64_t row) {
  return static_cast<char*>(t.data()) + row * t.size(1) * static_cast<int64_t>(item_size(t.dtype()));
}
void copy_rows(const Tensor& to, const Tensor& from, int64_t first, int64_t n) {
  if (n > 0) std::memcpy(at(to, first), at(from, first), static_cast<size_t>(at(from, first + n) - at(from, first)));
}

void layer(void* op, const Operator& self, const Arg* args, Value* results) {
  const Tensor &x = args[0].tensor(), &hx = args[1].tensor(), &cx = args[2].tensor(), &w_ih = args[3].tensor(),
               &w_hh = args[4].tensor(), &b_ih = args[5].tensor(), &b_hh = args[6].tensor(), &w_hr = args[7].tensor();
  const int64_t mode = args[9].integer();
  Sequence s{args[8].ints(), args[10].boolean()};
  const RnnSizes z = check_layer(x, hx, cx, w_ih, w_hh, w_hr, mode, s);
  const DType type = x.dtype();
  const Tensor all[] = {hx, cx, w_ih, w_hh, b_ih, b_hh};
  if (w_hr.defined() || !suits(type, z.hidden, all)) return general(op, self, args, results);
  FC_CHECK(!b_hh.defined() || (b_hh.dim() == 1 && b_hh.size(0) == z.gates), "rnn: expected bias_hh of size [", z.gates,
           "], got ", b_hh.sizes());
  Tensor gates = gates_of_input(x, w_ih, b_ih, b_hh, mode);
  const RnnKernels& k = kernels_of(type);
  const int64_t n_all = x.size(0), gate_count = z.gates / z.hidden;
  auto fresh = [&](int64_t n) { return empty_tensor(Dims{n, z.hidden}, type, Device{}); };
  const Panels panels(k, w_hh, z.hidden, z.hidden, gate_count, false);
  const Tensor bias = mode == kGru && b_hh.defined() ? contiguous(b_hh) : Tensor();
  const Tensor first = contiguous(hx);
  Tensor out = fresh(n_all), cells = fresh(mode >= kLstm ? n_all : 0), hy = fresh(z.batch),
         cy = fresh(mode == kLstm ? z.batch : 0), states[] = {fresh(z.batch), fresh(z.batch)};
  if (mode == kLstm) copy_rows(cy, contiguous(cx), 0, z.batch);
  for (const Tensor& state : states) copy_rows(state, first, 0, z.batch);  // rows that begin later find it in either
  int64_t have = 0;
  for (int64_t i = 0; i < s.steps(); ++i) {
    const int64_t offset = s.offset(s.step(i)), n = s.size(s.step(i));
    const Tensor &now = states[i % 2], &next = states[(i + 1) % 2];
    copy_rows(hy, now, n, have - n);  // rows that have ended
    have = n;
    const RnnStep step{mode,
                       gate_count,
                       z.hidden,
                       panels.memory.data(),
                       n,
                       at(gates, offset),
                       mode >= kLstm ? at(cells, offset) : nullptr,
                       at(out, offset),
                       now.data(),
                       bias.defined() ? bias.data() : nullptr,
                       next.data(),
                       mode == kLstm ? cy.data() : nullptr};
    each_piece(k, panels.blocks, n, k.width * z.gates, [&](int64_t block, int64_t row) { k.step(step, block, row); });
  }
  copy_rows(hy, states[s.steps() % 2], 0, have);
  if (mode < kLstm) gates = fresh(0);  // the results say all that the backward needs
  const Tensor made[] = {out, hy, cy, gates, cells};
  for (int i = 0; i < 5; ++i) results[i] = Value(made[i]);
}

void layer_backward(void* op, const Operator& self, const Arg* args, Value* results) {
  const Tensor &g_out = args[0].tensor(), &g_hy = args[1].tensor(), &g_cy = args[2].tensor(), &x = args[3].tensor(),
               &hx = args[4].tensor(), &cx = args[5].tensor(), &w_ih = args[6].tensor(), &w_hh = args[7].tensor(),
               &w_hr = args[8].tensor(), &out_in = args[9].tensor(), &gates_in = args[10].tensor(),
               &cells_in = args[11].tensor();
  const int64_t mode = args[13].integer();
  Sequence s{args[12].ints(), args[14].boolean()};
  const RnnSizes z = check_layer(x, hx, cx, w_ih, w_hh, w_hr, mode, s);
  check_layer_backward(g_out, g_hy, g_cy, x, hx, cx, out_in, gates_in, cells_in, mode, z);
  const DType type = x.dtype();
  const Tensor all[] = {g_out, g_hy, g_cy, hx, cx, w_ih, w_hh, out_in, gates_in, cells_in};
  if (w_hr.defined() || !suits(type, z.hidden, all)) return general(op, self, args, results);
  const RnnKernels& k = kernels_of(type);
  const int64_t n_all = x.size(0), gate_count = z.gates / z.hidden;
  auto fresh = [&](int64_t n, int64_t m) { return empty_tensor(Dims{n, m}, type, Device{}); };
  const Tensor out = contiguous(out_in), gates = contiguous(gates_in), cells = contiguous(cells_in);
  const Tensor g = g_out.defined() ? contiguous(g_out) : Tensor();
  const Tensor end = g_hy.defined() ? contiguous(g_hy) : zeros(hx.sizes(), type, Device{});
  const Tensor &source = mode == kLstm ? cells : out, initial = contiguous(mode == kLstm ? cx : hx);
  const Panels panels(k, w_hh, z.hidden, z.gates, 1, true);
  Tensor flow = fresh(n_all, z.gates), own = fresh(mode == kGru ? n_all : 0, z.hidden), dhx = fresh(z.batch, z.hidden),
         carry = zeros(Dims{z.batch, z.hidden}, type, Device{});
  if (mode == kLstm && g_cy.defined()) copy_rows(carry, contiguous(g_cy), 0, z.batch);
  int64_t later_n = 0, later = 0;
  for (int64_t i = s.steps() - 1; i >= -1; --i) {  // -1: what is left for the initial state
    const int64_t t = i >= 0 ? s.step(i) : 0, offset = s.offset(t), n = i >= 0 ? s.size(t) : 0;
    const int64_t before = i > 0 ? s.step(i - 1) : 0;
    const RnnBackStep step{mode,
                           gate_count,
                           z.hidden,
                           panels.memory.data(),
                           n,
                           later_n,
                           at(flow, later),
                           g.defined() ? at(g, offset) : nullptr,
                           end.data(),
                           mode >= kLstm ? at(gates, offset) : nullptr,
                           mode >= kLstm ? at(cells, offset) : nullptr,
                           at(out, offset),
                           at(source, s.offset(before)),
                           initial.data(),
                           i > 0 ? s.size(before) : 0,
                           at(flow, offset),
                           mode == kGru ? at(own, offset) : nullptr,
                           carry.data(),
                           dhx.data()};
    each_piece(k, panels.blocks, std::max(n, later_n), k.width * z.gates,
               [&](int64_t block, int64_t row) { k.back(step, block, row); });
    later_n = n;
    later = offset;
  }
  const Gradients made = gradients_of_flow(flow, own, dhx, mode == kLstm ? carry : fresh(0, z.hidden), x,
                                           s.before(hx, out), w_ih, Tensor(), mode, args[15].boolean());
  const Tensor d[] = {std::get<0>(made), std::get<1>(made), std::get<2>(made), std::get<3>(made),
                      std::get<4>(made), std::get<5>(made), std::get<6>(made), std::get<7>(made)};
  for (int i = 0; i < 8; ++i) results[i] = Value(d[i]);
}

}  // namespace

void register_rnn() {
  Operator *forward = find_operator("facula::rnn_layer"), *backward = find_operator("facula::rnn_layer_backward");
  forward->set_kernel(Device::CPU, {&layer, forward});
  backward->set_kernel(Device::CPU, {&layer_backward, backward});
}

}  // namespace fc::cpu
