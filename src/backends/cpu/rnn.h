// SPDX-License-Identifier: Apache-2.0
// A step of a recurrent layer, compiled once per instruction set (isa/rnn.cpp). The state's weights are packed once for
// all steps, as panels of some units. A step is cut into pieces, of some units and some rows; a piece multiplies and
// applies the cell while its sums are at hand, and pieces of one step may run at once.
#pragma once
#include <cstdint>

#include "backends/cpu/variants.h"

namespace fc::cpu {

// Matrices are dense, of the layer's type.
struct RnnStep {
  int64_t mode, gate_count, hidden;
  const void* panels;        // the state's weights
  int64_t n;                 // rows of this step
  void* gates;               // [n, gate_count * hidden]: what the input adds, then the gates themselves
  void* cells;               // [n, hidden]: the LSTM's cells, the GRU's product for its last gate
  void* out;                 // [n, hidden]
  const void *state, *b_hh;  // the state before, [n, hidden]; the GRU's bias of the product, or null
  void *next, *c;            // the state after, which is not `state`; the LSTM's cells, in place
};
// The way back: from the gradients of this step's result to those of its gates. What the step after it (in time) left
// in `later` is multiplied by the weights, and is what the state of its rows gets.
struct RnnBackStep {
  int64_t mode, gate_count, hidden;
  const void* panels;
  int64_t n, later_n;        // rows of this step, 0 for the last piece of all, and of the one after
  const void* later;         // [later_n, gate_count * hidden]
  const void *g_out, *g_hy;  // of this step's results, or null; of the last states
  const void *gates, *cells, *out;
  const void *before, *initial;  // the cells (LSTM) or states (GRU) before this step: of rows < before_n, of others
  int64_t before_n;
  void *flow, *own;  // results: gradients of the gates, [n, gate_count * hidden], and the GRU's own
  void* carry;       // [batch, hidden]: the cells' gradients, or what the GRU hands through
  void* dhx;         // gets the gradients of rows that no earlier step has
};
struct RnnKernels {
  int64_t width;  // units of a panel
  int64_t (*rows_of_piece)(int64_t n) = nullptr;
  // Panel `block` of gate_count matrices of hidden x depth numbers; a number's place by unit and depth, in elements.
  void (*pack)(const void* weights, int64_t unit_stride, int64_t depth_stride, int64_t hidden, int64_t depth,
               int64_t gate_count, int64_t block, void* panels) = nullptr;
  void (*step)(const RnnStep& s, int64_t block, int64_t row) = nullptr;
  void (*back)(const RnnBackStep& s, int64_t block, int64_t row) = nullptr;
};
FC_VARIANTS(RnnKernels rnn_kernels(bool is_double);)

}  // namespace fc::cpu
