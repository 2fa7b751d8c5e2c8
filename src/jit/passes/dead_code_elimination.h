// SPDX-License-Identifier: Apache-2.0
// Nodes nobody needs go: what neither gives a result, nor has an effect, nor writes memory that something live may
// share. Outputs of If, GradOf and Loop that nobody reads go with what computed them. The second form asks nobody who
// shares memory, so that all that writes stays; the third removes effects too.
//   %u = aten::neg(%x)
//   %v = aten::relu(%x)   =>   %v = aten::relu(%x)
//   return (%v)                return (%v)
#pragma once
namespace fc::jit {
class Graph;
class PassContext;

bool eliminate_dead_code(Graph& g, PassContext& context);
bool eliminate_dead_code_without_aliases(Graph& g, PassContext& context);
bool eliminate_dead_code_with_effects(Graph& g, PassContext& context);

}  // namespace fc::jit
