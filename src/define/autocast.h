// SPDX-License-Identifier: Apache-2.0
// Mixed precision. While autocast is on for a device, operators of class Lower get their float32 tensors in the lower
// type, those of class Float32 get reduced ones in float32, those of class Promote get the widest among their inputs.
// The casts are ordinary operators above autograd, so gradients come back in the tensors' own types. The CPU has lists
// of its own: it computes more in the lower type, because its half types are computed in float32 anyway. Casts of
// weights are kept until autocast ends, so that a weight used twice is cast once.
#pragma once
#include "core/tensor.h"

namespace fc {

void install_autocast_layer();                    // once, at start-up
void set_autocast(int device_type, DType lower);  // for this thread; Undefined switches it off
DType autocast_dtype(int device_type);            // Undefined: off

bool autocast_keeps_casts();  // of weights, on this thread
void set_autocast_keeps_casts(bool on);
void clear_autocast_casts();
extern bool (*is_weight)(const Tensor& t);  // set by autograd: a leaf that needs a gradient and is no view

}  // namespace fc
