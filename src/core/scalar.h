// SPDX-License-Identifier: Apache-2.0
// What the core asks about numbers.
#pragma once
#include <string>

#include <facula/scalar.h>

#include "core/dtype.h"
#include "core/error.h"

namespace fc {

bool fits(const Scalar& v, DType t);  // can an element of type t hold it, rounding aside?
void check_fits(const char* op, const Scalar& v, DType t);
std::string to_string(const Scalar& s);  // as Python prints it

}  // namespace fc
