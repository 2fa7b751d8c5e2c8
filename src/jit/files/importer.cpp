// SPDX-License-Identifier: Apache-2.0
#include "jit/files/importer.h"

#include <algorithm>

#include "jit/frontend/classes.h"
#include "jit/frontend/match.h"
#include "jit/frontend/parser.h"
#include "jit/frontend/types.h"

namespace fc::jit {
namespace {

constexpr int deepest_name = 200;  // classes that name classes that name …

std::string name_space_of(const std::string& qualified_name) {
  const size_t dot = qualified_name.rfind('.');
  return dot == qualified_name.npos ? "" : qualified_name.substr(0, dot);
}

// torch of an old archive
class OldTorch final : public Sugared {
 public:
  explicit OldTorch(int64_t version) : version_(version) {}
  std::string kind() const override { return "builtin module"; }
  SugaredRef attr(const SourceRange& at, Graph& g, const std::string& name) override {
    if (SugaredRef old = old_operator(name, version_)) return old;
    return BuiltinModule("aten").attr(at, g, name);
  }

 private:
  const int64_t version_;
};

// ops.prim.RaiseException, which is a node and no operator
class RaiseCall final : public Sugared {
 public:
  std::string kind() const override { return "builtin"; }
  SugaredRef call(const SourceRange& at, Graph& g, Arguments args, Arguments named) override {
    if (args.empty() || args.size() > 2 || !named.empty()) fail(at, "RaiseException takes a message and a class");
    Value* message = args[0].in(g);
    Value* name = args.size() == 2 ? args[1].in(g) : insert_constant(g, {}, at);
    insert_node(g, prim_RaiseException, std::vector{message, name}, 0, at);
    return simple(insert_constant(g, {}, at));
  }
};

class PrimOperators final : public Sugared {
 public:
  std::string kind() const override { return "builtin module"; }
  SugaredRef attr(const SourceRange& at, Graph& g, const std::string& name) override {
    if (name == "RaiseException") return make_ref<RaiseCall>();
    return BuiltinModule("prim").attr(at, g, name);
  }
};

class Operators final : public Sugared {
 public:
  std::string kind() const override { return "builtin module"; }
  SugaredRef attr(const SourceRange&, Graph&, const std::string& name) override {
    if (name == "prim") return make_ref<PrimOperators>();
    return make_ref<BuiltinModule>(name);
  }
};

}  // namespace

void Importer::read_file(const std::string& name_space) {
  if (!files_.insert(name_space).second || !zip_) return;
  std::string path = "code/" + name_space;
  std::ranges::replace(path, '.', '/');
  path += ".py";
  if (!zip_->find(path)) return;
  for (const TreeRef& tree : parse_program(make_ref<Source>(zip_->read(path), path))) {
    const std::string name = name_space + "." + tree->name();
    if (!known_.try_emplace(name, Named{tree, name_space}).second) fail(tree->range(), "'", name, "' is defined twice");
  }
}

const Importer::Named* Importer::find(const std::string& qualified_name) {
  FC_CHECK(!qualified_name.starts_with("__torch__.torch.classes."), "class '", qualified_name,
           "' is one of PyTorch's C++ (TorchBind): archives with its objects are not read");
  read_file(name_space_of(qualified_name));
  const auto found = known_.find(qualified_name);
  return found == known_.end() ? nullptr : &found->second;
}

TypeRef Importer::resolve_type(const std::string& name, const SourceRange&) {
  if (!name.starts_with("__torch__.")) return nullptr;
  if (TypeRef t = unit_->find_type(name)) return t;
  const Named* found = find(name);
  if (!found || !found->tree->is(Syntax::Class)) return nullptr;
  struct Nested {
    int& depth;
    explicit Nested(int& d) : depth(d) {
      FC_CHECK(++depth <= deepest_name, "classes of the archive name each other more than ", deepest_name, " deep");
    }
    ~Nested() { --depth; }
  } const nested(depth_);
  TypeRef t = declare_class(*unit_, name, {found->tree, Ref<Resolver>(this)});
  if (t->is(TypeKind::Class)) classes_.push_back(t);
  return t;
}

SugaredRef Importer::resolve_value(const std::string& name, Graph& g, const SourceRange& at) {
  if (name == "__torch__") return name_space(Ref<Resolver>(this), name);
  if (name == "CONSTANTS") return constant_table(constants_);
  if (name == "ops") return make_ref<Operators>();
  if (name == "torch") return make_ref<OldTorch>(version_);
  if (!name.starts_with("__torch__.")) return unit_resolver({}, "")->resolve_value(name, g, at);
  if (Ref<Function> f = unit_->find_function(name)) return make_ref<FunctionValue>(std::move(f));
  const Named* found = find(name);
  if (!found || !found->tree->is(Syntax::Def)) return {};
  Definition d{found->tree, Ref<Resolver>(this), literal_defaults(*found->tree, *this), {}};
  Ref<Function> f = make_function(name, std::move(d));
  unit_->add_function(f);
  functions_.push_back(f);
  return make_ref<FunctionValue>(std::move(f));
}

TypeRef Importer::find_class(const std::string& qualified_name) {
  TypeRef t = resolve_type(qualified_name, {});
  FC_CHECK(t, "the archive names class '", qualified_name, "', and its code has none of that name");
  return t;
}

TypeRef Importer::type_of_text(const std::string& text) {
  return type_of_expression(*parse_expression(make_ref<Source>(text)), *this);
}

void Importer::compile_all() {
  for (size_t c = 0, f = 0; c < classes_.size() || f < functions_.size();) {  // they grow meanwhile
    if (c < classes_.size()) {
      compile_methods(classes_[c++]);
    } else {
      Ref<Function>(functions_[f++])->ensure_defined();
    }
  }
  zip_ = nullptr;
  known_.clear();
}

}  // namespace fc::jit
