// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/symbol.h"

#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>

namespace fc::jit {
namespace {

struct Table {
  std::shared_mutex lock;
  std::unordered_map<std::string_view, const SymbolEntry*> entries;
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
  auto* kept = new std::string(text);
  size_t split = kept->find("::");
  auto* entry =
      new SymbolEntry{*kept, split == std::string::npos ? 0 : static_cast<uint32_t>(split + 2), detail::hash_of(*kept)};
  t.add(*entry);
  return *entry;
}

}  // namespace fc::jit
