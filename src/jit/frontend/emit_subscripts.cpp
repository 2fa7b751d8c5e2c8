// SPDX-License-Identifier: Apache-2.0
// x[…], of tensors with several indices of any kind, of lists, tuples, strings, dicts, objects.
#include <algorithm>

#include "jit/frontend/emitter.h"

namespace fc::jit {

namespace {
bool is_tensor(TypeRef t) { return is_subtype(t, tensor_type()); }
}  // namespace

SugaredRef Emitter::subscript(const Tree& e, TypeRef hint) {
  SugaredRef base = sugared(e.part(0));
  const Tree& indices = e.part(1);
  const SourceRange &at = e.range(), &base_at = e.part(0).range();
  if (indices.size() != 1) return simple(multidimensional(at, base->as_value(base_at, g_), indices));
  const Tree& index = indices.part(0);
  if (index.is(Syntax::Slice)) {
    if (base->kind() == "module") {
      Value* tuple = base->as_tuple_value(base_at, g_)->as_value(base_at, g_);
      return simple(tuple_slice(base_at, tuple, index));
    }
    Value* v = base->as_value(base_at, g_);
    if (v->type()->is(TypeKind::Tuple)) return simple(tuple_slice(at, v, index));
    Value* dim = is_tensor(v->type()) ? insert_constant(g_, 0, at) : nullptr;
    return simple(slice(at, v, dim, index));
  }
  if (index.is(Syntax::Dots)) return simple(multidimensional(at, base->as_value(base_at, g_), indices));
  SugaredRef i = sugared(index);
  if (const auto* s = dynamic_cast<const SliceValue*>(i.get())) {
    Value* v = base->as_value(base_at, g_);
    Value* dim = is_tensor(v->type()) ? insert_constant(g_, 0, at) : nullptr;
    return simple(slice_by(at, v, dim, *s));
  }
  Value* place = i->as_value(base_at, g_);
  Value* v = base->graph_value();
  if (!v) return base->getitem(at, g_, place, hint);
  if (v->type()->is(TypeKind::Tuple)) return simple(tuple_index(at, v, place));
  if (is_tensor(v->type())) return simple(multidimensional(at, v, indices));
  return base->getitem(at, g_, place, hint);
}

std::pair<Value*, std::vector<Value*>> Emitter::int_and_slice_indexing(const SourceRange& at, Value* v,
                                                                       const Tree& list) {
  const auto indices = list.parts();
  const size_t n = indices.size();
  std::vector<int64_t> dims(n);
  std::vector<Value*> found(n);
  std::vector<Ref<SliceValue>> slices(n);
  // The dimension behind an index, going right, or before it, going left from the end.
  const auto look = [&](size_t i, int64_t dim, bool reverse) -> int64_t {
    const Tree& e = *indices[i];
    dims[i] = dim;
    if (e.is(Syntax::Slice)) return reverse ? dim - 1 : dim + 1;
    SugaredRef s = sugared(e);
    if (auto* slice_value = dynamic_cast<SliceValue*>(s.get())) {
      slices[i] = Ref<SliceValue>(slice_value);
      return reverse ? dim - 1 : dim + 1;
    }
    Value* index = expression(e, e.is(Syntax::None) ? simple_type(TypeKind::None) : nullptr);
    TypeRef t = index->type();
    if (t->is(TypeKind::List)) {
      Arguments named;
      if (t->item()->is(TypeKind::Int)) named.emplace_back("dtype", g_.insert_constant(DType::Int64));
      index = emit_builtin(at, g_, aten_tensor, {NamedValue(index)}, named);
      t = index->type();
    }
    found[i] = index;
    if (t->is(TypeKind::None)) return reverse ? dim : dim + 1;
    if (t->is(TypeKind::Int)) return reverse ? dim - 1 : dim;
    if (is_subtype(t, optional_type(tensor_type()))) {
      if (reverse) fail(at, "Ellipses followed by tensor indexing is currently not supported");
      return dim + 1;
    }
    fail(at, "Unsupported operation: indexing tensor with unsupported index type '", type_name(t),
         "'. Only ints, slices, lists and tensors are supported");
  };
  size_t i = 0;
  int64_t dim = 0;
  for (; i < n && !indices[i]->is(Syntax::Dots); ++i) dim = look(i, dim, false);
  int64_t back = -1;
  for (size_t r = n; r-- > i + 1;) {
    if (indices[r]->is(Syntax::Dots)) fail(at, "An index can only have a single ellipsis ('...')");
    back = look(r, back, true);
  }
  std::vector<Value*> tensors;
  const auto dim_value = [&](size_t k) { return insert_constant(g_, dims[k], at); };
  for (size_t k = 0; k < n; ++k) {
    if (!found[k]) {
      if (indices[k]->is(Syntax::Slice)) v = slice(at, v, dim_value(k), *indices[k]);
      else if (slices[k]) v = slice_by(at, v, dim_value(k), *slices[k]);
      continue;
    }
    TypeRef t = found[k]->type();
    if (t->is(TypeKind::None)) {
      v = emit_builtin(at, g_, aten_unsqueeze, {NamedValue(v), NamedValue(dim_value(k))});
    } else if (t->is(TypeKind::Int)) {
      v = emit_builtin(at, g_, Symbol::of("aten::select"),
                       {NamedValue(v), NamedValue(dim_value(k)), NamedValue(found[k])});
    } else {
      tensors.resize(static_cast<size_t>(dims[k]) + 1);
      tensors[static_cast<size_t>(dims[k])] = found[k];
    }
  }
  for (Value*& t : tensors)
    if (!t) t = g_.insert(g_.create_none())->output();
  return {v, tensors};
}

Value* Emitter::multidimensional(const SourceRange& at, Value* v, const Tree& indices) {
  if (!is_tensor(v->type()))
    fail(at, "Unsupported operation: attempted to use multidimensional indexing on a non-tensor type");
  const auto [part, tensors] = int_and_slice_indexing(at, v, indices);
  if (tensors.empty()) return part;
  Value* list = g_.insert(g_.create_list(optional_type(tensor_type()), tensors))->output();
  return emit_builtin(at, g_, Symbol::of("aten::index"), {NamedValue(part), NamedValue(list)});
}

Value* Emitter::slice(const SourceRange& at, Value* v, Value* dim, const Tree& e) {
  if (v->type()->is(TypeKind::Tuple)) return tuple_slice(at, v, e);
  Arguments args{NamedValue(at, v)}, named;
  if (dim) args.emplace_back(at, dim);
  const auto bound = [&](size_t i) {
    const Tree* own = e.part(i).content();
    return own ? NamedValue(own->range(), expression(*own)) : NamedValue(fc::Value());
  };
  args.push_back(bound(0));
  args.push_back(bound(1));
  const Tree* step = e.part(2).content();
  named.emplace_back(at, "step", step ? expression(*step) : insert_constant(g_, 1, at));
  return emit_builtin(at, g_, aten_slice, args, named);
}

Value* Emitter::slice_by(const SourceRange& at, Value* v, Value* dim, const SliceValue& s) {
  Arguments args{NamedValue(at, v)}, named;
  if (dim) args.emplace_back(at, dim);
  args.emplace_back(s.start);
  args.emplace_back(s.stop);
  if (!s.step->type()->is(TypeKind::None)) named.emplace_back(at, "step", s.step);
  return emit_builtin(at, g_, aten_slice, args, named);
}

int64_t Emitter::tuple_place(const SourceRange& at, size_t n, Value* index) {
  const auto i = index->type()->is(TypeKind::Int) ? constant_int(index) : std::nullopt;
  if (!i) fail(at, "tuple index must be a compile time integer constant");
  const auto size = static_cast<int64_t>(n);
  const int64_t k = *i < 0 ? *i + size : *i;
  if (k < 0 || k >= size) fail(at, "Tuple index out of range. Tuple is length ", n, " and index is ", *i);
  return k;
}

Value* Emitter::tuple_index(const SourceRange& at, Value* v, Value* index) {
  TypeRef t = v->type();
  TypeRef item = nullptr;
  if (index->type()->is(TypeKind::Int) && constant_int(index)) {
    item = t->item(static_cast<size_t>(tuple_place(at, t->items().size(), index)));
  } else {
    if (t->items().empty()) fail(at, "tuple index is used on an empty tuple");
    if (!index->type()->is(TypeKind::Int)) fail(at, "tuple index must be an integer");
    item = t->item(0);
    for (TypeRef i : t->items())
      if (i != item)
        fail(at, "Cannot index into a ", type_name(t),
             " with a non-integer literal because we cannot resolve the output type");
  }
  Node* n = g_.insert(g_.create_tuple_index(v, index, item));
  return n->output();
}

Value* Emitter::tuple_slice(const SourceRange& at, Value* v, const Tree& e) {
  const auto items = v->type()->items();
  const auto n = static_cast<int64_t>(items.size());
  const auto bound = [&](size_t i) -> std::optional<int64_t> {
    const Tree* own = e.part(i).content();
    if (!own) return {};
    Value* b = expression(*own);
    if (b->type()->is(TypeKind::None)) return {};
    const auto c = constant_int(b);
    if (!c) fail(at, "tuple slice must have a compile time integer constant");
    return c;
  };
  const auto first = bound(0), last = bound(1);
  const int64_t step = bound(2).value_or(1);
  if (step == 0) fail(at, "slice step cannot be zero");
  const auto inside = [&](int64_t i, int64_t low, int64_t high) { return std::clamp(i < 0 ? i + n : i, low, high); };
  int64_t from = step > 0 ? 0 : n - 1, to = step > 0 ? n : -1;
  if (first) from = inside(*first, step > 0 ? 0 : -1, step > 0 ? n : n - 1);
  if (last) to = inside(*last, step > 0 ? 0 : -1, step > 0 ? n : n - 1);
  std::vector<Value*> out;
  for (int64_t i = from; step > 0 ? i < to : i > to; i += step) {
    Value* index = g_.insert_constant(i);
    out.push_back(g_.insert(g_.create_tuple_index(v, index, items[static_cast<size_t>(i)]))->output());
  }
  return g_.insert(g_.create_tuple(out))->output();
}

NamedValue Emitter::as_tensor(const NamedValue& v, const NamedValue& like) {
  TypeRef t = v.value->type();
  if (!t->is_number() && !t->is(TypeKind::Bool)) return v;
  Value* dtype = emit_builtin(SourceRange(), g_, prim_dtype, {like});
  Value* device = emit_builtin(SourceRange(), g_, prim_device, {like});
  return NamedValue(v.at, emit_builtin(SourceRange(), g_, aten_tensor, {v},
                                       {NamedValue("dtype", dtype), NamedValue("device", device)}));
}

}  // namespace fc::jit
