// SPDX-License-Identifier: Apache-2.0
// What TorchScript calls by name: a graph, compiled when it is first run. CompilationUnit owns functions by qualified
// name. Any thread may call; graphs that are changed after the first call take effect for calls after forget_code().
#pragma once
#include <atomic>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "dispatch/schema.h"
#include "jit/ir/graph.h"

namespace fc::jit {

struct Code;

class Function final : public RefCounted {
 public:
  Function(std::string qualified_name, Ref<Graph> graph);
  ~Function() override;

  const std::string& qualified_name() const { return name_; }
  std::string_view name() const { return std::string_view(name_).substr(name_.rfind('.') + 1); }
  Graph& graph() const { return *graph_; }
  const Schema& schema() const { return schema_; }  // from the graph's inputs and outputs

  // The result; several results are a tuple. Throws Error with the traceback of the graph. Fills in defaults.
  fc::Value operator()(std::vector<fc::Value> arguments) const;
  Ref<const Code> code() const;
  void forget_code();

 private:
  void destroy() noexcept override { delete_in_turn(this); }
  std::string name_;
  Ref<Graph> graph_;
  Schema schema_;
  mutable std::mutex mutex_;
  mutable Ref<const Code> code_;
};

class CompilationUnit final : public RefCounted {
 public:
  // Throws if the name is taken, unless `shadow`: then the new one gets a name of its own, name.1 …
  Ref<Function> create_function(std::string_view name, Ref<Graph> graph, bool shadow = false);
  Ref<Function> find_function(std::string_view name) const;  // null: unknown
  std::vector<Ref<Function>> functions() const;              // in order of creation
  void drop_all_functions();

 private:
  mutable std::mutex mutex_;
  std::vector<Ref<Function>> functions_;
  std::map<std::string, Function*, std::less<>> by_name_;
};

}  // namespace fc::jit
