// SPDX-License-Identifier: Apache-2.0
#include "backends/hammerblade/runtime/places.h"

#include <dlfcn.h>
#include <unistd.h>

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

}  // namespace fc::hb
