// SPDX-License-Identifier: Apache-2.0
// std::cout << tensor.
#include <ostream>

#include <facula/front.h>

#include "define/tensor_text.h"

namespace facula::front {

std::ostream& print(std::ostream& out, const fc::Tensor& t) { return out << fc::tensor_text(t); }

}  // namespace facula::front
