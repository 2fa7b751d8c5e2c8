// SPDX-License-Identifier: Apache-2.0
// What a source says, as a tree: made from Python's own (bindings) or from text (parser.h), read by emit.h.
//
//   return x + 1      (return (+ (variable (ident x)) (const 1)))
//
// A tree is immutable and counted. Its place in the source covers that of its parts. Depth is bounded where a tree is
// made, so whoever walks one may recurse. Any thread may read.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ref.h"
#include "jit/ir/range.h"

namespace fc::jit {

enum class Syntax : uint8_t {
#define KIND(name, text) name,
#include "jit/frontend/kinds.def"
#undef KIND
};
std::string_view to_string(Syntax k);
// The kind that an operator's sign names: "+", "//", "and", "==", "is not"; String: none.
Syntax operator_kind(std::string_view sign);

class Tree;
using TreeRef = Ref<const Tree>;

class Tree final : public RefCounted {
 public:
  static constexpr uint32_t kMaxDepth = 1000;

  // `range` is widened to cover the parts. Throws a located Error where parts nest too deep.
  static TreeRef make(Syntax kind, SourceRange range, std::vector<TreeRef> parts = {});
  static TreeRef string(std::string text);  // an atom
  static TreeRef ident(SourceRange range, std::string name) { return make(Syntax::Ident, range, {string(name)}); }
  static TreeRef list(SourceRange range, std::vector<TreeRef> parts) {
    return make(Syntax::List, std::move(range), std::move(parts));
  }
  static TreeRef option(SourceRange range, TreeRef part);  // null: none

  Syntax kind() const { return kind_; }
  bool is(Syntax k) const { return kind_ == k; }
  const SourceRange& range() const { return range_; }
  const std::string& text() const { return text_; }  // of an atom
  std::span<const TreeRef> parts() const { return parts_; }
  const Tree& part(size_t i) const { return *parts_[i]; }
  size_t size() const { return parts_.size(); }
  bool empty() const { return parts_.empty(); }

  // The name of an Ident, of a Variable, of what has an Ident first.
  const std::string& name() const;
  // Of an option: its content or null.
  const Tree* content() const { return parts_.empty() ? nullptr : parts_[0].get(); }

  std::string print() const;  // PyTorch's, without the newline at its end

 private:
  template <class T, class... Args>
  friend Ref<T> fc::make_ref(Args&&...);
  Tree() = default;
  void destroy() noexcept override { delete_in_turn(this); }
  Syntax kind_ = Syntax::String;
  uint32_t depth_ = 1;
  SourceRange range_;
  std::string text_;
  std::vector<TreeRef> parts_;
};

}  // namespace fc::jit
