// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/integer_value_refinement.h"

#include "jit/passes/pass.h"
#include "jit/passes/refinements.h"

namespace fc::jit {
namespace {

class IntRefiner final : public Refiner {
 public:
  IntRefiner(Graph& g, PassContext& context) : Refiner(g), context_(context) {}
  bool changed = false;

 private:
  void visit(Node* n) override {
    if (is_any(n->kind(), aten_eq, aten_ne) && n->num_inputs() == 2 && is_int(n->input(0)) && is_int(n->input(1))) {
      const auto a = constant_int(n->input(0)), b = constant_int(n->input(1));
      if (a.has_value() != b.has_value()) {
        BranchKnown& c = condition(n->output());
        (n->is(aten_eq) ? c.yes : c.no).emplace(n->input(a ? 1 : 0), a ? *a : *b);
      }
    }
    for (size_t i = 0; i < n->num_inputs(); ++i) replace(n, n, i);
  }
  void end_of_block(Block* b) override {
    for (size_t i = 0; i < b->num_outputs(); ++i) replace(b->return_node(), b->return_node(), i);
  }

  static bool is_int(const Value* v) { return v->type()->is(TypeKind::Int); }

  void replace(Node* user, Node* where, size_t i) {
    Value* v = user->input(i);
    if (!is_int(v) || v->node()->is(prim_Constant)) return;
    const auto known = find(v);
    if (!known || !context_.allowed()) return;
    InsertAt here(where);
    user->replace_input(i, graph_.insert_constant(*known));
    changed = true;
  }

  PassContext& context_;
};

}  // namespace

bool refine_integer_values(Graph& g, PassContext& context) {
  IntRefiner refiner(g, context);
  refiner.run();
  return refiner.changed;
}

}  // namespace fc::jit
