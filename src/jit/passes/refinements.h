// SPDX-License-Identifier: Apache-2.0
// What is known of values in blocks, because of the branches that were taken to come there; shared by the passes that
// use lengths of lists and values of ints.
#pragma once
#include <functional>
#include <map>
#include <unordered_map>

#include "jit/ir/graph.h"
#include "jit/ir/walk.h"

namespace fc::jit {

using Known = std::map<const Value*, int64_t>;  // a value, and the int that is known of it
struct BranchKnown {
  Known yes, no;  // where the condition holds, and where it does not
};

// Walks the graph in order. A pass says what a node's result tells about others (conditions), and what becomes of a
// node where something is known; the rest, branches that only raise and conditions made of conditions, is done here.
class Refiner : public Visitor {
 public:
  explicit Refiner(Graph& g) : graph_(g) {}
  void run() { walk(*graph_.block(), *this); }

 protected:
  virtual void visit(Node* n) = 0;      // sees what is known here: find
  virtual void end_of_block(Block*) {}  // before its outputs' knowledge goes
  std::optional<int64_t> find(const Value* v) const {
    const auto at = here_.find(v);
    return at == here_.end() ? std::nullopt : std::optional(at->second);
  }
  BranchKnown& condition(const Value* v) { return conditions_[v]; }
  Graph& graph_;

 private:
  void enter_block(Block* b) final;
  void leave_block(Block* b) final;
  bool enter(Node* n) final;
  void leave(Node* n) final;
  void learn(const Known& k);

  struct Fact {
    const Value* value;
    std::optional<int64_t> before;
  };
  struct Open {
    std::vector<Fact> facts;
    bool raises = false;
  };
  Known here_;
  std::vector<Open> open_;
  std::unordered_map<const Value*, BranchKnown> conditions_;
  std::unordered_map<const Block*, std::pair<bool, Known>> done_;  // whether it raises, and what was known at its end
};

}  // namespace fc::jit
