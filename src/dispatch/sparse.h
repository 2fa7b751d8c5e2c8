// SPDX-License-Identifier: Apache-2.0
// Operators on sparse tensors. A tensor whose layout is not strided carries layer::Sparse; this layer answers the call
// with the operator's sparse kernel, or refuses it by name, so that kernels of strided tensors never see one. Composite
// operators have expanded by then. Sparse kernels are written in operators on indices and values, so they run on every
// device; what is worth a loop of its own is an operator on plain tensors (ops/sparse_primitives.cpp).
#pragma once
#include "dispatch/operator.h"

namespace fc {

void set_sparse_kernel(std::string_view op, Kernel k);  // at start-up
// For operators that have none but whose row says keeps_zero: on the values alone, and the same into an out.
void set_values_kernels(KernelFn on_values, KernelFn on_values_out);
// A call that asks for a layout but need have no tensor of it, as factories do.
void call_for_layout(const Operator& op, Layout layout, const Arg* args, Value* results);
void install_sparse_layer();

}  // namespace fc
