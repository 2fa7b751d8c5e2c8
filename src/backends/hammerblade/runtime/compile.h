// SPDX-License-Identifier: Apache-2.0
// Compiling kernel files at run time: with $CXX, or the first of c++, g++, clang++ on the path.
#pragma once

#include <string>
#include <vector>

#include "backends/hammerblade/runtime/engine.h"

namespace fc::hb {

// The words of the command that makes what `mode` runs: a library, for check mode an instrumented one. Throws Error
// where no compiler is found.
FC_HB_API std::vector<std::string> compile_command(const std::vector<std::string>& sources, const std::string& output,
                                                   Mode mode);

// Runs it; `output` appears whole or not at all. Throws Error with the compiler's words.
FC_HB_API void compile(const std::vector<std::string>& sources, const std::string& output, Mode mode);

// The files that a kernel file includes, and those that they include, as far as they lie beside them or among the
// headers for kernels. Conditions are not looked at, so there may be some too many; names that macros make are not
// found.
FC_HB_API std::vector<std::string> headers_of(const std::string& source);

// The library for check mode that belongs to a library: x.so, x.check.so.
FC_HB_API std::string check_name(const std::string& library);

}  // namespace fc::hb
