// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/inplace_check.h"

#include "core/error.h"
#include "jit/ir/graph.h"

namespace fc::jit {

bool check_inplace(Graph& g, PassContext&) {
  for (const Node* n = g.block()->first(); n != g.block()->end(); n = n->next()) {
    const auto* inplace = n->get<int64_t>(attr_inplace);
    if (!n->is(prim_PythonOp) || !inplace || !*inplace) continue;
    const auto* name = n->get<std::string>(attr_python_name);
    raise<Error>("inplace ", name ? *name : std::string("Python"), " not supported in the JIT\n",
                 n->range().highlight());
  }
  return false;
}

}  // namespace fc::jit
