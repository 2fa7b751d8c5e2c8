// SPDX-License-Identifier: Apache-2.0
// Operators on strings. They are bytes here, as in PyTorch: letters are ASCII's.
#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "core/type.h"
#include "jit/ir/value_text.h"
#include "jit/ops/script_ops.h"

namespace fc::jit {
namespace {

#define KERNEL(name) void name(void*, const Operator&, [[maybe_unused]] const Arg* a, [[maybe_unused]] fc::Value* r)

using Text = std::string_view;
fc::Value text(const std::string& s) { return fc::Value(Text(s)); }
fc::Value texts(std::vector<std::string> parts) {
  std::vector<fc::Value> out;
  for (const std::string& p : parts) out.push_back(text(p));
  return list_value(simple_type(TypeKind::String), std::move(out));
}

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_alpha(char c) { return is_lower(c) || is_upper(c); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_alnum(char c) { return is_alpha(c) || is_digit(c); }
bool is_space(char c) { return Text(" \n\t\f\v\r").find(c) != Text::npos; }
bool is_print(char c) { return static_cast<unsigned char>(c) >= 0x20 && static_cast<unsigned char>(c) < 0x7f; }
char lowered(char c) { return is_upper(c) ? static_cast<char>(c + 32) : c; }
char raised(char c) { return is_lower(c) ? static_cast<char>(c - 32) : c; }

template <bool (*test)(char)>
KERNEL(all_are) {
  const Text s = a[0].text();
  r[0] = !s.empty() && std::all_of(s.begin(), s.end(), test);
}
KERNEL(is_printable) { r[0] = std::all_of(a[0].text().begin(), a[0].text().end(), is_print); }
KERNEL(is_lowercase) {
  const Text s = a[0].text();
  r[0] = std::any_of(s.begin(), s.end(), is_lower) && std::none_of(s.begin(), s.end(), is_upper);
}
KERNEL(is_uppercase) {
  const Text s = a[0].text();
  r[0] = std::any_of(s.begin(), s.end(), is_upper) && std::none_of(s.begin(), s.end(), is_lower);
}
KERNEL(is_identifier) {
  const Text s = a[0].text();
  r[0] =
      !s.empty() && !is_digit(s[0]) && std::all_of(s.begin(), s.end(), [](char c) { return is_alnum(c) || c == '_'; });
}
KERNEL(is_title) {
  bool any = false, fits = true, before = false;
  for (const char c : a[0].text()) {
    if (is_upper(c)) fits = fits && !before;
    else if (is_lower(c)) fits = fits && before;
    before = is_alpha(c);
    any = any || before;
  }
  r[0] = any && fits;
}

template <char (*change)(char)>
KERNEL(mapped) {
  std::string s(a[0].text());
  std::transform(s.begin(), s.end(), s.begin(), change);
  r[0] = text(s);
}
char swapped(char c) { return is_lower(c) ? raised(c) : lowered(c); }
KERNEL(capitalize) {
  std::string s(a[0].text());
  for (size_t i = 0; i < s.size(); ++i) s[i] = i ? lowered(s[i]) : raised(s[i]);
  r[0] = text(s);
}
KERNEL(title) {
  std::string s(a[0].text());
  bool before = false;
  for (char& c : s) {
    c = before ? lowered(c) : raised(c);
    before = is_alpha(c);
  }
  r[0] = text(s);
}

std::string padding(int64_t width, size_t have, Text fill) {
  FC_CHECK_AS(TypeError, fill.size() == 1, "The fill character must be exactly one character long");
  FC_CHECK(width < int64_t{1} << 32, "a string of ", width, " characters");
  return std::string(width > static_cast<int64_t>(have) ? static_cast<size_t>(width) - have : 0, fill[0]);
}
KERNEL(ljust) { r[0] = text(std::string(a[0].text()) + padding(a[1].integer(), a[0].text().size(), a[2].text())); }
KERNEL(rjust) { r[0] = text(padding(a[1].integer(), a[0].text().size(), a[2].text()) + std::string(a[0].text())); }
KERNEL(center) {
  const std::string pad = padding(a[1].integer(), a[0].text().size(), a[2].text());
  const size_t left =
      pad.size() / 2 + (pad.size() & static_cast<size_t>(a[1].integer()) & 1);  // as Python shares it out
  r[0] = text(pad.substr(0, left) + std::string(a[0].text()) + pad.substr(left));
}
KERNEL(zfill) {
  std::string s(a[0].text());
  const std::string pad = padding(a[1].integer(), s.size(), "0");
  s.insert(!s.empty() && (s[0] == '+' || s[0] == '-') ? 1 : 0, pad);
  r[0] = text(s);
}
KERNEL(expand_tabs) {
  const int64_t size = a[1].integer();
  FC_CHECK(size < int64_t{1} << 20, "tabs of ", size, " columns");
  std::string out;
  int64_t column = 0;
  for (const char c : a[0].text()) {
    if (c == '\t') {
      if (size > 0) {
        const int64_t n = size - column % size;
        out.append(static_cast<size_t>(n), ' ');
        column += n;
      }
    } else {
      out += c;
      column = c == '\n' || c == '\r' ? 0 : column + 1;
    }
  }
  r[0] = text(out);
}

template <bool left, bool right>
KERNEL(strip) {
  Text s = a[0].text();
  const Text chars = a[1].text();
  auto drop = [&](char c) { return chars.find(c) != Text::npos; };
  if (left)
    while (!s.empty() && drop(s.front())) s.remove_prefix(1);
  if (right)
    while (!s.empty() && drop(s.back())) s.remove_suffix(1);
  r[0] = fc::Value(s);
}

// The part from start to end, as Python's find; -1 as end is the end, as PyTorch has it by default.
struct Part {
  Text text;
  size_t from;
};
Part part(const Arg* a) {
  const Text s = a[0].text();
  const auto n = static_cast<int64_t>(s.size());
  int64_t start = a[2].integer(), end = a[3].integer();
  if (start < 0) start = std::max<int64_t>(0, n + start);
  if (end < 0) end = std::max<int64_t>(0, n + 1 + end);
  end = std::min(end, n);
  if (start > end) return {Text(), Text::npos};
  return {s.substr(static_cast<size_t>(start), static_cast<size_t>(end - start)), static_cast<size_t>(start)};
}
int64_t found(const Arg* a, bool last) {
  const Part p = part(a);
  if (p.from == Text::npos) return -1;
  const size_t at = last ? p.text.rfind(a[1].text()) : p.text.find(a[1].text());
  return at == Text::npos ? -1 : static_cast<int64_t>(at + p.from);
}
template <bool last>
KERNEL(find) {
  r[0] = found(a, last);
}
template <bool last>
KERNEL(index) {
  const int64_t at = found(a, last);
  FC_CHECK_AS(ValueError, at >= 0, "ValueError: substring not found");
  r[0] = at;
}
KERNEL(count) {
  const Part p = part(a);
  const Text what = a[1].text();
  int64_t n = 0;
  if (p.from == Text::npos) n = 0;
  else if (what.empty()) n = static_cast<int64_t>(p.text.size()) + 1;
  else
    for (size_t at = p.text.find(what); at != Text::npos; at = p.text.find(what, at + what.size())) ++n;
  r[0] = n;
}
KERNEL(starts_with) { r[0] = part(a).from != Text::npos && part(a).text.starts_with(a[1].text()); }
KERNEL(ends_with) { r[0] = part(a).from != Text::npos && part(a).text.ends_with(a[1].text()); }
KERNEL(replace) {
  const Text old = a[1].text(), fresh = a[2].text();
  Text s = a[0].text();
  int64_t left = a[3].integer();
  std::string out;
  if (old.empty()) {
    for (const char c : s) {
      if (left-- != 0) out += fresh;
      else left = 0;
      out += c;
    }
    if (left != 0) out += fresh;
  } else {
    for (size_t at; left != 0 && (at = s.find(old)) != Text::npos; --left) {
      out += s.substr(0, at);
      out += fresh;
      s.remove_prefix(at + old.size());
    }
    out += s;
  }
  r[0] = text(out);
}

std::vector<std::string> split_at_spaces(Text s, int64_t max) {
  std::vector<std::string> out;
  for (;;) {
    while (!s.empty() && is_space(s.front())) s.remove_prefix(1);
    if (s.empty()) return out;
    if (max-- == 0) {
      while (is_space(s.back())) s.remove_suffix(1);
      out.emplace_back(s);
      return out;
    }
    const size_t n = static_cast<size_t>(std::find_if(s.begin(), s.end(), is_space) - s.begin());
    out.emplace_back(s.substr(0, n));
    s.remove_prefix(n);
  }
}
KERNEL(split) {
  Text s = a[0].text();
  int64_t max = a[2].integer();
  if (a[1].is_none()) {
    r[0] = texts(split_at_spaces(s, max));
    return;
  }
  const Text by = a[1].text();
  FC_CHECK_AS(ValueError, !by.empty(), "ValueError: empty separator");
  std::vector<std::string> out;
  for (size_t at; max != 0 && (at = s.find(by)) != Text::npos; --max) {
    out.emplace_back(s.substr(0, at));
    s.remove_prefix(at + by.size());
  }
  out.emplace_back(s);
  r[0] = texts(std::move(out));
}
KERNEL(rsplit) {
  Text s = a[0].text();
  const Text by = a[1].text();
  FC_CHECK_AS(ValueError, !by.empty(), "ValueError: empty separator");
  std::vector<std::string> out;
  int64_t max = a[2].integer();
  for (size_t at; max != 0 && (at = s.rfind(by)) != Text::npos; --max) {
    out.emplace_back(s.substr(at + by.size()));
    s = s.substr(0, at);
  }
  out.emplace_back(s);
  std::reverse(out.begin(), out.end());
  r[0] = texts(std::move(out));
}
KERNEL(split_lines) {
  const Text s = a[0].text();
  const bool keep = a[1].boolean();
  std::vector<std::string> out;
  for (size_t from = 0; from < s.size();) {
    size_t end = s.find_first_of("\n\r\v\f\x1c\x1d\x1e", from);
    if (end == Text::npos) end = s.size();
    const size_t next = end == s.size() ? end : end + (s.substr(end, 2) == "\r\n" ? 2 : 1);
    out.emplace_back(s.substr(from, (keep ? next : end) - from));
    from = next;
  }
  r[0] = texts(std::move(out));
}
template <bool last>
KERNEL(partition) {
  const Text s = a[0].text(), by = a[1].text();
  FC_CHECK_AS(ValueError, !by.empty(), "ValueError: empty separator");
  const size_t at = last ? s.rfind(by) : s.find(by);
  const bool there = at != Text::npos;
  r[0] = fc::Value(there ? s.substr(0, at) : last ? Text() : s);
  r[1] = fc::Value(there ? by : Text());
  r[2] = fc::Value(there ? s.substr(at + by.size()) : last ? s : Text());
}
KERNEL(join) {
  std::string out;
  const auto& values = list_of(held(a[1])).items;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i) out += a[0].text();
    out += values[i].arg().text();
  }
  r[0] = text(out);
}

KERNEL(length) { r[0] = static_cast<int64_t>(a[0].text().size()); }
KERNEL(get) {
  r[0] = fc::Value(a[0].text().substr(
      static_cast<size_t>(place(a[1].integer(), a[0].text().size(), "string index out of range")), 1));
}
KERNEL(slice) {
  const Text s = a[0].text();
  const Slice part = slice_of(static_cast<int64_t>(s.size()), a[1], a[2], a[3]);
  std::string out;
  for (int64_t k = 0; k < part.count; ++k) out += s[static_cast<size_t>(part.start + k * part.step)];
  r[0] = text(out);
}
KERNEL(letters) {
  std::vector<std::string> out;
  for (const char c : a[0].text()) out.emplace_back(1, c);
  r[0] = texts(std::move(out));
}
KERNEL(add) { r[0] = text(std::string(a[0].text()) + std::string(a[1].text())); }
#define COMPARE(name, op) \
  KERNEL(name) { r[0] = a[0].text() op a[1].text(); }
COMPARE(eq, ==)
COMPARE(ne, !=)
COMPARE(lt, <)
COMPARE(le, <=)
COMPARE(gt, >)
COMPARE(ge, >=)
#undef COMPARE

KERNEL(ord) {
  const Text s = a[0].text();
  FC_CHECK_AS(TypeError, s.size() == 1, "String for ord() must be 1 character, found ", s.size());
  r[0] = static_cast<int64_t>(static_cast<unsigned char>(s[0]));
}
KERNEL(chr) {
  const int64_t c = a[0].integer();
  FC_CHECK_AS(ValueError, c >= 0 && c <= 255, "chr() argument ", c, " is not in range(256)");
  r[0] = text(std::string(1, static_cast<char>(c)));
}
std::string in_base(int64_t v, int base, Text prefix) {
  char digits[66];
  const uint64_t size = v < 0 ? -static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
  const auto end = std::to_chars(digits, digits + sizeof digits, size, base).ptr;
  return str(v < 0 ? "-" : "", prefix, Text(digits, static_cast<size_t>(end - digits)));
}
KERNEL(bin) { r[0] = text(in_base(a[0].integer(), 2, "0b")); }
KERNEL(oct) { r[0] = text(in_base(a[0].integer(), 8, "0o")); }
KERNEL(hex) { r[0] = text(in_base(a[0].integer(), 16, "0x")); }
KERNEL(int_of) {
  const std::string s(a[0].text());
  Text t = s;
  while (!t.empty() && is_space(t.front())) t.remove_prefix(1);
  while (!t.empty() && is_space(t.back())) t.remove_suffix(1);
  const bool plus = t.starts_with('+');
  int64_t v = 0;
  const auto [end, ec] = std::from_chars(t.data() + plus, t.data() + t.size(), v);
  FC_CHECK_AS(ValueError, ec == std::errc{} && end == t.data() + t.size(), "invalid literal for int() with base 10: '",
              s, "'");
  r[0] = v;
}
KERNEL(float_of) {
  const std::string s(a[0].text());
  char* end = nullptr;
  const double v = std::strtod(s.c_str(), &end);
  while (*end && is_space(*end)) ++end;
  FC_CHECK_AS(ValueError, end != s.c_str() && *end == 0, "could not convert string to float: '", s, "'");
  r[0] = v;
}
KERNEL(shown) {
  const fc::Value v = value_of(a[0]);
  r[0] = v.tag() == Tag::String ? v : text(printed_text(v));
}

constexpr ScriptRow rows[] = {
    {"aten::isalpha(str self) -> bool", all_are<is_alpha>},
    {"aten::isalnum(str self) -> bool", all_are<is_alnum>},
    {"aten::isdigit(str self) -> bool", all_are<is_digit>},
    {"aten::isdecimal(str self) -> bool", all_are<is_digit>},
    {"aten::isnumeric(str self) -> bool", all_are<is_digit>},
    {"aten::isspace(str self) -> bool", all_are<is_space>},
    {"aten::isprintable(str self) -> bool", is_printable},
    {"aten::islower(str self) -> bool", is_lowercase},
    {"aten::isupper(str self) -> bool", is_uppercase},
    {"aten::isidentifier(str self) -> bool", is_identifier},
    {"aten::istitle(str self) -> bool", is_title},
    {"aten::lower(str self) -> str", mapped<lowered>},
    {"aten::upper(str self) -> str", mapped<raised>},
    {"aten::swapcase(str self) -> str", mapped<swapped>},
    {"aten::capitalize(str self) -> str", capitalize},
    {"aten::title(str self) -> str", title},
    {"aten::ljust(str self, int width, str fillchar=\" \") -> str", ljust},
    {"aten::rjust(str self, int width, str fillchar=\" \") -> str", rjust},
    {"aten::center(str self, int width, str fillchar=\" \") -> str", center},
    {"aten::zfill(str self, int width) -> str", zfill},
    {"aten::expandtabs(str self, int tabsize=8) -> str", expand_tabs},
    {"aten::strip(str self, str chars=\" \\n\\t\\f\\v\") -> str", strip<true, true>},
    {"aten::lstrip(str self, str chars=\" \\n\\t\\f\\v\") -> str", strip<true, false>},
    {"aten::rstrip(str self, str chars=\" \\n\\t\\f\\v\") -> str", strip<false, true>},
    {"aten::find(str self, str substr, int start=0, int end=-1) -> int", find<false>},
    {"aten::rfind(str self, str substr, int start=0, int end=-1) -> int", find<true>},
    {"aten::index.str(str self, str substr, int start=0, int end=-1) -> int", index<false>},
    {"aten::rindex(str self, str substr, int start=0, int end=-1) -> int", index<true>},
    {"aten::count(str self, str substr, int start=0, int end=-1) -> int", count},
    {"aten::startswith(str self, str substr, int start=0, int end=-1) -> bool", starts_with},
    {"aten::endswith(str self, str substr, int start=0, int end=-1) -> bool", ends_with},
    {"aten::replace(str self, str old, str new, int max=-1) -> str", replace},
    {"aten::split.str(str self, str? separator=None, int max=-1) -> str[]", split},
    {"aten::rsplit(str self, str separator=\" \", int max=-1) -> str[]", rsplit},
    {"aten::splitlines(str self, bool keepends=False) -> str[]", split_lines},
    {"aten::partition(str self, str separator) -> (str, str, str)", partition<false>},
    {"aten::rpartition(str self, str separator) -> (str, str, str)", partition<true>},
    {"aten::join(str self, str[] values) -> str", join},
    {"aten::len.str(str s) -> int", length},
    {"aten::__getitem__.str(str s, int index) -> str", get},
    {"prim::StringIndex(str string, int index) -> str", get},
    {"aten::slice.str(str string, int? start=None, int? end=None, int step=1) -> str", slice},
    {"aten::list(str t) -> str[]", letters},
    {"aten::add.str(str a, str b) -> str", add},
    {"aten::eq.str(str a, str b) -> bool", eq},
    {"aten::ne.str(str a, str b) -> bool", ne},
    {"aten::lt.str(str a, str b) -> bool", lt},
    {"aten::le.str(str a, str b) -> bool", le},
    {"aten::gt.str(str a, str b) -> bool", gt},
    {"aten::ge.str(str a, str b) -> bool", ge},
    {"aten::ord(str string) -> int", ord},
    {"aten::chr(int i) -> str", chr},
    {"aten::bin(int i) -> str", bin},
    {"aten::oct(int i) -> str", oct},
    {"aten::hex(int i) -> str", hex},
    {"aten::Int.str(str a) -> int", int_of},
    {"aten::Float.str(str a) -> float", float_of},
    {"aten::str(t elem) -> str", shown},
};

}  // namespace

void define_string_operators() { define_rows(rows); }

}  // namespace fc::jit
