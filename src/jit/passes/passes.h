// SPDX-License-Identifier: Apache-2.0
// The table of all passes, and the pipelines made of its rows.
#pragma once
#include <span>

#include "jit/passes/pass.h"

namespace fc::jit {

std::span<const Pass> pass_table();

// runProfilingInsensitiveOptimizations: what every function goes through before it runs the first time.
std::span<const Pass* const> profiling_insensitive_pipeline();
// What makes a function's optimized_graph; run with shapes off.
std::span<const Pass* const> inlining_pipeline();

}  // namespace fc::jit
