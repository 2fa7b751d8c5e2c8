// SPDX-License-Identifier: Apache-2.0
// The functions that combine elements of two ranks.
#pragma once
#include "distributed/engine.h"

namespace fc::distributed {

const char* name_of(ReduceOp op);
// Throws what names op and element type where there is no such function (min of complex, and of floats).
Combine combine_function(ReduceOp op, DType dtype);

}  // namespace fc::distributed
