// SPDX-License-Identifier: Apache-2.0
// The variables of a function while it is compiled: one environment for each block, the innermost first. Values of the
// graph are kept as prim::Store and prim::Load nodes, which ConvertToSSA replaces; other things by name.
#pragma once
#include <functional>
#include <memory>

#include "jit/frontend/sugared.h"

namespace fc::jit {

class Environment {
 public:
  Environment(Block* b, std::shared_ptr<Environment> next) : block_(b), next_(std::move(next)) {}

  Block* block() const { return block_; }
  const std::shared_ptr<Environment>& next() const { return next_; }

  SugaredRef find_here(const std::string& name);                 // of a value: a new load of it; null: unknown
  SugaredRef find_above(const std::string& name);                // in the environments around
  SugaredRef find(const std::string& name);                      // in all
  Value* value(const std::string& name, const SourceRange& at);  // throws if it is no value of the graph

  void set(const SourceRange& at, const std::string& name, SugaredRef v, TypeRef annotated = nullptr);
  void set(const SourceRange& at, const std::string& name, Value* v) { set(at, name, simple(v)); }
  bool remove(const std::string& name);  // where it is defined, here or further out; false: nowhere
  void set_type(const std::string& name, TypeRef t) { types_[name] = t; }
  // What is said when the variable is used, which not all paths define.
  void set_error(const std::string& name, std::string text) { errors_[name] = std::move(text); }
  const std::string* find_error(const std::string& name) const;
  std::vector<std::string> defined() const;  // values of the graph, sorted

 private:
  void store(const SourceRange& at, const std::string& name, Value* v, TypeRef t);
  Block* block_;
  std::shared_ptr<Environment> next_;
  std::map<std::string, TypeRef> types_;       // of values of the graph
  std::map<std::string, SugaredRef> sugared_;  // all others
  std::map<std::string, std::string> errors_;
};

// Whether a variable's name goes into the graph: not _3, not what the compiler made up.
bool is_meaningful(std::string_view name);
Node* create_load(Graph& g, const std::string& name, TypeRef t);
Node* create_store(Graph& g, const std::string& name, Value* v);

}  // namespace fc::jit
