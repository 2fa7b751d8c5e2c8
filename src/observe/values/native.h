// SPDX-License-Identifier: Apache-2.0
// Where in compiled code a call is made: stacks of return addresses by number, as files and addresses inside of them,
// which are named when somebody asks (python/facula/library_profile/symbols.py). Any thread may call.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace fc::observe::values {

uint32_t native_stack();  // of the calling thread; 0: there is none. The same stack has the same number.
std::vector<std::pair<std::string, uint64_t>> native_frames(uint32_t stack);  // innermost first

}  // namespace fc::observe::values
