// SPDX-License-Identifier: Apache-2.0
// Whether forward derivatives are under way on this thread (torch.autograd.forward_ad). What backward computes is then
// differentiated, though it records nothing: formulas use operators that have derivatives, and nothing is overwritten
// behind the dispatcher's back. Threads that work for this one take it over.
#pragma once
#include "dispatch/layers.h"

namespace fc {

bool forward_level();
void set_forward_level(bool on);
void hand_forward_level();  // once, at start-up

// Tangents are found by storage: t, which nobody else knows yet, gets another one over the same memory.
void separate_storage(const Tensor& t);

inline bool is_differentiated() { return grad_enabled() || forward_level(); }

}  // namespace fc
