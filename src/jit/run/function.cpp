// SPDX-License-Identifier: Apache-2.0
#include "jit/run/function.h"

#include "core/containers.h"
#include "core/type_parse.h"
#include "jit/run/interpreter.h"

namespace fc::jit {
namespace {

// The signature of a graph, as a schema of its own.
Schema schema_of(std::string_view name, const Graph& g) {
  Schema s;
  s.name = name;
  auto parameter = [](TypeRef type, std::string text) {
    Parameter p = parse_schema("f(" + schema_text(type->unshaped()) + " x) -> ()").parameters[0];
    p.name = std::move(text);
    p.whole_type = type;
    return p;
  };
  size_t k = 0;
  for (const Value* v : g.inputs()) {
    std::string text = v->has_name() ? v->name() : "argument_" + std::to_string(k);
    ++k;
    if (const size_t dot = text.rfind('.');
        dot != text.npos && text.find_first_not_of("0123456789", dot + 1) == text.npos)
      text.resize(dot);  // x.1 was x
    s.parameters.push_back(parameter(v->type(), std::move(text)));
  }
  const std::vector<Value*> outputs = g.outputs();
  std::vector<TypeRef> types;
  for (const Value* v : outputs) types.push_back(v->type()->unshaped());
  if (types.size() == 1) s.returns.push_back(parameter(types[0], ""));
  else if (!types.empty()) s.returns.push_back(parameter(tuple_type(std::move(types)), ""));
  return s;
}

}  // namespace

Function::Function(std::string qualified_name, Ref<Graph> graph)
    : name_(std::move(qualified_name)), graph_(std::move(graph)), schema_(schema_of(name(), *graph_)) {}
Function::~Function() = default;

Ref<const Code> Function::code() const {
  std::lock_guard lock(mutex_);
  if (!code_) code_ = compile(*graph_, name_);
  return code_;
}

void Function::forget_code() {
  Ref<const Code> before;
  std::lock_guard lock(mutex_);
  code_.swap(before);
}

fc::Value Function::operator()(std::vector<fc::Value> arguments) const {
  const auto& parameters = schema_.parameters;
  FC_CHECK(arguments.size() <= parameters.size(), name(), "() expected at most ", parameters.size(),
           " argument(s) but received ", arguments.size(), " argument(s). Declaration: ", to_string(schema_));
  FC_CHECK(arguments.size() == parameters.size(), name(), "() is missing value for argument '",
           parameters[arguments.size()].name, "'. Declaration: ", to_string(schema_));
  for (size_t i = 0; i < arguments.size(); ++i)
    FC_CHECK(fits(arguments[i], parameters[i].whole_type->unshaped()), name(), "() Expected a value of type '",
             annotation_text(parameters[i].whole_type), "' for argument '", parameters[i].name,
             "' but instead found type '", annotation_text(value_type(arguments[i])), "'.\nPosition: ", i,
             "\nDeclaration: ", to_string(schema_));
  std::vector<fc::Value> results = run(*code(), std::move(arguments));
  return results.size() == 1 ? std::move(results[0]) : results.empty() ? fc::Value() : tuple_value(std::move(results));
}

Ref<Function> CompilationUnit::create_function(std::string_view name, Ref<Graph> graph, bool shadow) {
  std::lock_guard lock(mutex_);
  std::string own(name);
  for (int n = 1; by_name_.contains(own); ++n) {
    FC_CHECK(shadow, "method '", name, "' already defined.");
    own = str(name, '.', n);
  }
  auto f = make_ref<Function>(own, std::move(graph));
  functions_.push_back(f);
  by_name_.emplace(std::move(own), f.get());
  return f;
}

Ref<Function> CompilationUnit::find_function(std::string_view name) const {
  std::lock_guard lock(mutex_);
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : Ref<Function>(found->second);
}

std::vector<Ref<Function>> CompilationUnit::functions() const {
  std::lock_guard lock(mutex_);
  return functions_;
}

void CompilationUnit::drop_all_functions() {
  std::vector<Ref<Function>> before;
  std::lock_guard lock(mutex_);
  by_name_.clear();
  functions_.swap(before);
}

}  // namespace fc::jit
