// SPDX-License-Identifier: Apache-2.0
// Compiling kernel files at run time: with $CXX, or the first of c++, g++, clang++ on the path; for the chip as chip.h
// says. The one place that knows how a kernel file is compiled.
#pragma once

#include <string>
#include <vector>

#include "backends/hammerblade/runtime/engine.h"

namespace fc::hb {

// The words of the command that makes what `mode` runs: a library, for check mode an instrumented one, for the
// simulator
// a program for `machine`. Throws Error where no compiler is found.
FC_HB_API std::vector<std::string> compile_command(const std::vector<std::string>& sources, const std::string& output,
                                                   Mode mode, const Machine& machine = {});

// What a kernel file means whoever compiles it: the language, plain char, overflow, contraction.
const std::vector<std::string>& common_compile_words();

// Runs it; `output` appears whole or not at all. Throws Error with the compiler's words.
FC_HB_API void compile(const std::vector<std::string>& sources, const std::string& output, Mode mode,
                       const Machine& machine = {});

// A program and its arguments, run to its end; `said` gets what it wrote. Returns its status, -1 if it cannot be
// started.
int run_command(std::vector<std::string> words, std::string* said);
std::string program_on_path(const std::string& name);  // its file; empty: it is not there
std::string scratch_for_programs();                    // of this process

// The files that a kernel file includes, and those that they include, as far as they lie beside them or among the
// headers for kernels. Conditions are not looked at, so there may be some too many; names that macros make are not
// found.
FC_HB_API std::vector<std::string> headers_of(const std::string& source);

// The library for check mode that belongs to a library: x.so, x.check.so.
FC_HB_API std::string check_name(const std::string& library);

}  // namespace fc::hb
