// SPDX-License-Identifier: Apache-2.0
#include "backends/hammerblade/runtime/places.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace fc::hb {

const Places& places() {
  static const Places found = [] {
    Dl_info info{};
    std::string folder = ".";
    if (dladdr(reinterpret_cast<void*>(&places), &info) && info.dli_fname) {
      std::string file = info.dli_fname;
      size_t slash = file.rfind('/');
      if (slash != std::string::npos) folder = file.substr(0, slash);
    }
    std::string root = FACULA_HB_TREE;  // the build's own source tree
    for (const std::string& candidate : {folder + "/share/hammerblade", folder + "/../share/facula/hammerblade"})
      if (access((candidate + "/machines").c_str(), R_OK) == 0) root = candidate;
    const bool tree = root == FACULA_HB_TREE;
    const std::string above = root + "/../../..";  // of the source tree
    return Places{root + "/include/device",
                  root + "/include/host",
                  root + "/include/bare",
                  root + "/machines",
                  root + "/kernels",
                  root + "/chip",
                  folder,
                  {root + "/include/device", tree ? above + "/src" : root + "/include/formulas",
                   tree ? above + "/include" : folder + "/include"}};
  }();
  return found;
}

std::vector<std::string> port_kernels() {
  std::vector<std::string> files;
  const char* named = getenv("FACULA_HB_KERNELS");
  std::string folder = named ? named : "";
  if (!named && places().device.starts_with(FACULA_HB_TREE))
    folder = std::string(FACULA_HB_TREE) + "/../../../hammerblade/torch/kernel";
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("kernel_") && name.ends_with(".cpp"))
      files.push_back(entry.path().lexically_normal().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace fc::hb
