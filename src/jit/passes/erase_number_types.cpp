// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/erase_number_types.h"

#include "define/calls.h"
#include "jit/ir/walk.h"

namespace fc::jit {
namespace {

DType number_dtype(const Scalar& s) {
  if (s.is_bool()) return DType::Bool;
  if (s.is_integral(false)) return DType::Int64;
  return s.is_complex() ? DType::Complex128 : DType::Float64;
}

// The type of a number's tensor; null: it is no number.
TypeRef tensor_of_number(TypeRef t) {
  TensorFacts facts;
  switch (t->kind()) {
    case TypeKind::Int: facts.dtype = DType::Int64; break;
    case TypeKind::Float: facts.dtype = DType::Float64; break;
    case TypeKind::Complex: facts.dtype = DType::Complex128; break;
    case TypeKind::Bool: facts.dtype = DType::Bool; break;
    case TypeKind::Number: return tensor_type();
    default: return nullptr;
  }
  facts.device = Device{};
  facts.sizes.emplace();
  facts.strides.emplace();
  return tensor_type(facts);
}

}  // namespace

bool erase_number_types(Graph& g, PassContext&) {
  bool changed = false;
  auto erase = [&](Value* v) {
    if (TypeRef t = tensor_of_number(v->type())) {
      v->set_type(t);
      changed = true;
    }
  };
  for (Value* v : g.inputs()) erase(v);
  for (Node *n = walk_first(*g.block()), *next = nullptr; n; n = next) {
    next = walk_next(n, *g.block());
    for (Value* v : n->inputs()) erase(v);
    for (Block* b : n->blocks())
      for (Value* v : b->inputs()) erase(v);
    if (n->is(prim_Constant)) {
      auto value = constant_of(n->output(0));
      if (!value || !tensor_of_number(n->output(0)->type())) continue;
      const Scalar s = value->arg().scalar();
      InsertAt here(n);
      Value* made = g.insert_constant(call<"aten::full", Tensor>(IntSpan(), s, number_dtype(s), std::optional<Layout>(),
                                                                 std::optional<Device>(), std::optional<bool>()));
      made->copy_metadata(*n->output(0));  // an int still, until something reads it
      n->output(0)->replace_uses_with(made);
      n->destroy();
      changed = true;
    } else if (is_any(n->kind(), prim_NumToTensor, aten_Int, aten_Float, aten_Bool, aten_FloatImplicit,
                      aten_IntImplicit, aten_ScalarImplicit) &&
               n->num_inputs() == 1) {
      n->output(0)->replace_uses_with(n->input(0));
      changed = true;
    } else {
      for (Value* v : n->outputs()) erase(v);
    }
  }
  return changed;
}

}  // namespace fc::jit
