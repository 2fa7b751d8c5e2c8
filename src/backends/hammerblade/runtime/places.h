// SPDX-License-Identifier: Apache-2.0
// Where the files that come with the library lie: beside it in an installation, in the source tree otherwise.
#pragma once

#include <string>
#include <vector>

#include "backends/hammerblade/runtime/error.h"

namespace fc::hb {

struct Places {
  std::string device, host, bare;  // headers
  std::string machines, kernels, chip;
  std::string library;
  std::vector<std::string> headers;  // folders that a kernel file may include from: device, and the formulas'
};
FC_HB_API const Places& places();
// The files kernel_*.cpp of a user: in the folder FACULA_HB_KERNELS, else in the source tree's
// hammerblade/torch/kernel,
// the port's place for them.
FC_HB_API std::vector<std::string> port_kernels();

}  // namespace fc::hb
