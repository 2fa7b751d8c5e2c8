// SPDX-License-Identifier: Apache-2.0
// Fused operators are split where that lets others be fused: addmm with factors one everywhere, layer_norm and
// batch_norm of a tensor whose static device is CUDA.
//   %r = aten::addmm(%b, %p, %q, %1, %1)   =>   %t = aten::mm(%p, %q)
//                                               %r = aten::add(%b, %t, %1)
#pragma once
namespace fc::jit {
class Graph;
class PassContext;

bool decompose_ops(Graph& g, PassContext& context);

}  // namespace fc::jit
