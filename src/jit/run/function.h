// SPDX-License-Identifier: Apache-2.0
// What TorchScript calls by name: functions, each a graph that is compiled when it is first run; methods, which a
// class's ClassInfo owns; units, which own functions and types by qualified name.
// Any thread may call. A function is defined, and its graph changed, by one thread while nobody else has it; a graph
// that is changed after the first call takes effect for calls after forget_code().
#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "dispatch/schema.h"
#include "jit/ir/graph.h"
#include "jit/run/executor.h"

namespace fc::jit {

class Function final : public RefCounted {
 public:
  // Fills the graph of a function that was only declared; what it throws leaves the function undefined.
  using Define = std::function<void(Function&)>;
  Function(std::string qualified_name, Ref<Graph> graph, Define define = {});
  ~Function() override;

  const std::string& qualified_name() const { return name_; }
  std::string_view name() const { return std::string_view(name_).substr(name_.rfind('.') + 1); }
  // Each of these defines the function first; throws Error where that leads back to it.
  Graph& graph() const;
  const Schema& schema() const;  // what set_schema said, else from the graph's inputs and outputs
  void ensure_defined() const;
  bool is_defined() const { return !define_; }
  bool is_defining() const { return defining_; }  // by this very thread, further up
  void set_schema(Schema s);  // names and defaults that the graph does not tell; may be called by Define
  bool has_schema() const { return has_schema_; }

  // The graph with all calls replaced by what they call, and cleaned up; kept until forget_code().
  Ref<Graph> optimized_graph() const;

  // The result; several results are a tuple. Throws Error with the traceback of the graph. Fills in defaults.
  fc::Value operator()(std::vector<fc::Value> arguments) const;
  // The arguments that are missing at the end, from their defaults; throws if one has none or there are too many.
  void add_defaults(std::vector<fc::Value>& arguments) const;
  // The same for as many arguments as it has parameters, of the right types.
  std::vector<fc::Value> run(Stack& stack) const;
  Ref<Executor> get_executor() const;
  // What a call with these arguments runs.
  Ref<const Code> get_plan_for(const Stack& stack) const { return get_executor()->get_plan_for(stack).code; }
  Ref<const Code> code() const;  // of the graph as it stands
  void forget_code();
  void set_depth(int depth) { depth_ = depth; }  // of its executor; before it is called

 private:
  bool has_optimized_graph() const;
  Ref<Executor> make_executor() const;
  friend void add_method(TypeRef, Ref<Function>, bool);
  void destroy() noexcept override { delete_in_turn(this); }
  std::string name_;
  Ref<Graph> graph_;
  mutable Define define_;  // null: it is defined
  mutable bool defining_ = false;
  mutable bool has_schema_ = false;
  mutable Schema schema_;
  TypeRef owner_ = nullptr;  // of a method
  mutable std::mutex mutex_;
  mutable Ref<const Code> code_;
  mutable Ref<Graph> optimized_;
  int depth_ = -1;
  mutable std::atomic<Executor*> executor_ = nullptr;
  mutable std::atomic<int> readers_ = 0;              // that may hold what executor_ was
  mutable std::vector<Ref<Executor>> own_executors_;  // the last one, and those before it that may be read still
};

// --- methods. A class owns them for ever, as its type lives; its ClassInfo lists their signatures.
void add_method(TypeRef cls, Ref<Function> f, bool is_static = false);  // throws if the name is taken
Function* find_method(TypeRef cls, std::string_view name);              // null: none
void remove_method(TypeRef cls, std::string_view name);

// A constant of the graph that is this function, before the insertion point: what prim::CallFunction takes.
Value* insert_function(Graph& g, Ref<Function> f);
// The function that a prim::CallFunction or, of a class with that method, a prim::CallMethod calls; null: not known.
Function* callee_of(const Node& call);

class CompilationUnit final : public RefCounted {
 public:
  // Throws if the name is taken, unless `mangled`: then the new one gets a name of its own. Functions and classes that
  // the graph only names, as text that was parsed does, are those of this unit.
  Ref<Function> create_function(std::string_view name, Ref<Graph> graph, bool mangled = false);
  void add_function(Ref<Function> f);                        // throws if the name is taken
  Ref<Function> find_function(std::string_view name) const;  // null: unknown
  std::vector<Ref<Function>> functions() const;              // in order of creation
  void remove_function(std::string_view name);               // of one whose definition failed
  void drop_all_functions();

  void register_type(TypeRef t);                   // Class, Interface, Enum or NamedTuple; throws if the name is taken
  TypeRef find_type(std::string_view name) const;  // null: unknown
  void remove_type(TypeRef t);                     // of one whose definition failed
  // The name with a part that makes it unlike any that this unit gave out: __torch__.___torch_mangle_0.Net
  std::string mangle(std::string_view name);

 private:
  mutable std::mutex mutex_;
  std::vector<Ref<Function>> functions_;
  std::map<std::string, Function*, std::less<>> by_name_;
  std::map<std::string, TypeRef, std::less<>> types_;
  size_t next_mangle_ = 0;
};

}  // namespace fc::jit
