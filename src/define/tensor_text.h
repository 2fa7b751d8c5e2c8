// SPDX-License-Identifier: Apache-2.0
// A tensor as libtorch's operator<< writes it: rows of numbers of one width, then [ CPUFloatType{2,3} ].
#pragma once
#include <string>

namespace fc {
class Tensor;

std::string tensor_text(const Tensor& t);

}  // namespace fc
