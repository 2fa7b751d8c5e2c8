// SPDX-License-Identifier: Apache-2.0
// add_, sub_, mul_, div_, zero_ and fill_ become what gives a new tensor, which all that follows reads instead of the
// one that was written. Only for graphs whose inputs nobody looks at afterwards.
//   %q = aten::add_(%p, %y, %one)         %q = aten::add(%p, %y, %one)
//   %r = aten::mul(%p, %p)           =>   %r = aten::mul(%q, %q)
#pragma once

namespace fc::jit {
class Graph;
class PassContext;

bool remove_inplace_ops(Graph& g, PassContext& context);

}  // namespace fc::jit
