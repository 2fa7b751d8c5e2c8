// SPDX-License-Identifier: Apache-2.0
#include "jit/trace/record.h"

#include <algorithm>
#include <mutex>

#include "define/calls.h"
#include "jit/ir/operators.h"
#include "jit/trace/state.h"

namespace fc::jit::trace {
namespace {

bool is(const Operator& op, std::string_view name) { return op.name() == name; }

// Looked into instead: what PyTorch's tracer leaves out by name.
bool is_seen_through(const Schema& s) {
  static constexpr std::string_view names[] = {"conv1d",           "conv2d",           "conv3d",    "conv_transpose1d",
                                               "conv_transpose2d", "conv_transpose3d", "lstm_cell", "gru_cell",
                                               "rnn_tanh_cell",    "rnn_relu_cell",    "_coalesced"};
  return s.space == "facula" || (s.space == "aten" && std::ranges::find(names, s.name) != std::end(names));
}

// Without a node of its own: what it calls is recorded.
void look_into(const Operator& op, LayerSet below, const Arg* args, fc::Value* results) {
  if (op.composite()) op.composite().fn(op.composite().context, op, args, results);
  else redispatch(op, below, args, results);
}

// A number beside a tensor is a tensor to PyTorch's arithmetic: these overloads have no name of their own in Python.
bool takes_number_as_tensor(const Schema& s) {
  std::string_view name = s.name;
  if (name.ends_with('_')) name.remove_suffix(1);
  static constexpr std::string_view names[] = {"add",      "sub",      "mul",    "div",        "floor_divide",
                                               "subtract", "multiply", "divide", "true_divide"};
  return s.overload == "Scalar" && s.space == "aten" && std::ranges::find(names, name) != std::end(names);
}

bool gives_tensors(const Operator& op) {
  return std::ranges::any_of(op.schema().returns, [](const Parameter& r) { return r.type.kind == Kind::Tensor; });
}

// Of a call that Python makes of a factory PyTorch's front fills in where the tensor lies. C++ gives a layout, too.
bool is_called_by_python(const Schema& s, const Arg* args) {
  const int layout = s.find("layout");
  return layout >= 0 && s.find("device") >= 0 && s.find("pin_memory") >= 0 && args[layout].is_none();
}

Tensor untraced_number(const Scalar& v) {
  const Pause pause;
  return wrapped_number(v);
}

class Recorder {
 public:
  Recorder(State& s, const Operator& op, const Arg* args)
      : state_(s), op_(op), args_(args), graph_(*s.graph), factory_(is_called_by_python(op.schema(), args)) {
    is_convolution_ = is(op, "aten::convolution") || is(op, "aten::_convolution_mode");
    if (is_convolution_) spatial_ = static_cast<size_t>(std::max<int64_t>(args[1].tensor().dim() - 2, 0));
    for (const Number& n : take_numbers()) use(n);
  }

  std::vector<Value*> inputs() {
    const auto& parameters = op_.schema().parameters;
    std::vector<Value*> out;
    for (size_t i = 0; i < parameters.size(); ++i) out.push_back(input(i));
    return out;
  }
  Value* input(size_t i);
  void outputs(Node* n, fc::Value* results);

 private:
  // An int, float or number read from a tensor that the trace knows, made where that is.
  void use(const Number& n) {
    if (n.parameter >= op_.num_args() || !state_.knows(n.from)) return;
    const Kind kind = op_.schema().parameters[n.parameter].type.kind;
    const Arg& a = args_[n.parameter];
    if (n.item != SIZE_MAX && (a.tag() != Tag::IntList || n.item >= a.ints().size())) return;
    const SymbolEntry* to = kind == Kind::Int      ? &aten_Int
                            : kind == Kind::Float  ? &aten_Float
                            : kind == Kind::Scalar ? &aten_ScalarImplicit
                                                   : nullptr;
    if (!to) return;
    Value* tensor = state_.value_of(n.from);
    Node* const at = tensor->node()->is(prim_Param) ? tensor->node()->owning_block()->first() : tensor->node()->next();
    const InsertAt here(at);
    Value* const inputs[] = {tensor};
    numbers_.push_back({n.parameter, n.item, graph_.insert_call(*to, inputs)});
  }
  Value* number(size_t parameter, size_t item) const {
    for (const Made& m : numbers_)
      if (m.parameter == parameter && m.item == item) return m.value;
    return nullptr;
  }
  Value* none() { return graph_.insert(graph_.create_none())->output(); }
  Value* list(TypeRef item, std::span<Value* const> items) {
    return graph_.insert(graph_.create_list(item, items))->output();
  }
  template <class Items>
  Value* constants(TypeRef item, const Items& items) {
    std::vector<Value*> all;
    for (const auto& i : items) all.push_back(state_.constant(fc::Value(i)));
    return list(item, all);
  }

  struct Made {
    size_t parameter, item;
    Value* value;
  };
  State& state_;
  const Operator& op_;
  const Arg* args_;
  Graph& graph_;
  bool factory_, is_convolution_;
  size_t spatial_ = 0;
  std::vector<Made> numbers_;
};

Value* Recorder::input(size_t i) {
  const Parameter& p = op_.schema().parameters[i];
  const Arg& a = args_[i];
  if (!p.type.list)
    if (Value* made = number(i, SIZE_MAX)) return made;
  if (factory_ && a.is_none()) {
    if (p.name == "pin_memory") return state_.constant(false);
    if (p.name == "device" && op_.tensor_args().empty()) return state_.constant(default_device());
  }
  switch (a.tag()) {
    case Tag::None: return none();
    case Tag::Tensor: return state_.value_of(a.tensor());
    case Tag::TensorList: {
      std::vector<Value*> items;
      for (const Tensor& t : a.tensors()) items.push_back(state_.value_of(t));
      return list(p.type.optional_item ? optional_type(tensor_type()) : tensor_type(), items);
    }
    case Tag::IntList: {
      std::vector<Value*> items;
      const IntSpan ints = a.ints();
      // Of a convolution, one number stands for all dimensions here, and not in PyTorch.
      const size_t repeat = is_convolution_ && ints.size() == 1 ? spatial_ : 1;
      for (size_t k = 0; k < ints.size() * repeat; ++k) {
        Value* made = number(i, k % ints.size());
        items.push_back(made ? made : state_.constant(ints[k % ints.size()]));
      }
      return list(simple_type(TypeKind::Int), items);
    }
    case Tag::DoubleList: return constants(simple_type(TypeKind::Float), a.doubles());
    case Tag::ScalarList: return constants(simple_type(TypeKind::Number), a.scalars());
    case Tag::Scalar:
    case Tag::Int:
    case Tag::Double:
    case Tag::Bool:
      if (p.name == "other" && takes_number_as_tensor(op_.schema()))
        return state_.value_of(untraced_number(a.scalar()));
      if (p.type.kind == Kind::Float && a.tag() != Tag::Double) return state_.constant(a.real());
      return state_.constant(fc::Value(a));
    default: return state_.constant(fc::Value(a));
  }
}

void Recorder::outputs(Node* n, fc::Value* results) {
  const auto& returns = op_.schema().returns;
  for (size_t i = 0; i < returns.size(); ++i) {
    Value* out = n->add_output();
    if (returns[i].type.kind != Kind::Tensor) {
      out->set_type(formal_type(returns[i]));
    } else if (!returns[i].type.list) {
      const Tensor& t = results[i].tensor();
      if (!t.defined()) continue;
      out->set_type(type_of(results[i]));
      if (is_convolution_) {  // PyTorch asks below autograd
        TensorFacts facts = *out->type()->facts();
        facts.requires_grad = false;
        out->set_type(tensor_type(facts));
      }
      state_.set_value(t, out);
    } else {
      out->set_type(list_type(tensor_type()));
      const auto tensors = results[i].arg().tensors();
      Node* apart = graph_.insert(graph_.create(prim_ListUnpack, std::span<Value* const>(&out, 1), tensors.size()));
      for (size_t k = 0; k < tensors.size(); ++k) {
        if (!tensors[k].defined()) continue;
        apart->output(k)->set_type(type_of(fc::Value(tensors[k])));
        state_.set_value(tensors[k], apart->output(k));
      }
    }
  }
}

// --- operators that PyTorch records in a way of their own

// aten::convolution, with the switches of libraries that PyTorch asks for: those of a process that set none.
void add_switches(State& s, std::vector<Value*>& inputs) {
  for (const bool on : {false, false, true, true}) inputs.push_back(s.constant(on));
}

// resize_ ends what is known of the tensor.
bool record_resize(State& s, const Operator& op, LayerSet below, const Arg* args, fc::Value* results) {
  const std::string& name = op.schema().name;
  if (op.schema().space != "aten" || (name != "resize_" && name != "resize_as_")) return false;
  forget_numbers();
  warn(name, Loses::Resize);
  s.forget(args[0].tensor());
  const Pause pause;
  redispatch(op, below, args, results);
  return true;
}

Node* make_copy(State& s, const Arg* args) {
  const Tensor &self = args[0].tensor(), &source = args[1].tensor();
  if (s.force_out_of_place && self.impl().storage()->use_count() <= 1) {  // without views it is a new tensor
    Value* const inputs[] = {s.value_of(source), s.value_of(self)};
    return s.graph->insert(s.graph->create(Symbol::of("aten::expand_as"), inputs, 0));
  }
  Value *to = s.value_of(self), *from = s.value_of(source);
  Value* const inputs[] = {to, from, s.graph->insert_constant(args[2].boolean())};
  return s.insert(s.graph->create(Symbol::of("aten::copy_"), inputs, 0));
}

void say_shared(const Operator& op, const Tensor& written) {
  const uint32_t owners = written.impl().storage()->use_count();
  if (owners > 1)
    warn(str("There are ", owners, " live references to the data region being modified when tracing in-place operator ",
             op.schema().name),
         Loses::Shared);
}

std::string recorded_name(const State& s, const Operator& op) {
  const Schema& schema = op.schema();
  if (is(op, "aten::convolution")) return "aten::_convolution";
  std::string name = schema.base_name();
  if (s.force_out_of_place && op.is_in_place && name.ends_with('_') && !name.ends_with("__")) name.pop_back();
  return name;
}

void record(void*, const Operator& op, LayerSet below, const Arg* args, fc::Value* results) {
  State* s = active();
  if (!s) return redispatch(op, below, args, results);  // a worker that took over this thread's layers
  const Ref<State> keep(s);
  const Schema& schema = op.schema();
  if (!gives_tensors(op)) return look_into(op, below, args, results);  // numbers that were noted are for the next one
  if (is_seen_through(schema)) {
    forget_numbers();
    return look_into(op, below, args, results);
  }
  if (record_resize(*s, op, below, args, results)) return;
  Recorder recorder(*s, op, args);
  Node* n;
  if (is(op, "aten::copy_")) {
    n = make_copy(*s, args);
  } else {
    if (s->force_out_of_place && op.is_in_place) say_shared(op, args[op.written_args()[0]].tensor());
    n = s->graph->create(Symbol::of(recorded_name(*s, op)), 0);
    s->locate(n);
    std::vector<Value*> inputs = recorder.inputs();
    if (is(op, "aten::convolution")) add_switches(*s, inputs);
    for (Value* v : inputs) n->add_input(v);
    s->graph->insert(n);
  }
  {
    const Pause pause;
    redispatch(op, below, args, results);
  }
  recorder.outputs(n, results);
}

}  // namespace

void install_recorder() {
  static std::once_flag once;
  std::call_once(once, [] { set_layer_handler(layer::Trace, {record, nullptr, "Trace"}); });
}

}  // namespace fc::jit::trace
