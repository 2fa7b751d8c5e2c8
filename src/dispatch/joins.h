// SPDX-License-Identifier: Apache-2.0
// What a derivative may ask while backward runs it.
#pragma once

namespace fc {

// Whether the gradient of its first input will be added to a strided one that waits for it on the CPU. Then it may be
// sparse, whatever the program asked for: nobody sees it by itself, and the sum, in place, is strided. (A table that
// is also the weight of the last layer would otherwise need a second gradient of its size.) False outside of backward;
// autograd/engine.cpp answers.
bool gradient_joins_strided();

}  // namespace fc
