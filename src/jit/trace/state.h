// SPDX-License-Identifier: Apache-2.0
// What a thread that traces knows: the graph so far, and which of its values each tensor is. One trace at a time and
// thread. Operators are recorded by the layer of record.h; who runs one by other means (an index, a size, a call of a
// module) records it through this state.
//
//   trace::State* s = trace::active();      null: nothing is recorded here and now
//   s->value_of(tensor)                      the graph's value, a constant if the trace never saw the tensor
//
// A state belongs to its thread. Tensors are told apart by identity and kept while the trace goes on.
#pragma once
#include <functional>
#include <optional>
#include <unordered_map>

#include "dispatch/layers.h"
#include "jit/ir/graph.h"

namespace fc::jit::trace {

class State final : public RefCounted {
 public:
  Ref<Graph> graph = Graph::make();
  bool strict = true;                                       // mutable containers at the end are warned about or refused
  bool force_out_of_place = false;                          // x.add_(y) is recorded as x.add(y)
  std::function<std::string(const Tensor&)> variable_name;  // of a variable that the running program has; "": none

  // The graph's value of a tensor, a container of such, a future or an object; constants for what else there is.
  // Throws Error for what cannot be a constant.
  Value* value_of(const fc::Value& v);
  Value* value_of(const Tensor& t);
  bool knows(const fc::Value& object) const { return find(object.box()) != nullptr; }
  bool knows(const Tensor& t) const { return find(t.defined() ? &t.impl() : nullptr) != nullptr; }
  // From here on `v` is that value of the graph; containers are taken apart by nodes.
  void set_value(const fc::Value& v, Value* to);
  void set_value(const Tensor& t, Value* to);
  void forget(const Tensor& t);  // it will be a constant when it is used again
  // The value of output `i`; unlike value_of no constant: throws where the trace did not see it.
  Value* output_of(const fc::Value& v, size_t i);
  // An input of that type behind `to`; a tensor that is an input already comes back as a view of itself.
  fc::Value take_input(const fc::Value& v, TypeRef type, Value* to);

  Value* constant(const fc::Value& v);                       // with the place in the program
  Node* insert(Node* n);                                     // the same
  Value* call(Symbol kind, std::span<Value* const> inputs);  // Graph::insert_call, the same
  void locate(Node* n) const;

  // A module's forward() becomes a block of its own until it ends: a prim::TracedModuleForward (modules.h).
  void begin_module(const std::string& name);
  void end_module();

  // Inside of a block values may be found that outer frames have, and new ones are gone when it ends.
  void enter() { frames_.emplace_back(); }
  void leave() { frames_.pop_back(); }

 private:
  std::vector<std::string> scopes_;
  struct Known {
    fc::Value keeps;  // so that no other object gets its address
    Value* value;
  };
  void destroy() noexcept override { delete_in_turn(this); }
  Known* find(const RefCounted* identity);
  const Known* find(const RefCounted* identity) const { return const_cast<State*>(this)->find(identity); }
  std::vector<std::unordered_map<const RefCounted*, Known>> frames_{1};
};

// Of this thread; null if it does not trace, or does not here: operators run, a worker of autograd, a pause.
State* active();
State* current();  // the same, but during a pause too

// Records for a scope. Throws if this thread traces already.
class Recording {
 public:
  explicit Recording(Ref<State> s);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

 private:
  LayerSet include_, exclude_;
};
struct Pause : ExcludeLayers {
  Pause() : ExcludeLayers(layer::Trace) {}
};
// Another state for this thread (null: none), until it is set again: torch._C._set_tracing_state.
void set_current(Ref<State> s);

// --- numbers that come from tensors: `x.view(n * 2)` where n is a size. Who reads a number of a tensor for argument
// `parameter` of the operator that is called next says so, and the record uses the tensor.
void note_number(size_t parameter, const Tensor& from);
void note_list_item(size_t parameter, size_t item, const Tensor& from);
void forget_numbers();
struct Number {
  size_t parameter;
  size_t item;  // SIZE_MAX: the argument itself
  Tensor from;
};
std::vector<Number> take_numbers();

// x.size(dim) and x.numel() as tensors that the trace knows.
Tensor size_of(const Tensor& t, int64_t dim);
Tensor numel_of(const Tensor& t);

// --- what the trace will not see again, said once where it happens: `reason` and the sentence of its kind
enum class Loses { PythonValue, Constructor, Resize, Container, Shared };
void warn(const std::string& reason, Loses kind);

// Set by the front.
extern SourceRange (*where)();                              // the place in the program that runs
extern void (*tracer_warning)(const std::string& message);  // null: to stderr

}  // namespace fc::jit::trace
