// SPDX-License-Identifier: Apache-2.0
// Where in a program's text something stands. A range is two offsets into a text that all ranges of a file share.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/ref.h"

namespace fc::jit {

class Source final : public RefCounted {
 public:
  Source(std::string text, std::string file = {}, size_t first_line = 0);

  const std::string& text() const { return text_; }
  const std::string& file() const { return file_; }  // empty: none
  size_t first_line() const { return first_line_; }  // of the file, 0 the file's own first
  size_t line_of(size_t offset) const;               // 0-based, in this text
  size_t line_begin(size_t line) const { return lines_[line]; }
  size_t lines() const { return lines_.size(); }
  std::string_view line(size_t i) const;  // without its end

 private:
  std::string text_, file_;
  size_t first_line_;
  std::vector<size_t> lines_;
};

struct SourceRange {
  Ref<Source> source;  // null: not known
  size_t begin = 0, end = 0;

  struct Place {
    std::string_view file;
    size_t line, column;  // line from 1, column from 0
  };
  bool known() const { return source && !source->file().empty(); }
  Place place() const;  // only if known()
  // The lines around, `~~~ <--- HERE` under the range, and the file's line; as PyTorch shows it.
  std::string highlight(std::string_view function = {}) const;
};

}  // namespace fc::jit
