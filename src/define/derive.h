// SPDX-License-Identifier: Apache-2.0
// Operators that follow from a fact on another one's row: forms over lists, forms that copy. At start-up and while a
// library is loaded: nobody else defines operators then.
#pragma once
#include "dispatch/operator.h"

namespace fc {

// Calls `derive` for every operator that a row has defined or will define, when its own forms are there.
void derive_forms(void (*derive)(const Operator& op));

}  // namespace fc
