// SPDX-License-Identifier: Apache-2.0
// One function's compilation: the statements and expressions of its tree, as nodes. Internal to the front end; the
// parts stand in emit_statements.cpp, emit_conditions.cpp, emit_expressions.cpp, emit_calls.cpp, emit_subscripts.cpp.
#pragma once
#include <set>

#include "jit/frontend/emit.h"
#include "jit/frontend/environment.h"
#include "jit/frontend/match.h"
#include "jit/frontend/tree.h"
#include "jit/frontend/types.h"

namespace fc::jit {

// What a condition says of variables' types where it holds, and where it does not.
struct Refinements {
  using Set = std::vector<std::pair<std::string, TypeRef>>;
  Set when_true, when_false;
  Refinements negated() const { return {when_false, when_true}; }
};
Refinements both(const Refinements& a, const Refinements& b);    // a and b
Refinements either(const Refinements& a, const Refinements& b);  // a or b

struct Condition {
  Value* value;
  Refinements refinements;
  std::optional<bool> known;  // only one side is compiled
};

// What assert statements raise, by a name that no source has.
inline constexpr const char* kAssertionFailure = "$AssertionError";

class Emitter {
 public:
  Emitter(Graph& g, Resolver& names);
  fc::Value literal(const Tree& e, TypeRef type);  // of a default: what is known when it is compiled; null: any
  void function(const Tree& def, const SelfValue* self, const std::vector<std::pair<std::string, fc::Value>>& defaults,
                Schema& schema);

 private:
  // --- blocks
  void push(Block* b) { env_ = std::make_shared<Environment>(b, env_); }
  std::shared_ptr<Environment> pop();
  struct FunctionState {
    TypeRef declared = nullptr, merged = nullptr;  // of the result
    std::shared_ptr<Environment> outer;
  };

  // --- statements
  void statements(const Tree& list);
  void statement(const Tree& s);
  void if_statement(const Tree& s);
  void emit_if(const SourceRange& at, const Condition& c, const Tree& yes, const Tree& no);
  std::shared_ptr<Environment> branch(Block* b, const Tree& body, const Refinements::Set& refined);
  void refine(const SourceRange& at, const Refinements::Set& refined);
  void while_statement(const Tree& s);
  void for_statement(const Tree& s);
  void emit_for(const Tree& targets, const Tree& iterated, const SourceRange& at, const std::function<void()>& body);
  void loop(const SourceRange& at, const std::function<void()>& body, SugaredRef over, const Tree* targets,
            const Tree* condition);
  void unrolled(const SourceRange& at, const std::function<void()>& body, Sugared& over, const Tree& targets);
  void assign(const Tree& s);
  void assign_one(const SourceRange& at, const Tree& target, const Tree& right, const Tree* type);
  void assign_tuple(const Tree& target, SugaredRef right, const SourceRange& at);
  void assign_all(std::span<const TreeRef> targets, const std::vector<SugaredRef>& values, const SourceRange& at,
                  size_t binders);
  bool check_targets(std::span<const TreeRef> targets, const SourceRange& at);
  void assign_subscript(const SourceRange& at, const Tree& target, const NamedValue& right);
  void augmented(const Tree& s);
  void augmented_subscript(const Tree& s);
  void delete_statement(const Tree& s);
  void return_statement(const Tree& s);
  void return_value(const SourceRange& at, const Tree& e);
  void raise_statement(const Tree& s);
  void assert_statement(const Tree& s);
  void with_statement(const Tree& s);
  void with_items(const Tree& s, size_t i);
  void closure(const Tree& def);

  // --- conditions
  Condition condition(const Tree& e);
  Condition logical(const SourceRange& at, const Tree& a, const Tree& b, bool is_or);
  Condition identity(const Tree& e);
  Condition is_instance(const Tree& object, const Tree& types, const SourceRange& at);
  Condition has_attr(const Tree& object, const Tree& name);
  Value* if_expression(const SourceRange& at, const Condition& c, const std::function<Value*()>& yes,
                       const std::function<Value*()>& no);
  Value* to_bool(const SourceRange& at, Value* v);

  // --- expressions
  Value* expression(const Tree& e, TypeRef hint = nullptr);
  SugaredRef sugared(const Tree& e, TypeRef hint = nullptr);
  Value* plain(const Tree& e, TypeRef hint);
  SugaredRef variable(const std::string& name, const SourceRange& at);
  SugaredRef global(const std::string& name);
  Value* number(const Tree& e);
  template <class T>
  Value* kept_constant(T v, const SourceRange& at, std::map<T, Value*>& kept);
  Value* binary(const Tree& e);
  Value* unary(const Tree& e, const char* method, Symbol op);
  Value* list_literal(const Tree& e, TypeRef hint);
  Value* dict_literal(const Tree& e, TypeRef hint);
  Value* tuple_literal(const Tree& e, TypeRef hint);
  Value* comprehension(const Tree& e, TypeRef hint);
  Value* dict_comprehension(const Tree& e, TypeRef hint);
  std::vector<Value*> values(std::span<const TreeRef> all, std::span<const TypeRef> hints = {});
  Arguments arguments(std::span<const TreeRef> all);

  // --- calls
  SugaredRef apply(const Tree& e, TypeRef hint);
  SugaredRef special(const SpecialForm& form, const Tree& e, TypeRef hint);
  SugaredRef get_attribute(const Tree& e);
  SugaredRef list_of(const Tree& e, TypeRef hint);
  SugaredRef dict_of(const Tree& e, TypeRef hint);
  SugaredRef fork(const SourceRange& at, const SugaredRef& f, Arguments args, Arguments named);
  SugaredRef enumerate(const Tree& e);
  Value* tolist(const Tree& e, TypeRef hint);
  Value* annotated(const SourceRange& at, TypeRef t, const Tree& e);
  void count_arguments(const Tree& apply, size_t n);
  const Tree& argument(const Tree& apply, size_t i) { return apply.part(1).part(i); }

  // --- subscripts
  SugaredRef subscript(const Tree& e, TypeRef hint);
  std::pair<Value*, std::vector<Value*>> int_and_slice_indexing(const SourceRange& at, Value* v, const Tree& indices);
  Value* multidimensional(const SourceRange& at, Value* v, const Tree& indices);
  Value* slice(const SourceRange& at, Value* v, Value* dim, const Tree& e);
  Value* slice_by(const SourceRange& at, Value* v, Value* dim, const SliceValue& s);
  Value* tuple_slice(const SourceRange& at, Value* v, const Tree& e);
  Value* tuple_index(const SourceRange& at, Value* v, Value* index);
  int64_t tuple_place(const SourceRange& at, size_t n, Value* index);
  NamedValue as_tensor(const NamedValue& v, const NamedValue& like);

  Graph& g_;
  Resolver& names_;
  std::shared_ptr<Environment> env_;
  std::vector<FunctionState> functions_;
  std::set<Block*> exits_;  // blocks that end with return, break, continue or raise
  enum class Loop : uint8_t { None, In, Unrolled } loop_ = Loop::None;
  std::map<int64_t, Value*> ints_;
  std::map<double, Value*> floats_;
  std::map<std::pair<double, double>, Value*> complexes_;
  int next_temporary_ = 0;
};

}  // namespace fc::jit
