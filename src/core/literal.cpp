// SPDX-License-Identifier: Apache-2.0
#include "core/literal.h"

#include <cmath>
#include <cstdint>
#include <cstdio>

#include "core/format.h"

namespace fc {
namespace {
constexpr std::string_view special = "\\'\"\a\b\f\n\r\t\v", letters = "\\'\"abfnrtv";
bool is_octal(char c) { return c >= '0' && c <= '7'; }
}  // namespace

void append_number(std::string& out, double v) {
  if (std::fabs(v) < 1e10 && v == std::trunc(v)) {
    if (std::signbit(v)) out += '-';
    append_int(out, static_cast<int64_t>(std::fabs(v)));
    out += '.';
  } else {
    char text[40];
    std::snprintf(text, sizeof text, "%.17g", v);
    out += text;
  }
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (const size_t i = special.find(c); i != special.npos) {
      out += '\\';
      out += letters[i];
    } else if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else {
      out += '\\';
      for (const int shift : {6, 3, 0}) out += static_cast<char>('0' + (byte >> shift & 7));
    }
  }
  out += '"';
}

bool parse_quoted(std::string_view text, size_t& at, std::string& out) {
  const char quote = text[at++];
  for (; at < text.size() && text[at] != quote; ++at) {
    if (text[at] != '\\') {
      out += text[at];
      continue;
    }
    if (++at == text.size()) return false;
    if (const size_t i = letters.find(text[at]); i != letters.npos) {
      out += special[i];
    } else if (is_octal(text[at])) {
      int value = 0, digits = 0;
      for (; digits < 3 && at < text.size() && is_octal(text[at]); ++digits) value = value * 8 + (text[at++] - '0');
      if (value > 255) return false;
      out += static_cast<char>(value);
      --at;
    } else {
      return false;
    }
  }
  if (at == text.size()) return false;
  ++at;
  return true;
}

}  // namespace fc
