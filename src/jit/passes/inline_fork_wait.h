// SPDX-License-Identifier: Apache-2.0
// What is forked and waited for runs where it was forked.
//   %f : Future(Tensor) = prim::fork_0(%x)
//   %y : Tensor = aten::wait(%f)             =>   %y : Tensor = aten::neg(%x)
#pragma once
namespace fc::jit {
class Graph;
class PassContext;

bool inline_fork_wait(Graph& g, PassContext& context);

}  // namespace fc::jit
