// SPDX-License-Identifier: Apache-2.0
// What the results of a call look like, by the operator's own shape rule.
#pragma once
#include "dispatch/operator.h"

namespace fc::plugin {

// Fills the results of a call on that device: new tensors with memory, the arguments that are written (out= with its
// size), nothing where the rule leaves one absent. Throws what the rule throws. Returns the results that it cannot
// make, as bits: views, and those of operators without a rule. A warm call does not touch the heap.
uint64_t prepare_results(const Operator& op, Device device, const Arg* args, Value* results);

}  // namespace fc::plugin
