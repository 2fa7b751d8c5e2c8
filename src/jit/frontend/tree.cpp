// SPDX-License-Identifier: Apache-2.0
#include "jit/frontend/tree.h"

#include <algorithm>
#include <utility>

#include "jit/frontend/error.h"

namespace fc::jit {
namespace {

constexpr std::string_view texts[] = {
#define KIND(name, text) text,
#include "jit/frontend/kinds.def"
#undef KIND
};

constexpr size_t kWidth = 40;

size_t flat_length(const Tree& t) {  // of what flat() writes
  if (t.is(Syntax::String)) return t.text().size();
  size_t n = 2 + to_string(t.kind()).size();
  for (const TreeRef& p : t.parts()) n += 1 + flat_length(*p);
  return n;
}
void flat(const Tree& t, std::string& out) {
  if (t.is(Syntax::String)) {
    out += t.text();
    return;
  }
  out += '(';
  out += to_string(t.kind());
  for (const TreeRef& p : t.parts()) {
    out += ' ';
    flat(*p, out);
  }
  out += ')';
}
// Whether it takes fewer than `room` characters; looks no further than that.
bool fits(const Tree& t, size_t& room) {
  const size_t own = t.is(Syntax::String) ? t.text().size() : 2 + to_string(t.kind()).size();
  if (own >= room) return false;
  room -= own;
  for (const TreeRef& p : t.parts()) {
    if (room-- <= 1 || !fits(*p, room)) return false;
  }
  return true;
}
void pretty(const Tree& t, size_t indent, std::string& out) {
  size_t room = indent < kWidth ? kWidth - indent : 0;
  if (t.is(Syntax::String) || fits(t, room)) return flat(t, out);
  out += '(';
  out += to_string(t.kind());
  for (const TreeRef& p : t.parts()) {
    out += '\n';
    out.append(indent + 2, ' ');
    pretty(*p, indent + 2, out);
  }
  out += ')';
}

}  // namespace

std::string_view to_string(Syntax k) { return texts[static_cast<size_t>(k)]; }

Syntax operator_kind(std::string_view sign) {
  using enum Syntax;
  constexpr std::pair<std::string_view, Syntax> signs[] = {
      {"+", Add},  {"-", Sub},    {"*", Mul},   {"/", Div},    {"%", Mod},     {"@", MatMul},  {"//", FloorDiv},
      {"**", Pow}, {"&", BitAnd}, {"|", BitOr}, {"^", BitXor}, {"<<", LShift}, {">>", RShift}, {"==", Eq},
      {"!=", Ne},  {"<", Lt},     {">", Gt},    {"<=", Le},    {">=", Ge},     {"is", Is},     {"is not", IsNot},
      {"in", In},  {"and", And},  {"or", Or},   {"not", Not},  {"~", Invert},
  };
  const auto* found = std::ranges::find(signs, sign, &std::pair<std::string_view, Syntax>::first);
  return found == std::end(signs) ? String : found->second;
}

TreeRef Tree::make(Syntax kind, SourceRange range, std::vector<TreeRef> parts) {
  Ref<Tree> t = make_ref<Tree>();
  t->kind_ = kind;
  for (const TreeRef& p : parts) {
    t->depth_ = std::max(t->depth_, p->depth_ + 1);
    if (p->is(Syntax::String)) continue;
    range.begin = std::min(range.begin, p->range().begin);
    range.end = std::max(range.end, p->range().end);
  }
  t->range_ = std::move(range);
  t->parts_ = std::move(parts);
  if (t->depth_ > kMaxDepth) fail(t->range_, "Expressions and statements nested more than ", kMaxDepth, " deep");
  return t;
}

TreeRef Tree::string(std::string text) {
  Ref<Tree> t = make_ref<Tree>();
  t->text_ = std::move(text);
  return t;
}

TreeRef Tree::option(SourceRange range, TreeRef part) {
  std::vector<TreeRef> parts;
  if (part) parts.push_back(std::move(part));
  return make(Syntax::Option, std::move(range), std::move(parts));
}

const std::string& Tree::name() const {
  const Tree* t = this;
  while (!t->is(Syntax::String)) t = &t->part(0);
  return t->text();
}

std::string Tree::print() const {
  std::string out;
  out.reserve(flat_length(*this));
  pretty(*this, 0, out);
  return out;
}

}  // namespace fc::jit
