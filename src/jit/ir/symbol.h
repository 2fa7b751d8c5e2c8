// SPDX-License-Identifier: Apache-2.0
// Names of node kinds ("aten::add") and attributes ("value"), interned: within a library equal names are one address,
// for ever, so comparing is comparing pointers; the constants of symbols.def have an address in each library, for which
// the hash, then the text is compared. Any thread may make and read them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

namespace fc::jit {

struct SymbolEntry {
  std::string_view text;  // "aten::add", and of an attribute "value"
  uint32_t split;         // where the name begins
  uint32_t hash;          // of the text
};

class Symbol {
 public:
  constexpr Symbol(const SymbolEntry& e) : entry_(&e) {}
  static Symbol of(std::string_view text);  // interns

  std::string_view text() const { return entry_->text; }
  std::string_view space() const { return entry_->text.substr(0, entry_->split > 2 ? entry_->split - 2 : 0); }
  std::string_view name() const { return entry_->text.substr(entry_->split); }
  bool operator==(const Symbol& o) const {
    return entry_ == o.entry_ || (entry_->hash == o.entry_->hash && entry_->text == o.entry_->text);
  }
  size_t hash() const { return entry_->hash; }

 private:
  const SymbolEntry* entry_;
};
inline std::string_view to_string(Symbol s) { return s.text(); }

namespace detail {
constexpr uint32_t hash_of(std::string_view text) {  // FNV-1a
  uint32_t h = 2166136261u;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 16777619u;
  return h;
}
constexpr SymbolEntry qualified(std::string_view text) {
  return {text, static_cast<uint32_t>(text.find("::") + 2), hash_of(text)};
}
}  // namespace detail
#define SYMBOL(space, name) SYMBOL_IN_##space(name)
#define SYMBOL_IN_prim(name) inline constexpr SymbolEntry prim_##name = detail::qualified("prim::" #name);
#define SYMBOL_IN_aten(name) inline constexpr SymbolEntry aten_##name = detail::qualified("aten::" #name);
#define SYMBOL_IN_attr(name) inline constexpr SymbolEntry attr_##name{#name, 0, detail::hash_of(#name)};
#include "jit/ir/symbols.def"
#undef SYMBOL

// Whether a symbol is one of several: is_any(n.kind(), prim_If, prim_Loop).
template <class... S>
bool is_any(Symbol s, const S&... options) {
  return ((s == Symbol(options)) || ...);
}

}  // namespace fc::jit

template <>
struct std::hash<fc::jit::Symbol> {
  size_t operator()(fc::jit::Symbol s) const noexcept { return s.hash(); }
};
