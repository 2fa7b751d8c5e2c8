// SPDX-License-Identifier: Apache-2.0
// Replaces every call of a function or method that is known (run/function.h: callee_of) by the nodes of what it calls,
// whose own calls are replaced already. The nodes remember the calls they came through, for error texts.
//
//   %f : Function = prim::Constant[name="g"]()            %f : Function = prim::Constant[name="g"]()
//   %y : Tensor = prim::CallFunction(%f, %x)       →      %y : Tensor = aten::neg(%x)
//
// Throws Error where a function leads back to itself.
#pragma once

namespace fc::jit {

class Graph;
class PassContext;

bool inline_calls(Graph& g, PassContext& context);

}  // namespace fc::jit
