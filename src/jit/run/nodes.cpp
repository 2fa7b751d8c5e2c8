// SPDX-License-Identifier: Apache-2.0
#include "jit/run/nodes.h"

#include <cstdio>

#include "autograd/autograd.h"
#include "core/class_type.h"
#include "core/containers.h"
#include "define/calls.h"
#include "jit/ir/graph.h"
#include "jit/ir/value_text.h"
#include "jit/run/interpreter.h"
#include "jit/run/profile.h"

namespace fc::jit {
namespace {

using Registers = fc::Value*;

std::vector<fc::Value> take_all(const NodeCall& c, Registers r) {
  std::vector<fc::Value> out;
  out.reserve(c.in.size());
  for (const Operand& o : c.in) out.push_back(take(o, r));
  return out;
}
void give(const NodeCall& c, Registers r, fc::Value v) {
  if (!c.out.empty()) r[c.out[0]] = std::move(v);
}

void list_construct(const NodeCall& c, Registers r) { give(c, r, list_value(c.type->item(), take_all(c, r))); }
void tuple_construct(const NodeCall& c, Registers r) {
  give(c, r, tuple_value(take_all(c, r), c.type && !c.type->name().empty() ? c.type : nullptr));
}
void dict_construct(const NodeCall& c, Registers r) {
  std::vector<fc::Value> v = take_all(c, r);
  fc::Value dict = dict_value(c.type->item(0), c.type->item(1));
  for (size_t i = 0; i + 1 < v.size(); i += 2) dict_of(dict).set(v[i], v[i + 1]);
  give(c, r, std::move(dict));
}
void list_unpack(const NodeCall& c, Registers r) {
  const fc::Value list = take(c.in[0], r);
  visit_list(list, [&](auto& items) {
    FC_CHECK(items.size() == c.out.size(), "Expected ", c.out.size(), " elements in a list but found ", items.size());
    for (size_t i = 0; i < c.out.size(); ++i) r[c.out[i]] = fc::Value(items[i]);
  });
}
const std::vector<fc::Value>& tuple_items(const fc::Value& v) {
  FC_CHECK(v.tag() == Tag::Tuple, "Expected a tuple, got ", to_string(v.tag()));
  return tuple_of(v).items;
}
void tuple_unpack(const NodeCall& c, Registers r) {
  const fc::Value tuple = take(c.in[0], r);
  const auto& items = tuple_items(tuple);
  FC_CHECK(items.size() == c.out.size(), "Expected a tuple of ", c.out.size(), " elements, got ", items.size());
  for (size_t i = 0; i < c.out.size(); ++i) r[c.out[i]] = items[i];
}
void tuple_index(const NodeCall& c, Registers r) {
  const fc::Value tuple = take(c.in[0], r);
  const auto& items = tuple_items(tuple);
  const auto n = static_cast<int64_t>(items.size());
  int64_t i = r[c.in[1].slot].arg().integer();
  if (i < 0) i += n;
  if (i < 0 || i >= n) raise<IndexError>("Tuple index out of range");
  give(c, r, items[static_cast<size_t>(i)]);
}
void tuple_slice(const NodeCall& c, Registers r) {
  const fc::Value tuple = take(c.in[0], r);
  const auto& items = tuple_items(tuple);
  const auto bound = [&](const fc::Value& v) {
    const int64_t n = static_cast<int64_t>(items.size()), i = v.arg().integer();
    return std::clamp<int64_t>(i < 0 ? i + n : i, 0, n);
  };
  const int64_t from = bound(c.prepared_values[0]), to = bound(c.prepared_values[1]);
  std::vector<fc::Value> part;
  for (int64_t i = from; i < to; ++i) part.push_back(items[static_cast<size_t>(i)]);
  give(c, r, tuple_value(std::move(part)));
}
void prepare_slice(const Node& n, NodeCall& c) {
  for (const Symbol name : {Symbol::of("beg"), Symbol::of("end")}) {
    const int64_t* v = n.get<int64_t>(name);
    FC_CHECK(v, "prim::TupleSlice without ", name.text());
    c.prepared_values.emplace_back(*v);
  }
}

void cast(const NodeCall& c, Registers r) { give(c, r, take(c.in[0], r)); }
void unwrap(const NodeCall& c, Registers r) {
  fc::Value v = take(c.in[0], r);
  FC_CHECK(!v.is_none(), "Unwrapping null optional");
  give(c, r, std::move(v));
}
void nothing(const NodeCall& c, Registers r) { give(c, r, {}); }
void is_instance(const NodeCall& c, Registers r) {
  bool is = false;
  for (TypeRef t : c.types) is = is || fits(r[c.in[0].slot], t);
  give(c, r, is);
}
void prepare_isinstance(const Node& n, NodeCall& c) {
  if (const auto* types = n.get<std::vector<TypeRef>>(Symbol::of("types"))) c.types = *types;
}

// x.tolist() as the type of the result says: so many lists of numbers of that kind.
fc::Value listed(const Tensor& t, TypeRef type) {
  if (type->is(TypeKind::List)) {
    FC_CHECK(t.dim() > 0, "Output annotation list dimension and runtime tensor dimension must match for tolist()");
    std::vector<fc::Value> items;
    for (int64_t i = 0; i < t.sizes()[0]; ++i)
      items.push_back(listed(call<"aten::select.int", Tensor>(t, int64_t(0), i), type->item()));
    return list_value(type->item(), std::move(items));
  }
  FC_CHECK(t.dim() == 0, "Output annotation list dimension and runtime tensor dimension must match for tolist()");
  const Scalar s = call<"aten::_local_scalar_dense", Scalar>(t);
  const DType own = t.dtype();
  switch (type->kind()) {
    case TypeKind::Bool:
      FC_CHECK(own == DType::Bool,
               "Output annotation element type and runtime tensor element type must match for tolist()");
      return s.to_bool();
    case TypeKind::Int:
      FC_CHECK(s.is_integral(false),
               "Output annotation element type and runtime tensor element type must match for tolist()");
      return s.to_int();
    case TypeKind::Float:
      FC_CHECK(is_floating(own),
               "Output annotation element type and runtime tensor element type must match for tolist()");
      return s.to_double();
    default: return fc::Value(s);
  }
}
void to_list(const NodeCall& c, Registers r) { give(c, r, listed(take(c.in[0], r).tensor(), c.type)); }

void print(const NodeCall& c, Registers r) {
  std::string line;
  for (const Operand& o : c.in) line += (line.empty() ? "" : " ") + printed_text(r[o.slot]);
  print_line(line + "\n");
}
void raise_exception(const NodeCall& c, Registers r) {
  std::string text = printed_text(r[c.in[0].slot]), kind;
  if (c.in.size() > 1 && r[c.in[1].slot].tag() == Tag::String) kind = r[c.in[1].slot].arg().text();
  throw ScriptError(text, text, kind, true);
}
void format(const NodeCall& c, Registers r) {
  const fc::Value text = r[c.in[0].slot];
  std::string out;
  std::string_view rest = text.arg().text();
  size_t next = 1;
  for (size_t at; (at = rest.find("{}")) != rest.npos; rest.remove_prefix(at + 2)) {
    out += rest.substr(0, at);
    FC_CHECK(next < c.in.size(), "Too few arguments for format string: ", text.arg().text());
    out += printed_text(r[c.in[next++].slot]);
  }
  give(c, r, std::string_view(out += rest));
}

// text % values
void percent_format(const NodeCall& c, Registers r) {
  const fc::Value text = r[c.in[0].slot], given = r[c.in[1].slot];
  const std::string_view all = text.arg().text();
  std::vector<fc::Value> values;
  if (given.tag() == Tag::Tuple) values = tuple_of(given).items;
  else values.push_back(given);
  std::string out;
  size_t next = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i] != '%') {
      out += all[i];
      continue;
    }
    FC_CHECK(++i < all.size(), "Incomplete format specifier");
    if (all[i] == '%') {
      out += '%';
      continue;
    }
    FC_CHECK(next < values.size(), "Too few arguments for format string: ", all);
    const fc::Value& v = values[next++];
    const bool number = v.tag() == Tag::Int || v.tag() == Tag::Double || v.tag() == Tag::Scalar || v.tag() == Tag::Bool;
    char digits[512];
    switch (all[i]) {
      case 's':
      case 'c': out += printed_text(v); break;
      case 'd':
      case 'i':
        FC_CHECK(number, "%", all[i], " requires a number for formatting, but got ", to_string(v.tag()));
        out += std::to_string(v.arg().scalar().is_integral(true) ? v.arg().scalar().to_int()
                                                                 : static_cast<int64_t>(v.arg().real()));
        break;
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G': {
        FC_CHECK(number, "%", all[i], " requires a number for formatting, but got ", to_string(v.tag()));
        const char form[] = {'%', all[i], 0};
        out.append(digits, static_cast<size_t>(std::snprintf(digits, sizeof digits, form, v.arg().real())));
        break;
      }
      default: raise<Error>("The specifier %", all[i], " is not supported in TorchScript format strings");
    }
  }
  FC_CHECK(next == values.size(), "Too many arguments for format string: ", all);
  give(c, r, std::string_view(out));
}

Instance& instance(const fc::Value& v) {
  FC_CHECK(v.tag() == Tag::Instance, "Expected an object, got ", to_string(v.tag()));
  return *static_cast<Instance*>(v.box());
}
// Where the attribute is: known when the code was made if the object is of the class that the graph says.
size_t attribute(const Instance& o, const NodeCall& c) {
  if (o.type == c.type && c.slot >= 0 && static_cast<size_t>(c.slot) < o.slots.size())
    return static_cast<size_t>(c.slot);
  const std::string& name = c.text;
  const int i = o.type->class_info() ? o.type->class_info()->find_attribute(name) : -1;
  FC_CHECK(i >= 0 && static_cast<size_t>(i) < o.slots.size(), o.type->name(), " has no attribute '", name, "'");
  return static_cast<size_t>(i);
}
void get_attribute(const NodeCall& c, Registers r) {
  Instance& o = instance(r[c.in[0].slot]);
  give(c, r, o.slots[attribute(o, c)]);
}
void set_attribute(const NodeCall& c, Registers r) {
  const fc::Value owner = r[c.in[0].slot];
  Instance& o = instance(owner);
  fc::Value v = take(c.in[1], r);
  std::swap(o.slots[attribute(o, c)], v);
}
void create_object(const NodeCall& c, Registers r) {
  FC_CHECK(c.type && c.type->class_info(), "prim::CreateObject of a class of which nothing is known");
  give(c, r, fc::Value(Tag::Instance, make_ref<Instance>(c.type, c.type->class_info()->attributes.size())));
}
void prepare_name(const Node& n, NodeCall& c) {
  if (const auto* name = n.get<std::string>(attr_name)) c.text = *name;
  if (n.num_inputs() == 0) return;
  c.type = n.input(0)->type();
  if (c.type->class_info()) c.slot = c.type->class_info()->find_attribute(c.text);
}

void constant_chunk(const NodeCall& c, Registers r) {
  const fc::Value tensor = take(c.in[0], r);
  const auto parts = call<"aten::chunk", std::vector<Tensor>>(tensor.tensor(), c.prepared_values[0].arg().integer(),
                                                              c.prepared_values[1].arg().integer());
  FC_CHECK(parts.size() == c.out.size(), "Expected chunk to return ", c.out.size(), " outputs, got ", parts.size());
  for (size_t i = 0; i < parts.size(); ++i) r[c.out[i]] = fc::Value(parts[i]);
}
void prepare_chunk(const Node& n, NodeCall& c) {
  for (const Symbol name : {Symbol::of("chunks"), Symbol::of("dim")}) {
    const int64_t* v = n.get<int64_t>(name);
    FC_CHECK(v, "prim::ConstantChunk without ", name.text());
    c.prepared_values.emplace_back(*v);
  }
}

// --- what batch_mm makes
std::vector<Tensor> tensors(const NodeCall& c, Registers r, size_t from, size_t to) {
  std::vector<Tensor> out;
  for (size_t i = from; i < to; ++i) out.push_back(r[c.in[i].slot].tensor());
  return out;
}
bool same_sizes(const std::vector<Tensor>& list) {
  return std::ranges::all_of(list, [&](const Tensor& t) { return std::ranges::equal(t.sizes(), list[0].sizes()); });
}
void tree_reduce(const NodeCall& c, Registers r) {
  const size_t n = c.in.size() / 2;
  FC_CHECK(n > 0 && c.in.size() == 2 * n, "prim::MMTreeReduce of an odd number of factors");
  const std::vector<Tensor> left = tensors(c, r, 0, n), right = tensors(c, r, n, 2 * n);
  if (same_sizes(left) && same_sizes(right))
    return give(
        c, r,
        fc::Value(call<"aten::mm", Tensor>(call<"aten::cat", Tensor>(left, 1), call<"aten::cat", Tensor>(right, 0))));
  Tensor sum = call<"aten::mm", Tensor>(left[0], right[0]);
  for (size_t i = 1; i < n; ++i) sum = add(sum, call<"aten::mm", Tensor>(left[i], right[i]));
  give(c, r, fc::Value(std::move(sum)));
}
void batch_side(const NodeCall& c, Registers r) {
  const bool right = c.prepared_values[0].arg().integer() != 0;  // the factor that is shared
  FC_CHECK(c.in.size() > 1 && c.out.size() == c.in.size() - 1, "prim::MMBatchSide of another number of results");
  const Tensor shared = r[c.in[0].slot].tensor();
  const std::vector<Tensor> others = tensors(c, r, 1, c.in.size());
  std::vector<Tensor> results;
  if (same_sizes(others)) {
    const int64_t dim = right ? 0 : 1;
    const Tensor joined = call<"aten::cat", Tensor>(others, dim);
    results = call<"aten::chunk", std::vector<Tensor>>(
        right ? call<"aten::mm", Tensor>(joined, shared) : call<"aten::mm", Tensor>(shared, joined),
        static_cast<int64_t>(others.size()), dim);
  }
  if (results.size() != others.size()) {  // of nothing there are fewer chunks
    results.clear();
    for (const Tensor& t : others)
      results.push_back(right ? call<"aten::mm", Tensor>(t, shared) : call<"aten::mm", Tensor>(shared, t));
  }
  for (size_t i = 0; i < results.size(); ++i) r[c.out[i]] = fc::Value(results[i]);
}
void prepare_side(const Node& n, NodeCall& c) {
  const int64_t* side = n.get<int64_t>(Symbol::of("side"));
  FC_CHECK(side, "prim::MMBatchSide without side");
  c.prepared_values.emplace_back(*side);
}

// --- what the executor puts in
void profile(const NodeCall& c, Registers r) {
  if (auto* hook = static_cast<ProfileHook*>(c.attached.get())) hook->run(c.in.empty() ? nullptr : &r[c.in[0].slot]);
  if (!c.in.empty()) give(c, r, take(c.in[0], r));
}
void prepare_profile(const Node& n, NodeCall& c) { c.attached = n.attached(); }

// The tensors, and whether they are of the types.
void type_check(const NodeCall& c, Registers r) {
  const size_t n = c.types.size();
  bool fit = true;
  for (size_t i = 0; i < n; ++i) {
    fc::Value v = take(c.in[i], r);
    const TensorFacts* facts = c.types[i]->facts();
    fit = fit && v.is_tensor() && (!facts || holds(*facts, v.tensor()));
    r[c.out[i]] = std::move(v);
  }
  r[c.out[n]] = fit;
}
void prepare_check(const Node& n, NodeCall& c) {
  const auto* types = n.get<std::vector<TypeRef>>(attr_types);
  FC_CHECK(types && types->size() == n.num_inputs() && n.num_outputs() == n.num_inputs() + 1, n.kind(),
           " has a type for each input, and an output for each and for the answer");
  c.types = *types;
}
void if_then_else(const NodeCall& c, Registers r) { give(c, r, take(c.in[r[c.in[0].slot].raw_int() ? 1 : 2], r)); }
void prepare_if_then_else(const Node& n, NodeCall&) {
  FC_CHECK(n.num_inputs() == 3 && n.num_outputs() == 1 && n.input(0)->type()->is(TypeKind::Bool),
           "prim::IfThenElse takes a bool and two values");
}

// --- gradients that may be absent
size_t defined(const NodeCall& c, Registers r) {
  size_t n = 0;
  for (const Operand& o : c.in) {
    const fc::Value& v = r[o.slot];
    if (v.tag() == Tag::TensorList) {
      bool any = false;
      for (const Tensor& t : v.arg().tensors()) any = any || t.defined();
      n += any;
    } else {
      n += !v.is_none();
    }
  }
  return n;
}
void any_nonzero(const NodeCall& c, Registers r) { give(c, r, defined(c, r) > 0); }
void all_nonzero(const NodeCall& c, Registers r) { give(c, r, defined(c, r) == c.in.size()); }
void all_zero(const NodeCall& c, Registers r) { give(c, r, defined(c, r) == 0); }
void autograd_zero(const NodeCall& c, Registers r) { give(c, r, fc::Value(Tensor())); }
void autograd_add(const NodeCall& c, Registers r) {
  const fc::Value a = take(c.in[0], r), b = take(c.in[1], r);
  if (a.is_none() || b.is_none()) return give(c, r, a.is_none() ? b : a);
  give(c, r, fc::Value(add(a.tensor(), b.tensor())));
}

void python_op(const NodeCall& c, Registers r) {
  FC_CHECK(python_hook && c.attached,
           "a prim::PythonOp without its function: graphs that were read from text have none");
  std::vector<fc::Value> results = python_hook(*c.attached, take_all(c, r), c.types);
  FC_CHECK(results.size() == c.out.size(), "a Python function gave ", results.size(), " results, not ", c.out.size());
  for (size_t i = 0; i < results.size(); ++i) r[c.out[i]] = std::move(results[i]);
}
void prepare_python(const Node& n, NodeCall& c) {
  c.attached = n.attached();
  for (const Value* v : n.outputs()) c.types.push_back(v->type());
}

constexpr NodeKind kinds[] = {
    {prim_PythonOp, python_op, prepare_python},
    {prim_ListConstruct, list_construct},
    {prim_TupleConstruct, tuple_construct},
    {prim_DictConstruct, dict_construct},
    {prim_ListUnpack, list_unpack},
    {prim_TupleUnpack, tuple_unpack},
    {prim_TupleIndex, tuple_index},
    {prim_TupleSlice, tuple_slice, prepare_slice},
    {prim_unchecked_cast, cast},
    {prim_unchecked_unwrap_optional, unwrap},
    {detail::qualified("aten::_unwrap_optional"), unwrap},
    {prim_Uninitialized, nothing},
    {prim_isinstance, is_instance, prepare_isinstance},
    {prim_tolist, to_list},
    {prim_Print, print},
    {prim_RaiseException, raise_exception},
    {detail::qualified("aten::format"), format},
    {detail::qualified("aten::percentFormat"), percent_format},
    {prim_GetAttr, get_attribute, prepare_name},
    {prim_SetAttr, set_attribute, prepare_name},
    {prim_CreateObject, create_object},
    {prim_profile, profile, prepare_profile},
    {prim_TypeCheck, type_check, prepare_check},
    {prim_RequiresGradCheck, type_check, prepare_check},
    {prim_IfThenElse, if_then_else, prepare_if_then_else},
    {prim_MMTreeReduce, tree_reduce},
    {prim_MMBatchSide, batch_side, prepare_side},
    {prim_ConstantChunk, constant_chunk, prepare_chunk},
    {detail::qualified("prim::AutogradAnyNonZero"), any_nonzero},
    {detail::qualified("prim::AutogradAllNonZero"), all_nonzero},
    {detail::qualified("prim::AutogradAllZero"), all_zero},
    {prim_AutogradZero, autograd_zero},
    {detail::qualified("prim::AutogradAdd"), autograd_add},
};

void to_stdout(const std::string& line) { std::fwrite(line.data(), 1, line.size(), stdout); }

}  // namespace

std::vector<fc::Value> (*python_hook)(RefCounted&, std::vector<fc::Value>, std::span<const TypeRef>) = nullptr;
void (*print_hook)(const std::string& line) = nullptr;
void print_line(const std::string& line) { (print_hook ? print_hook : to_stdout)(line); }

const NodeKind* find_node_kind(Symbol kind) {
  for (const NodeKind& k : kinds)
    if (k.kind.text == kind.text()) return &k;
  return nullptr;
}
const NodeKind& node_kind(size_t i) { return kinds[i]; }
size_t index_of(const NodeKind& k) { return static_cast<size_t>(&k - kinds); }

}  // namespace fc::jit
