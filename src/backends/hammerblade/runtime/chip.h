// SPDX-License-Identifier: Apache-2.0
// Programs for the chip: kernel files compiled for RV32 and linked with what every program needs (chip/), kept by
// content.
//
// The compiler is riscv64-unknown-elf-gcc, else clang with lld; FACULA_HB_CHIP_CXX names another. Floating-point
// functions
// and software double come from picolibc and libgcc where they are installed. Results lie in FACULA_CACHE, else
// $XDG_CACHE_HOME/facula or ~/.cache/facula, by a hash of compiler, command, machine and sources. Any thread may call;
// processes that make the same program at once both succeed.
#pragma once

#include <string>
#include <vector>

#include "backends/hammerblade/runtime/error.h"
#include "backends/hammerblade/runtime/machine.h"

namespace fc::hb {

struct ChipCompiler {
  std::vector<std::string> command;  // with the words that name the target
  std::string version;
  bool clang = false;
  std::vector<std::string> libraries;  // -L… -lm …; empty: none are installed
};

// Throws Error with the packages to install where there is none.
const ChipCompiler& chip_compiler();
FC_HB_API bool has_chip_compiler();

// What a kernel file is compiled with for a machine, before sources and output: target, headers, definitions.
FC_HB_API std::vector<std::string> chip_compile_words(const Machine&);
// How objects become a program.
std::vector<std::string> chip_link_words(const Machine&, const std::string& output);

// The program of these files, made now or earlier: its path. `own`: Facula's kernels, in which multiply-high goes
// through 16-bit parts on machines that have none. Throws Error with the words of compiler or linker.
std::string chip_program(const std::vector<std::string>& sources, const Machine&, bool own);

}  // namespace fc::hb
