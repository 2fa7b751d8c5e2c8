// SPDX-License-Identifier: Apache-2.0
// A source's tokens. Lines within brackets are one; what indents and what ends an indentation are tokens. Reads as much
// as is asked for; throws located errors.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "jit/ir/range.h"

namespace fc::jit {

struct SourceToken {
  enum class Kind : uint8_t { End, NewLine, Indent, Dedent, Number, String, Name, Sign, TypeComment };
  Kind kind;
  SourceRange range;
  std::string_view text;  // of the source, as it stands there; keywords are Names
  bool is(std::string_view t) const { return (kind == Kind::Name || kind == Kind::Sign) && text == t; }
};

class SourceLexer {
 public:
  explicit SourceLexer(Ref<Source> source);
  const SourceToken& now() const { return now_; }
  SourceToken next();  // gives the current one, reads another
  bool next_if(std::string_view text) {
    if (!now_.is(text)) return false;
    next();
    return true;
  }
  SourceToken expect(std::string_view text);
  SourceToken expect(SourceToken::Kind kind, const char* what);
  [[noreturn]] void unexpected(const char* wanted) const;

 private:
  SourceToken read();
  SourceToken make(SourceToken::Kind kind, size_t begin, size_t end) const;
  SourceToken read_line_begin();
  SourceToken read_string(size_t begin);

  Ref<Source> source_;
  std::string_view text_;
  size_t at_ = 0, brackets_ = 0;
  bool line_begins_ = true;
  std::vector<size_t> indents_{0};
  size_t dedents_ = 0;  // yet to be given
  SourceToken now_;
};

std::string unescape(const SourceToken& literal);  // what a string literal says
bool is_keyword(std::string_view name);

}  // namespace fc::jit
