// SPDX-License-Identifier: Apache-2.0
// The public face of automatic differentiation for C++ code and the fronts.
#pragma once
#include <functional>

#include "autograd/node.h"
#include "core/value.h"

namespace fc::autograd {

void install_layers();  // once, at start-up

bool requires_grad(const Tensor& t);
void set_requires_grad(const Tensor& t, bool on);  // throws for integers; off, for non-leaf tensors
bool is_leaf(const Tensor& t);
Tensor grad_of(const Tensor& t);                  // undefined if none
void set_grad(const Tensor& t, const Tensor& g);  // checks shape, type, device
Ref<Node> grad_fn(const Tensor& t);               // null for leaves; rebuilt for views whose base was written to
Edge gradient_edge(const Tensor& t);              // the node and input that this tensor's gradient goes to
bool is_view(const Tensor& t);
const Tensor& base_of(const Tensor& t);
void retain_grad(const Tensor& t);
bool retains_grad(const Tensor& t);
uint32_t output_nr(const Tensor& t);
void detach_in_place(const Tensor& t);
Tensor data_of(const Tensor& t);  // `.data`: same storage, own version counter, no history
void set_data(const Tensor& t, const Tensor& data);

// What takes a hook away again, on any thread. It keeps the list of hooks, and neither the tensor nor the graph.
struct HookHandle {
  Ref<AnyHookList> list;
  uint64_t id;
  void remove() const { list->remove(id); }
};
HookHandle add_hook(const Tensor& t, Ref<TensorHook> hook);
HookHandle add_post_accumulate_hook(const Tensor& t, Ref<TensorHook> hook);

// Connects a result that nobody else has seen to the node that computed it.
void set_history(const Tensor& result, const Ref<Node>& node);
// The same for a tensor changed in place, which is the node's input (and edge) number `input`: rewires views and bases.
void rebase_history(const Tensor& self, const Ref<Node>& node, size_t input = 0);
void check_in_place(const char* op, const Tensor& self);  // throws where an in-place write would break the graph
void make_view_of(const Tensor& view, const Tensor& base, bool multi_output);

struct BackwardOptions {
  bool keep_graph = false;
  bool create_graph = false;
  bool allow_unused = false;
  bool accumulate = true;  // into leaves; false for grad()
};
// Runs backward from roots with these gradients. With `inputs`, only what they need runs; their gradients are
// returned (undefined where unused) or, if accumulate, added to the inputs.
std::vector<Tensor> run_backward(TensorSpan roots, TensorSpan root_grads, TensorSpan inputs, const BackwardOptions& o);
// The same from and to edges of the graph.
std::vector<Tensor> run_backward_edges(std::vector<Edge> roots, std::vector<Tensor> root_grads,
                                       const std::vector<Edge>& inputs, const BackwardOptions& o);
void backward(const Tensor& root, const Tensor& grad = {}, bool keep_graph = false, bool create_graph = false);

// Of the backward pass that runs on this thread:
uint64_t current_backward();                          // a number of its own; 0 outside of one
bool backward_to_all_leaves();                        // it accumulates, and was not told into which
bool backward_runs(const Node& node);                 // this node has had its turn, or will
void at_end_of_backward(std::function<void()> what);  // runs on the thread that called backward, if that does not fail

// Hook of the Python front: the current Python stack as text, for anomaly mode.
extern std::string (*stack_trace_hook)();

}  // namespace fc::autograd
