// SPDX-License-Identifier: Apache-2.0
// Calls as Python sees them, for the files that hand them to a program: layers, routes, observers.
#pragma once
#include <nanobind/nanobind.h>

#include <utility>

#include "dispatch/operator.h"

namespace fc::py {

nanobind::object operator_object(const Operator& op);  // the one Python object of an operator
// Positional arguments, then keywords that differ from their defaults.
std::pair<nanobind::tuple, nanobind::dict> python_call(const Operator& op, const Arg* args);

}  // namespace fc::py
