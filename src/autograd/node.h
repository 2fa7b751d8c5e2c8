// SPDX-License-Identifier: Apache-2.0
// The graph that backward walks. A Node turns gradients of an operation's results into gradients of its inputs; an
// Edge says where a gradient goes next and owns the node there. The node that adds to a leaf's gradient is owned by the
// edges that lead to it and, while it is the current one, by the leaf; such edges own the leaf as well, so nothing
// needs weak references and no cycle arises.
//
// A node's edges and inputs never change once its results can be seen. Several threads, and a backward inside of a
// backward, may run one node at the same time: what a run needs for itself is on its stack.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/spin.h"
#include "core/tensor.h"

namespace fc::autograd {

class Node;
class SavedTensor;  // saved.h
struct SavedItem;

struct Edge {
  Ref<Node> node;
  Ref<TensorImpl> leaf;  // for a node that adds to a leaf's gradient: the leaf
  uint32_t nr = 0;       // which of the node's inputs
  explicit operator bool() const { return static_cast<bool>(node); }
};

// What a gradient arriving at an input must look like.
struct InputMeta {
  Dims sizes;
  DType dtype = DType::Undefined;
  Device device;
  bool transposed = false;  // a matrix whose columns are contiguous: its gradient should be one
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

uint64_t next_hook_id();

// The hooks of one place, in order. A list that can be seen is never changed: adding and removing put another in its
// place. So hooks may change hooks, on any thread, and whoever runs them keeps the list that was found.
class AnyHookList : public RefCounted {
 public:
  virtual void remove(uint64_t id) = 0;
};
template <class H>
class HookList final : public AnyHookList {
 public:
  struct Entry {
    uint64_t id;
    Ref<H> hook;
    uint32_t nr;  // for tensor hooks: the input they watch
  };
  using Entries = std::vector<Entry>;

  uint64_t add(Ref<H> hook, uint32_t nr = 0) {
    const uint64_t id = next_hook_id();
    change([&](Entries& e) { e.push_back({id, std::move(hook), nr}); });
    return id;
  }
  void remove(uint64_t id) override {
    change([&](Entries& e) { std::erase_if(e, [id](const Entry& h) { return h.id == id; }); });
  }
  std::shared_ptr<const Entries> read() const {  // null for none
    std::lock_guard guard(lock_);
    return entries_;
  }

 private:
  template <class F>
  void change(const F& f) {
    std::shared_ptr<const Entries> before;  // dropped after the lock
    std::lock_guard guard(lock_);
    auto next = entries_ ? std::make_shared<Entries>(*entries_) : std::make_shared<Entries>();
    f(*next);
    before = std::exchange(entries_, std::move(next));
  }
  mutable SpinLock lock_;
  std::shared_ptr<const Entries> entries_;
};
using TensorHooks = HookList<TensorHook>;
using NodeHooks = HookList<NodeHook>;

// The list of a place, made when it is first needed.
template <class List>
List& hooks_at(OnceRef<List>& place) {
  return place.get_or_make([] { return make_ref<List>(); });
}
// Calls f(entry) for the hooks that a place has now.
template <class List, class F>
void for_each_hook(const OnceRef<List>& place, F&& f) {
  if (List* list = place.get()) [[unlikely]]
    if (const auto found = list->read())
      for (const auto& entry : *found) f(entry);
}

class Node : public RefCounted {
 public:
  Node();

  // Gradients of the results in (undefined where nothing flowed), gradients of the inputs out, one per edge.
  virtual std::vector<Tensor> apply(std::vector<Tensor>&& grads) = 0;
  virtual std::string name() const = 0;
  virtual void release_saved() {}  // after backward without retain_graph

  // What the node keeps for its backward, for programs that look at the graph: names, and what each stands for. The
  // last two throw once it is released.
  virtual std::vector<std::string> saved_names() const { return {}; }
  virtual SavedItem saved(size_t name);
  // Puts `next` in the place of a tensor that has no hooks of its own.
  virtual void replace_saved(size_t name, size_t item, const SavedTensor& next);

  SmallVector<Edge> edges;        // where input gradients go; empty edges need none
  SmallVector<InputMeta> inputs;  // one per result of the forward operation
  uint64_t sequence;              // order of creation on its thread: backward runs newer nodes first
  uint64_t call_id = 0;           // of the forward call, joining it to this node in profiles
  std::string forward_trace;      // where the forward call came from, in anomaly mode

  OnceRef<TensorHooks> tensor_hooks;  // on incoming gradients, before anything else
  OnceRef<TensorHooks> retain_hooks;  // retain_grad: they see the final incoming gradient
  OnceRef<NodeHooks> pre_hooks, post_hooks;

  void* python = nullptr;        // a Python object that stands for this node (borrowed)
  OnceRef<RefCounted> metadata;  // what programs keep with the node

  bool wants(size_t edge) const { return edge < edges.size() && edges[edge]; }
  uint32_t add_input(const Tensor& result);  // registers a forward result, returns its number

 protected:
  explicit Node(uint64_t sequence) : sequence(sequence) {}
  ~Node() override;
  void destroy() noexcept override { delete_in_turn(this); }

  [[noreturn]] static void raise_released();

  SpinLock lock_;  // over what derived nodes change after they are made
};

uint64_t peek_sequence();  // of this thread's next node

}  // namespace fc::autograd
