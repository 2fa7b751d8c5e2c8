// SPDX-License-Identifier: Apache-2.0
// Words of a graph's text. Newlines, blanks and comments separate, nothing else.
#pragma once
#include <string>
#include <string_view>

#include "jit/ir/range.h"

namespace fc::jit {

enum class Token : uint8_t { End, Name, Number, String, Sign };

class Lexer {
 public:
  explicit Lexer(Ref<Source> source) : source_(std::move(source)), text_(source_->text()) { next(); }

  Token kind() const { return kind_; }
  std::string_view word() const { return text_.substr(begin_, end_ - begin_); }
  size_t begin() const { return begin_; }
  size_t end() const { return end_; }
  SourceRange range() const { return {source_, begin_, end_}; }
  const Ref<Source>& source() const { return source_; }
  std::string_view text() const { return text_; }

  void next();
  void jump(size_t to);  // reads on from there
  bool is(std::string_view w) const { return kind_ != Token::String && kind_ != Token::End && word() == w; }
  bool skip(std::string_view w) {
    if (!is(w)) return false;
    next();
    return true;
  }
  void expect(std::string_view w);
  std::string expect_name();
  std::string string_value() const;  // of a String, without quotes and escapes
  std::string rest_of_line();        // from here on, without a comment; reads on behind it

  [[noreturn]] void fail(const std::string& what) const { fail_at(range(), what); }
  [[noreturn]] void fail_at(const SourceRange& where, const std::string& what) const;

 private:
  Ref<Source> source_;
  std::string_view text_;
  size_t begin_ = 0, end_ = 0;
  Token kind_ = Token::End;
};

}  // namespace fc::jit
