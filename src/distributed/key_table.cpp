// SPDX-License-Identifier: Apache-2.0
#include "distributed/key_table.h"

#include <algorithm>
#include <charconv>

namespace fc::distributed {

int64_t number_in(const std::string& key, const std::string& value) {
  int64_t number = 0;
  auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  FC_CHECK_AS(ValueError, error == std::errc() && end == value.data() + value.size(), "store.add: the value of '", key,
              "' is no number");
  return number;
}

std::string key_list(const Strings& keys) {
  std::string text;
  const size_t shown = std::min<size_t>(keys.size(), 4);
  for (size_t i = 0; i < shown; ++i) text += (i ? ", '" : "'") + keys[i] + "'";
  if (keys.size() > shown) text += str(" and ", keys.size() - shown, " others");
  return text;
}

const std::string* KeyTable::find(const std::string& key) const {
  auto at = values_.find(key);
  return at == values_.end() ? nullptr : &at->second;
}

int64_t KeyTable::add(const std::string& key, int64_t amount) {
  const std::string* old = find(key);
  int64_t sum = 0;
  FC_CHECK_AS(ValueError, !__builtin_add_overflow(old ? number_in(key, *old) : 0, amount, &sum),
              "store.add: the sum of '", key, "' does not fit into 64 bits");
  values_[key] = std::to_string(sum);
  return sum;
}

std::string KeyTable::compare_set(const std::string& key, const std::string& expected, const std::string& desired) {
  const std::string* old = find(key);
  if (old ? *old == expected : expected.empty()) return values_[key] = desired;
  return old ? *old : expected;
}

bool KeyTable::has(const Strings& keys) const {
  return std::all_of(keys.begin(), keys.end(), [&](auto& k) { return values_.contains(k) || queues_.contains(k); });
}

Strings KeyTable::missing(const Strings& keys) const {
  Strings out;
  for (auto& k : keys)
    if (!has({k})) out.push_back(k);
  return out;
}

Strings KeyTable::keys() const {
  Strings out;
  for (auto& [key, value] : values_) out.push_back(key);
  for (auto& [key, queue] : queues_) out.push_back(key);
  return out;
}

std::optional<std::string> KeyTable::pop(const std::string& key) {
  auto at = queues_.find(key);
  if (at == queues_.end()) return {};
  std::string value = std::move(at->second.front());
  at->second.pop_front();
  if (at->second.empty()) queues_.erase(at);
  return value;
}

int64_t KeyTable::length(const std::string& key) const {
  auto at = queues_.find(key);
  return at == queues_.end() ? 0 : static_cast<int64_t>(at->second.size());
}

}  // namespace fc::distributed
