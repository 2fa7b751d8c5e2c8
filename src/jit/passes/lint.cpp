// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/lint.h"

#include "jit/ir/check.h"
#include "jit/ir/graph.h"

namespace fc::jit {

bool lint(Graph& g, PassContext&) {
  check(g);
  return false;
}

}  // namespace fc::jit
