// SPDX-License-Identifier: Apache-2.0
#include "jit/frontend/lexer.h"

#include <algorithm>
#include <array>

#include "jit/frontend/error.h"

namespace fc::jit {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool begins_name(char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80); }
bool in_name(char c) { return begins_name(c) || is_digit(c); }

// Longest first.
constexpr std::string_view signs[] = {
    "...", "//=", "**=", "<<=", ">>=", "->", "==", "!=", "<=", ">=", "<<", ">>", "//", "**", "+=", "-=",
    "*=",  "/=",  "%=",  "&=",  "|=",  "^=", "@=", "+",  "-",  "*",  "/",  "%",  "@",  "&",  "|",  "^",
    "~",   "<",   ">",   "=",   "(",   ")",  "[",  "]",  "{",  "}",  ",",  ":",  ";",  ".",
};
constexpr std::string_view keywords[] = {"and",    "as",   "assert", "break", "class", "continue", "def",
                                         "del",    "elif", "else",   "False", "for",   "if",       "import",
                                         "in",     "is",   "None",   "not",   "or",    "pass",     "raise",
                                         "return", "True", "while",  "with",  "global"};

}  // namespace

bool is_keyword(std::string_view name) { return std::ranges::find(keywords, name) != std::end(keywords); }

SourceLexer::SourceLexer(Ref<Source> source)
    : source_(std::move(source)), text_(source_->text()), now_(make(SourceToken::Kind::End, 0, 0)) {
  now_ = read();
}

SourceToken SourceLexer::make(SourceToken::Kind kind, size_t begin, size_t end) const {
  return {kind, SourceRange{source_, begin, end}, text_.substr(begin, end - begin)};
}

SourceToken SourceLexer::next() {
  SourceToken t = std::move(now_);
  now_ = read();
  return t;
}

void SourceLexer::unexpected(const char* wanted) const {
  const std::string what = now_.kind == SourceToken::Kind::End       ? "the end of the source"
                           : now_.kind == SourceToken::Kind::NewLine ? "the end of the line"
                           : now_.kind == SourceToken::Kind::Indent  ? "indented text"
                           : now_.kind == SourceToken::Kind::Dedent  ? "the end of the indented text"
                                                                     : str("'", now_.text, "'");
  fail(now_.range, "expected ", wanted, " but found ", what, " here");
}
SourceToken SourceLexer::expect(std::string_view text) {
  if (!now_.is(text)) unexpected(text.data());
  return next();
}
SourceToken SourceLexer::expect(SourceToken::Kind kind, const char* what) {
  if (now_.kind != kind || (kind == SourceToken::Kind::Name && is_keyword(now_.text))) unexpected(what);
  return next();
}

SourceToken SourceLexer::read_line_begin() {
  for (;;) {  // lines that say something
    size_t column = 0, begin = at_;
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) {
      column += text_[at_] == '\t' ? 8 - column % 8 : 1;
      ++at_;
    }
    if (at_ < text_.size() && text_[at_] == '#') {
      if (text_.substr(at_).starts_with("# type:")) {
        const size_t from = at_, end = std::min(text_.find('\n', at_), text_.size());
        if (column > indents_.back()) {
          indents_.push_back(column);
          at_ = begin;
          line_begins_ = true;
          SourceToken t = make(SourceToken::Kind::Indent, from, from);
          return t;
        }
        at_ = end;
        line_begins_ = false;
        return make(SourceToken::Kind::TypeComment, from, end);
      }
      at_ = std::min(text_.find('\n', at_), text_.size());
    }
    if (at_ < text_.size() && (text_[at_] == '\n' || text_[at_] == '\r')) {
      ++at_;
      continue;
    }
    if (at_ >= text_.size()) {
      column = 0;
      begin = at_;
    }
    line_begins_ = false;
    if (column > indents_.back()) {
      indents_.push_back(column);
      return make(SourceToken::Kind::Indent, at_, at_);
    }
    while (column < indents_.back()) {
      indents_.pop_back();
      ++dedents_;
    }
    if (column != indents_.back()) fail(SourceRange{source_, begin, at_}, "inconsistent indentation");
    return read();
  }
}

SourceToken SourceLexer::read() {
  if (dedents_ > 0) {
    --dedents_;
    return make(SourceToken::Kind::Dedent, at_, at_);
  }
  if (line_begins_) return read_line_begin();
  for (;;) {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r' || (brackets_ > 0 && text_[at_] == '\n')))
      ++at_;
    if (text_.substr(at_).starts_with("\\\n")) {
      at_ += 2;
      continue;
    }
    if (at_ < text_.size() && text_[at_] == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
      continue;
    }
    break;
  }
  if (at_ >= text_.size()) {
    if (brackets_ > 0) fail(SourceRange{source_, at_, at_}, "a bracket is not closed");
    if (indents_.size() > 1) {
      line_begins_ = true;
      return make(SourceToken::Kind::NewLine, at_, at_);
    }
    return make(SourceToken::Kind::End, at_, at_);
  }
  const size_t begin = at_;
  const char c = text_[at_];
  if (c == '\n') {
    ++at_;
    line_begins_ = true;
    return make(SourceToken::Kind::NewLine, begin, at_);
  }
  if (c == '"' || c == '\'') return read_string(begin);
  if (is_digit(c) || (c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]))) {
    const bool hex = text_.substr(at_).starts_with("0x") || text_.substr(at_).starts_with("0X");
    if (hex) at_ += 2;
    while (at_ < text_.size()) {
      const char d = text_[at_];
      const bool sign = !hex && (d == '+' || d == '-') && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E');
      if (!in_name(d) && !(d == '.' && !hex) && !sign) break;
      ++at_;
    }
    return make(SourceToken::Kind::Number, begin, at_);
  }
  if (begins_name(c)) {
    while (at_ < text_.size() && in_name(text_[at_])) ++at_;
    return make(SourceToken::Kind::Name, begin, at_);
  }
  for (std::string_view s : signs)
    if (text_.substr(at_).starts_with(s)) {
      at_ += s.size();
      if (s == "(" || s == "[" || s == "{") ++brackets_;
      if ((s == ")" || s == "]" || s == "}") && brackets_ > 0) --brackets_;
      return make(SourceToken::Kind::Sign, begin, at_);
    }
  fail(SourceRange{source_, begin, begin + 1}, "a character that begins nothing");
}

SourceToken SourceLexer::read_string(size_t begin) {
  const char quote = text_[begin];
  const std::string three(3, quote);
  const bool is_long = text_.substr(begin).starts_with(three);
  at_ = begin + (is_long ? 3 : 1);
  for (; at_ < text_.size(); ++at_) {
    if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
      ++at_;
      continue;
    }
    if (is_long ? text_.substr(at_).starts_with(three) : text_[at_] == quote) {
      at_ += is_long ? 3 : 1;
      return make(SourceToken::Kind::String, begin, at_);
    }
    if (!is_long && text_[at_] == '\n') break;
  }
  fail(SourceRange{source_, begin, begin + 1}, "a string is not closed");
}

std::string unescape(const SourceToken& t) {
  const size_t quotes = t.text.size() >= 6 && t.text[1] == t.text[0] && t.text[2] == t.text[0] ? 3 : 1;
  std::string_view s = t.text.substr(quotes, t.text.size() - 2 * quotes);
  const auto octal = [](char c) { return c >= '0' && c <= '7'; };
  std::string out;
  for (size_t i = 0; i < s.size(); ++i) {
    if (s[i] != '\\' || i + 1 == s.size()) {
      out += s[i];
      continue;
    }
    const char c = s[++i];
    constexpr std::string_view from = "abfnrtv", to = "\a\b\f\n\r\t\v";
    if (const size_t k = from.find(c); k != from.npos) {
      out += to[k];
    } else if (c == 'x') {
      if (i + 2 >= s.size() || !std::isxdigit(s[i + 1]) || !std::isxdigit(s[i + 2]))
        fail(t.range, "hexadecimal escapes (\\xHH) take two digits");
      out += static_cast<char>(std::stoi(std::string(s.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    } else if (octal(c)) {
      if (i + 2 >= s.size() || !octal(s[i + 1]) || !octal(s[i + 2]))
        fail(t.range, "octal escapes (\\ddd) take three digits");
      out += static_cast<char>(std::stoi(std::string(s.substr(i, 3)), nullptr, 8));
      i += 2;
    } else if (c == '\n') {
      continue;
    } else if (c == '\\' || c == '\'' || c == '"') {
      out += c;
    } else {
      fail(t.range, "unknown escape '\\", std::string(1, c), "'");
    }
  }
  return out;
}

}  // namespace fc::jit
