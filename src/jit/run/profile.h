// SPDX-License-Identifier: Apache-2.0
// What the first calls of a function see. The graph they run has a prim::profile behind each tensor that a later plan
// may want to know more of; each collects the facts that held for all tensors that passed through it.
//
//   %4 : Tensor = prim::profile[profiled_type=Float(2, strides=[1], requires_grad=0, device=cpu), seen_none=0](%x)
//    = prim::profile()                      the last node: one run is over
#pragma once
#include <atomic>
#include <vector>

#include "jit/ir/graph.h"

namespace fc::jit {

class ProfilingRecord final : public RefCounted {
 public:
  ~ProfilingRecord() override;
  // A copy of the graph with its prim::profile nodes, for that many runs that end well.
  static Ref<ProfilingRecord> instrument_graph(const Graph& g, int runs);

  // Its nodes' attributes say what was seen, and change at the end of a run until the record is full.
  const Ref<Graph>& graph() const { return graph_; }
  bool is_full() const { return full_.load(std::memory_order_acquire); }

 private:
  friend class RunCounter;
  friend struct Seen;
  void finish_run();  // under seen_'s lock
  Ref<Graph> graph_;
  Ref<RefCounted> seen_;  // what the graph's nodes share with it
  std::vector<Node*> nodes_;
  int left_ = 1;
  std::atomic<bool> full_ = false;
};

// What runs a prim::profile: told of the value, or, of the last node, of the end of a run. Null: nothing is collected,
// as in a graph that was parsed.
struct ProfileHook : RefCounted {
  virtual void run(const fc::Value* seen) = 0;
};

// Whether some tensor of the profile requires a gradient; in every block.
bool any_requires_grad(const Block& b);
// The facts of a tensor as this thread sees it: under no_grad nothing requires a gradient.
TensorFacts facts_here(const Tensor& t);
// Whether the tensor is one of which these facts hold. Sizes count only where all are known.
bool holds(const TensorFacts& facts, const Tensor& t);

// prim::profile nodes go, in every block and subgraph. `types`: what they saw is said of the values.
void remove_profile_nodes(Block& b, bool types);
// The counter at the end goes.
void remove_profile_counter(Block& b);

}  // namespace fc::jit
