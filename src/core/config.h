// SPDX-License-Identifier: Apache-2.0
// What this library was built with and what it runs on: data first, two pages of text second.
// The rows are written by cmake/config.cmake at configure time.
#pragma once
#include <span>
#include <string>

namespace fc {

struct ConfigRow {
  const char* name;
  const char* value;
};
struct SwitchRow {
  const char* name;   // PyTorch's name of the switch
  const char* value;  // its effective value
  const char* state;  // "works", "reserved" or "meaningless"
};

const char* version();
std::span<const ConfigRow> build_config();    // version, compiler, flags …
std::span<const ConfigRow> library_config();  // OpenMP, BLAS, oneDNN …
std::span<const SwitchRow> switch_config();

std::string show_config();    // the page behind facula.__config__.show()
std::string parallel_info();  // the page behind facula.__config__.parallel_info()

}  // namespace fc
