// SPDX-License-Identifier: Apache-2.0
// Values as graphs write constants: 1, 2., "text", [1, 2], annotate(List[int], []), torch.device("cpu").
#pragma once
#include <complex>
#include <functional>
#include <string>

#include "core/literal.h"
#include "core/type.h"
#include "core/value.h"

namespace fc::jit {

std::string value_text(const fc::Value& v);
// The same; `own` may write a value, or a part of it, in its own way and says whether it did.
using ValueWriter = std::function<bool(std::string& out, const fc::Value& v)>;
std::string value_text(const fc::Value& v, const ValueWriter& own);
std::string printed_text(const fc::Value& v);  // as print, str and format show it: strings as they are, 2., [1, 2]
bool items_tell_type(TypeRef item);            // a list of such items does not have to name its type
std::string complex_text(const std::complex<double>& v);  // 1.+2.j

}  // namespace fc::jit
