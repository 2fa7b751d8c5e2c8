// SPDX-License-Identifier: Apache-2.0
// Mixed precision. While autocast is on for a device, operators of class Lower get their float32 tensors in the lower
// type, those of class Float32 get reduced ones in float32, those of class Promote get the widest among their inputs.
// The casts are ordinary operators above autograd, so gradients come back in the tensors' own types.
#pragma once
#include "core/dtype.h"

namespace fc {

void install_autocast_layer();                    // once, at start-up
void set_autocast(int device_type, DType lower);  // for this thread; Undefined switches it off
DType autocast_dtype(int device_type);            // Undefined: off

}  // namespace fc
