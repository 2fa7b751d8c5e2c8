// SPDX-License-Identifier: Apache-2.0
// Broadcasts that a trace recorded are dropped: the operator that follows broadcasts itself.
//   %e = aten::expand(%x, %sizes, %true)
//   %y = aten::add(%e, %z, %1)              =>   %y = aten::add(%x, %z, %1)
#pragma once
namespace fc::jit {
class Graph;
class PassContext;

bool remove_expands(Graph& g, PassContext& context);

}  // namespace fc::jit
