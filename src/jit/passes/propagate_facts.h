// SPDX-License-Identifier: Apache-2.0
// What is known of the inputs' tensors is carried to the results: dtypes and sizes by the operators' own shape rules
// (dispatch/infer.h), devices by the rule that all tensors of a call lie on one. Through branches, and loops until
// nothing changes. Each pass adds one kind of fact and keeps the others.
//   %r : Tensor = aten::mm(%x, %y)        =>      %r : Tensor(2, 4) = aten::mm(%x, %y)
#pragma once

namespace fc::jit {
class Graph;
class PassContext;

bool propagate_shapes(Graph& g, PassContext& context);
bool propagate_dtypes(Graph& g, PassContext& context);
bool propagate_devices(Graph& g, PassContext& context);

}  // namespace fc::jit
