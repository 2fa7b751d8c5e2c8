// SPDX-License-Identifier: Apache-2.0
// torch._C._jit_tree_views: what Python makes syntax trees of. One class for each kind; all of them hold a Tree.
#include <algorithm>

#include "casters.h"
#include "jit.h"
#include "jit/frontend/error.h"
#include "jit/frontend/parser.h"
#include "jit/frontend/tree.h"
#include "jit_tree.h"

namespace nb = nanobind;

namespace fc::jit {
namespace {

struct Factory {
  Ref<Source> source;
  size_t leading;
};
// One Python class for each kind; the base is a class too.
template <Syntax K>
struct View : TreeView {};
struct Expr : TreeView {};
struct Stmt : TreeView {};
template <Syntax K>
struct ExprView : Expr {};
template <Syntax K>
struct StmtView : Stmt {};
struct Binary : Expr {};
struct Unary : Expr {};
struct NoType : TreeView {};  // in place of an annotation

using Trees = std::vector<TreeView>;

std::vector<TreeRef> trees(const Trees& views) {
  std::vector<TreeRef> out;
  out.reserve(views.size());
  for (const TreeView& v : views) out.push_back(v.tree);
  return out;
}
TreeRef list(const SourceRange& r, const Trees& views) { return Tree::list(r, trees(views)); }
TreeRef maybe(const SourceRange& r, const TreeView* v) { return Tree::option(r, v ? v->tree : TreeRef()); }

template <class V>
void init(V* self, Syntax kind, const SourceRange& r, std::vector<TreeRef> parts) {
  new (self) V();
  self->tree = Tree::make(kind, r, std::move(parts));
}
const SourceRange& range(const TreeView& v) { return v.tree->range(); }
// Of several: that of the first; the tree widens it.
SourceRange range(const Trees& v) {
  FC_CHECK_AS(ValueError, !v.empty(), "a list of trees is empty");
  return range(v[0]);
}

template <class V, class B>
void leaf(nb::module_& m, const char* name, Syntax kind) {
  nb::class_<V, B>(m, name).def("__init__", [kind](V* self, const SourceRange& r) { init(self, kind, r, {}); });
}

void bind_ranges(nb::module_& m) {
  nb::class_<SourceRange>(m, "SourceRange", "A place in a source.")
      .def("highlight", [](const SourceRange& r) { return r.highlight(); })
      .def("__repr__", [](const SourceRange& r) { return r.highlight(); })
      .def_prop_ro("start", [](const SourceRange& r) { return r.begin; })
      .def_prop_ro("end", [](const SourceRange& r) { return r.end; });
  nb::class_<Factory>(m, "SourceRangeFactory", "Makes places of one source.")
      .def(
          "__init__",
          [](Factory* self, const std::string& text, nb::handle file, size_t line, size_t leading) {
            std::string name = file.is_none() ? std::string() : std::string(py::utf8(nb::str(file).ptr()));
            new (self) Factory{make_ref<Source>(text, std::move(name), line > 0 ? line - 1 : 0), leading};
          },
          nb::arg("text"), nb::arg("filename").none(), nb::arg("file_lineno"), nb::arg("leading_whitespace_chars"))
      .def(
          "make_range",
          [](const Factory& f, size_t line, int64_t begin, int64_t end) {
            FC_CHECK_AS(ValueError, line >= 1 && line <= f.source->lines(), "line ", line, " of ", f.source->lines());
            const auto at = [&](int64_t column) {
              const int64_t offset = static_cast<int64_t>(f.source->line_begin(line - 1) + f.leading) + column;
              return static_cast<size_t>(std::clamp<int64_t>(offset, 0, static_cast<int64_t>(f.source->text().size())));
            };
            return SourceRange{f.source, at(begin), at(end)};
          })
      .def("make_raw_range",
           [](const Factory& f, size_t begin, size_t end) {
             return SourceRange{f.source, begin, std::max(begin, end)};
           })
      .def_prop_ro("source", [](const Factory& f) { return f.source->text(); });
}

void bind_parts(nb::module_& m) {
  using enum Syntax;
  using IdentView = View<Ident>;
  nb::class_<IdentView, TreeView>(m, "Ident")
      .def("__init__", [](IdentView* self, const SourceRange& r,
                          const std::string& name) { init(self, Ident, r, {Tree::string(name)}); })
      .def_prop_ro("name", [](const IdentView& v) { return v.tree->name(); });
  using ParamView = View<Param>;
  nb::class_<NoType, TreeView>(m, "EmptyTypeAnnotation").def("__init__", [](NoType* self, const SourceRange& r) {
    new (self) NoType();
    self->tree = Tree::option(r, {});
  });
  nb::class_<ParamView, TreeView>(m, "Param")
      .def("__init__", [](ParamView* self, const TreeView& type, const IdentView& name, bool keyword) {
        const SourceRange& r = range(name);
        TreeRef annotation = type.tree->is(Option) ? type.tree : Tree::option(range(type), type.tree);
        init(self, Param, r, {name.tree, annotation, Tree::option(r, {}), Tree::make(keyword ? True : False, r)});
      });
  using AttributeView = View<Attribute>;
  nb::class_<AttributeView, TreeView>(m, "Attribute")
      .def("__init__", [](AttributeView* self, const IdentView& name, const Expr& value) {
        init(self, Attribute, range(name), {name.tree, value.tree});
      });
  using DeclView = View<Decl>;
  nb::class_<DeclView, TreeView>(m, "Decl").def(
      "__init__",
      [](DeclView* self, const SourceRange& r, const Trees& params, const Expr* result) {
        init(self, Decl, r, {list(r, params), maybe(r, result)});
      },
      nb::arg("r"), nb::arg("params"), nb::arg("return_type").none());
  using DefView = View<Def>;
  nb::class_<DefView, TreeView>(m, "Def")
      .def("__init__",
           [](DefView* self, const IdentView& name, const DeclView& decl, const Trees& body) {
             init(self, Def, range(name), {name.tree, decl.tree, list(range(name), body)});
           })
      .def("decl",
           [](const DefView& v) {
             DeclView d;
             d.tree = TreeRef(&v.tree->part(1));
             return d;
           })
      .def("name", [](const DefView& v) {
        IdentView i;
        i.tree = TreeRef(&v.tree->part(0));
        return i;
      });
  using PropertyView = View<Property>;
  nb::class_<PropertyView, TreeView>(m, "Property")
      .def(
          "__init__",
          [](PropertyView* self, const SourceRange& r, const IdentView& name, const DefView& getter,
             const DefView* setter) {
            init(self, Property, r, {name.tree, getter.tree, maybe(r, setter)});
          },
          nb::arg("r"), nb::arg("name"), nb::arg("getter"), nb::arg("setter").none())
      .def("name", [](const PropertyView& v) { return v.tree->part(0).name(); })
      .def("getter_name", [](const PropertyView& v) { return v.tree->part(1).name(); })
      .def("setter_name", [](const PropertyView& v) -> nb::object {
        const Tree* setter = v.tree->part(2).content();
        return setter ? nb::cast(setter->name()) : nb::none();
      });
  using ClassView = View<Class>;
  nb::class_<ClassView, TreeView>(m, "ClassDef")
      .def("__init__", [](ClassView* self, const IdentView& name, const Trees& body, const Trees& properties,
                          const Trees& assigns) {
        const SourceRange& r = range(name);
        init(self, Class, r,
             {name.tree, Tree::option(r, {}), list(r, body), Tree::option(r, list(r, properties)),
              Tree::option(r, list(r, assigns))});
      });
}

void bind_statements(nb::module_& m) {
  using enum Syntax;
  nb::class_<Stmt, TreeView>(m, "Stmt").def("__init__", [](Stmt* self, const TreeView& v) { new (self) Stmt{v}; });
  using AssignView = StmtView<Assign>;
  nb::class_<AssignView, Stmt>(m, "Assign")
      .def(
          "__init__",
          [](AssignView* self, const Trees& lhs, const Expr& rhs, const Expr* type) {
            const SourceRange r = range(lhs);
            init(self, Assign, r, {list(r, lhs), Tree::option(range(rhs), rhs.tree), maybe(r, type)});
          },
          nb::arg("lhs"), nb::arg("rhs"), nb::arg("type").none() = nb::none());
  using AugView = StmtView<AugAssign>;
  nb::class_<AugView, Stmt>(m, "AugAssign")
      .def("__init__", [](AugView* self, const Expr& lhs, const std::string& sign, const Expr& rhs) {
        const Syntax kind = operator_kind(sign);
        FC_CHECK_AS(ValueError, kind != String, "unknown operator '", sign, "'");
        init(self, AugAssign, range(lhs), {lhs.tree, Tree::make(kind, range(lhs)), rhs.tree});
      });
  using ReturnView = StmtView<Return>;
  nb::class_<ReturnView, Stmt>(m, "Return")
      .def(
          "__init__",
          [](ReturnView* self, const SourceRange& r, const Expr* value) {
            init(self, Return, r, {value ? value->tree : Tree::make(None, r)});
          },
          nb::arg("r"), nb::arg("value").none());
  using RaiseView = StmtView<Raise>;
  nb::class_<RaiseView, Stmt>(m, "Raise").def("__init__", [](RaiseView* self, const SourceRange& r, const Expr& e) {
    init(self, Raise, r, {e.tree});
  });
  using AssertView = StmtView<Assert>;
  nb::class_<AssertView, Stmt>(m, "Assert")
      .def(
          "__init__",
          [](AssertView* self, const SourceRange& r, const Expr& test, const Expr* message) {
            init(self, Assert, r, {test.tree, maybe(r, message)});
          },
          nb::arg("r"), nb::arg("test"), nb::arg("msg").none());
  using DeleteView = StmtView<Delete>;
  nb::class_<DeleteView, Stmt>(m, "Delete")
      .def("__init__", [](DeleteView* self, const SourceRange& r, const Trees& targets) {
        init(self, Delete, r, {list(r, targets)});
      });
  using ItemView = ExprView<WithItem>;
  nb::class_<ItemView, Expr>(m, "WithItem")
      .def(
          "__init__",
          [](ItemView* self, const SourceRange& r, const Expr& target, const Expr* variable) {
            init(self, WithItem, r, {target.tree, maybe(r, variable)});
          },
          nb::arg("r"), nb::arg("target"), nb::arg("var").none());
  using WithView = StmtView<With>;
  nb::class_<WithView, Stmt>(m, "With").def(
      "__init__", [](WithView* self, const SourceRange& r, const Trees& items, const Trees& body) {
        init(self, With, r, {list(r, items), list(r, body)});
      });
  using IfView = StmtView<If>;
  nb::class_<IfView, Stmt>(m, "If").def(
      "__init__", [](IfView* self, const SourceRange& r, const Expr& test, const Trees& yes, const Trees& no) {
        init(self, If, r, {test.tree, list(r, yes), list(r, no)});
      });
  using WhileView = StmtView<While>;
  nb::class_<WhileView, Stmt>(m, "While")
      .def("__init__", [](WhileView* self, const SourceRange& r, const Expr& test, const Trees& body) {
        init(self, While, r, {test.tree, list(r, body)});
      });
  using ForView = StmtView<For>;
  nb::class_<ForView, Stmt>(m, "For").def("__init__", [](ForView* self, const SourceRange& r, const Trees& targets,
                                                         const Trees& iterated, const Trees& body) {
    init(self, For, r, {list(r, targets), list(r, iterated), list(r, body)});
  });
  using ExprStmtView = StmtView<ExprStmt>;
  nb::class_<ExprStmtView, Stmt>(m, "ExprStmt").def("__init__", [](ExprStmtView* self, const Expr& e) {
    init(self, ExprStmt, range(e), {e.tree});
  });
  leaf<StmtView<Pass>, Stmt>(m, "Pass", Pass);
  leaf<StmtView<Break>, Stmt>(m, "Break", Break);
  leaf<StmtView<Continue>, Stmt>(m, "Continue", Continue);
}

void bind_expressions(nb::module_& m) {
  using enum Syntax;
  using VarView = ExprView<Variable>;
  nb::class_<VarView, Expr>(m, "Var")
      .def("__init__", [](VarView* self, const View<Ident>& name) { init(self, Variable, range(name), {name.tree}); })
      .def_prop_ro("name", [](const VarView& v) {
        View<Ident> i;
        i.tree = TreeRef(&v.tree->part(0));
        return i;
      });
  nb::class_<Binary, Expr>(m, "BinOp")
      .def("__init__", [](Binary* self, const std::string& sign, const Expr& a, const Expr& b) {
        const Syntax kind = operator_kind(sign);
        FC_CHECK_AS(ValueError, kind != String, "unknown operator '", sign, "'");
        init(self, kind, range(a), {a.tree, b.tree});
      });
  nb::class_<Unary, Expr>(m, "UnaryOp")
      .def("__init__", [](Unary* self, const SourceRange& r, const std::string& sign, const Expr& e) {
        const Syntax kind = sign == "-" ? UnaryMinus : operator_kind(sign);
        FC_CHECK_AS(ValueError, kind == UnaryMinus || kind == Not || kind == Invert, "unknown operator '", sign, "'");
        init(self, kind, r, {e.tree});
      });
  using ConstView = ExprView<Const>;
  nb::class_<ConstView, Expr>(m, "Const")
      .def("__init__", [](ConstView* self, const SourceRange& r, const std::string& text) {
        init(self, Const, r, {Tree::string(text)});
      });
  using StringView = ExprView<StringLiteral>;
  nb::class_<StringView, Expr>(m, "StringLiteral")
      .def("__init__", [](StringView* self, const SourceRange& r, const std::string& text) {
        init(self, StringLiteral, r, {Tree::string(text)});
      });
  using ApplyView = ExprView<Apply>;
  nb::class_<ApplyView, Expr>(m, "Apply")
      .def("__init__", [](ApplyView* self, const Expr& callee, const Trees& args, const Trees& named) {
        const SourceRange& r = range(callee);
        init(self, Apply, r, {callee.tree, list(r, args), list(r, named)});
      });
  using SelectView = ExprView<Select>;
  nb::class_<SelectView, Expr>(m, "Select").def("__init__", [](SelectView* self, const Expr& e, const View<Ident>& n) {
    init(self, Select, range(e), {e.tree, n.tree});
  });
  using TernaryView = ExprView<IfExpr>;
  nb::class_<TernaryView, Expr>(m, "TernaryIf")
      .def("__init__", [](TernaryView* self, const Expr& test, const Expr& yes, const Expr& no) {
        init(self, IfExpr, range(test), {test.tree, yes.tree, no.tree});
      });
  using ListCompView = ExprView<ListComp>;
  nb::class_<ListCompView, Expr>(m, "ListComp")
      .def("__init__",
           [](ListCompView* self, const SourceRange& r, const Expr& item, const Expr& target, const Expr& iterated) {
             init(self, ListComp, r, {item.tree, target.tree, iterated.tree});
           });
  using DictCompView = ExprView<DictComp>;
  nb::class_<DictCompView, Expr>(m, "DictComp")
      .def("__init__", [](DictCompView* self, const SourceRange& r, const Expr& key, const Expr& value,
                          const Expr& target, const Expr& iterated) {
        init(self, DictComp, r, {key.tree, value.tree, target.tree, iterated.tree});
      });
  using ListView = ExprView<ListLiteral>;
  nb::class_<ListView, Expr>(m, "ListLiteral")
      .def("__init__",
           [](ListView* self, const SourceRange& r, const Trees& v) { init(self, ListLiteral, r, {list(r, v)}); });
  using TupleView = ExprView<TupleLiteral>;
  nb::class_<TupleView, Expr>(m, "TupleLiteral")
      .def("__init__",
           [](TupleView* self, const SourceRange& r, const Trees& v) { init(self, TupleLiteral, r, {list(r, v)}); });
  using DictView = ExprView<DictLiteral>;
  nb::class_<DictView, Expr>(m, "DictLiteral")
      .def("__init__", [](DictView* self, const SourceRange& r, const Trees& keys, const Trees& values) {
        init(self, DictLiteral, r, {list(r, keys), list(r, values)});
      });
  using SubscriptView = ExprView<Subscript>;
  nb::class_<SubscriptView, Expr>(m, "Subscript")
      .def("__init__", [](SubscriptView* self, const Expr& base, const Trees& indices) {
        jit::SourceRange whole = range(base);
        if (!indices.empty()) whole.end = indices.back().tree->range().end + 1;  // the bracket
        init(self, Subscript, whole, {base.tree, list(range(base), indices)});
      });
  using SliceView = ExprView<Slice>;
  nb::class_<SliceView, Expr>(m, "SliceExpr")
      .def(
          "__init__",
          [](SliceView* self, const SourceRange& r, const Expr* lower, const Expr* upper, const Expr* step) {
            init(self, Slice, r, {maybe(r, lower), maybe(r, upper), maybe(r, step)});
          },
          nb::arg("r"), nb::arg("lower").none(), nb::arg("upper").none(), nb::arg("step").none());
  using StarredView = ExprView<Starred>;
  nb::class_<StarredView, Expr>(m, "Starred")
      .def("__init__",
           [](StarredView* self, const SourceRange& r, const Expr& e) { init(self, Starred, r, {e.tree}); });
  leaf<ExprView<True>, Expr>(m, "TrueLiteral", True);
  leaf<ExprView<False>, Expr>(m, "FalseLiteral", False);
  leaf<ExprView<None>, Expr>(m, "NoneLiteral", None);
  leaf<ExprView<Dots>, Expr>(m, "Dots", Dots);
}

struct Report {
  std::string text;
};

}  // namespace

void bind_trees(nb::module_& c) {
  nb::module_ m = c.def_submodule("_jit_tree_views", "Syntax trees of TorchScript.");
  bind_ranges(m);
  nb::class_<TreeView>(m, "TreeView", "A syntax tree.")
      .def("range", [](const TreeView& v) { return v.tree->range(); })
      .def("__str__", [](const TreeView& v) { return v.tree->print() + "\n"; })
      .def("dump", [](const TreeView& v) { PySys_FormatStdout("%s\n", v.tree->print().c_str()); });
  nb::class_<Expr, TreeView>(m, "Expr").def("__init__", [](Expr* self, const TreeView& v) { new (self) Expr{v}; });
  bind_parts(m);
  bind_statements(m);
  bind_expressions(m);
  nb::class_<Report>(c, "ErrorReport", "The marked lines of a place, and which calls are being compiled.")
      .def("__init__", [](Report* self, const SourceRange& r) { new (self) Report{error_text(r, "")}; })
      .def("what", [](const Report& r) { return r.text; })
      .def_static("call_stack", [] { return call_chain(); });
  // While it lives, errors tell that `name` is being compiled since it was called from what is compiled around it.
  nb::class_<Compiling>(c, "CallStack", "What is being compiled.")
      .def(nb::init<std::string, SourceRange>(), nb::arg("name"), nb::arg("range"))
      .def("__enter__", [](nb::object self) { return self; })
      .def("__exit__", [](Compiling& self, const nb::args&) { self.leave(); });
  c.def("parse_type_comment", [](const std::string& text) {
    View<Syntax::Decl> v;
    v.tree = parse_type_comment(text);
    return v;
  });
  c.def("merge_type_from_type_comment",
        [](const View<Syntax::Decl>& decl, const View<Syntax::Decl>& comment, bool method) {
          View<Syntax::Decl> v;
          v.tree = merge_type_comment(*decl.tree, *comment.tree, method);
          return v;
        });
  c.def("_replace_overloaded_method_decl", [](const View<Syntax::Decl>& decl, const View<Syntax::Def>& def,
                                              const std::string& name) {
    View<Syntax::Def> v;
    const Tree& d = *def.tree;
    v.tree = Tree::make(Syntax::Def, d.range(), {Tree::ident(d.part(0).range(), name), decl.tree, TreeRef(&d.part(2))});
    return v;
  });
}

}  // namespace fc::jit
