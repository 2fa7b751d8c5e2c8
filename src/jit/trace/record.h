// SPDX-License-Identifier: Apache-2.0
// The layer that records operators. An operator becomes one node of PyTorch's name, whatever it is made of here; what
// it calls is not recorded. Those that PyTorch does not record either (convolutions by dimension, cells, what returns
// no tensor) are looked into instead, and what no graph may name (facula::…) never gets here alone.
#pragma once
#include "dispatch/operator.h"

namespace fc::jit::trace {

void install_recorder();  // any number of times, by any thread

}  // namespace fc::jit::trace
