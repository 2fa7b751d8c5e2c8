// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/remove_inplace_ops.h"

#include <algorithm>

#include "jit/ir/walk.h"
#include "jit/passes/pass.h"

namespace fc::jit {
namespace {

struct Row {
  std::string_view in_place, instead;
  size_t nones;  // arguments that the other has beside: dtype, layout, device, pin_memory, memory_format
};
constexpr Row table[] = {
    {"aten::add_", "aten::add", 0}, {"aten::sub_", "aten::sub", 0},         {"aten::mul_", "aten::mul", 0},
    {"aten::div_", "aten::div", 0}, {"aten::zero_", "aten::zeros_like", 5}, {"aten::fill_", "aten::full_like", 5},
};

}  // namespace

bool remove_inplace_ops(Graph& g, PassContext& context) {
  bool changed = false;
  for (Node *n = walk_first(*g.block()), *next = nullptr; n; n = next) {
    next = walk_next(n, *g.block());
    const Row* row = std::ranges::find(table, n->kind().text(), &Row::in_place);
    if (row == std::end(table) || n->num_inputs() == 0 || n->num_outputs() != 1) continue;
    // What a branch or a loop writes of a value from around it is read outside, too: that stays as it is.
    if (n->input(0)->node()->owning_block() != n->owning_block() || !context.allowed()) continue;
    InsertAt here(n);
    std::vector<Value*> inputs = n->inputs();
    for (size_t i = 0; i < row->nones; ++i) inputs.push_back(g.insert_constant(fc::Value()));
    Node* made = g.insert(g.create(Symbol::of(row->instead), inputs));
    made->copy_metadata(*n);
    made->output()->set_type(n->output()->type());
    n->output()->replace_uses_with(made->output());
    n->input(0)->replace_uses_after_with(made, made->output());
    n->destroy();
    changed = true;
  }
  return changed;
}

}  // namespace fc::jit
