// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/canonicalize_graph_fuser_ops.h"

#include <algorithm>

#include "define/calls.h"
#include "jit/ir/walk.h"
#include "jit/passes/pass.h"

namespace fc::jit {
namespace {

// The second operand as a number, if it is a tensor constant without dimensions.
bool number_operand(Graph& g, Node* n) {
  if (!is_any(n->kind(), aten_add, aten_sub, aten_mul, aten_div) || n->num_inputs() < 2) return false;
  if (!n->input(0)->type()->is(TypeKind::Tensor) || !n->input(1)->type()->is(TypeKind::Tensor)) return false;
  auto value = constant_of(n->input(1));
  if (!value || !value->is_tensor() || !value->tensor().defined() || value->tensor().dim() != 0) return false;
  if (value->tensor().dtype() == DType::Bool) return false;  // no operator takes a bool for a number
  InsertAt here(n);
  std::vector<Value*> in = n->inputs();
  in[1] = g.insert_constant(fc::Value(call<"aten::_local_scalar_dense", Scalar>(value->tensor())));
  Node* made = g.insert(g.create(n->kind(), in));
  made->copy_metadata(*n);
  n->output(0)->replace_uses_with(made->output());
  return true;
}

bool constant_chunk(Graph& g, Node* n) {
  if (!n->is(aten_chunk) || n->num_inputs() != 3) return false;
  auto chunks = constant_int(n->input(1)), dim = constant_int(n->input(2));
  if (!chunks || !dim || *chunks < 1 || *chunks > 4096) return false;
  struct Item {
    int64_t index;
    Value* value;
  };
  std::vector<Item> items;
  for (const Use& u : n->output(0)->uses()) {
    if (u.user->is(prim_ListUnpack)) {
      if (static_cast<int64_t>(u.user->num_outputs()) != *chunks) return false;
      for (size_t i = 0; i < u.user->num_outputs(); ++i) items.push_back({static_cast<int64_t>(i), u.user->output(i)});
    } else if ((u.user->is(aten___getitem__) || u.user->kind().text() == "aten::select") && u.user->num_inputs() == 2 &&
               u.offset == 0) {
      auto i = constant_int(u.user->input(1));
      if (!i || *i < -*chunks || *i >= *chunks) return false;
      items.push_back({*i < 0 ? *i + *chunks : *i, u.user->output(0)});
    } else {
      return false;
    }
  }
  Value* in = n->input(0);
  Node* made = g.create(prim_ConstantChunk, std::span<Value* const>(&in, 1), static_cast<size_t>(*chunks));
  made->set_int(attr_chunks, *chunks)->set_int(attr_dim, *dim);
  made->copy_metadata(*n);
  made->insert_before(n);
  for (const Item& item : items) {
    Value* to = made->output(static_cast<size_t>(item.index));
    item.value->replace_uses_with(to);
    to->set_type(item.value->type());
  }
  return true;
}

}  // namespace

bool canonicalize_fuser_ops(Graph& g, PassContext& context) {
  for_each_node(*g.block(), [&](Node* n) {
    if (is_any(n->kind(), aten_add, aten_sub, aten_mul, aten_div, aten_chunk) && context.allowed())
      n->is(aten_chunk) ? constant_chunk(g, n) : number_operand(g, n);
  });
  return true;  // dead code goes also where nothing was rewritten, as in PyTorch
}

}  // namespace fc::jit
