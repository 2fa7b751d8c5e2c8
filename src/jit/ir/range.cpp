// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/range.h"

#include <algorithm>

#include "core/format.h"

namespace fc::jit {

Source::Source(std::string text, std::string file, size_t first_line)
    : text_(std::move(text)), file_(std::move(file)), first_line_(first_line), lines_{0} {
  for (size_t i = 0; i < text_.size(); ++i)
    if (text_[i] == '\n') lines_.push_back(i + 1);
}

size_t Source::line_of(size_t offset) const {
  return static_cast<size_t>(std::ranges::upper_bound(lines_, offset) - lines_.begin()) - 1;
}

std::string_view Source::line(size_t i) const {
  size_t begin = lines_[i], end = i + 1 < lines_.size() ? lines_[i + 1] - 1 : text_.size();
  return std::string_view(text_).substr(begin, end - begin);
}

SourceRange::Place SourceRange::place() const {
  size_t line = source->line_of(begin);
  return {source->file(), source->first_line() + line + 1, begin - source->line_begin(line)};
}

std::string SourceRange::highlight(std::string_view function) const {
  constexpr size_t context = 2;
  if (!source) return {};
  const Source& s = *source;
  size_t first = s.line_of(std::min(begin, s.text().size()));
  size_t last = s.line_of(std::min(end > begin ? end - 1 : begin, s.text().size()));
  std::string out;
  if (known())
    out = str("  File \"", s.file(), "\", line ", place().line, function.empty() ? "" : ", in ", function, "\n");
  auto show = [&](size_t line) {
    out += s.line(line);
    out += '\n';
  };
  for (size_t i = first > context ? first - context : 0; i < first; ++i) show(i);
  for (size_t i = first; i <= last; ++i) {
    show(i);
    if (begin == end) continue;  // a place of no length marks nothing
    std::string_view line = s.line(i);
    size_t line_begin = s.line_begin(i), line_end = line_begin + line.size();
    size_t from = std::max(begin, line_begin), to = std::min(end, line_end);
    if (i > first)  // the indentation of the lines that follow is not meant
      from = line_begin + std::min(line.find_first_not_of(" \t"), line.size());
    out.append(from - line_begin, ' ');
    out.append(to > from ? to - from : 0, '~');
    out += i == last ? " <--- HERE\n" : "\n";
  }
  for (size_t i = last + 1; i < s.lines() && i <= last + context; ++i) show(i);
  while (!out.empty() && out.back() == '\n' && out.size() > 1 && out[out.size() - 2] == '\n') out.pop_back();
  return out;
}

}  // namespace fc::jit
