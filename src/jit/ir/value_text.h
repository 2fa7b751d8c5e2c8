// SPDX-License-Identifier: Apache-2.0
// Values as graphs write constants: 1, 2., "text", [1, 2], annotate(List[int], []), torch.device("cpu").
#pragma once
#include <complex>
#include <string>

#include "core/literal.h"
#include "core/value.h"

namespace fc::jit {

std::string value_text(const fc::Value& v);
std::string complex_text(const std::complex<double>& v);  // 1.+2.j

}  // namespace fc::jit
