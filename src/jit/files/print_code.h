// SPDX-License-Identifier: Apache-2.0
// Graphs as TorchScript's Python, byte for byte as PyTorch prints it:
//
//   def forward(self,
//       x: Tensor) -> Tensor:
//     _0 = torch.mul(torch.add(x, 1), torch.add(x, 2))
//     return torch.add(_0, CONSTANTS.c0)
//
// A value that is used once, where it stands in the order of the text, is written into its use; others get names. What
// has no literal goes into a table of constants. Of one thread; what it prints must not change meanwhile.
#pragma once
#include <deque>
#include <string>
#include <unordered_set>
#include <vector>

#include "jit/ir/graph.h"
#include "jit/run/function.h"

namespace fc::jit {

// What a text names beside torch's own: a class, interface, enum or named tuple, or a function. In the order in which
// they were met, each once.
class Dependencies {
 public:
  struct Item {
    TypeRef type;  // null: the function
    Ref<Function> function;
  };
  void add(TypeRef t);  // those inside of it, too
  void add(Ref<Function> f);
  size_t size() const { return items_.size(); }
  const Item& operator[](size_t i) const { return items_[i]; }

 private:
  std::deque<Item> items_;  // an item stays where it is while others come
  std::unordered_set<const void*> known_;
};

class CodePrinter {
 public:
  // `importable`: what can only be shown, such as a call of Python, is an error.
  CodePrinter(std::vector<fc::Value>& constants, Dependencies& dependencies, bool importable);
  void function(const Function& f);  // with the type of its first parameter
  void method(const Function& f);    // without: it is self's
  void type(TypeRef t);              // its declaration, with its methods

  struct Mark {
    size_t offset;  // from here on the text comes from
    SourceRange range;
  };
  const std::string& text() const { return text_; }
  const std::vector<Mark>& marks() const { return marks_; }

 private:
  friend class BodyPrinter;
  void definition(const Function& f, size_t level, bool typed_self);
  void class_declaration(TypeRef t);
  std::string constant(const fc::Value& v);
  std::string name_of_type(TypeRef t);

  std::vector<fc::Value>& constants_;
  Dependencies& dependencies_;
  const bool importable_;
  std::string text_;
  std::vector<Mark> marks_;
  std::unordered_map<std::string, size_t> next_id_;  // of names that were taken
};

bool is_identifier(std::string_view name);

// A function or method alone, to be shown, with the constants that its text names.
struct ShownCode {
  std::string text;
  std::vector<fc::Value> constants;
};
ShownCode code_of(const Function& f, bool is_method);

}  // namespace fc::jit
