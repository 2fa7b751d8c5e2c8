// SPDX-License-Identifier: Apache-2.0
// What a name or an expression of the source stands for while it is compiled: a value of the graph, or something that
// only the compiler knows, such as a module, a function, a range. What a kind of thing cannot do is a located error
// that names the kind. Of one thread, for as long as one function is compiled.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "jit/frontend/error.h"
#include "jit/ir/graph.h"
#include "jit/run/function.h"

namespace fc::jit {

class Sugared;
using SugaredRef = Ref<Sugared>;

// An argument: a value of the graph or a constant that is not in it yet.
struct NamedValue {
  SourceRange at;
  std::string name;  // of a keyword argument
  Value* value = nullptr;
  fc::Value constant;
  bool located = true;  // the constant stands in the source

  NamedValue(SourceRange r, Value* v) : at(std::move(r)), value(v) {}
  NamedValue(SourceRange r, std::string n, Value* v) : at(std::move(r)), name(std::move(n)), value(v) {}
  NamedValue(Value* v) : value(v) {}
  NamedValue(std::string n, Value* v) : name(std::move(n)), value(v) {}
  NamedValue(fc::Value c) : constant(std::move(c)), located(false) {}
  Value* in(Graph& g) const;  // inserts the constant
};
using Arguments = std::vector<NamedValue>;

class Sugared : public RefCounted {
 public:
  virtual std::string kind() const = 0;
  virtual Value* as_value(const SourceRange& at, Graph& g);
  virtual Value* graph_value() const { return nullptr; }  // the value that it is; null: it is none
  // The object that it is, or a method of; and the same of another one, which is in the graph of a fork.
  virtual Value* object() const { return graph_value(); }
  virtual SugaredRef of_object(Value* v) const;
  virtual SugaredRef attr(const SourceRange& at, Graph& g, const std::string& name);
  virtual bool has_attr(const SourceRange& at, Graph& g, const std::string& name);
  virtual void set_attr(const SourceRange& at, Graph& g, const std::string& name, Value* v);
  virtual std::vector<SugaredRef> as_tuple(const SourceRange& at, Graph& g, std::optional<size_t> wanted = {});
  virtual SugaredRef as_tuple_value(const SourceRange& at, Graph& g);
  virtual SugaredRef call(const SourceRange& at, Graph& g, Arguments args, Arguments named);
  virtual SugaredRef iter(const SourceRange& at, Graph& g);
  virtual bool unrolls() const { return false; }  // a loop over it is written out turn by turn
  virtual std::optional<int64_t> static_len() const { return {}; }
  virtual Value* len(const SourceRange& at, Graph& g);
  virtual SugaredRef getitem(const SourceRange& at, Graph& g, Value* index, TypeRef hint = nullptr);

 protected:
  void destroy() noexcept override { delete_in_turn(this); }
};

struct SimpleValue final : Sugared {
  explicit SimpleValue(Value* v) : value(v) {}
  Value* const value;
  std::string kind() const override;
  Value* as_value(const SourceRange&, Graph&) override { return value; }
  Value* graph_value() const override { return value; }
  SugaredRef attr(const SourceRange& at, Graph& g, const std::string& name) override;
  bool has_attr(const SourceRange& at, Graph& g, const std::string& name) override;
  void set_attr(const SourceRange& at, Graph& g, const std::string& name, Value* v) override;
  std::vector<SugaredRef> as_tuple(const SourceRange& at, Graph& g, std::optional<size_t> wanted) override;
  SugaredRef call(const SourceRange& at, Graph& g, Arguments args, Arguments named) override;
  SugaredRef iter(const SourceRange& at, Graph& g) override;
  Value* len(const SourceRange& at, Graph& g) override;
  SugaredRef getitem(const SourceRange& at, Graph& g, Value* index, TypeRef hint) override;
};
SugaredRef simple(Value* v);
Value* insert_get_attribute(Graph& g, Value* object, const std::string& name, TypeRef type);

// An operator by name, with the value that it is a method of, if it is one.
struct BuiltinFunction final : Sugared {
  BuiltinFunction(Symbol s, std::optional<NamedValue> self = {}) : symbol(s), self(std::move(self)) {}
  const Symbol symbol;
  const std::optional<NamedValue> self;
  std::string kind() const override { return "builtin"; }
  SugaredRef call(const SourceRange& at, Graph& g, Arguments args, Arguments named) override;
  // Null: no overload takes such a self.
  static Ref<BuiltinFunction> of_method(Symbol s, const NamedValue& self, Graph& g);
};

struct TupleSugared final : Sugared {
  explicit TupleSugared(std::vector<SugaredRef> v) : items(std::move(v)) {}
  const std::vector<SugaredRef> items;
  std::string kind() const override { return "Tuple"; }
  Value* as_value(const SourceRange& at, Graph& g) override;
  std::vector<SugaredRef> as_tuple(const SourceRange&, Graph&, std::optional<size_t>) override { return items; }
  SugaredRef iter(const SourceRange&, Graph&) override { return SugaredRef(this); }
  bool unrolls() const override { return true; }
  std::optional<int64_t> static_len() const override { return static_cast<int64_t>(items.size()); }
  Value* len(const SourceRange& at, Graph& g) override;
  SugaredRef getitem(const SourceRange& at, Graph& g, Value* index, TypeRef hint) override;
};

// What the compiler itself does with the arguments' sources: range, zip, isinstance, annotate, fork …
struct SpecialForm final : Sugared {
  explicit SpecialForm(Symbol f, TypeRef type = nullptr) : form(f), type(type) {}
  const Symbol form;
  const TypeRef type;
  std::string kind() const override { return "special form"; }
};

// int(x), float(x), str(x): nothing to do where x is one.
struct CastFunction final : Sugared {
  CastFunction(TypeRef t, Symbol s) : type(t), symbol(s) {}
  const TypeRef type;
  const Symbol symbol;
  std::string kind() const override { return "builtin"; }
  SugaredRef call(const SourceRange& at, Graph& g, Arguments args, Arguments named) override;
};
// x.float(), x.int(): `to` with a dtype
struct TensorCast final : Sugared {
  TensorCast(DType t, NamedValue self) : dtype(t), self(std::move(self)) {}
  const DType dtype;
  const NamedValue self;
  std::string kind() const override { return "Cast"; }
  SugaredRef call(const SourceRange& at, Graph& g, Arguments args, Arguments named) override;
};
// A method of the first argument's class if it has one of that name, else the other thing.
struct MagicMethod final : Sugared {
  MagicMethod(std::string n, SugaredRef b) : method(std::move(n)), base(std::move(b)) {}
  const std::string method;
  const SugaredRef base;
  std::string kind() const override { return base->kind(); }
  SugaredRef call(const SourceRange& at, Graph& g, Arguments args, Arguments named) override;
};
SugaredRef magic(const std::string& method, SugaredRef base);

// What print gives: nothing that can be used.
struct NoneValue final : Sugared {
  std::string kind() const override { return "None"; }
};
struct PrintFunction final : Sugared {
  std::string kind() const override { return "print"; }
  SugaredRef call(const SourceRange& at, Graph& g, Arguments args, Arguments named) override;
};

// aten::…, prim::… by attribute: torch.add of text, math
struct BuiltinModule final : Sugared {
  explicit BuiltinModule(std::string n) : space(std::move(n)) {}
  const std::string space;
  std::string kind() const override { return "builtin module"; }
  SugaredRef attr(const SourceRange& at, Graph& g, const std::string& name) override;
};

// A function of TorchScript, compiled when its signature is asked for.
struct FunctionValue final : Sugared {
  explicit FunctionValue(std::vector<Ref<Function>> f) : functions(std::move(f)) {}
  explicit FunctionValue(Ref<Function> f) { functions.push_back(std::move(f)); }
  std::vector<Ref<Function>> functions;  // overloads
  std::string kind() const override { return "function"; }
  Value* as_value(const SourceRange& at, Graph& g) override;
  SugaredRef call(const SourceRange& at, Graph& g, Arguments args, Arguments named) override;
};
// Methods of an object, overloads of one.
struct MethodValue final : Sugared {
  MethodValue(Value* self, std::vector<std::string> names) : self(self), names(std::move(names)) {}
  Value* const self;
  const std::vector<std::string> names;
  std::string kind() const override { return "method"; }
  Value* object() const override { return self; }
  SugaredRef of_object(Value* v) const override { return make_ref<MethodValue>(v, names); }
  SugaredRef call(const SourceRange& at, Graph& g, Arguments args, Arguments named) override;
};

struct ClassValue : Sugared {
  explicit ClassValue(TypeRef t) : type(t) {}
  const TypeRef type;
  std::string kind() const override { return std::string(type->name()); }
  SugaredRef call(const SourceRange& at, Graph& g, Arguments args, Arguments named) override;
  SugaredRef attr(const SourceRange& at, Graph& g, const std::string& name) override;
};
struct NamedTupleConstructor final : Sugared {
  explicit NamedTupleConstructor(TypeRef t) : type(t) {}
  const TypeRef type;
  std::string kind() const override { return std::string(type->name()); }
  SugaredRef call(const SourceRange& at, Graph& g, Arguments args, Arguments named) override;
};
struct EnumClass final : Sugared {
  explicit EnumClass(TypeRef t) : type(t) {}
  const TypeRef type;
  std::string kind() const override { return "EnumClass"; }
  SugaredRef attr(const SourceRange& at, Graph& g, const std::string& name) override;
  SugaredRef iter(const SourceRange& at, Graph& g) override;
};

struct RangeValue final : Sugared {
  RangeValue(const SourceRange& at, Graph& g, std::vector<Value*> in, std::optional<int64_t> static_len = {});
  Value *start = nullptr, *end = nullptr, *step = nullptr;
  bool only_end = false;
  std::optional<int64_t> known_len;
  std::string kind() const override { return "range"; }
  SugaredRef iter(const SourceRange&, Graph&) override { return SugaredRef(this); }
  bool unrolls() const override { return known_len.has_value(); }
  std::optional<int64_t> static_len() const override { return known_len; }
  Value* len(const SourceRange& at, Graph& g) override;
  SugaredRef getitem(const SourceRange& at, Graph& g, Value* index, TypeRef hint) override;
};

// zip and enumerate, of each other too
struct IterableTree final : Sugared {
  std::string kind() const override { return "iterabletree"; }
  void add(const SourceRange& at, Graph& g, SugaredRef child);
  SugaredRef iter(const SourceRange&, Graph&) override { return SugaredRef(this); }
  bool unrolls() const override { return length.has_value(); }
  std::optional<int64_t> static_len() const override { return length; }
  Value* len(const SourceRange& at, Graph& g) override;
  SugaredRef getitem(const SourceRange& at, Graph& g, Value* index, TypeRef hint) override;

  std::vector<SugaredRef> children;
  std::optional<int64_t> length;
};

// An exception's class, and one that was made of it.
struct ExceptionValue final : Sugared {
  explicit ExceptionValue(std::string n) : name(std::move(n)) {}
  const std::string name;  // "builtins.ValueError"
  std::string kind() const override { return "exception"; }
  SugaredRef call(const SourceRange& at, Graph& g, Arguments args, Arguments named) override;
};
// What an assert raises.
struct AssertionFailure final : Sugared {
  std::string kind() const override { return "exception"; }
  SugaredRef call(const SourceRange& at, Graph& g, Arguments args, Arguments named) override;
};
struct ExceptionMessage final : Sugared {
  ExceptionMessage(Value* message, Value* name) : message(message), name(name) {}
  Value *const message, *const name;
  std::string kind() const override { return "exception message"; }
};

// slice(1, 2) as a value
struct SliceValue final : Sugared {
  Value *start, *stop, *step;
  SliceValue(Value* a, Value* b, Value* c) : start(a), stop(b), step(c) {}
  std::string kind() const override { return "Python slice value"; }
};
// A function defined inside of another one, for fork.
struct ClosureValue final : Sugared {
  explicit ClosureValue(Value* v) : value(v) {}
  Value* const value;
  std::string kind() const override { return "closure"; }
  Value* as_value(const SourceRange&, Graph&) override { return value; }
};

// --- what names of a source mean beyond its own variables: asked of whoever compiles
class Resolver : public RefCounted {
 public:
  virtual SugaredRef resolve_value(const std::string& name, Graph& g, const SourceRange& at) = 0;  // null: unknown
  virtual TypeRef resolve_type(const std::string& name, const SourceRange& at) = 0;                // null: unknown
};

}  // namespace fc::jit
