// SPDX-License-Identifier: Apache-2.0
// From a tree to a finished graph, and the functions that the language defines in itself.
#include <array>
#include <atomic>
#include <limits>
#include <mutex>

#include "jit/frontend/classes.h"
#include "jit/frontend/emitter.h"
#include "jit/frontend/parser.h"
#include "jit/ir/walk.h"
#include "jit/passes/passes.h"

namespace fc::jit {
namespace {

class PlainSelf final : public SelfValue {
 public:
  explicit PlainSelf(TypeRef t) : type_(t) {}
  SugaredRef make(Value* v) const override {
    v->set_type(type_);
    return simple(v);
  }
  TypeRef type() const override { return type_; }

 private:
  TypeRef type_;
};

// ops.aten.relu
class OperatorSpaces final : public Sugared {
 public:
  std::string kind() const override { return "builtin module"; }
  SugaredRef attr(const SourceRange&, Graph&, const std::string& name) override {
    return make_ref<BuiltinModule>(name);
  }
};

class UnitResolver final : public Resolver {
 public:
  UnitResolver(Ref<CompilationUnit> unit, std::string prefix) : unit_(std::move(unit)), prefix_(std::move(prefix)) {}
  SugaredRef resolve_value(const std::string& name, Graph& g, const SourceRange& at) override {
    if (unit_) {
      Ref<Function> f = unit_->find_function(prefix_ + name);
      if (!f && !prefix_.empty()) f = unit_->find_function(name);
      if (f) return make_ref<FunctionValue>(std::move(f));
      if (TypeRef t = resolve_type(name, at)) return type_value(t);
    }
    if (name == "torch" || name == "math") return make_ref<BuiltinModule>("aten");
    if (name == "ops") return make_ref<OperatorSpaces>();
    if (name == "__torch__" && unit_) return name_space(Ref<Resolver>(this), name);
    if (name == "annotate") return make_ref<SpecialForm>(Symbol::of("prim::annotate"));
    if (name == "fork") return make_ref<SpecialForm>(prim_fork);
    if (name == "uninitialized") return make_ref<SpecialForm>(prim_Uninitialized);
    if (name == "unchecked_cast") return make_ref<SpecialForm>(prim_unchecked_cast);
    if (name == "inf") return simple(insert_constant(g, std::numeric_limits<double>::infinity(), at));
    if (name == "nan") return simple(insert_constant(g, std::numeric_limits<double>::quiet_NaN(), at));
    return {};
  }
  TypeRef resolve_type(const std::string& name, const SourceRange&) override {
    if (!unit_) return nullptr;
    TypeRef t = unit_->find_type(prefix_ + name);
    return t || prefix_.empty() ? t : unit_->find_type(name);
  }

 private:
  Ref<CompilationUnit> unit_;
  std::string prefix_;
};

void clean_up(Graph& g) {
  std::vector<Node*> literals;
  for_each_node(*g.block(), [&](Node* n) {
    if (n->is(prim_EmptyListLiteral)) literals.push_back(n);
  });
  for (Node* n : literals) {
    Node* list = g.create_list(tensor_type(), {});
    list->insert_before(n);
    n->replace_uses_with(list);
    n->destroy();
  }
  run_passes(g, frontend_pipeline());
  static std::atomic<int64_t> warnings{0};
  for_each_node(*g.block(), [&](Node* n) {
    if (n->is(aten_warn)) n->set_int(attr_warn_id, warnings++);
  });
}

}  // namespace

Ref<SelfValue> plain_self(TypeRef cls) { return make_ref<PlainSelf>(cls); }
Ref<Resolver> unit_resolver(Ref<CompilationUnit> unit, std::string prefix) {
  return make_ref<UnitResolver>(std::move(unit), std::move(prefix));
}

void finish_graph(Graph& g) { clean_up(g); }

void to_ir(Function& f, const Definition& d) {
  const std::string_view owner = d.self ? d.self->type()->name() : std::string_view();
  const Compiling guard(d.self ? str(owner.substr(owner.rfind('.') + 1), ".", f.name()) : std::string(f.name()),
                        d.def->range());
  Schema schema;
  Graph& g = f.graph();
  Emitter(g, *d.resolver).function(*d.def, d.self.get(), d.defaults, schema);
  schema.name = f.name();
  run_passes(g, to_ir_pipeline());
  clean_up(g);
  f.set_schema(std::move(schema));
}

Defaults literal_defaults(const Tree& def, Resolver& names) {
  Defaults out;
  for (const TreeRef& p : def.part(1).part(0).parts())
    if (const Tree* value = p->part(2).content())
      out.emplace_back(p->name(), literal_of(*value, annotated_type(p->part(1), names), names));
  return out;
}

fc::Value literal_of(const Tree& e, TypeRef type, Resolver& names) {
  Ref<Graph> g = Graph::make();
  g->set_insert_point(g->block());
  return Emitter(*g, names).literal(e, type);
}

Ref<Function> make_function(std::string qualified_name, Definition d) {
  return make_ref<Function>(std::move(qualified_name), Graph::make(), [d = std::move(d)](Function& f) {
    try {
      to_ir(f, d);
    } catch (...) {
      f.graph().block()->clear();  // whoever asks again begins anew
      while (!f.graph().inputs().empty()) f.graph().block()->erase_input(0);
      throw;
    }
  });
}

Schema signature_of(const Definition& d) {
  Schema s;
  s.name = d.def->name();
  const auto params = d.def->part(1).part(0).parts();
  for (size_t i = 0; i < params.size(); ++i) {
    const Tree& p = *params[i];
    int length = 0;
    TypeRef t = d.self && i == 0 ? d.self->type() : annotated_type(p.part(1), *d.resolver, nullptr, &length);
    Parameter q = make_parameter(p.name(), t);
    q.type.length = static_cast<int8_t>(length);
    q.keyword_only = p.part(3).is(Syntax::True);
    for (const auto& [n, v] : d.defaults)
      if (n == q.name) {
        q.has_default = true;
        q.default_value = v;
      }
    s.parameters.push_back(std::move(q));
  }
  if (const Tree& r = d.def->part(1).part(1); !r.empty())
    s.returns.push_back(make_parameter("", annotated_type(r, *d.resolver)));
  return s;
}

void define_source(CompilationUnit& unit, const std::string& prefix, Ref<Source> source, Ref<Resolver> resolver) {
  std::vector<Ref<Function>> functions;
  std::vector<TypeRef> classes;
  try {
    const std::vector<TreeRef> all = parse_program(std::move(source));
    // Types first: whatever stands in a source may name them, also before they stand there.
    for (const TreeRef& def : all)
      if (def->is(Syntax::Class)) classes.push_back(declare_class(unit, prefix + def->name(), {def, resolver}));
    for (const TreeRef& def : all) {
      if (!def->is(Syntax::Def)) continue;
      Definition d{def, resolver, literal_defaults(*def, *resolver), {}};
      Ref<Function> f = make_function(prefix + def->name(), std::move(d));
      unit.add_function(f);
      functions.push_back(std::move(f));
    }
    for (TypeRef t : classes) compile_methods(t);
    for (const Ref<Function>& f : functions) f->ensure_defined();
  } catch (...) {
    for (const Ref<Function>& f : functions) unit.remove_function(f->qualified_name());
    for (TypeRef t : classes) forget_class(unit, t);
    throw;
  }
}

// --- 1 + x, x.shape and others
namespace {

std::string with(std::string text, std::string_view what, std::string_view by) {
  for (size_t at; (at = text.find(what)) != text.npos;) text.replace(at, what.size(), by);
  return text;
}

constexpr std::string_view scalar_operators = R"(
def mul(a : SCALAR, b : Tensor) -> Tensor:
  return b * a
def add(a : SCALAR, b : Tensor) -> Tensor:
  return b + a
def ne(a : SCALAR, b : Tensor) -> Tensor:
  return b != a
def eq(a : SCALAR, b : Tensor) -> Tensor:
  return b == a
def sub(a : SCALAR, b : Tensor) -> Tensor:
  return torch.neg(b) + a
def div(a : SCALAR, b : Tensor) -> Tensor:
  return torch.reciprocal(b) * a
)";
constexpr std::string_view scalar_comparisons = R"(
def lt(a : SCALAR, b : Tensor) -> Tensor:
  return b > a
def le(a : SCALAR, b : Tensor) -> Tensor:
  return b >= a
def gt(a : SCALAR, b : Tensor) -> Tensor:
  return b < a
def ge(a : SCALAR, b : Tensor) -> Tensor:
  return b <= a
)";
constexpr std::string_view floor_division = R"(
def floordiv(self : Tensor, other : RIGHT) -> Tensor:
  return torch.floor_divide(self, other)
)";
constexpr std::string_view text_membership = R"(
def __contains__(self: str, key: str) -> bool:
    return self.find(key, 0, len(self)) != -1
)";
constexpr std::string_view assertion = R"(
def _assert(condition : bool, message : str):
  assert condition, message
)";
constexpr std::string_view properties = R"(
def ndim(a : Tensor) -> int:
  return a.dim()
def T(a : Tensor) -> Tensor:
  return a.numpy_T()
def H(a : Tensor) -> Tensor:
  return a.matrix_H()
def mT(a : Tensor) -> Tensor:
  return a.mT
def mH(a : Tensor) -> Tensor:
  return a.mH
def shape(a : Tensor) -> List[int]:
  return a.size()
)";

struct Language {
  std::map<std::string, std::vector<Ref<Function>>, std::less<>> functions;
  void add(std::string space, std::string text) {
    for (const TreeRef& def : parse_program(make_ref<Source>(std::move(text), "<string>"))) {
      const Definition d{def, unit_resolver({}, ""), {}, {}};
      Ref<Function> f = make_function(def->name(), d);
      f->set_schema(signature_of(d));  // they call operators of their own names
      functions[space + def->name()].push_back(std::move(f));
    }
  }
  Language() {
    for (const char* scalar : {"float", "int", "complex"}) {
      add("aten::", with(std::string(scalar_operators), "SCALAR", scalar));
      if (std::string_view(scalar) != "complex") add("aten::", with(std::string(scalar_comparisons), "SCALAR", scalar));
    }
    for (const char* right : {"number", "Tensor"}) add("aten::", with(std::string(floor_division), "RIGHT", right));
    add("aten::", std::string(text_membership));
    add("aten::", std::string(assertion));
    add("prim::", std::string(properties));
  }
};

}  // namespace

std::vector<Ref<Function>> language_functions(Symbol name) {
  static Language language;
  const auto found = language.functions.find(name.text());
  if (found == language.functions.end()) return {};
  return found->second;
}

}  // namespace fc::jit
