// SPDX-License-Identifier: Apache-2.0
// The folder for kernels that are compiled while the program runs. The files stay for as long as the process lives:
// debuggers and reports read them.
#pragma once

#include <string>

namespace fc::hb {

// Of this process, made by first use (a child of a fork makes its own) in TMPDIR or /tmp. It is removed at exit; the
// folder of a process that was killed by the next process that makes one. Any thread. Throws Error.
std::string scratch_folder();

}  // namespace fc::hb
