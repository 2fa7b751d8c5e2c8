// SPDX-License-Identifier: Apache-2.0
// A look at a shared library before the system's loader maps it: a file that was cut short is mapped all the same, and
// touching what it lacks ends the process (SIGBUS).
#pragma once
#include <string>

namespace fc {

// What is wrong with the file: it is no shared library for this machine, or its header speaks of bytes that it does not
// have. Empty if nothing is. Reads the headers only; what the code in it does is trusted.
std::string library_file_fault(const std::string& path);

}  // namespace fc
