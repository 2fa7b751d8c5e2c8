// SPDX-License-Identifier: Apache-2.0
// A syntax tree as Python holds it.
#pragma once
#include <nanobind/nanobind.h>

#include "jit/frontend/tree.h"

namespace fc::jit {

struct TreeView {
  TreeRef tree;
};
void bind_trees(nanobind::module_& m);

}  // namespace fc::jit
