// SPDX-License-Identifier: Apache-2.0
// The graph that backward walks. A Node turns gradients of an operation's results into gradients of its inputs; an
// Edge says where a gradient goes next. Interior edges own their node. An edge to a leaf owns the leaf tensor, which
// in turn owns its accumulating node, so nothing needs weak references and no cycle arises.
//
// Destruction is iterative: a chain of a million nodes is freed in a loop, never by recursion (Node::destroy).
#pragma once
#include <mutex>
#include <string>
#include <vector>

#include "core/tensor.h"

namespace fc::autograd {

class Node;

struct Edge {
  Ref<RefCounted> owner;  // keeps `node` alive: the node itself, or the leaf tensor it belongs to
  Node* node = nullptr;
  uint32_t nr = 0;  // which of the node's inputs
  explicit operator bool() const { return node != nullptr; }
};

// What a gradient arriving at an input must look like.
struct InputMeta {
  Dims sizes;
  DType dtype = DType::Undefined;
  Device device;
};

// A function on gradients, from Python or C++. An undefined result leaves the gradient as it is.
class TensorHook : public RefCounted {
 public:
  virtual Tensor call(const Tensor& gradient) = 0;
};
class NodeHook : public RefCounted {  // around a whole node
 public:
  // Pre: may replace grad_outputs. Post: may replace grad_inputs, sees grad_outputs too.
  virtual void call(std::vector<Tensor>& grad_inputs, std::vector<Tensor>& grad_outputs) = 0;
};
template <class H>
struct HookEntry {
  uint64_t id;
  Ref<H> hook;
  uint32_t nr = 0;  // for tensor hooks: the input they watch
};

class Node : public RefCounted {
 public:
  Node();

  // Gradients of the results in (undefined where nothing flowed), gradients of the inputs out, one per edge.
  virtual std::vector<Tensor> apply(std::vector<Tensor>&& grads) = 0;
  virtual std::string name() const = 0;
  virtual void release_saved() {}  // after backward without retain_graph

  SmallVector<Edge> edges;        // where input gradients go; empty edges need none
  SmallVector<InputMeta> inputs;  // one per result of the forward operation
  uint64_t sequence;              // order of creation: backward runs newer nodes first
  uint64_t call_id = 0;           // of the forward call, joining it to this node in profiles
  std::string forward_trace;      // where the forward call came from, in anomaly mode

  std::vector<HookEntry<TensorHook>> tensor_hooks;  // on incoming gradients, before anything else
  std::vector<HookEntry<TensorHook>> retain_hooks;  // retain_grad: sees the final incoming gradient
  std::vector<HookEntry<NodeHook>> pre_hooks, post_hooks;
  std::mutex mutex;  // held while the node runs: two threads may walk one graph

  void* python = nullptr;  // a Python object that stands for this node (borrowed)

  bool wants(size_t edge) const { return edge < edges.size() && edges[edge]; }
  uint32_t add_input(const Tensor& result);  // registers a forward result, returns its number

 protected:
  ~Node() override;
  void destroy() noexcept override;
};

uint64_t next_hook_id();
uint64_t peek_sequence();

}  // namespace fc::autograd
