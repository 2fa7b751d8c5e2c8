// SPDX-License-Identifier: Apache-2.0
// A module whose attributes are constants of its code: methods are inlined into those that are kept, what no code
// changes becomes a constant, and what nothing reads any more goes away, submodules included.
//   %w : Tensor = prim::GetAttr[name="weight"](%self)    =>    %self.weight : Tensor = prim::Constant[value=…]()
#pragma once
#include <string>
#include <vector>

#include "jit/run/function.h"

namespace fc::jit {

// A new module of a class of its own, which shares the tensors that stay attributes. `kept`: attributes and methods
// that are to stay, forward() always does. Throws Error for names that the module has not.
fc::Value freeze_module(const fc::Value& module, const std::vector<std::string>& kept);

}  // namespace fc::jit
