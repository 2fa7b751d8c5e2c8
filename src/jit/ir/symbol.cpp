// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/symbol.h"

#include <deque>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>

namespace fc::jit {
namespace {

struct Table {
  std::shared_mutex lock;
  std::unordered_map<std::string_view, const SymbolEntry*> entries;
  std::deque<std::string> texts;  // of what no .def names
  std::deque<SymbolEntry> made;
  Table() {
#define SYMBOL(space, name) add(space##_##name);
#include "jit/ir/symbols.def"
#undef SYMBOL
  }
  void add(const SymbolEntry& e) { entries.emplace(e.text, &e); }
};
Table& table() {
  static auto* t = new Table;  // outlives whoever asks at exit
  return *t;
}

}  // namespace

Symbol Symbol::of(std::string_view text) {
  Table& t = table();
  {
    std::shared_lock read(t.lock);
    if (auto found = t.entries.find(text); found != t.entries.end()) return *found->second;
  }
  std::unique_lock write(t.lock);
  if (auto found = t.entries.find(text); found != t.entries.end()) return *found->second;
  const std::string& kept = t.texts.emplace_back(text);
  const size_t split = kept.find("::");
  const uint32_t name = split == std::string::npos ? 0 : static_cast<uint32_t>(split + 2);
  const SymbolEntry& entry = t.made.emplace_back(SymbolEntry{kept, name, detail::hash_of(kept)});
  t.add(entry);
  return entry;
}

}  // namespace fc::jit
