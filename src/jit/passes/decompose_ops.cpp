// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/decompose_ops.h"

#include "jit/ir/walk.h"
#include "jit/passes/pass.h"

namespace fc::jit {
namespace {

bool is_one(const Value* v) {
  auto c = constant_of(v);
  return c && v->type()->is_number() && c->arg().scalar().equals(1);
}

bool on_cuda(const Value* v) {
  const TensorFacts* f = v->type()->is(TypeKind::Tensor) ? v->type()->facts() : nullptr;
  return f && f->device && device_type_name(f->device->type) == "cuda";
}

Value* call(Graph& g, const SymbolEntry& kind, std::initializer_list<Value*> inputs) {
  return g.insert(g.create(kind, std::span<Value* const>(inputs.begin(), inputs.size())))->output();
}

bool addmm(Graph& g, Node* n) {  // self, mat1, mat2, beta, alpha
  if (n->num_inputs() != 5 || !is_one(n->input(3)) || !is_one(n->input(4))) return false;
  InsertAt here(n);
  Value* one = g.insert_constant(int64_t(1));
  Value* product = call(g, aten_mm, {n->input(1), n->input(2)});
  Value* sum = call(g, aten_add, {n->input(0), product, one});
  n->output()->replace_uses_with(sum);
  return true;
}

// The statistics stay one operator, weight and bias become mul and add.
bool layer_norm(Graph& g, Node* n) {  // input, normalized_shape, weight, bias, eps, cudnn_enable
  if (n->num_inputs() != 6 || !on_cuda(n->input(0))) return false;
  Value *weight = n->input(2), *bias = n->input(3);
  if ((is_none(weight) && is_none(bias)) || weight->type()->is(TypeKind::Optional) ||
      bias->type()->is(TypeKind::Optional))
    return false;
  InsertAt here(n);
  Value* none = g.insert_constant(fc::Value());
  Value* out = call(g, aten_layer_norm, {n->input(0), n->input(1), none, none, n->input(4), n->input(5)});
  Value* one = g.insert_constant(int64_t(1));
  if (!is_none(weight)) out = call(g, aten_mul, {out, weight});
  if (!is_none(bias)) out = call(g, aten_add, {out, bias, one});
  n->output()->replace_uses_with(out);
  return true;
}

bool batch_norm(Graph& g, Node* n) {  // input, weight, bias, mean, var, training, momentum, eps, cudnn_enabled
  if (n->num_inputs() != 9 || !on_cuda(n->input(0))) return false;
  const TensorFacts* f = n->input(0)->type()->facts();
  Value *weight = n->input(1), *bias = n->input(2);
  if (!f->sizes || f->sizes->size() < 2 || (is_none(weight) && is_none(bias)) ||
      weight->type()->is(TypeKind::Optional) || bias->type()->is(TypeKind::Optional))
    return false;
  InsertAt here(n);
  Value* none = g.insert_constant(fc::Value());
  std::vector<Value*> in = n->inputs();
  in[1] = in[2] = none;
  Value* out = g.insert(g.create(aten_batch_norm, in))->output();
  Value* one = g.insert_constant(int64_t(1));
  // Of a value for each channel: dimensions behind the channel are added.
  auto shaped = [&](Value* v) {
    for (size_t d = 2; d < f->sizes->size(); ++d)
      v = call(g, aten_unsqueeze, {v, g.insert_constant(static_cast<int64_t>(d - 1))});
    return v;
  };
  if (!is_none(weight)) out = call(g, aten_mul, {out, shaped(weight)});
  if (!is_none(bias)) out = call(g, aten_add, {out, shaped(bias), one});
  n->output()->replace_uses_with(out);
  return true;
}

}  // namespace

bool decompose_ops(Graph& g, PassContext& context) {
  bool changed = false, at_top = false;
  for (Node *n = walk_first(*g.block()), *next = nullptr; n; n = next) {
    next = walk_next(n, *g.block());
    if (!is_any(n->kind(), aten_addmm, aten_layer_norm, aten_batch_norm) || !context.allowed()) continue;
    const bool done = n->is(aten_addmm) ? addmm(g, n) : n->is(aten_layer_norm) ? layer_norm(g, n) : batch_norm(g, n);
    at_top |= done && n->owning_block() == g.block();
    if (done) n->destroy();
    changed |= done;
  }
  if (at_top) {  // as in PyTorch, what was split deeper inside is cleaned by others
    context.run("ConstantPropagation", g);
    context.run("EliminateDeadCode", g);
  }
  return changed;
}

}  // namespace fc::jit
