// SPDX-License-Identifier: Apache-2.0
// Numbers and strings as PyTorch's schemas and graphs write them.
#pragma once
#include <string>
#include <string_view>

namespace fc {

void append_number(std::string& out, double v);               // 3. and -0., else 17 digits
void append_quoted(std::string& out, std::string_view text);  // with \n, \", and \ooo for what does not print

// What stands between the quotes that text[at] opens; leaves `at` behind the closing one. False: it does not close, or
// an escape is none; `at` is then where.
bool parse_quoted(std::string_view text, size_t& at, std::string& out);

}  // namespace fc
