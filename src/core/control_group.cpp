// SPDX-License-Identifier: Apache-2.0
#include "core/control_group.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace fc {
namespace {

std::string text_of(const std::string& path) {
  std::string text(4096, '\0');  // these files are shorter; what is beyond is no limit
  FILE* file = fopen(path.c_str(), "re");
  if (!file) return "";
  text.resize(fread(text.data(), 1, text.size(), file));
  fclose(file);
  return text;
}

// "150000 100000", "max 100000" or nothing.
double quota_of(const std::string& text) {
  char* rest = nullptr;
  const double part = strtod(text.c_str(), &rest);
  if (rest == text.c_str()) return 0;
  const double period = strtod(rest, nullptr);
  return part > 0 && period > 0 ? part / period : 0;
}

double quota_in(const std::string& folder) {
  if (double quota = quota_of(text_of(folder + "/cpu.max")); quota > 0) return quota;
  return quota_of(text_of(folder + "/cpu.cfs_quota_us") + " " + text_of(folder + "/cpu.cfs_period_us"));
}

// Controllers as /proc/self/cgroup lists them, "" for version 2: where they may be mounted.
std::vector<std::string> mounts_of(const std::string& controllers) {
  if (controllers.empty()) return {"", "/unified"};
  std::vector<std::string> found;
  for (size_t at = 0; at <= controllers.size();) {
    const size_t end = std::min(controllers.find(',', at), controllers.size());
    if (controllers.substr(at, end - at) == "cpu") found = {"/" + controllers, "/cpu"};
    at = end + 1;
  }
  return found;
}

}  // namespace

double cpu_quota(const std::string& root) {
  double least = 0;
  const std::string groups = text_of(root + "/proc/self/cgroup");
  for (size_t at = 0; at < groups.size();) {
    const size_t end = std::min(groups.find('\n', at), groups.size());
    const std::string line = groups.substr(at, end - at);  // number:controllers:path
    at = end + 1;
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    for (const std::string& mount : mounts_of(line.substr(first + 1, second - first - 1))) {
      for (std::string path = line.substr(second + 1);; path.resize(path.rfind('/'))) {
        if (path == "/") path.clear();
        std::string folder = root;
        folder.append("/sys/fs/cgroup").append(mount).append(path);
        if (double quota = quota_in(folder); quota > 0) least = least > 0 ? std::min(least, quota) : quota;
        if (path.empty() || path[0] != '/') break;
      }
    }
  }
  return least;
}

}  // namespace fc
