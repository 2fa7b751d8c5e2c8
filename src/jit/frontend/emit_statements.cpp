// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "core/class_type.h"
#include "jit/frontend/emitter.h"
#include "jit/run/interpreter.h"

namespace fc::jit {

Emitter::Emitter(Graph& g, Resolver& names) : g_(g), names_(names) {}

std::shared_ptr<Environment> Emitter::pop() {
  std::shared_ptr<Environment> out = env_;
  env_ = out->next();
  return out;
}

void Emitter::function(const Tree& def, const SelfValue* self,
                       const std::vector<std::pair<std::string, fc::Value>>& defaults, Schema& schema) {
  const auto params = def.part(1).part(0).parts();
  const Tree& result = def.part(1).part(1);
  functions_.push_back({});
  push(g_.block());
  if (!result.empty()) functions_.back().declared = annotated_type(result, names_);
  if (self && params.empty()) fail(def.part(1).range(), "methods must have a self argument");
  schema.name = def.name();
  for (size_t i = 0; i < params.size(); ++i) {
    const Tree& p = *params[i];
    const std::string& name = p.name();
    Value* in = g_.add_input();
    if (self && i == 0) {
      in->set_name(name);
      in->set_type(self->type());
      env_->set(p.part(0).range(), name, self->make(in));
      schema.parameters.push_back(make_parameter(name, in->type()));
      continue;
    }
    if (is_meaningful(name)) in->set_name(name);
    int length = 0;
    TypeRef type = annotated_type(p.part(1), names_, nullptr, &length);
    in->set_type(type);
    Parameter q = make_parameter(name, type);
    q.type.length = static_cast<int8_t>(length);
    q.keyword_only = p.part(3).is(Syntax::True);
    for (const auto& [n, v] : defaults)
      if (n == name) {
        q.has_default = true;
        q.default_value = v;
      }
    schema.parameters.push_back(std::move(q));
    env_->set(p.part(0).range(), name, in);
  }
  statements(def.part(2));
  FunctionState& state = functions_.back();
  if (!exits_.contains(g_.block())) {
    if (state.declared && !state.declared->is(TypeKind::None))
      fail(def.range(), "Function was not annotated as having type None, but does not return along all paths");
    const InsertAt at(g_.block());
    return_value(def.range(), *Tree::make(Syntax::None, def.range()));
  } else if (!state.merged) {
    state.merged = state.declared ? state.declared : simple_type(TypeKind::None);
  }
  // Until ConvertToSSA puts the returned value there.
  Node* unset = g_.insert(g_.create(prim_Uninitialized));
  unset->output()->set_type(state.merged);
  g_.register_output(unset->output());
  schema.returns.push_back(make_parameter("", state.merged));
  pop();
  functions_.pop_back();
}

fc::Value Emitter::literal(const Tree& e, TypeRef type) {
  push(g_.block());
  Value* v = expression(e, type);
  if (type) v = convert_to(e.range(), g_, type, v, true);
  pop();
  const auto found = constant_of(v);
  if (!found) {
    // Tuples, lists and dicts of literals, a device: computed once, and nothing that could take its time.
    for (const Node* n : g_.block()->nodes())
      if (!n->blocks().empty() || is_any(n->kind(), prim_CallFunction, prim_CallMethod, prim_CreateObject))
        fail(e.range(), "a default value that is no literal");
    g_.register_output(v);
    return run(*compile(g_, "literal"), {})[0];
  }
  return *found;
}

void Emitter::statements(const Tree& list) {
  for (const TreeRef& s : list.parts()) {
    Compiling::at(s->range());
    statement(*s);
    if (exits_.contains(env_->block())) return;  // nothing behind it is reached
  }
}

void Emitter::statement(const Tree& s) {
  switch (s.kind()) {
    case Syntax::If: return emit_if(s.range(), condition(s.part(0)), s.part(1), s.part(2));
    case Syntax::While: return while_statement(s);
    case Syntax::For: return for_statement(s);
    case Syntax::Assign: return assign(s);
    case Syntax::AugAssign: return augmented(s);
    case Syntax::ExprStmt: sugared(s.part(0)); return;
    case Syntax::Raise: return raise_statement(s);
    case Syntax::Assert: return assert_statement(s);
    case Syntax::Return: return return_value(s.range(), s.part(0));
    case Syntax::Pass: return;
    case Syntax::Delete: return delete_statement(s);
    case Syntax::With: return with_items(s, 0);
    case Syntax::Def: return closure(s);
    case Syntax::Break:
    case Syntax::Continue: {
      const bool is_break = s.is(Syntax::Break);
      if (loop_ == Loop::Unrolled)
        fail(s.range(),
             "Because we emit iteration over modulelists or tuples as unrolled loops, we do not support break or "
             "continue inside the body of these loops");
      if (loop_ == Loop::None)
        fail(s.range(), is_break ? "Syntax Error: 'break' outside loop" : "Syntax Error: 'continue' outside loop");
      g_.insert(g_.create(is_break ? prim_BreakStmt : prim_ContinueStmt, std::vector<Value*>{}, 0))
          ->set_range(s.range());
      exits_.insert(env_->block());
      return;
    }
    default: fail(s.range(), "Unrecognized statement kind ", to_string(s.kind()));
  }
}

// --- branches
void Emitter::refine(const SourceRange& at, const Refinements::Set& refined) {
  for (const auto& [name, type] : refined) {
    Value* v = env_->value(name, at);
    Node* n = g_.insert(g_.create(prim_unchecked_cast, std::vector{v}));
    n->output()->set_type(type);
    env_->set(at, name, n->output());
  }
}

std::shared_ptr<Environment> Emitter::branch(Block* b, const Tree& body, const Refinements::Set& refined) {
  push(b);
  const InsertAt at(b);
  refine(body.range(), refined);
  statements(body);
  return pop();
}

void Emitter::emit_if(const SourceRange& at, const Condition& c, const Tree& yes, const Tree& no) {
  if (c.known) {
    refine(at, *c.known ? c.refinements.when_true : c.refinements.when_false);
    return statements(*c.known ? yes : no);
  }
  Node* n = insert_node(g_, prim_If, std::vector{c.value}, 0, at);
  Block *true_block = n->add_block(), *false_block = n->add_block();
  const auto after_true = branch(true_block, yes, c.refinements.when_true);
  const auto after_false = branch(false_block, no, c.refinements.when_false);
  const bool true_exits = exits_.contains(true_block), false_exits = exits_.contains(false_block);
  if (true_exits && false_exits) exits_.insert(n->owning_block());

  std::set<std::string> changed;
  const auto collect = [&](Environment& own, Environment& other, Block* block, bool other_exits, const char* which) {
    for (const std::string& v : own.defined()) {
      const InsertAt there(block);
      if (other.find(v) || other_exits) changed.insert(v);
      else env_->set_error(v, error_text(at, str(v, " is not defined in the ", which, " branch")));
    }
  };
  collect(*after_true, *after_false, false_block, false_exits, "false");
  collect(*after_false, *after_true, true_block, true_exits, "true");
  for (const std::string& x : changed) {
    Value *tv = nullptr, *fv = nullptr;
    {
      const InsertAt there(true_block);
      if (!true_exits) tv = after_true->value(x, at);
    }
    {
      const InsertAt there(false_block);
      if (!false_exits) fv = after_false->value(x, at);
    }
    if (true_exits && false_exits) continue;
    const auto unset = [&](Block* b, TypeRef t) {
      const InsertAt there(b);
      Node* u = g_.insert(g_.create(prim_Uninitialized));
      u->output()->set_type(t);
      g_.insert(create_store(g_, x, u->output()));
      return u->output();
    };
    if (true_exits) tv = unset(true_block, fv->type());
    else if (false_exits) fv = unset(false_block, tv->type());
    TypeRef full = nullptr;
    if (SugaredRef before = env_->find(x))
      if (Value* v = before->graph_value()) full = v->type();
    const bool unions = full && (full->is(TypeKind::Union) || full->is(TypeKind::Any));
    TypeRef type = unify(tv->type(), fv->type(), unions);
    if (!type) {
      const std::string text =
          error_text(at, str("Type mismatch: ", x, " is set to type ", type_name(tv->type()),
                             " in the true branch and type ", type_name(fv->type()), " in the false branch"));
      if (after_true->find_above(x) || after_false->find_above(x)) throw SourceError(text);
      env_->set_error(x, text);
      continue;
    }
    env_->set_type(x, type);
  }
}

// --- loops
void Emitter::while_statement(const Tree& s) {
  loop(
      s.range(), [&] { statements(s.part(1)); }, {}, nullptr, &s.part(0));
}

void Emitter::for_statement(const Tree& s) {
  emit_for(s.part(0), s.part(1), s.range(), [&] { statements(s.part(2)); });
}

void Emitter::emit_for(const Tree& targets, const Tree& iterated, const SourceRange& at,
                       const std::function<void()>& body) {
  if (iterated.size() != 1) fail(at, "List of iterables is not supported currently");
  SugaredRef over = sugared(iterated.part(0))->iter(at, g_);
  if (over->unrolls()) unrolled(at, body, *over, targets);
  else loop(at, body, over, &targets, nullptr);
}

void Emitter::loop(const SourceRange& at, const std::function<void()>& body, SugaredRef over, const Tree* targets,
                   const Tree* condition_tree) {
  Value* most = over ? over->len(at, g_) : kept_constant(std::numeric_limits<int64_t>::max(), at, ints_);
  Node* n = insert_node(g_, prim_Loop, {}, 0, at);
  Block *own = n->add_block(), *test = n->add_block();
  push(test);
  Value* out;
  if (condition_tree) {
    const InsertAt there(test);
    out = to_bool(condition_tree->range(), expression(*condition_tree));
  } else {
    const InsertAt there(n);
    out = insert_constant(g_, true, at);
  }
  test->register_output(out);
  pop();
  n->add_input(most);
  const Loop before = std::exchange(loop_, Loop::In);
  Value* turn = own->add_input();
  turn->set_type(simple_type(TypeKind::Int));
  {
    push(own);
    const InsertAt there(own);
    if (over && targets) {
      SugaredRef item = over->getitem(at, g_, turn);
      check_targets(targets->parts(), at);
      if (targets->size() > 1) {
        const TreeRef tuple = Tree::make(Syntax::TupleLiteral, at, {TreeRef(targets)});
        assign_all({&tuple, 1}, {item}, at, 1);
      } else {
        assign_all(targets->parts(), {item}, at, 1);
      }
    }
    body();
    pop();
  }
  loop_ = before;
}

void Emitter::unrolled(const SourceRange& at, const std::function<void()>& body, Sugared& over, const Tree& targets) {
  const auto n = over.static_len();
  if (!n) fail(at, "a loop over what has no length that is known when it is compiled");
  const Loop before = std::exchange(loop_, Loop::Unrolled);
  for (int64_t i = 0; i < *n; ++i) {
    Value* index = kept_constant(i, at, ints_);
    SugaredRef item = over.getitem(at, g_, index);
    assign_all(targets.parts(), {item}, at, 1);
    body();
  }
  loop_ = before;
}

// --- assignments
void Emitter::assign(const Tree& s) {
  const auto targets = s.part(0).parts();
  const Tree *right = s.part(1).content(), *type = s.part(2).content();
  if (!right) fail(s.range(), "For an assignment, expected an expression on the right-hand side");
  if (targets.size() == 1) return assign_one(s.range(), *targets[0], *right, type);
  const std::string name = str("$tmp_assign_", next_temporary_++);
  env_->set(right->range(), name, sugared(*right));
  const TreeRef variable = Tree::make(Syntax::Variable, right->range(), {Tree::ident(right->range(), name)});
  for (const TreeRef& t : targets) assign_one(s.range(), *t, *variable, nullptr);
}

void Emitter::assign_one(const SourceRange& at, const Tree& target, const Tree& right, const Tree* type_tree) {
  switch (target.kind()) {
    case Syntax::Variable: {
      TypeRef type = type_tree ? type_of_expression(*type_tree, names_) : nullptr;
      SugaredRef v = sugared(right, type);
      if (type)  // an implicit conversion, as an argument has it
        if (Value* own = v->graph_value()) v = simple(convert_to(target.range(), g_, type, own, true));
      return env_->set(target.range(), target.name(), std::move(v), type);
    }
    case Syntax::TupleLiteral: return assign_tuple(target, sugared(right), right.range());
    case Syntax::Select: {
      SugaredRef object = sugared(target.part(0));
      TypeRef type = type_tree ? type_of_expression(*type_tree, names_) : nullptr;
      Value* v = expression(right, type);
      if (type) {
        v = convert_to(right.range(), g_, type, v, true);
        if (!is_subtype(v->type(), type))
          fail(right.range(), "Variable '", target.part(1).name(), "' is annotated with type ", type_name(type),
               " but is being assigned to a value of type ", type_name(v->type()));
      }
      return object->set_attr(at, g_, target.part(1).name(), v);
    }
    case Syntax::Subscript: return assign_subscript(at, target, NamedValue(right.range(), expression(right)));
    default: fail(target.range(), "unexpected expression on left-hand side of assignment");
  }
}

bool Emitter::check_targets(std::span<const TreeRef> targets, const SourceRange& at) {
  size_t normal = 0, starred = 0;
  for (const TreeRef& t : targets) {
    if (t->is(Syntax::Variable) || t->is(Syntax::Subscript) || t->is(Syntax::TupleLiteral) || t->is(Syntax::Select))
      ++normal;
    else if (t->is(Syntax::Starred)) ++starred;
    else fail(t->range(), "lhs of assignment must be a variable, subscript, or starred expression");
  }
  if (starred > 1) fail(at, "Only one starred expression is allowed on the lhs");
  if (starred > 0 && normal == 0)
    fail(at, "A Starred expression may only appear on the lhs within the presence of another non-starred expression");
  return starred > 0;
}

void Emitter::assign_tuple(const Tree& target, SugaredRef right, const SourceRange& at) {
  const auto targets = target.part(0).parts();
  const bool starred = check_targets(targets, target.range());
  const size_t n = targets.size() - (starred ? 1 : 0);
  const std::vector<SugaredRef> values = right->as_tuple(at, g_, starred ? std::nullopt : std::optional(n));
  if (values.size() < n)
    fail(target.range(), "need ", starred ? "at least " : "", n, " values to unpack but found only ", values.size());
  if (values.size() > n && !starred)
    fail(target.range(), "too many values to unpack: need ", n, " but found ", values.size());
  assign_all(targets, values, at, n);
}

void Emitter::assign_all(std::span<const TreeRef> targets, const std::vector<SugaredRef>& values, const SourceRange& at,
                         size_t binders) {
  size_t i = 0;
  for (const TreeRef& t : targets) {
    switch (t->kind()) {
      case Syntax::Subscript: assign_subscript(at, *t, NamedValue(at, values[i++]->as_value(at, g_))); break;
      case Syntax::Variable: env_->set(t->range(), t->name(), values[i++]); break;
      case Syntax::Starred: {
        const Tree& variable = t->part(0);
        if (!variable.is(Syntax::Variable)) fail(variable.range(), "Cannot pack a tuple into a non-variable");
        const size_t n = values.size() - binders;
        std::vector<Value*> items;
        for (size_t k = 0; k < n; ++k) items.push_back(values[i + k]->as_value(variable.range(), g_));
        env_->set(variable.range(), variable.name(), g_.insert(g_.create_tuple(items))->output());
        i += n;
        break;
      }
      case Syntax::TupleLiteral: assign_tuple(*t, values[i++], at); break;
      case Syntax::Select:
        sugared(t->part(0))->set_attr(t->range(), g_, t->part(1).name(), values[i++]->as_value(at, g_));
        break;
      default: fail(t->range(), "unexpected expression on the left-hand side");
    }
  }
}

void Emitter::assign_subscript(const SourceRange& at, const Tree& target, const NamedValue& right) {
  Value* v = expression(target.part(0));
  const Tree& indices = target.part(1);
  if (is_subtype(v->type(), tensor_type())) {
    const auto [part, tensors] = int_and_slice_indexing(target.range(), v, indices);
    const NamedValue place(target.range(), part);
    const NamedValue from = as_tensor(right, place);
    if (tensors.empty()) {
      emit_builtin(at, g_, Symbol::of("aten::copy_"), {place, from});
    } else {
      Value* list = g_.insert(g_.create_list(optional_type(tensor_type()), tensors))->output();
      emit_builtin(at, g_, Symbol::of("aten::index_put_"), {place, NamedValue(list), from});
    }
    return;
  }
  if (indices.size() != 1 || indices.part(0).is(Syntax::Slice))
    fail(indices.range(),
         "Sliced expression not yet supported for subscripted assignment. File a bug if you want this");
  if (v->type()->is(TypeKind::Tuple))
    fail(target.range(), type_name(v->type()), " does not support subscripted assignment");
  Arguments args{NamedValue(target.part(0).range(), v), NamedValue(indices.range(), expression(indices.part(0))),
                 right};
  magic("__setitem__", make_ref<BuiltinFunction>(aten__set_item))->call(at, g_, std::move(args), {});
}

// --- x += y: in place of a tensor, by operator of others
static const char* in_place_method(Syntax k) {
  switch (k) {
    case Syntax::Add: return "__iadd__";
    case Syntax::Sub: return "__isub__";
    case Syntax::Mul: return "__imul__";
    case Syntax::Div: return "__itruediv__";
    case Syntax::Mod: return "__imod__";
    case Syntax::BitOr: return "__ior__";
    case Syntax::BitAnd: return "__iand__";
    case Syntax::BitXor: return "__ixor__";
    case Syntax::LShift: return "__ilshift__";
    case Syntax::RShift: return "__irshift__";
    default: return "__ipow__";
  }
}
static const char* in_place_operator(Syntax k) {
  switch (k) {
    case Syntax::Add: return "aten::add_";
    case Syntax::Sub: return "aten::sub_";
    case Syntax::Mul: return "aten::mul_";
    case Syntax::Div: return "aten::div_";
    case Syntax::Mod: return "aten::fmod_";
    case Syntax::BitOr: return "aten::bitwise_or";
    case Syntax::BitAnd: return "aten::bitwise_and";
    case Syntax::BitXor: return "aten::bitwise_xor";
    case Syntax::LShift: return "aten::__lshift__";
    case Syntax::RShift: return "aten::__rshift__";
    default: return "aten::pow";
  }
}
static const char* plain_operator(Syntax k) {
  switch (k) {
    case Syntax::Add: return "aten::add";
    case Syntax::Sub: return "aten::sub";
    case Syntax::Mul: return "aten::mul";
    case Syntax::Div: return "aten::div";
    case Syntax::Mod: return "aten::fmod";  // also of ints, as in PyTorch
    case Syntax::BitOr: return "aten::__or__";
    case Syntax::BitAnd: return "aten::__and__";
    case Syntax::BitXor: return "aten::__xor__";
    case Syntax::LShift: return "aten::__lshift__";
    case Syntax::RShift: return "aten::__rshift__";
    default: return "aten::pow";
  }
}

void Emitter::augmented(const Tree& s) {
  const Tree& target = s.part(0);
  const Syntax kind = s.part(1).kind();
  if (target.is(Syntax::Subscript)) return augmented_subscript(s);
  if (!target.is(Syntax::Variable) && !target.is(Syntax::Select))
    fail(target.range(), "unexpected expression on left-hand side of augmented assignment");
  const bool of_object = target.is(Syntax::Select);
  SugaredRef object = of_object ? sugared(target.part(0)) : SugaredRef();
  SugaredRef left = of_object ? object->attr(target.range(), g_, target.part(1).name()) : sugared(target);
  Value* v = left->as_value(target.range(), g_);
  SugaredRef out;
  if (v->type()->is(TypeKind::Class)) {
    const ClassInfo& info = *v->type()->class_info();
    const char* method = in_place_method(kind);
    std::string plain_name = str("__", method + 3);  // __iadd__ without its i
    Value* right = expression(s.part(2));
    const std::string name = info.find_method(method) ? method : plain_name;
    if (!info.find_method(name))
      fail(s.range(), "Cannot emit inplace op on ", type_name(v->type()), " since it does not define an ", method,
           " or ", plain_name, " method");
    out = MethodValue(v, {name}).call(s.range(), g_, {NamedValue(s.part(2).range(), right)}, {});
  } else {
    const NamedValue self(target.range(), v), right(s.part(2).range(), expression(s.part(2)));
    const bool in_place = is_subtype(v->type(), tensor_type()) ||
                          (v->type()->is(TypeKind::List) && (kind == Syntax::Add || kind == Syntax::Mul));
    out = simple(emit_builtin(s.range(), g_, Symbol::of(in_place ? in_place_operator(kind) : plain_operator(kind)),
                              {self, right}));
  }
  if (!of_object) env_->set(target.range(), target.name(), out);
  else object->set_attr(s.range(), g_, target.part(1).name(), out->as_value(s.range(), g_));
}

void Emitter::augmented_subscript(const Tree& s) {
  const Tree &target = s.part(0), &indices = target.part(1);
  const Syntax kind = s.part(1).kind();
  Value* v = expression(target.part(0));
  if (is_subtype(v->type(), tensor_type())) {
    const auto [part, tensors] = int_and_slice_indexing(target.range(), v, indices);
    const NamedValue place(target.range(), part);
    const NamedValue right(s.part(2).range(), expression(s.part(2)));
    if (tensors.empty()) {
      emit_builtin(s.range(), g_, Symbol::of(in_place_operator(kind)), {place, right});
      return;
    }
    Value* list = g_.insert(g_.create_list(optional_type(tensor_type()), tensors))->output();
    Value* read = emit_builtin(target.range(), g_, Symbol::of("aten::index"), {place, NamedValue(list)});
    Value* result = emit_builtin(s.range(), g_, Symbol::of(in_place_operator(kind)), {NamedValue(read), right});
    emit_builtin(s.range(), g_, Symbol::of("aten::index_put_"), {place, NamedValue(list), NamedValue(result)});
    return;
  }
  if (indices.size() != 1 || indices.part(0).is(Syntax::Slice))
    fail(indices.range(), "Sliced expression not yet supported for augmented assignment. File a bug if you want this");
  Value* index = expression(indices.part(0));
  const NamedValue object(target.part(0).range(), v), place(indices.range(), index);
  if (v->type()->is(TypeKind::Class)) {
    SugaredRef read = MethodValue(v, {"__getitem__"}).call(target.range(), g_, {place}, {});
    Value* right = expression(s.part(2));
    Value* result = emit_builtin(s.range(), g_, Symbol::of(plain_operator(kind)),
                                 {NamedValue(read->as_value(target.range(), g_)), NamedValue(right)});
    MethodValue(v, {"__setitem__"}).call(s.range(), g_, {place, NamedValue(result)}, {});
    return;
  }
  const NamedValue right(s.part(2).range(), expression(s.part(2)));
  Value* item = emit_builtin(target.range(), g_, aten___getitem__, {object, place});
  const bool tensor = is_subtype(item->type(), tensor_type());
  Value* result = emit_builtin(s.range(), g_, Symbol::of(tensor ? in_place_operator(kind) : plain_operator(kind)),
                               {NamedValue(item), right});
  emit_builtin(s.range(), g_, aten__set_item, {object, place, NamedValue(result)});
}

void Emitter::delete_statement(const Tree& s) {
  for (const TreeRef& t : s.part(0).parts()) {
    if (t->is(Syntax::Variable)) {
      if (!env_->remove(t->name())) fail(t->range(), "undefined value ", t->name());
      continue;
    }
    if (!t->is(Syntax::Subscript))
      fail(t->range(), "del statements are only supported for deleting list and dict items");
    if (t->part(1).size() != 1) fail(t->range(), "deletion at multiple indices is not supported");
    const SourceRange& at = t->part(1).range();
    Value* v = expression(t->part(0));
    if (t->part(1).part(0).is(Syntax::Slice))
      fail(at,
           "del statements only support deletion at a single index, slicing is not supported (see "
           "https://github.com/pytorch/pytorch/issues/31430)");
    Value* index = expression(t->part(1).part(0));
    if (v->type()->is(TypeKind::Class)) {
      if (!v->type()->class_info()->find_method("__delitem__")) fail(at, "Class does not define __delitem__");
      MethodValue(v, {"__delitem__"}).call(s.range(), g_, {NamedValue(at, index)}, {});
      continue;
    }
    emit_builtin(at, g_, Symbol::of("aten::Delete"), {NamedValue(t->part(0).range(), v), NamedValue(at, index)});
  }
}

// --- ends
void Emitter::return_value(const SourceRange& at, const Tree& e) {
  FunctionState& state = functions_.back();
  TypeRef type = state.declared;
  Value* v = expression(e, type);
  if (type) {
    const bool none_as_tensor =
        is_subtype(v->type(), tensor_type()) && is_subtype(v->type(), simple_type(TypeKind::None));
    if (!none_as_tensor) v = convert_to(at, g_, type, v, true);
    if (!is_subtype(v->type(), type))
      fail(at, "Return value was annotated as having type ", type_name(type), " but is actually of type ",
           type_name(v->type()));
  } else {
    type = state.merged ? state.merged : v->type();
    TypeRef merged = unify(type, v->type());
    if (!merged)
      fail(at, "Previous return statement returned a value of type ", type_name(type),
           " but this return statement returns a value of type ", type_name(v->type()));
    type = merged;
  }
  state.merged = type;
  if (type->is(TypeKind::Any) && !v->type()->is(TypeKind::Any)) {
    Node* n = g_.insert(g_.create(prim_unchecked_cast, std::vector{v}));
    n->output()->set_type(type);
    v = n->output();
  }
  g_.insert(g_.create(prim_ReturnStmt, std::vector{v}, 0));
  exits_.insert(env_->block());
}

void Emitter::raise_statement(const Tree& s) {
  SugaredRef e = sugared(s.part(0));
  Value *message, *class_name = nullptr;
  if (auto* made = dynamic_cast<ExceptionMessage*>(e.get())) {
    message = made->message;
    class_name = made->name;
  } else if (dynamic_cast<ExceptionValue*>(e.get())) {
    message = insert_constant(g_, "", s.range());
  } else {
    fail(s.range(), "exceptions must derive from BaseException");
  }
  if (!message->type()->is(TypeKind::String))
    message = emit_builtin(SourceRange(), g_, aten_str, {NamedValue(message)});
  if (!class_name) class_name = g_.insert_constant({});
  insert_node(g_, prim_RaiseException, std::vector{message, class_name}, 0, s.range());
  exits_.insert(env_->block());
}

void Emitter::assert_statement(const Tree& s) {
  const Condition c = condition(s.part(0));
  // Where it does not hold: raise AssertionError(message)
  const SourceRange& at = s.range();
  const Tree* own = s.part(1).content();
  const TreeRef message = own ? TreeRef(own) : Tree::make(Syntax::StringLiteral, at, {Tree::string("")});
  const TreeRef failure = Tree::make(Syntax::Variable, at, {Tree::ident(at, kAssertionFailure)});
  const TreeRef made = Tree::make(Syntax::Apply, at, {failure, Tree::list(at, {message}), Tree::list(at, {})});
  emit_if(at, c, *Tree::list(at, {}), *Tree::list(at, {Tree::make(Syntax::Raise, at, {made})}));
}

void Emitter::with_items(const Tree& s, size_t i) {
  const auto items = s.part(0).parts();
  if (i == items.size()) return statements(s.part(1));
  const Tree& item = *items[i];
  Value* object = expression(item.part(0));
  const ClassInfo* info = object->type()->class_info();
  if (!object->type()->is(TypeKind::Class) || !info) fail(item.range(), "With item expression must return an object");
  const ClassInfo::Signature *enter_method = info->find_method("__enter__"),
                             *exit_method = info->find_method("__exit__");
  if (!enter_method || !exit_method)
    fail(item.range(), "Object returned by with item expression does not define __enter__ and __exit__ methods");
  Function* enter = find_method(object->type(), "__enter__");
  Function* leave = find_method(object->type(), "__exit__");
  if (enter && enter->schema().parameters.size() != 1)
    fail(item.range(), "__enter__ must have only one argument and one return value");
  if (leave && leave->schema().parameters.size() != 4) fail(item.range(), "__exit__ must have four arguments");
  Node* enter_node = g_.insert(g_.create(prim_Enter, std::vector{object}));
  enter_node->output()->set_type(enter ? enter->schema().returns[0].whole_type : enter_method->result);
  if (const Tree* name = item.part(1).content()) env_->set(name->range(), name->name(), enter_node->output());
  with_items(s, i + 1);
  g_.insert(g_.create(prim_Exit, std::vector{object}));
}

void Emitter::closure(const Tree& def) {
  fail(def.range(), "function definitions aren't supported inside of functions");
}

}  // namespace fc::jit
