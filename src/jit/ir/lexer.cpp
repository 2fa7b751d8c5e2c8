// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/lexer.h"

#include "core/error.h"
#include "jit/ir/parse.h"

namespace fc::jit {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

void Lexer::jump(size_t to) {
  end_ = to;
  next();
}

void Lexer::next() {
  size_t i = end_;
  const size_t n = text_.size();
  for (;;) {
    while (i < n && (text_[i] == ' ' || text_[i] == '\t' || text_[i] == '\n' || text_[i] == '\r')) ++i;
    if (i >= n || text_[i] != '#') break;
    while (i < n && text_[i] != '\n') ++i;
  }
  begin_ = i;
  if (i >= n) {
    kind_ = Token::End;
  } else if (is_letter(text_[i])) {
    while (i < n && (is_letter(text_[i]) || is_digit(text_[i]))) ++i;
    kind_ = Token::Name;
  } else if (is_digit(text_[i]) || (text_[i] == '.' && i + 1 < n && is_digit(text_[i + 1]))) {
    // 12, 1.5, 3., 1e-05; not the letters behind, so that 2j is a number and a name
    while (i < n && is_digit(text_[i])) ++i;
    if (i < n && text_[i] == '.') {
      ++i;
      while (i < n && is_digit(text_[i])) ++i;
    }
    if (i < n && (text_[i] == 'e' || text_[i] == 'E')) {
      size_t k = i + 1;
      if (k < n && (text_[k] == '+' || text_[k] == '-')) ++k;
      if (k < n && is_digit(text_[k])) {
        while (k < n && is_digit(text_[k])) ++k;
        i = k;
      }
    }
    kind_ = Token::Number;
  } else if (text_[i] == '"' || text_[i] == '\'') {
    const char quote = text_[i++];
    while (i < n && text_[i] != quote) {
      if (text_[i] == '\n') break;
      i += text_[i] == '\\' ? 2 : 1;
    }
    if (i >= n || text_[i] != quote) {
      end_ = std::min(i, n);
      fail("the string does not end on its line");
    }
    ++i;
    kind_ = Token::String;
  } else {
    kind_ = Token::Sign;
    const std::string_view two = text_.substr(i, 2);
    i += two == "::" || two == "->" ? 2 : 1;
  }
  end_ = i;
}

void Lexer::expect(std::string_view w) {
  if (!is(w))
    fail(str("expected ", w, " but found ", kind_ == Token::End ? "the end" : str("'", word(), "'"), " here"));
  next();
}

std::string Lexer::expect_name() {
  if (kind_ != Token::Name)
    fail(str("expected a name but found ", kind_ == Token::End ? "the end" : str("'", word(), "'"), " here"));
  std::string out(word());
  next();
  return out;
}

std::string Lexer::string_value() const {
  std::string_view in = word().substr(1, word().size() - 2);
  std::string out;
  for (size_t i = 0; i < in.size(); ++i) {
    if (in[i] != '\\') {
      out += in[i];
      continue;
    }
    constexpr std::string_view letters = "\\'\"abfnrtv\n", values = "\\'\"\a\b\f\n\r\t\v";
    const char c = ++i < in.size() ? in[i] : '\\';
    const auto digit = [&](size_t k) { return k < in.size() && in[k] >= '0' && in[k] <= '7'; };
    if (size_t at = letters.find(c); at < values.size()) {
      out += values[at];
    } else if (digit(i) && digit(i + 1) && digit(i + 2)) {
      out += static_cast<char>((in[i] - '0') * 64 + (in[i + 1] - '0') * 8 + (in[i + 2] - '0'));
      i += 2;
    } else if (c == 'x' && i + 2 < in.size() && std::isxdigit(static_cast<unsigned char>(in[i + 1])) &&
               std::isxdigit(static_cast<unsigned char>(in[i + 2]))) {
      out += static_cast<char>(std::stoi(std::string(in.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    } else {
      const size_t at = begin_ + i;
      fail_at({source_, at, at + 2}, "unknown escape in a string");
    }
  }
  return out;
}

std::string Lexer::rest_of_line() {
  size_t end = std::min(text_.find_first_of("#\n", begin_), text_.size());
  std::string out(text_.substr(begin_, end - begin_));
  while (!out.empty() && (out.back() == ' ' || out.back() == '\r')) out.pop_back();
  jump(end);
  return out;
}

void Lexer::fail_at(const SourceRange& where, const std::string& what) const {
  const size_t at = std::min(where.begin, text_.size());
  const size_t line = source_->line_of(at);
  raise<ParseError>("line ", line + 1, ", column ", at - source_->line_begin(line) + 1, ": ", what, "\n",
                    where.highlight());
}

}  // namespace fc::jit
