// SPDX-License-Identifier: Apache-2.0
#include "jit/log.h"

#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>

#include "core/error.h"

namespace fc::jit {
namespace {

struct Settings {
  std::mutex lock;
  std::string option;
  std::map<std::string, int, std::less<>> levels;      // of a source: 0 dumps … 2 everything
  std::map<std::string, int64_t, std::less<>> limits;  // rewrites that are left
  FILE* stream = stderr;
  std::atomic<bool> any_level = false, any_limit = false;

  Settings() {
    if (const char* text = std::getenv("PYTORCH_JIT_LOG_LEVEL")) set_levels(text);
    if (const char* text = std::getenv("PYTORCH_JIT_OPT_LIMIT")) set_limits(text);
  }

  template <class F>
  static void each(std::string_view text, F&& f) {
    while (!text.empty()) {
      const size_t colon = std::min(text.find(':'), text.size());
      if (colon) f(text.substr(0, colon));
      text.remove_prefix(std::min(colon + 1, text.size()));
    }
  }
  static std::string_view stem(std::string_view name) { return name.substr(0, name.rfind('.')); }

  void set_levels(std::string_view text) {
    option = text;
    levels.clear();
    each(text, [&](std::string_view entry) {
      const size_t mark = entry.rfind('>');
      const size_t level = mark == entry.npos ? 0 : mark + 1;
      levels[std::string(stem(entry.substr(level)))] = static_cast<int>(level);
    });
    any_level = !levels.empty();
  }
  void set_limits(std::string_view text) {
    limits.clear();
    each(text, [&](std::string_view entry) {
      const size_t equals = entry.find('=');
      int64_t n = 0;
      if (equals == entry.npos) return;
      std::string_view digits = entry.substr(equals + 1);
      if (std::from_chars(digits.data(), digits.data() + digits.size(), n).ec == std::errc())
        limits[std::string(stem(entry.substr(0, equals)))] = n;
    });
    any_limit = !limits.empty();
  }
};
Settings& settings() {
  static auto* s = new Settings;  // outlives whoever logs at exit
  return *s;
}

}  // namespace

bool logs(std::string_view file, LogLevel level) {
  Settings& s = settings();
  if (!s.any_level.load(std::memory_order_relaxed)) [[likely]]
    return false;
  std::lock_guard hold(s.lock);
  auto found = s.levels.find(file);
  return found != s.levels.end() && found->second >= static_cast<int>(level);
}

void log(std::string_view file, LogLevel level, std::string_view text) {
  if (!logs(file, level)) return;
  constexpr const char* names[] = {"DUMP", "UPDATE", "DEBUG"};
  const std::string prefix = str("[", names[static_cast<int>(level)], " ", file, ".cpp:001] ");
  std::string out;
  if (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  for (;;) {
    const size_t end = text.find('\n');
    out += prefix;
    out += text.substr(0, end);
    out += '\n';
    if (end == text.npos) break;
    text.remove_prefix(end + 1);
  }
  Settings& s = settings();
  std::lock_guard hold(s.lock);
  std::fwrite(out.data(), 1, out.size(), s.stream);
  std::fflush(s.stream);
}

void set_log_option(std::string_view option) {
  Settings& s = settings();
  std::lock_guard hold(s.lock);
  s.set_levels(option);
}

std::string log_option() {
  Settings& s = settings();
  std::lock_guard hold(s.lock);
  return s.option;
}

void set_log_stream(std::string_view name) {
  FC_CHECK_AS(ValueError, name == "stdout" || name == "stderr", "log stream: expected stdout or stderr, got '", name,
              "'");
  Settings& s = settings();
  std::lock_guard hold(s.lock);
  s.stream = name == "stdout" ? stdout : stderr;
}

bool allow_rewrite(std::string_view file) {
  Settings& s = settings();
  if (!s.any_limit.load(std::memory_order_relaxed)) [[likely]]
    return true;
  std::lock_guard hold(s.lock);
  auto found = s.limits.find(file);
  return found == s.limits.end() || found->second-- > 0;
}

void set_rewrite_limit(std::string_view option) {
  Settings& s = settings();
  std::lock_guard hold(s.lock);
  s.set_limits(option);
}

}  // namespace fc::jit
