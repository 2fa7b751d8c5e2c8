// SPDX-License-Identifier: Apache-2.0
// Graphs as text, byte for byte PyTorch's. Blocks and subgraphs are walked with a stack of our own; beyond
// `deepest_indent` blocks indentation stays as it is, so that the text stays linear (the parser does not need it).
#include <cstdio>

#include "core/format.h"
#include "jit/ir/graph.h"
#include "jit/ir/print.h"
#include "jit/ir/value_text.h"
#include "jit/ir/walk.h"

namespace fc::jit {
namespace {

constexpr size_t deepest_indent = 200;

void indent(std::string& out, size_t level) { out.append(2 * std::min(level, deepest_indent), ' '); }

template <class Values>
void append_names(std::string& out, const Values& values) {
  bool first = true;
  for (const Value* v : values) {
    if (!std::exchange(first, false)) out += ", ";
    out += '%';
    out += v->name();
  }
}

void append_typed(std::string& out, std::span<Value* const> values, const char* between = ", ") {
  bool first = true;
  for (const Value* v : values) {
    if (!std::exchange(first, false)) out += between;
    out += str("%", v->name(), " : ", graph_text(v->type()));
  }
}

template <class Items, class F>
void append_all(std::string& out, const Items& items, F&& each) {
  out += '[';
  bool first = true;
  for (const auto& i : items) {
    if (!std::exchange(first, false)) out += ", ";
    each(i);
  }
  out += ']';
}

void append_content(std::string& out, const Attribute::Content& content) {
  struct Writer {
    std::string& out;
    void operator()(double v) { append_number(out, v); }
    void operator()(const std::vector<double>& v) {
      append_all(out, v, [&](double d) { append_number(out, d); });
    }
    void operator()(const Attribute::Complex& v) { out += complex_text(v); }
    void operator()(const std::vector<Attribute::Complex>& v) {
      append_all(out, v, [&](const auto& c) { out += complex_text(c); });
    }
    void operator()(int64_t v) { append_int(out, v); }
    void operator()(const std::vector<int64_t>& v) {
      append_all(out, v, [&](int64_t i) { append_int(out, i); });
    }
    void operator()(const std::string& v) { append_quoted(out, v); }
    void operator()(const std::vector<std::string>& v) {
      append_all(out, v, [&](const std::string& s) { append_quoted(out, s); });
    }
    void operator()(const Tensor& v) { out += value_text(v); }
    void operator()(const std::vector<Tensor>&) { out += "[<Tensors>]"; }
    void operator()(const Ref<Graph>&) { out += "<Graph>"; }
    void operator()(const std::vector<Ref<Graph>>&) { out += "[<Graphs>]"; }
    void operator()(TypeRef v) { out += graph_text(v); }
    void operator()(const std::vector<TypeRef>& v) {
      append_all(out, v, [&](TypeRef t) { out += graph_text(t); });
    }
    void operator()(const fc::Value& v) { out += value_text(v); }
  };
  std::visit(Writer{out}, content);
}

// Without brackets where there are none: the subgraph may be printed elsewhere, and a PythonOp's name is its kind.
void append_attributes(std::string& out, const Node& n, bool without_subgraph = false) {
  bool first = true;
  for (const Attribute& a : n.attributes()) {
    if (without_subgraph && a.name == Symbol(attr_Subgraph)) continue;
    if (is_any(a.name, attr_python_name, attr_python_scalars)) continue;
    if (a.name.text() == "attr::ignored_name" ||
        a.name.text() == "ignored_name") {  // of a function that a script calls
      if (std::exchange(first, false)) out += '[';
      continue;
    }
    out += std::exchange(first, false) ? "[" : ", ";
    out += str(a.name.text(), "=");
    append_content(out, a.content);
  }
  if (!first) out += ']';
}

// The node's line. `groups` collects nodes whose subgraph is printed after the graph; null: it is not.
void append_line(std::string& out, const Node& n, size_t level, std::vector<const Node*>* groups, bool ranges) {
  indent(out, level);
  append_typed(out, n.outputs());
  out += " = ";
  const bool subgraph = n.get<Ref<Graph>>(attr_Subgraph) != nullptr;
  if (n.is(prim_PythonOp)) {
    const auto *name = n.get<std::string>(attr_python_name), *scalars = n.get<std::string>(attr_python_scalars);
    out += str("^", name ? *name : "Python");
    append_attributes(out, n);
    out += scalars ? *scalars : "()";
  } else if (subgraph && groups) {
    out += str(n.kind().text(), "_", groups->size());
    if (!n.is(prim_DifferentiableGraph)) append_attributes(out, n, true);
    groups->push_back(&n);
  } else {
    out += n.kind().text();
    append_attributes(out, n);
  }
  out += '(';
  append_names(out, n.inputs());
  out += ')';
  if (!n.scope().empty()) out += str(", scope: ", n.scope());
  if (ranges && n.range().known()) {
    auto place = n.range().place();
    out += str(" # ", place.file, ":", place.line, ":", place.column);
  }
}

void append_block_head(std::string& out, const Block& b, size_t index, size_t level) {
  indent(out, level);
  out += str("block", index, "(");
  append_typed(out, b.inputs());
  out += "):\n";
}

void append_block_end(std::string& out, const Block& b, size_t level) {
  indent(out, level);
  out += "-> (";
  append_names(out, b.outputs());
  out += ")\n";
}

// What stands in a node's blocks. Nested nodes print their ranges even where they are not wanted, as PyTorch's do.
void append_blocks(std::string& out, const Node& top, size_t level, std::vector<const Node*>* groups) {
  struct Frame {
    const Node* owner;
    size_t block;
    const Node* next;
    size_t level;
  };
  std::vector<Frame> stack;
  auto open = [&](const Node& n, size_t i, size_t at) {
    append_block_head(out, *n.block(i), i, at + 1);
    stack.push_back({&n, i, n.block(i)->first(), at});
  };
  if (!top.blocks().empty()) open(top, 0, level);
  while (!stack.empty()) {
    Frame& f = stack.back();
    const Block& b = *f.owner->block(f.block);
    if (f.next != b.end()) {
      const Node& n = *f.next;
      f.next = n.next();
      const size_t inner = f.level + 2;
      append_line(out, n, inner, groups, true);
      out += '\n';
      if (!n.blocks().empty()) open(n, 0, inner);
      continue;
    }
    append_block_end(out, b, f.level + 2);
    Frame done = f;
    stack.pop_back();
    if (done.block + 1 < done.owner->blocks().size()) open(*done.owner, done.block + 1, done.level);
  }
}

}  // namespace

std::string Graph::text(bool ranges) const {
  std::string out;
  struct Waiting {
    const Graph* graph;
    std::string label;
  };
  std::vector<Waiting> waiting{{this, {}}};
  while (!waiting.empty()) {
    Waiting w = std::move(waiting.back());
    waiting.pop_back();
    out += w.label;
    out += "graph(";
    append_typed(out, w.graph->inputs(), ",\n      ");
    out += "):\n";
    std::vector<const Node*> groups;
    for (const Node* n = w.graph->block()->first(); n != w.graph->block()->end(); n = n->next()) {
      append_line(out, *n, 1, &groups, ranges || w.graph != this);
      out += '\n';
      append_blocks(out, *n, 1, &groups);
    }
    out += "  return (";
    append_names(out, w.graph->outputs());
    out += ")\n";
    for (size_t i = groups.size(); i-- > 0;)
      waiting.push_back(
          {groups[i]->get<Ref<Graph>>(attr_Subgraph)->get(), str("with ", groups[i]->kind(), "_", i, " = ")});
  }
  return out;
}

std::string node_text(const Node& n) {
  std::string out;
  append_line(out, n, 0, nullptr, true);
  out += '\n';
  append_blocks(out, n, 0, nullptr);
  return out;
}

std::string node_line(const Node& n) {
  std::string out;
  append_line(out, n, 0, nullptr, false);
  return out;
}

void Graph::dump() const { std::fputs(text().c_str(), stderr); }
std::string Node::dump() const { return node_text(*this); }
std::string Value::dump() const { return str("%", name(), " : ", graph_text(type()), " of ", node_line(*node())); }

}  // namespace fc::jit
