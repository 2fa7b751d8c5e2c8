// SPDX-License-Identifier: Apache-2.0
// Text out of parts: str("mul: expected ", n, " got ", sizes). g++ 12 has no std::format, and a stream header
// costs more to compile than this whole library's messages are worth.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace fc {

void append_int(std::string& out, int64_t v);
void append_uint(std::string& out, uint64_t v);
void append_double(std::string& out, double v);                  // shortest text that reads back to the same number
void append_ints(std::string& out, std::span<const int64_t> v);  // [1, 2, 3]

template <class T>
void append(std::string& out, const T& v) {
  if constexpr (std::is_same_v<T, bool>) {
    out += v ? "True" : "False";
  } else if constexpr (std::is_same_v<T, char>) {
    out += v;
  } else if constexpr (std::is_integral_v<T>) {
    if constexpr (std::is_signed_v<T>) append_int(out, v);
    else append_uint(out, v);
  } else if constexpr (std::is_floating_point_v<T>) {
    append_double(out, static_cast<double>(v));
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    out += std::string_view(v);
  } else if constexpr (std::is_convertible_v<const T&, std::span<const int64_t>>) {
    append_ints(out, v);
  } else {
    out += to_string(v);  // found by argument-dependent lookup
  }
}

template <class... Parts>
std::string str(const Parts&... parts) {
  std::string out;
  (append(out, parts), ...);
  return out;
}

}  // namespace fc
