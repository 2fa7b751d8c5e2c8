// SPDX-License-Identifier: Apache-2.0
// The table of all passes, and the pipelines made of its rows.
#pragma once
#include <span>

#include "jit/passes/pass.h"

namespace fc::jit {

std::span<const Pass> pass_table();

// runProfilingInsensitiveOptimizations: what every function goes through before it runs the first time.
std::span<const Pass* const> profiling_insensitive_pipeline();
// runNooptPassPipeline: what a graph needs to run at all.
std::span<const Pass* const> noopt_pipeline();
// runPreAutodiffPassPipeline: of the graph that the first call ran, before it is grouped for gradients or fusion.
std::span<const Pass* const> pre_autodiff_pipeline();
// What makes a function's optimized_graph; run with shapes off.
std::span<const Pass* const> inlining_pipeline();

// What makes a graph of the front end's loads and stores one of values, and what folds and pools it then.
std::span<const Pass* const> to_ir_pipeline();
std::span<const Pass* const> frontend_pipeline();

}  // namespace fc::jit
