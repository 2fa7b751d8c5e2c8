// SPDX-License-Identifier: Apache-2.0
// What calls of a function run, in words: the plan, its regions and what guards them, what else was specialised and how
// deep, the time that making it took, and why nothing was grouped where nothing was.
#pragma once
#include <string>

namespace fc::jit {

class Function;

std::string explain(const Function& f);

}  // namespace fc::jit
