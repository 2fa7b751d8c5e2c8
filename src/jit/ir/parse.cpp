// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/parse.h"

#include <algorithm>

#include "core/error.h"
#include "core/type_parse.h"
#include "dispatch/operator.h"
#include "jit/ir/check.h"
#include "jit/ir/lexer.h"
#include "jit/ir/operators.h"
#include "jit/ir/parse_value.h"
#include "jit/ir/walk.h"

namespace fc::jit {
namespace {

class Parser {
 public:
  Parser(std::string_view text, bool tensor_constants)
      : lexer_(make_ref<Source>(std::string(text))), tensor_constants_(tensor_constants) {}

  std::unordered_map<std::string, Value*> values;

  Ref<Graph> parse() {
    Ref<Graph> top = graph();
    // `with prim::fork_0 = graph(…)` belongs to the last graph that has such a node waiting.
    std::vector<Graph*> open{top.get()};
    while (lexer_.is("with")) {
      lexer_.next();
      SourceRange where = lexer_.range();
      std::string label = kind();
      lexer_.expect("=");
      Node* owner = nullptr;
      while (!open.empty() && !(owner = waiting_for(*open.back(), label))) open.pop_back();
      if (!owner) lexer_.fail_at(where, str("no node above is ", label));
      Ref<Graph> inner = graph();
      owner->set_kind(Symbol::of(label.substr(0, label.rfind('_'))));  // the label's number is the printer's
      open.push_back(inner.get());
      owner->set(attr_Subgraph, std::move(inner));
    }
    if (lexer_.kind() != Token::End) lexer_.fail(str("expected the end but found '", lexer_.word(), "' here"));
    check(*top);
    return top;
  }

 private:
  struct Typed {
    std::string name;
    TypeRef type;  // null: none given
    SourceRange where;
  };

  Ref<Graph> graph() {
    lexer_.expect_name();
    Ref<Graph> g = Graph::make();
    graph_ = g.get();
    values.clear();
    changes_.clear();
    block_ = g->block();
    parameters(block_);
    std::vector<Frame> open;
    for (;;) {
      // Into the blocks of the node before, then the next node, then out.
      if (is_block()) {
        if (!last_) lexer_.fail("a block stands behind its node");
        Node* owner = last_;
        lexer_.next();
        open.push_back({block_, owner, changes_.size()});
        block_ = owner->add_block();
        parameters(block_);
        last_ = nullptr;
      } else if (!open.empty() && lexer_.skip("->")) {
        results(block_);
        last_ = open.back().owner;
        block_ = open.back().around;
        undo(open.back().changes);
        open.pop_back();
      } else if (open.empty() && lexer_.skip("return")) {
        results(block_);
        last_ = nullptr;
        return g;
      } else {
        last_ = node();
      }
    }
  }

  bool is_block() const {
    if (lexer_.kind() != Token::Name || lexer_.is("return")) return false;
    Lexer ahead = lexer_;
    ahead.next();
    return ahead.is("(");
  }

  void parameters(Block* b) {
    list("(", ")", [&] {
      Typed v = typed();
      bind(v.name, b->add_input(Value::is_valid_name(v.name) ? v.name : "")->set_type(v.type ? v.type : tensor_type()));
    });
    lexer_.expect(":");
  }

  void results(Block* b) {
    list("(", ")", [&] { b->register_output(use()); });
  }

  template <class F>
  void list(std::string_view open, std::string_view close, F&& each) {
    lexer_.expect(open);
    if (lexer_.skip(close)) return;
    do each();
    while (lexer_.skip(","));
    lexer_.expect(close);
  }

  // %x.1: letters, digits and dots that follow each other without a blank
  std::string variable(SourceRange& where) {
    where = lexer_.range();
    if (!lexer_.is("%")) lexer_.expect("%");
    std::string_view text = lexer_.text();
    size_t begin = lexer_.end(), end = begin;
    while (end < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_' || text[end] == '.'))
      ++end;
    where.end = std::max(end, where.end);
    if (end == begin) lexer_.fail("expected a variable's name behind %");
    lexer_.jump(end);
    return std::string(text.substr(begin, end - begin));
  }

  Typed typed() {
    Typed v;
    v.type = nullptr;
    v.name = variable(v.where);
    if (lexer_.skip(":")) v.type = parse_type_here(lexer_);
    return v;
  }

  Value* use() {
    SourceRange where;
    std::string name = variable(where);
    auto found = values.find(name);
    if (found == values.end()) lexer_.fail_at(where, str("Cannot find a variable with name '", name, "'"));
    return found->second;
  }

  void bind(const std::string& name, Value* v) {
    auto [place, fresh] = values.try_emplace(name, v);
    changes_.push_back({name, fresh ? nullptr : place->second});
    place->second = v;
  }

  // What a block named is not seen behind it.
  void undo(size_t to) {
    for (; changes_.size() > to; changes_.pop_back()) {
      auto& [name, before] = changes_.back();
      if (before) values[name] = before;
      else values.erase(name);
    }
  }

  std::string kind() {
    std::string out = lexer_.expect_name();
    if (!lexer_.is("::")) lexer_.expect("::");
    while (lexer_.skip("::")) out += "::" + lexer_.expect_name();
    return out;
  }

  Node* node() {
    std::vector<Typed> outs;
    while (lexer_.is("%")) {
      outs.push_back(typed());
      if (!lexer_.skip(",")) break;
    }
    if (!outs.empty() || lexer_.is("=")) lexer_.expect("=");
    SourceRange where = lexer_.range();
    const bool python = lexer_.skip("^");
    std::string name = python ? lexer_.expect_name() : kind();
    Node* n = graph_->create(python ? Symbol(prim_PythonOp) : Symbol::of(name), outs.size());
    block_->append(n);
    n->set_range({lexer_.source(), where.begin, where.begin + name.size()});
    if (python) n->set(attr_python_name, name);
    if (lexer_.is("[")) attributes(n, outs.empty() ? nullptr : outs[0].type);
    if (python) {
      // (scalars)(%inputs)
      const size_t begin = lexer_.begin();
      size_t depth = 0, end = begin;
      for (std::string_view text = lexer_.text(); end < text.size(); ++end) {
        depth += text[end] == '(';
        if (text[end] == ')' && --depth == 0) break;
      }
      if (!lexer_.is("(") || end >= lexer_.text().size()) lexer_.fail("expected the scalar arguments in parentheses");
      n->set(attr_python_scalars, std::string(lexer_.text().substr(begin, end + 1 - begin)));
      lexer_.jump(end + 1);
    }
    list("(", ")", [&] { n->add_input(use()); });
    if (lexer_.skip(",")) {
      lexer_.expect("scope");
      if (!lexer_.is(":")) lexer_.expect(":");
      lexer_.next();
      n->set_scope(lexer_.rest_of_line());
    }
    types(n, outs, where);
    for (size_t i = 0; i < outs.size(); ++i) bind(outs[i].name, n->output(i));
    return n;
  }

  void types(Node* n, const std::vector<Typed>& outs, const SourceRange& where) {
    const Operator* op = n->find_operator();
    const Schema* s = op ? &op->schema() : nullptr;
    for (size_t i = 0; i < outs.size(); ++i) {
      TypeRef given = outs[i].type, promised = nullptr;
      if (s) {
        if (i >= s->returns.size())
          lexer_.fail_at(outs[i].where, str(op->name(), " returns ", s->returns.size(), " values, not ", outs.size()));
        promised = formal_type(s->returns[i]);
        if (given && !promised->has_variables() && !is_subtype(given, promised))
          lexer_.fail_at(where, str("Annotated type ", graph_text(given), " does not match schema type ",
                                    graph_text(promised), " for operator ", to_string(*s)));
      }
      n->output(i)->set_type(given ? given : promised ? promised : tensor_type());
    }
  }

  void attributes(Node* n, TypeRef declared) {
    list("[", "]", [&] {
      Symbol name = Symbol::of(lexer_.expect_name());
      lexer_.expect("=");
      ValueContext context{tensor_constants_, n->is(prim_Constant) ? declared : nullptr};
      n->set(name, parse_attribute(lexer_, context));
    });
  }

  static bool labelled(const Node& n, std::string_view label) {
    return n.kind().text() == label && !n.has(attr_Subgraph);
  }
  static Node* waiting_for(const Graph& g, std::string_view label) {
    for (Node* n = walk_first(*g.block()); n; n = walk_next(n, *g.block()))
      if (labelled(*n, label)) return n;
    return nullptr;
  }
  struct Frame {
    Block* around;
    Node* owner;
    size_t changes;
  };

  Lexer lexer_;
  bool tensor_constants_;
  Graph* graph_ = nullptr;
  Block* block_ = nullptr;
  Node* last_ = nullptr;  // whose blocks may follow
  std::vector<std::pair<std::string, Value*>> changes_;
};

}  // namespace

Ref<Graph> parse_graph(std::string_view text, std::unordered_map<std::string, Value*>& values, bool tensor_constants) {
  Parser p(text, tensor_constants);
  Ref<Graph> g = p.parse();
  values = std::move(p.values);
  return g;
}

Ref<Graph> parse_graph(std::string_view text, bool tensor_constants) { return Parser(text, tensor_constants).parse(); }

}  // namespace fc::jit
