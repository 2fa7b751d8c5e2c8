// SPDX-License-Identifier: Apache-2.0
// Where it is known whether a gradient is absent, nobody asks: a GradOf of absent gradients is an absent gradient, of
// present ones its block; a sum with an absent gradient is the other one.
//   %s : Tensor = prim::AutogradAdd(%g, %zero)   =>   (uses of %s read %g)
#pragma once
namespace fc::jit {
class Graph;
class PassContext;

bool specialize_autogradzero(Graph& g, PassContext& context);

}  // namespace fc::jit
