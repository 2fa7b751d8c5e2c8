// SPDX-License-Identifier: Apache-2.0
// The table behind HashStore and the TCP server: keys with values, and queues. Not locked: its owner is.
#pragma once
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "distributed/store.h"

namespace fc::distributed {

class KeyTable {
 public:
  void set(const std::string& key, const std::string& value) { values_[key] = value; }
  const std::string* find(const std::string& key) const;
  int64_t add(const std::string& key, int64_t amount);  // throws ValueError where the value is no number
  std::string compare_set(const std::string& key, const std::string& expected, const std::string& desired);
  bool remove(const std::string& key) { return values_.erase(key) + queues_.erase(key) > 0; }
  bool has(const Strings& keys) const;
  Strings missing(const Strings& keys) const;
  int64_t count() const { return static_cast<int64_t>(values_.size() + queues_.size()); }
  Strings keys() const;
  void append(const std::string& key, const std::string& value) { values_[key] += value; }
  void push(const std::string& key, const std::string& value) { queues_[key].push_back(value); }
  std::optional<std::string> pop(const std::string& key);
  int64_t length(const std::string& key) const;

 private:
  std::map<std::string, std::string> values_;
  std::map<std::string, std::deque<std::string>> queues_;  // none is empty
};

int64_t number_in(const std::string& key, const std::string& value);  // of `add`; throws ValueError
std::string key_list(const Strings& keys);                            // "'a', 'b' and 3 others", for errors

}  // namespace fc::distributed
