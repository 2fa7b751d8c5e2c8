// SPDX-License-Identifier: Apache-2.0
// One definition of a CodePrinter: which values are written into their uses, the names of the others, statements.
#pragma once
#include <unordered_map>
#include <unordered_set>

#include "jit/files/print_code.h"

namespace fc::jit {

class BodyPrinter {
 public:
  BodyPrinter(CodePrinter& out, size_t level) : out_(out), level_(level) {}
  void definition(const Function& f, bool typed_self);

 private:
  // --- which values are written where they are used
  void scan(const Block& top);  // and the blocks inside
  const Node* scan_node(const Node* n);
  bool can_inline(const Value* v) const;
  bool is_inlined(const Node* n) const { return inlined_.contains(n); }
  bool is_long(const std::string& text) const { return text.size() + 2 * level_ >= 40; }
  void split_long(const Value* v);

  // --- names
  std::string take_name(std::string_view candidate);
  void name(std::span<Value* const> values);
  const std::string& text_of(const Value* v) const;

  // --- statements
  void body(const Block& b);
  void block(const Block& b, bool more_follows);
  void node(const Node& n, bool constants = false);
  void assign_outputs(const Node& n, const std::string& expression);
  void assign(const Node& n, std::span<Value* const> to, std::span<Value* const> from);
  void if_statement(const Node& n);
  void loop(const Node& n);
  void fork(const Node& n);
  std::string& line(const Node& n);  // begins one
  std::string list(std::span<Value* const> values) const;

  // --- expressions
  std::string expression(const Node& n);
  std::string call(const Node& n);
  std::string annotated(TypeRef t, const std::string& text) {
    return "annotate(" + out_.name_of_type(t) + ", " + text + ")";
  }
  std::string list_construct(const Node& n);
  std::string dict_construct(const Node& n);

  CodePrinter& out_;
  size_t level_;
  size_t depth_ = 0;  // of blocks
  std::unordered_set<std::string> names_;
  std::unordered_map<const Value*, std::string> text_;
  std::unordered_set<const Node*> inlined_;
  std::unordered_map<const Node*, int64_t> split_;  // of a node, up to which input it was looked for long expressions
};

}  // namespace fc::jit
