// SPDX-License-Identifier: Apache-2.0
// Names of values. The newest owner of a name has it plain; whoever had it before becomes `base.N`, with N one above
// the last that was given for this base: renaming x, x, x gives x.1, x.3, x.5, since the number kept is already raised.
#include <algorithm>
#include <charconv>

#include "core/error.h"
#include "jit/ir/graph.h"

namespace fc::jit {
namespace {

bool all_digits(std::string_view s) { return s.find_first_not_of("0123456789") == s.npos; }

}  // namespace

bool Value::is_valid_name(std::string_view name) { return name.empty() || !all_digits(name); }

Value* Value::set_name(std::string_view wanted) {
  FC_CHECK_AS(ValueError, is_valid_name(wanted), "Invalid name: '", wanted, "': digits alone are a value's number");
  std::string name(wanted);  // it may be part of what changes
  auto& names = graph().names_;
  Value* value = this;
  // Who loses a name looks for another one, which is free.
  for (;;) {
    if (value->has_name()) {
      names.erase(value->own_name_);
      value->own_name_.clear();
    }
    if (name.empty()) return this;
    auto [place, fresh] = names.try_emplace(name, value);
    value->own_name_ = name;
    if (fresh) return this;
    Value* before = std::exchange(place->second, value);
    before->own_name_.clear();
    int64_t suffix = 1;
    std::string base = name;
    if (size_t dot = name.rfind('.'); dot != name.npos && dot + 1 < name.size()) {
      std::string_view digits = std::string_view(name).substr(dot + 1);
      int64_t own = 0;
      auto read = std::from_chars(digits.data(), digits.data() + digits.size(), own);
      if (all_digits(digits) && read.ec == std::errc() && own < INT64_MAX / 2) {
        suffix = own;
        base.resize(dot);
      }
    }
    auto& last = graph().last_suffix_;
    if (auto known = last.find(base); known != last.end()) suffix = std::max(suffix, known->second + 1);
    do name = str(base, ".", suffix++);
    while (names.contains(name));
    last[base] = suffix;
    value = before;
  }
}

Value* Value::copy_metadata(const Value& from) {
  set_type(from.type());
  if (from.has_name()) set_name(std::string(from.own_name_));
  return this;
}

}  // namespace fc::jit
