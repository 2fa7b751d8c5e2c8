// SPDX-License-Identifier: Apache-2.0
// Values as graphs write constants: 1, 2., "text", [1, 2], annotate(List[int], []), torch.device("cpu").
#pragma once
#include <complex>
#include <string>

#include "core/value.h"

namespace fc::jit {

void append_quoted(std::string& out, std::string_view text);  // with \n, \", and \ooo for what does not print
void append_number(std::string& out, double v);               // 3. and -0., else 17 digits
std::string value_text(const fc::Value& v);
std::string complex_text(const std::complex<double>& v);  // 1.+2.j

}  // namespace fc::jit
