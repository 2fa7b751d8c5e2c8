// SPDX-License-Identifier: Apache-2.0
#include "jit/run/function.h"

#include <algorithm>
#include <optional>

#include "core/class_type.h"
#include "core/containers.h"
#include "core/type_parse.h"
#include "jit/ir/walk.h"
#include "jit/passes/passes.h"
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
    s.parameters.push_back(parameter(v->type()->unshaped(), std::move(text)));
  }
  const std::vector<Value*> outputs = g.outputs();
  std::vector<TypeRef> types;
  for (const Value* v : outputs) types.push_back(v->type()->unshaped());
  if (types.size() == 1) s.returns.push_back(parameter(types[0], ""));
  else if (!types.empty()) s.returns.push_back(parameter(tuple_type(std::move(types)), ""));
  return s;
}

}  // namespace

Function::Function(std::string qualified_name, Ref<Graph> graph, Define define)
    : name_(std::move(qualified_name)), graph_(std::move(graph)), define_(std::move(define)) {}
Function::~Function() = default;

// Fills the signature of a method from its schema, without self.
static void describe(ClassInfo::Signature& into, const Schema& s) {
  into.parameters.clear();
  for (size_t i = into.is_static ? 0 : 1; i < s.parameters.size(); ++i)
    into.parameters.emplace_back(s.parameters[i].name, s.parameters[i].whole_type);
  into.result = s.returns.size() == 1 ? s.returns[0].whole_type : simple_type(TypeKind::None);
}

void Function::ensure_defined() const {
  if (!define_) return;
  FC_CHECK(!defining_, owner_ ? " method '" : "function '", name(),
           "' is called recursively. Recursive calls are not supported");
  struct Busy {
    bool& flag;
    explicit Busy(bool& f) : flag(f) { flag = true; }
    ~Busy() { flag = false; }
  } const busy(defining_);
  const Define define = define_;  // it goes when it is done
  define(const_cast<Function&>(*this));
  define_ = nullptr;
  if (owner_)
    for (ClassInfo::Signature& m : owner_->class_info()->methods)
      if (m.function.get() == this) describe(m, schema());
}

Graph& Function::graph() const {
  if (!defining_) ensure_defined();
  return *graph_;
}

const Schema& Function::schema() const {
  if (has_schema_) return schema_;
  ensure_defined();
  if (has_schema_) return schema_;
  schema_ = schema_of(name(), *graph_);
  has_schema_ = true;
  return schema_;
}

void Function::set_schema(Schema s) {
  schema_ = std::move(s);
  has_schema_ = true;
  if (owner_)
    for (ClassInfo::Signature& m : owner_->class_info()->methods)
      if (m.function.get() == this) describe(m, schema_);
}

Ref<const Code> Function::code() const {
  ensure_defined();
  std::lock_guard lock(mutex_);
  if (!code_) code_ = compile(*graph_, name_);
  return code_;
}

Ref<Graph> Function::optimized_graph() const {
  // Callees first, so that none asks for more than what is there.
  struct Visit {
    const Function* function;
    std::vector<const Function*> callees;
  };
  std::vector<Visit> open;
  auto begin = [&](const Function& f) {
    f.ensure_defined();
    for (const Visit& v : open)
      FC_CHECK(v.function != &f, "function '", f.name(), "' calls itself: it has no end when calls are inlined");
    open.push_back({&f, {}});
    for_each_node(*f.graph_->block(), [&](const Node* n) {
      if (const Function* callee = callee_of(*n); callee && !callee->has_optimized_graph())
        open.back().callees.push_back(callee);
    });
  };
  Ref<Graph> own;
  if (!has_optimized_graph()) begin(*this);
  while (!open.empty()) {
    Visit& at = open.back();
    if (!at.callees.empty()) {
      const Function& callee = *at.callees.back();
      at.callees.pop_back();
      if (!callee.has_optimized_graph()) begin(callee);
      continue;
    }
    const Function& f = *at.function;
    open.pop_back();
    Ref<Graph> made = f.graph_->copy();
    PassContext settings(*inlining_pipeline()[0]);
    settings.shapes = false;
    run_passes(*made, inlining_pipeline(), &settings);
    std::lock_guard lock(f.mutex_);
    if (!f.optimized_) f.optimized_ = std::move(made);
    if (&f == this) own = f.optimized_;
  }
  if (own) return own;
  {
    std::lock_guard lock(mutex_);
    if (optimized_) return optimized_;
  }
  return optimized_graph();  // another thread forgot it just now
}

bool Function::has_optimized_graph() const {
  std::lock_guard lock(mutex_);
  return static_cast<bool>(optimized_);
}

void Function::forget_code() {
  Ref<const Code> before;
  Ref<Graph> graph;
  std::vector<Ref<Executor>> executors;
  std::lock_guard lock(mutex_);
  code_.swap(before);
  optimized_.swap(graph);
  executor_ = nullptr;
  if (readers_ == 0) own_executors_.swap(executors);
}

// Found without a lock. Who comes between the load and the reference is counted, and forget_code waits for nobody: it
// keeps what may be read.
[[gnu::noinline]] Ref<Executor> Function::get_executor() const {
  ++readers_;
  Ref<Executor> found(executor_.load());
  --readers_;
  return found ? found : make_executor();
}

[[gnu::noinline]] Ref<Executor> Function::make_executor() const {
  auto made = make_ref<Executor>(optimized_graph()->copy(), name_, depth_);
  std::lock_guard lock(mutex_);
  if (Executor* other = executor_.load()) return Ref<Executor>(other);
  own_executors_.push_back(made);
  executor_ = made.get();
  return made;
}

[[gnu::noinline]] std::vector<fc::Value> Function::run(Stack& stack) const { return get_executor()->run(stack); }

void Function::add_defaults(std::vector<fc::Value>& arguments) const {
  const auto& parameters = schema().parameters;
  FC_CHECK(arguments.size() <= parameters.size(), name(), "() expected at most ", parameters.size(),
           " argument(s) but received ", arguments.size(), " argument(s). Declaration: ", to_string(schema_));
  for (size_t i = arguments.size(); i < parameters.size(); ++i) {
    FC_CHECK(parameters[i].has_default, name(), "() is missing value for argument '", parameters[i].name,
             "'. Declaration: ", to_string(schema_));
    arguments.push_back(parameters[i].default_value);
  }
}

fc::Value Function::operator()(std::vector<fc::Value> arguments) const {
  add_defaults(arguments);
  const auto& parameters = schema_.parameters;
  for (size_t i = 0; i < parameters.size(); ++i)
    FC_CHECK(fits(arguments[i], parameters[i].whole_type->unshaped()), name(), "() Expected a value of type '",
             annotation_text(parameters[i].whole_type), "' for argument '", parameters[i].name,
             "' but instead found type '", annotation_text(value_type(arguments[i])), "'.\nPosition: ", i,
             "\nDeclaration: ", to_string(schema_));
  std::vector<fc::Value> results = run(arguments);
  return results.size() == 1 ? std::move(results[0]) : results.empty() ? fc::Value() : tuple_value(std::move(results));
}

// --- methods

void add_method(TypeRef cls, Ref<Function> f, bool is_static) {
  ClassInfo* info = cls->class_info();
  FC_CHECK(info, cls->name(), " is no class that takes methods");
  FC_CHECK(!info->find_method(f->name()), "Method '", f->name(), "' is defined twice in class '", cls->name(), "'");
  ClassInfo::Signature s{std::string(f->name()), {}, simple_type(TypeKind::None), f, is_static};
  f->owner_ = cls;
  if (f->has_schema() || f->is_defined()) describe(s, f->schema());
  info->methods.push_back(std::move(s));
}

Function* find_method(TypeRef cls, std::string_view name) {
  const ClassInfo* info = cls->class_info();
  const ClassInfo::Signature* found = info ? info->find_method(name) : nullptr;
  return found ? static_cast<Function*>(found->function.get()) : nullptr;
}

void remove_method(TypeRef cls, std::string_view name) {
  if (ClassInfo* info = cls->class_info())
    std::erase_if(info->methods, [&](const ClassInfo::Signature& s) { return s.name == name; });
}

Value* insert_function(Graph& g, Ref<Function> f) {
  Node* n = g.create(prim_Constant);
  n->set(attr_name, std::string(f->name()));
  n->set_attached(std::move(f));
  n->output()->set_type(simple_type(TypeKind::Function));
  return g.insert(n)->output();
}

Function* callee_of(const Node& call) {
  if (call.num_inputs() == 0) return nullptr;
  if (call.is(prim_CallFunction)) {
    const std::optional<fc::Value> f = constant_of(call.input(0));
    return f && f->tag() == Tag::Function ? static_cast<Function*>(f->box()) : nullptr;
  }
  const auto* name = call.is(prim_CallMethod) ? call.get<std::string>(attr_name) : nullptr;
  const TypeRef self = call.input(0)->type();
  return name && self->is(TypeKind::Class) ? find_method(self, *name) : nullptr;
}

// --- units

// What a type only names becomes what the unit has of that name, inside of containers too.
static TypeRef resolve(TypeRef t, const CompilationUnit& unit) {
  if (!t->holds(TypeKind::Class)) return t;
  if (t->is(TypeKind::Class)) {
    const TypeRef found = t->class_info() ? nullptr : unit.find_type(t->name());
    return found ? found : t;
  }
  std::vector<TypeRef> items;
  for (TypeRef i : t->items()) items.push_back(resolve(i, unit));
  return t->with_items(std::move(items));
}

Ref<Function> CompilationUnit::create_function(std::string_view name, Ref<Graph> graph, bool mangled) {
  std::string own(name);
  while (mangled && find_function(own)) own = mangle(name);
  auto named = [&](Value* v) { v->set_type(resolve(v->type(), *this)); };
  for (Value* v : graph->inputs()) named(v);
  for_each_node(*graph->block(), [&](Node* n) {
    for (Value* v : n->outputs()) named(v);
    for (Block* b : n->blocks())
      for (Value* v : b->inputs()) named(v);
    const auto* called = n->is(prim_Constant) && !n->attached() && n->output()->type()->is(TypeKind::Function)
                             ? n->get<std::string>(attr_name)
                             : nullptr;
    if (called)
      if (Ref<Function> f = find_function(*called)) n->set_attached(std::move(f));
  });
  auto f = make_ref<Function>(std::move(own), std::move(graph));
  add_function(f);
  return f;
}

void CompilationUnit::add_function(Ref<Function> f) {
  std::lock_guard lock(mutex_);
  FC_CHECK(by_name_.try_emplace(f->qualified_name(), f.get()).second, "method '", f->qualified_name(),
           "' already defined.");
  functions_.push_back(std::move(f));
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

void CompilationUnit::remove_function(std::string_view name) {
  Ref<Function> gone;
  std::lock_guard lock(mutex_);
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return;
  const auto at = std::ranges::find(functions_, found->second, [](const Ref<Function>& f) { return f.get(); });
  gone = std::move(*at);
  functions_.erase(at);
  by_name_.erase(found);
}

void CompilationUnit::drop_all_functions() {
  std::vector<Ref<Function>> before;
  std::lock_guard lock(mutex_);
  by_name_.clear();
  functions_.swap(before);
}

void CompilationUnit::register_type(TypeRef t) {
  FC_CHECK(!t->name().empty(), annotation_text(t), " has no name");
  std::lock_guard lock(mutex_);
  FC_CHECK(types_.try_emplace(std::string(t->name()), t).second, "class '", t->name(), "' already defined.");
}

TypeRef CompilationUnit::find_type(std::string_view name) const {
  std::lock_guard lock(mutex_);
  const auto found = types_.find(name);
  return found == types_.end() ? nullptr : found->second;
}

void CompilationUnit::remove_type(TypeRef t) {
  std::lock_guard lock(mutex_);
  const auto found = types_.find(t->name());
  if (found != types_.end() && found->second == t) types_.erase(found);
}

std::string CompilationUnit::mangle(std::string_view name) {
  constexpr std::string_view mark = "___torch_mangle_";
  std::string out;
  bool replaced = false;
  std::lock_guard lock(mutex_);
  const std::string part = std::string(mark) + std::to_string(next_mangle_++);
  const size_t last = name.rfind('.');
  for (size_t at = 0; at <= name.size();) {  // a part that marks already is replaced, else one goes before the last
    const size_t end = std::min(name.find('.', at), name.size());
    const std::string_view atom = name.substr(at, end - at);
    if (atom.starts_with(mark)) {
      replaced = true;
      out += part;
    } else {
      out += atom;
    }
    if (end < name.size()) out += '.';
    at = end + 1;
  }
  if (replaced) return out;
  const size_t before = last == name.npos ? 0 : last + 1;
  return str(name.substr(0, before), part, '.', name.substr(before));
}

}  // namespace fc::jit
