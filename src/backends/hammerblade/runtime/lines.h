// SPDX-License-Identifier: Apache-2.0
// Source lines of addresses in kernel libraries, from their debug information
// (elfutils' libdw, loaded when first asked; where it is not installed, function and offset).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fc::hb {

// "kernel_add.cpp:12" for return addresses, innermost first: the first line that is not in the device headers, and the
// header's line beside it if that is where it happened.
std::string locate(const std::vector<uintptr_t>& pcs);

// The same for addresses in a linked file that is not loaded; lines of the device's own headers and of the chip's
// start-up code are left out as long as there are others. Empty: the file has none for them.
std::string locate_in(const std::string& file, const std::vector<uint64_t>& addresses);

// Without the folders that say nothing.
std::string short_path(const std::string& file);

}  // namespace fc::hb
