// SPDX-License-Identifier: Apache-2.0
// The parts of the peephole pass: each looks at all nodes of the graph, innermost blocks first. And what they share.
#pragma once
#include "jit/ir/walk.h"
#include "jit/passes/pass.h"

namespace fc::jit {

bool peephole_tensor(Graph& g, const PassContext& context);           // what static types of tensors say
bool peephole_dict(Graph& g, const PassContext& context);             // dicts made in the graph and never changed
bool peephole_alias_sensitive(Graph& g, const PassContext& context);  // x + 0, x * 1, dim of a convolution
bool peephole_non_tensor(Graph& g, const PassContext& context);       // numbers, None, If
bool combine_concats(Graph& g, const PassContext& context);           // cat of a cat

// Every node, its blocks before it; the node may be destroyed.
template <class F>
bool for_each_inside_first(Graph& g, F&& f) {
  struct All final : Visitor {
    F& f;
    bool changed = false;
    explicit All(F& f) : f(f) {}
    void leave(Node* n) override { changed |= f(n); }
  } all(f);
  walk(*g.block(), all);
  return all.changed;
}

// False: the node has no result, as text may say.
inline bool replace_output(const PassContext& context, Node* n, Value* with) {
  if (n->num_outputs() == 0) return false;
  context.update("%", n->output(0)->name(), " of ", n->kind(), " is replaced with %", with->name());
  n->output(0)->replace_uses_with(with);
  return true;
}
inline bool replace_with_constant(const PassContext& context, Node* n, const fc::Value& v) {
  if (n->num_outputs() == 0) return false;
  InsertAt here(n);
  Value* made = n->graph().try_insert_constant(v);
  return made && replace_output(context, n, made);
}

}  // namespace fc::jit
