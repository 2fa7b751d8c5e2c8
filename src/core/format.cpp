// SPDX-License-Identifier: Apache-2.0
#include "core/format.h"

#include <charconv>
#include <cmath>

namespace fc {

void append_int(std::string& out, int64_t v) {
  char buf[24];
  out.append(buf, std::to_chars(buf, buf + sizeof buf, v).ptr);
}

void append_uint(std::string& out, uint64_t v) {
  char buf[24];
  out.append(buf, std::to_chars(buf, buf + sizeof buf, v).ptr);
}

void append_double(std::string& out, double v) {
  if (std::isnan(v)) {
    out += "nan";
    return;
  }
  char buf[32];
  const char* end = std::to_chars(buf, buf + sizeof buf, v).ptr;
  std::string_view text(buf, static_cast<size_t>(end - buf));
  out += text;
  if (text.find_first_of(".einf") == text.npos) out += ".0";
}

void append_ints(std::string& out, std::span<const int64_t> v) {
  out += '[';
  for (size_t i = 0; i < v.size(); ++i) {
    if (i) out += ", ";
    append_int(out, v[i]);
  }
  out += ']';
}

}  // namespace fc
