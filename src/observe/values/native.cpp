// SPDX-License-Identifier: Apache-2.0
#include "observe/values/native.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>

#include <map>
#include <mutex>

namespace fc::observe::values {
namespace {

constexpr int kMostFrames = 48;

struct Stacks {
  std::mutex mutex;
  std::map<std::vector<void*>, uint32_t> numbers;
  std::vector<const std::vector<void*>*> all;
};
Stacks& stacks() {
  static Stacks& s = *new Stacks;
  return s;
}

}  // namespace

uint32_t native_stack() {
  void* frames[kMostFrames];
  const int n = backtrace(frames, kMostFrames);
  if (n <= 1) return 0;
  Stacks& s = stacks();
  std::lock_guard lock(s.mutex);
  const auto [it, fresh] =
      s.numbers.try_emplace(std::vector<void*>(frames + 1, frames + n), static_cast<uint32_t>(s.all.size() + 1));
  if (fresh) s.all.push_back(&it->first);
  return it->second;
}

std::vector<std::pair<std::string, uint64_t>> native_frames(uint32_t stack) {
  std::vector<std::pair<std::string, uint64_t>> out;
  Stacks& s = stacks();
  std::lock_guard lock(s.mutex);
  if (stack == 0 || stack > s.all.size()) return out;
  for (void* frame : *s.all[stack - 1]) {
    Dl_info info{};
    void* map = nullptr;
    void* call = static_cast<char*>(frame) - 1;  // what is returned to lies behind it
    if (!dladdr1(call, &info, &map, RTLD_DL_LINKMAP) || !info.dli_fname || !map) continue;
    const auto* loaded = static_cast<const link_map*>(map);
    const char* file = loaded->l_name && *loaded->l_name ? loaded->l_name : "/proc/self/exe";
    out.emplace_back(file, reinterpret_cast<uintptr_t>(call) - loaded->l_addr);
  }
  return out;
}

}  // namespace fc::observe::values
