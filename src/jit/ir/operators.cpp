// SPDX-License-Identifier: Apache-2.0
// Which operator a node is a call of, and what follows from that.
#include <algorithm>

#include "core/error.h"
#include "core/type_parse.h"
#include "dispatch/operator.h"
#include "jit/ir/graph.h"
#include "jit/ir/operators.h"
#include "jit/ir/print.h"
#include "jit/ops/script_ops.h"

namespace fc::jit {

std::vector<Operator*> graph_overloads(Symbol kind) {
  define_script_operators();
  return overloads(kind.text(), true);
}

TypeRef formal_type(const Parameter& p) { return p.whole_type->in_graph(); }
AliasInfo marks_of(const Parameter& p) { return p.marks ? *p.marks : AliasInfo{}; }

bool accepts(const Schema& s, std::span<Value* const> actual, std::string* why) {
  auto no = [&](auto&&... parts) {
    if (why) *why = str(parts...);
    return false;
  };
  if (actual.size() != s.parameters.size()) return no("takes ", s.parameters.size(), " arguments, not ", actual.size());
  TypeBindings bindings;
  for (size_t i = 0; i < s.parameters.size(); ++i) {
    TypeRef formal = formal_type(s.parameters[i]), type = actual[i]->type();
    if (formal->has_variables()) {
      if (std::string what = bindings.match(formal, type); !what.empty()) return no(what);
      if (TypeRef bound = bindings.substitute(formal)) formal = bound;
    }
    if (!is_subtype(type, formal))
      return no("argument '", s.parameters[i].name, "' is ", annotation_text(formal), ", not ", annotation_text(type));
  }
  return true;
}

const Operator* Node::find_operator() const {
  if (operator_known_) return operator_;
  operator_ = nullptr;
  std::vector<Value*> actual = inputs();
  for (const Operator* op : graph_overloads(kind_))
    if (accepts(op->schema(), actual)) {
      operator_ = op;
      break;
    }
  operator_known_ = true;
  return operator_;
}

const Operator& Node::get_operator() const {
  if (const Operator* op = find_operator()) return *op;
  std::string text = str("Schema not found for node. File a bug report.\nNode: ", node_line(*this), "\n");
  std::vector<Value*> actual = inputs();
  auto candidates = graph_overloads(kind_);
  if (candidates.empty()) text += str("There is no operator ", kind_.text(), ".\n");
  for (const Operator* op : candidates) {
    std::string why;
    accepts(op->schema(), actual, &why);
    text += str("  ", to_string(op->schema()), ": ", why, "\n");
  }
  raise<Error>(text, range_.highlight());
}

bool Node::matches(std::string_view name) const {
  const size_t dot = name.find('.', name.find("::") == name.npos ? 0 : name.find("::"));
  if (kind_.text() != name.substr(0, dot)) return false;
  const Operator* op = find_operator();
  return op && op->name() == name;
}

bool Node::must_be_none() const {
  return is(prim_AutogradZero) || (outputs_.size() == 1 && outputs_[0]->type()->is(TypeKind::None)) ||
         (is(prim_Constant) && attributes_.empty() && outputs_.size() == 1);
}

bool Node::is_nondeterministic() const {
  const Operator* op = find_operator();
  if (!op || !op->random) return false;
  // A dropout that does not train draws nothing.
  if (is(aten_dropout) && num_inputs() == 3)
    if (auto train = constant_bool(input(2)); train && !*train) return false;
  return true;
}

bool Node::has_side_effects() const {
  if (is_any(kind_, prim_PythonOp, prim_IgnoredPythonOp, prim_Print, prim_RaiseException, aten_warn, aten_save,
             aten_manual_seed, prim_AddStatValue, prim_TimePoint, prim_CallFunction, prim_CallMethod,
             prim_BailoutTemplate, prim_BailOut, prim_rpc_async, prim_rpc_sync, prim_rpc_remote, aten_wait, prim_Enter,
             prim_Exit))
    return true;
  if (is_any(kind_, aten_format, aten_percentFormat)) return false;  // of any number of arguments
  const std::string_view space = kind_.space();
  if (space == "cuda") return true;
  if (const Operator* op = find_operator()) {  // one that gives nothing and writes nothing is called for what it does
    const Schema& s = op->schema();
    return s.returns.empty() &&
           std::ranges::none_of(s.parameters, [](const Parameter& p) { return p.marks && p.marks->write; });
  }
  FC_CHECK(space == "prim" || space == "attr", "Only prim ops are allowed to not have a registered operator but ",
           kind_.text(), " doesn't have one either. We don't know if this op has side effects.\n", node_line(*this),
           "\n", range_.highlight());
  return false;
}

Value* Graph::insert_call(Symbol kind, std::span<Value* const> inputs) {
  std::string reasons;
  for (const Operator* op : graph_overloads(kind)) {
    const Schema& s = op->schema();
    std::vector<Value*> actual(inputs.begin(), inputs.end());
    std::vector<Value*> made;
    bool complete = true;
    for (size_t i = actual.size(); i < s.parameters.size() && complete; ++i) {
      complete = s.parameters[i].has_default;
      if (complete) {
        made.push_back(insert_constant(s.parameters[i].default_value));
        actual.push_back(made.back());
      }
    }
    std::string why = "too few arguments";
    if (complete && accepts(s, actual, &why)) {
      Node* n = insert(create(kind, actual, s.returns.size()));
      TypeBindings bindings;
      for (size_t i = 0; i < s.parameters.size(); ++i) bindings.match(formal_type(s.parameters[i]), actual[i]->type());
      for (size_t i = 0; i < s.returns.size(); ++i) {
        TypeRef t = formal_type(s.returns[i]);
        if (t->has_variables()) t = bindings.substitute(t);
        if (t) n->output(i)->set_type(t);
      }
      return n->outputs().empty() ? nullptr : n->output(0);
    }
    for (size_t i = made.size(); i-- > 0;) made[i]->node()->destroy();
    reasons += str("\n  ", to_string(s), ": ", why);
  }
  raise<Error>("Arguments for call are not valid: ", kind.text(), reasons.empty() ? ": unknown operator" : reasons);
}

Arg argument_of(Kind kind, int64_t number) {
  switch (kind) {
    case Kind::DType:
      FC_CHECK(number >= 0 && number < kDTypeSlots && info(static_cast<DType>(number)).legacy, number,
               " is the number of no dtype");
      return static_cast<DType>(number);
    case Kind::Layout:
      FC_CHECK(number >= 0 && number <= static_cast<int64_t>(Layout::SparseBsc), number, " is the number of no layout");
      return static_cast<Layout>(number);
    case Kind::MemoryFormat:
      FC_CHECK(number >= 0 && number <= static_cast<int64_t>(MemoryFormat::ChannelsLast3d), number,
               " is the number of no memory format");
      return static_cast<MemoryFormat>(number);
    default: return number;
  }
}

}  // namespace fc::jit
