// SPDX-License-Identifier: Apache-2.0
// Compiling kernel files at run time: with $CXX, or the first of c++, g++, clang++ on the path.
#pragma once

#include <string>
#include <vector>

#include "backends/hammerblade/runtime/error.h"

namespace fc::hb {

// The words of the command. `check`: instrumented for check mode. Throws Error where no compiler is found.
FC_HB_API std::vector<std::string> compile_command(const std::vector<std::string>& sources, const std::string& output,
                                                   bool check);

// Runs it; `output` appears whole or not at all. Throws Error with the compiler's words.
FC_HB_API void compile(const std::vector<std::string>& sources, const std::string& output, bool check);

// The library for check mode that belongs to a library: x.so, x.check.so.
FC_HB_API std::string check_name(const std::string& library);

}  // namespace fc::hb
