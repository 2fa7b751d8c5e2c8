// SPDX-License-Identifier: Apache-2.0
#include "jit/ops/script_ops.h"

#include <algorithm>
#include <mutex>

namespace fc::jit {

void define_script_operators() {
  static std::once_flag once;
  std::call_once(once, [] {
    define_number_operators();
    define_list_operators();
    define_dict_operators();
    define_string_operators();
    define_tensor_fact_operators();
    define_tensor_operators();
    define_layer_operators();
  });
}

void define_rows(std::span<const ScriptRow> rows) {
  for (const ScriptRow& row : rows) define_hidden(row.schema).set_all_devices({row.run, nullptr});
}

Slice slice_of(int64_t n, const Arg& start, const Arg& end, const Arg& step) {
  const int64_t by = step.integer();
  FC_CHECK_AS(ValueError, by != 0, "slice step cannot be zero");
  auto bound = [&](const Arg& a, int64_t absent) {
    if (a.is_none()) return absent;
    int64_t v = a.integer();
    if (v < 0) v = v < -n ? -1 : v + n;
    return by > 0 ? std::clamp<int64_t>(v, 0, n) : std::clamp<int64_t>(v, -1, n - 1);
  };
  const int64_t from = bound(start, by > 0 ? 0 : n - 1), to = bound(end, by > 0 ? n : -1);
  const int64_t distance = by > 0 ? to - from : from - to;
  if (distance <= 0) return {from, by, 0};
  const uint64_t stride = by > 0 ? static_cast<uint64_t>(by) : -static_cast<uint64_t>(by);
  return {from, by, static_cast<int64_t>((static_cast<uint64_t>(distance) - 1) / stride + 1)};
}

int64_t place(int64_t i, size_t n, const char* what) {
  const int64_t at = i < 0 ? i + static_cast<int64_t>(n) : i;
  if (at < 0 || at >= static_cast<int64_t>(n)) raise<IndexError>(what);
  return at;
}

}  // namespace fc::jit
