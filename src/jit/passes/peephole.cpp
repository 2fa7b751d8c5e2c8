// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/peephole.h"

#include "dispatch/operator.h"
#include "jit/passes/peephole_list_idioms.h"
#include "jit/passes/peephole_parts.h"

namespace fc::jit {

bool peephole(Graph& g, PassContext& context) {
  bool changed = peephole_tensor(g, context);
  changed |= peephole_lists(g, context);
  changed |= peephole_dict(g, context);
  changed |= peephole_alias_sensitive(g, context);
  changed |= peephole_non_tensor(g, context);
  changed |= combine_concats(g, context);
  return changed;
}

namespace {

const TensorFacts* facts(const Value* v) { return v->type()->is(TypeKind::Tensor) ? v->type()->facts() : nullptr; }

std::optional<Dims> all_sizes(const Value* v) {
  const TensorFacts* f = facts(v);
  if (!f || !f->sizes) return {};
  Dims out;
  for (const auto& s : *f->sizes) {
    if (!s || *s < 0) return {};
    out.push_back(*s);
  }
  return out;
}

bool is_tensor(const Value* v) { return v->type()->is(TypeKind::Tensor); }

bool one_tensor(Node* n, const PassContext& context) {
  if (n->num_outputs() != 1 || n->num_inputs() == 0) return false;
  Value* in = n->input(0);
  const TensorFacts* f = facts(in);
  const size_t inputs = n->num_inputs();
  if (n->is(aten_t) && inputs == 1 && in->node()->is(aten_t) && in->node()->num_inputs() == 1)
    return replace_output(context, n, in->node()->input(0));
  if (is_any(n->kind(), aten_Float, aten_Int, aten_FloatImplicit, aten_IntImplicit, aten_ScalarImplicit,
             aten_ComplexImplicit) &&
      inputs == 1 && in->node()->is(prim_NumToTensor) && is_subtype(in->node()->input(0)->type(), n->output(0)->type()))
    return replace_output(context, n, in->node()->input(0));
  if (n->is(aten__grad_sum_to_size) && inputs == 2 && is_none(n->input(1))) return replace_output(context, n, in);
  if (!context.shapes) return false;

  if (n->is(aten_expand) && inputs == 3) {
    auto sizes = all_sizes(in);
    auto wanted = constant_of(n->input(1));
    if (sizes && wanted && wanted->tag() == Tag::IntList && std::ranges::equal(wanted->arg().ints(), *sizes))
      return replace_output(context, n, in);
  } else if (n->is(aten_type_as) && inputs == 2) {
    const TensorFacts* like = facts(n->input(1));
    if (f && like && f->dtype && f->device && f->dtype == like->dtype && f->device == like->device)
      return replace_output(context, n, in);
  } else if (n->is(aten_size) && is_tensor(in) && inputs == 1) {
    if (auto sizes = all_sizes(in)) return replace_with_constant(context, n, fc::Value(IntSpan(*sizes)));
  } else if (n->is(aten_size) && is_tensor(in) && inputs == 2) {
    auto d = constant_int(n->input(1));
    if (!f || !f->sizes || !d) return false;
    const auto rank = static_cast<int64_t>(f->sizes->size());
    const int64_t at = *d < 0 ? *d + rank : *d;
    if (at < 0 || at >= rank) return false;
    const auto& size = (*f->sizes)[static_cast<size_t>(at)];
    if (size && *size >= 0) return replace_with_constant(context, n, *size);
  } else if (n->is(aten_len) && inputs == 1 && in->node()->is(aten_size) && in->node()->num_inputs() == 1) {
    const TensorFacts* of = facts(in->node()->input(0));
    if (of && of->sizes) return replace_with_constant(context, n, static_cast<int64_t>(of->sizes->size()));
  } else if (n->is(aten_dim) && inputs == 1 && f && f->sizes) {
    return replace_with_constant(context, n, static_cast<int64_t>(f->sizes->size()));
  } else if (n->is(prim_dtype) && f && f->dtype) {
    return replace_with_constant(context, n, static_cast<int64_t>(*f->dtype));
  } else if (n->is(prim_device) && f && f->device) {
    return replace_with_constant(context, n, *f->device);
  } else if (n->is(prim_is_cuda) && f && f->device) {
    return replace_with_constant(context, n, device_type_name(f->device->type) == "cuda");
  } else if (n->is(prim_is_cpu) && f && f->device) {
    return replace_with_constant(context, n, f->device->is_cpu());
  } else if (n->is(aten_is_floating_point) && f && f->dtype) {
    return replace_with_constant(context, n, is_floating(*f->dtype));
  } else if (n->is(aten_is_complex) && f && f->dtype) {
    return replace_with_constant(context, n, is_complex(*f->dtype));
  }
  return false;
}

}  // namespace

bool peephole_tensor(Graph& g, const PassContext& context) {
  return for_each_inside_first(g, [&](Node* n) { return context.allowed() && one_tensor(n, context); });
}

}  // namespace fc::jit
