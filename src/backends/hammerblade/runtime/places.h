// SPDX-License-Identifier: Apache-2.0
// Where the files that come with the library lie: beside it in an installation, in the source tree otherwise.
#pragma once

#include <string>

namespace fc::hb {

struct Places {
  std::string device, host, bare;  // headers
  std::string machines, library;
};
const Places& places();

}  // namespace fc::hb
