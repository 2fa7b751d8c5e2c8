// SPDX-License-Identifier: Apache-2.0
// Sums of four or more matrix products become one product of what is put side by side; eight or more products that
// share one factor, and do not depend on each other, become one node. Only in graphs in which nothing is written.
//   %p0 = aten::mm(%a, %b) … %p3 = aten::mm(%g, %h)         %r = prim::MMTreeReduce(%g, %e, %c, %a, %h, %f, %d, %b)
//   %r = aten::add(%p0 + %p1, %p2 + %p3, %1)           =>
#pragma once

namespace fc::jit {
class Graph;
class PassContext;

bool batch_mm(Graph& g, PassContext& context);

}  // namespace fc::jit
