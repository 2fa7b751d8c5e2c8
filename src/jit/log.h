// SPDX-License-Identifier: Apache-2.0
// Log lines of TorchScript, in PyTorch's form: `[DUMP dead_code_elimination.cpp:001] text` for every line of a text.
// PYTORCH_JIT_LOG_LEVEL="a:>b:>>c" says of which sources: dumps of a, updates too of b, everything of c.
// PYTORCH_JIT_OPT_LIMIT="a=3" bounds how often a may rewrite. Any thread may call; what is off costs a load.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace fc::jit {

enum class LogLevel : uint8_t { Dump, Update, Debug };

bool logs(std::string_view file, LogLevel level);  // file: "dead_code_elimination"
void log(std::string_view file, LogLevel level, std::string_view text);
void set_log_option(std::string_view option);
std::string log_option();
void set_log_stream(std::string_view name);  // "stdout" or "stderr"; throws ValueError

// Rewrites that are left to a source; unlimited: INT64_MAX. One is taken by allow_rewrite, which says whether it may
// be.
bool allow_rewrite(std::string_view file);
void set_rewrite_limit(std::string_view option);  // "a=3:b=4"; counts begin anew

}  // namespace fc::jit
