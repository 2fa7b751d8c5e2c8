// SPDX-License-Identifier: Apache-2.0
#include "jit/trace/state.h"

#include "autograd/autograd.h"
#include "core/containers.h"
#include "core/future.h"
#include "define/calls.h"
#include "define/tensor_text.h"
#include "dispatch/operator.h"
#include "jit/ir/operators.h"
#include "jit/trace/record.h"

namespace fc::jit::trace {
namespace {

// Kept apart from ThreadState, which workers copy: the layer's bit alone traces nothing.
thread_local Ref<State> this_thread;
thread_local std::vector<Number> numbers;

constexpr const char* only_valid_unchanged =
    " might cause the trace to be incorrect, this is only valid if the container structure does not change based on "
    "the module's inputs. Consider using a constant container instead (e.g. for `list`, use a `tuple` instead. for "
    "`dict`, use a `NamedTuple` instead). If you absolutely need this and know the side effects, pass strict=False to "
    "trace() to allow this behavior.";

bool is_complete(TypeRef t) {
  const TensorFacts* f = t->facts();
  const auto known = [](const auto& all) {
    if (!all) return false;
    for (const auto& one : *all)
      if (!one) return false;
    return true;
  };
  return f && f->dtype && f->device && known(f->sizes) && known(f->strides);
}

Node* make_dict(Graph& g, TypeRef key, TypeRef value, std::span<Value* const> entries) {
  Node* n = g.create(prim_DictConstruct, entries);
  n->output()->set_type(dict_type(key, value));
  return n;
}

}  // namespace

SourceRange (*where)() = nullptr;
void (*tracer_warning)(const std::string&) = nullptr;

State* current() { return this_thread.get(); }
State* active() {
  const ThreadState& t = thread_state();
  return (t.include & ~t.exclude & layer::Trace) ? this_thread.get() : nullptr;
}

Recording::Recording(Ref<State> s) : include_(thread_state().include), exclude_(thread_state().exclude) {
  FC_CHECK(!this_thread, "Tracing can't be nested");
  install_recorder();
  this_thread = std::move(s);
  numbers.clear();
  thread_state().include |= layer::Trace;
  thread_state().exclude &= ~LayerSet{layer::Trace};
}

Recording::~Recording() {
  const auto restore = [](LayerSet& now, LayerSet before) {
    now = (now & ~LayerSet{layer::Trace}) | (before & layer::Trace);
  };
  restore(thread_state().include, include_);
  restore(thread_state().exclude, exclude_);
  numbers.clear();
  this_thread = nullptr;
}

void set_current(Ref<State> s) {
  install_recorder();
  if (s) thread_state().include |= layer::Trace;
  else thread_state().include &= ~LayerSet{layer::Trace};
  this_thread = std::move(s);
}

// --- values

State::Known* State::find(const RefCounted* identity) {
  for (size_t i = frames_.size(); identity && i-- > 0;)
    if (auto found = frames_[i].find(identity); found != frames_[i].end()) return &found->second;
  return nullptr;
}

void State::locate(Node* n) const {
  if (where) n->set_range(where());
}
Node* State::insert(Node* n) {
  locate(n);
  return graph->insert(n);
}
Value* State::constant(const fc::Value& v) {
  Value* c = graph->insert_constant(v);
  locate(c->node());
  return c;
}
Value* State::call(Symbol kind, std::span<Value* const> inputs) {
  Value* v = graph->insert_call(kind, inputs);
  locate(v->node());
  return v;
}

void State::begin_module(const std::string& name) {
  scopes_.push_back(scopes_.empty() ? name : scopes_.back() + "/" + name);
  graph->set_current_scope(scopes_.back());
  Node* n = graph->insert(graph->create(prim_TracedModuleForward, 0));
  n->set(attr_scope, name);
  graph->set_insert_point(n->add_block());
}

void State::end_module() {
  scopes_.pop_back();
  graph->set_current_scope(scopes_.empty() ? std::string_view() : std::string_view(scopes_.back()));
  graph->set_insert_point(graph->insert_point()->owning_block()->owning_node()->next());
}

Value* State::value_of(const Tensor& t) {
  if (!t.defined()) return graph->insert(graph->create_none())->output();
  if (Known* known = find(&t.impl())) {
    if (!known->value->has_name() && variable_name) {
      Value* v = known->value;  // the lookup runs the program's code
      v->set_name(variable_name(t));
      return v;
    }
    return known->value;
  }
  if (autograd::requires_grad(t)) {
    const Pause pause;
    raise<Error>(
        "Cannot insert a Tensor that requires grad as a constant. Consider making it a parameter or input, or "
        "detaching the gradient\nTensor:\n",
        tensor_text(t));
  }
  const Pause pause;  // what reads a tensor must not be recorded
  Tensor kept = t;
  if (t.impl().is_wrapped_number()) {
    kept = shallow_copy(t, false);
    kept.impl().set_wrapped_number(false);
  }
  Value* c = constant(kept);
  set_value(t, c);
  return c;
}

Value* State::value_of(const fc::Value& v) {
  switch (v.tag()) {
    case Tag::Tensor: return value_of(v.tensor());
    case Tag::TensorList: {
      std::vector<Value*> items;
      for (const Tensor& t : v.arg().tensors()) items.push_back(value_of(t));
      return graph->insert(graph->create_list(tensor_type(), items))->output();
    }
    case Tag::Tuple: {
      std::vector<Value*> items;
      for (const fc::Value& i : tuple_of(v).items) items.push_back(value_of(i));
      return graph->insert(graph->create_tuple(items, tuple_of(v).named))->output();
    }
    case Tag::Dict: {
      std::vector<Value*> entries;
      DictBox& d = dict_of(v);
      for (size_t at = d.next(0); at != SIZE_MAX; at = d.next(at + 1)) {
        entries.push_back(value_of(d.key_at(at)));
        entries.push_back(value_of(d.value_at(at)));
      }
      return graph->insert(make_dict(*graph, d.key, d.value, entries))->output();
    }
    case Tag::Future:
    case Tag::Instance:
    case Tag::Object:
      if (Known* known = find(v.box())) return known->value;
      FC_CHECK(v.tag() != Tag::Future, "Tried to trace Future or Object that the tracer was not aware of.");
      raise<Error>("Tried to trace ", to_string(v),
                   " but it is not part of the active trace. Modules that are called during a trace must be registered "
                   "as submodules of the thing being traced.");
    default: break;
  }
  if (Value* c = graph->try_insert_constant(v)) {
    locate(c->node());
    return c;
  }
  if (v.tag() == Tag::List) {
    std::vector<Value*> items;
    for (const fc::Value& i : v.arg().values()) items.push_back(value_of(i));
    return graph->insert(graph->create_list(type_of(v)->item(), items))->output();
  }
  raise<Error>("Tracer cannot get value trace for type ", annotation_text(type_of(v)),
               ". The below value could not be materialized as a constant:\n", to_string(v));
}

void State::set_value(const Tensor& t, Value* to) {
  FC_CHECK(t.defined(), "internal: the trace was told of an undefined tensor");
  frames_.back()[&t.impl()] = {fc::Value(t), to};
  // What a call of a compiled function gives has no shape in the graph; this one has.
  if (to->type()->is(TypeKind::Tensor) && !is_complete(to->type())) to->set_type(type_of(fc::Value(t)));
}

void State::set_value(const fc::Value& v, Value* to) {
  switch (v.tag()) {
    case Tag::Tensor: return set_value(v.tensor(), to);
    case Tag::Tuple: {
      const auto& items = tuple_of(v).items;
      Node* apart = graph->insert(graph->create_tuple_unpack(to));
      for (size_t i = 0; i < items.size(); ++i) set_value(items[i], apart->output(i));
      return;
    }
    case Tag::TensorList: {
      const auto items = v.arg().tensors();
      Node* apart = graph->insert(graph->create_list_unpack(to, items.size()));
      for (size_t i = 0; i < items.size(); ++i) set_value(items[i], apart->output(i));
      return;
    }
    case Tag::List: {
      const auto items = v.arg().values();
      Node* apart = graph->insert(graph->create_list_unpack(to, items.size()));
      for (size_t i = 0; i < items.size(); ++i) set_value(items[i], apart->output(i));
      return;
    }
    case Tag::Dict: {
      DictBox& d = dict_of(v);
      for (size_t at = d.next(0); at != SIZE_MAX; at = d.next(at + 1)) {
        Value* const key[] = {to, graph->insert_constant(d.key_at(at))};
        set_value(d.value_at(at), graph->insert_call(aten___getitem__, key));
      }
      return;
    }
    case Tag::Future:
    case Tag::Instance:
    case Tag::Object: frames_.back()[v.box()] = {v, to}; return;
    default:
      raise<Error>("Tracer cannot set value trace for type ", annotation_text(type_of(v)),
                   ". Supported types are tensor, "
                   "tensor list, and tuple of tensors.");
  }
}

void State::forget(const Tensor& t) {
  for (auto& frame : frames_) frame.erase(&t.impl());
}

Value* State::output_of(const fc::Value& v, size_t i) {
  const auto all = [&](const auto& items) {
    std::vector<Value*> out;
    for (const auto& item : items) out.push_back(output_of(fc::Value(item), i));
    return out;
  };
  switch (v.tag()) {
    case Tag::Tensor: {
      const Tensor& t = v.tensor();
      if (!t.defined()) return graph->insert(graph->create_none())->output();
      const auto found = frames_.back().find(&t.impl());
      if (found == frames_.back().end()) {
        const Pause pause;
        raise<Error>("output ", i, " (", tensor_text(t),
                     ") of traced region did not have observable data dependence with trace inputs; this probably "
                     "indicates your program cannot be understood by the tracer.");
      }
      return found->second.value;
    }
    case Tag::TensorList:
      if (strict) warn("Encountering a list at the output of the tracer", Loses::Container);
      return graph->insert(graph->create_list(tensor_type(), all(v.arg().tensors())))->output();
    case Tag::List:
      if (type_of(v)->item()->is(TypeKind::Tensor)) {
        if (strict) warn("Encountering a list at the output of the tracer", Loses::Container);
        return graph->insert(graph->create_list(tensor_type(), all(v.arg().values())))->output();
      }
      break;
    case Tag::Tuple: return graph->insert(graph->create_tuple(all(tuple_of(v).items)))->output();
    case Tag::Dict: {
      FC_CHECK(!strict, "Encountering a dict at the output of the tracer", only_valid_unchanged);
      DictBox& d = dict_of(v);
      const auto tensors_only = [](TypeRef t) {
        if (!t->is(TypeKind::Tuple)) return t->is(TypeKind::Tensor);
        for (TypeRef item : t->items())
          if (!item->is(TypeKind::Tensor)) return false;
        return true;
      };
      FC_CHECK((d.key->is(TypeKind::String) || d.key->is(TypeKind::Tensor)) && tensors_only(d.value), "output ", i,
               " (", to_string(v),
               ") of traced region cannot be understood by the tracer, only outputs matching dict[Union[str, Tensor], "
               "Union[Tensor, Tuple[Tensor, ...]]] can be a dictionary output of a traced function");
      std::vector<Value*> entries;
      for (size_t at = d.next(0); at != SIZE_MAX; at = d.next(at + 1)) {
        entries.push_back(value_of(d.key_at(at)));
        entries.push_back(output_of(d.value_at(at), i));
      }
      return graph->insert(make_dict(*graph, d.key, d.value, entries))->output();
    }
    default: break;
  }
  raise<Error>("Only tensors, lists, tuples of tensors, or dictionary of tensors can be output from traced functions");
}

fc::Value State::take_input(const fc::Value& v, TypeRef type, Value* to) {
  to->set_type(type);
  switch (v.tag()) {
    case Tag::Tensor: {
      Tensor t = v.tensor();
      if (knows(t)) t = view(t, Dims(t.sizes()));
      set_value(t, to);
      return t;
    }
    case Tag::Tuple: {
      Node* apart = graph->insert(graph->create_tuple_unpack(to));
      std::vector<fc::Value> items;
      for (size_t i = 0; i < tuple_of(v).items.size(); ++i)
        items.push_back(take_input(tuple_of(v).items[i], type->item(i), apart->output(i)));
      return tuple_value(std::move(items), tuple_of(v).named);
    }
    case Tag::Dict: {
      DictBox& d = dict_of(v);
      fc::Value out = dict_value(d.key, d.value);
      for (size_t at = d.next(0); at != SIZE_MAX; at = d.next(at + 1)) {
        Value* const key[] = {to, graph->insert_constant(d.key_at(at))};
        Value* item = call(aten___getitem__, key);
        dict_of(out).set(d.key_at(at), take_input(d.value_at(at), type->item(1), item));
      }
      return out;
    }
    case Tag::TensorList:
    case Tag::List: {
      std::vector<fc::Value> items;
      visit_list(v, [&](auto& all) {
        Node* apart = graph->insert(graph->create_list_unpack(to, all.size()));
        for (size_t i = 0; i < all.size(); ++i)
          items.push_back(take_input(fc::Value(all[i]), type->item(), apart->output(i)));
      });
      return list_value(type->item()->unshaped(), std::move(items));
    }
    default:
      raise<Error>(
          "Only tensors or (possibly nested) dict or tuples of tensors can be inputs to traced functions. Got ",
          annotation_text(type));
  }
}

// --- numbers

void note_number(size_t parameter, const Tensor& from) {
  if (active()) numbers.push_back({parameter, SIZE_MAX, from});
}
void note_list_item(size_t parameter, size_t item, const Tensor& from) {
  if (active()) numbers.push_back({parameter, item, from});
}
void forget_numbers() { numbers.clear(); }
std::vector<Number> take_numbers() { return std::exchange(numbers, {}); }

namespace {

Tensor known_number(State& s, Value* v, int64_t n) {
  Value* as_tensor = s.graph->insert(s.graph->create_num_to_tensor(v))->output();
  TensorFacts facts;
  facts.dtype = DType::Int64;
  facts.device = Device{};
  facts.sizes.emplace();
  facts.strides.emplace();
  as_tensor->set_type(tensor_type(facts));
  const Pause pause;
  Tensor t = full({}, Scalar(n), DType::Int64, Device{});
  s.set_value(t, as_tensor);
  return t;
}

}  // namespace

Tensor size_of(const Tensor& t, int64_t dim) {
  const int64_t n = t.size(dim);
  State& s = *active();
  Value* const inputs[] = {s.value_of(t), s.constant(dim)};
  Node* size = s.insert(s.graph->create(aten_size, inputs));
  size->output()->set_type(simple_type(TypeKind::Int));
  return known_number(s, size->output(), n);
}

Tensor numel_of(const Tensor& t) {
  State& s = *active();
  Value* const inputs[] = {s.value_of(t)};
  Node* count = s.insert(s.graph->create(aten_numel, inputs));
  count->output()->set_type(simple_type(TypeKind::Int));
  return known_number(s, count->output(), t.numel());
}

void warn(const std::string& reason, Loses kind) {
  static constexpr const char* sentences[] = {
      " might cause the trace to be incorrect. We can't record the data flow of Python values, so this value will be "
      "treated as a constant in the future. This means that the trace might not generalize to other inputs!",
      " results are registered as constants in the trace. You can safely ignore this warning if you use this function "
      "to create tensors out of constant variables that would be the same every time you call this function. In any "
      "other case, this might cause the trace to be incorrect.",
      " can't be represented in the JIT at the moment, so we won't connect any uses of this value with its current "
      "trace. If you happen to use it again, it will show up as a constant in the graph. Consider using `view` or "
      "`reshape` to make it traceable.",
      only_valid_unchanged,
      ". This might cause the trace to be incorrect, because all other views that also reference this data will not "
      "reflect this change in the trace! On the other hand, if all other views use the same memory chunk, but are "
      "disjoint (e.g. are outputs of torch.split), this might still be safe."};
  State* s = active();
  if (!s) return;
  const std::string message = reason + sentences[static_cast<int>(kind)];
  if (tracer_warning) tracer_warning(message);
  else fc::warn(message);
}

}  // namespace fc::jit::trace
