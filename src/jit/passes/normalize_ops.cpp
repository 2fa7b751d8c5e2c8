// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/normalize_ops.h"

#include <algorithm>
#include <unordered_map>

#include "jit/ir/walk.h"
#include "jit/passes/pass.h"

namespace fc::jit {
namespace {

struct SecondName {
  std::string_view second, first;
};

// Each also with a trailing underscore, where both have such a form.
constexpr SecondName names[] = {
    {"absolute", "abs"},
    {"arccos", "acos"},
    {"arccosh", "acosh"},
    {"arcsin", "asin"},
    {"arcsinh", "asinh"},
    {"arctan", "atan"},
    {"arctan2", "atan2"},
    {"arctanh", "atanh"},
    {"clip", "clamp"},
    {"concat", "cat"},
    {"concatenate", "cat"},
    {"det", "linalg_det"},
    {"divide", "div"},
    {"fix", "trunc"},
    {"ger", "outer"},
    {"greater", "gt"},
    {"greater_equal", "ge"},
    {"inverse", "linalg_inv"},
    {"less", "lt"},
    {"less_equal", "le"},
    {"linalg_matmul", "matmul"},
    {"matrix_power", "linalg_matrix_power"},
    {"moveaxis", "movedim"},
    {"multiply", "mul"},
    {"negative", "neg"},
    {"not_equal", "ne"},
    {"orgqr", "linalg_householder_product"},
    {"row_stack", "vstack"},
    {"special_digamma", "digamma"},
    {"special_erf", "erf"},
    {"special_erfc", "erfc"},
    {"special_erfinv", "erfinv"},
    {"special_exp2", "exp2"},
    {"special_expit", "sigmoid"},
    {"special_expm1", "expm1"},
    {"special_gammainc", "igamma"},
    {"special_gammaincc", "igammac"},
    {"special_gammaln", "lgamma"},
    {"special_i0", "i0"},
    {"special_log1p", "log1p"},
    {"special_log_softmax", "log_softmax"},
    {"special_logit", "logit"},
    {"special_logsumexp", "logsumexp"},
    {"special_multigammaln", "mvlgamma"},
    {"special_polygamma", "polygamma"},
    {"special_psi", "digamma"},
    {"special_round", "round"},
    {"special_sinc", "sinc"},
    {"special_softmax", "softmax"},
    {"special_xlogy", "xlogy"},
    {"subtract", "sub"},
    {"swapaxes", "transpose"},
    {"swapdims", "transpose"},
    {"true_divide", "div"},
};

const std::unordered_map<Symbol, Symbol>& first_names() {
  static const auto& made = *[] {
    auto* map = new std::unordered_map<Symbol, Symbol>;
    for (const SecondName& n : names)
      for (const char* end : {"", "_"})
        map->emplace(Symbol::of(str("aten::", n.second, end)), Symbol::of(str("aten::", n.first, end)));
    return map;
  }();
  return made;
}

}  // namespace

bool normalize_ops(Graph& g, PassContext& context) {
  static const Symbol rsub = Symbol::of("aten::rsub");
  bool changed = false;
  for (Node *n = walk_first(*g.block()), *next = nullptr; n; n = next) {
    next = walk_next(n, *g.block());
    const auto found = first_names().find(n->kind());
    const bool turned = n->kind() == rsub && n->matches("aten::rsub.Tensor");
    if ((found == first_names().end() && !turned) || !context.allowed()) continue;
    changed = true;
    // A node of its own, as PyTorch makes one: values have new numbers.
    Node* fresh = g.create(turned ? Symbol(aten_sub) : found->second, n->inputs(), n->num_outputs());
    if (turned) {
      Value* self = fresh->input(0);
      fresh->replace_input(0, fresh->input(1));
      fresh->replace_input(1, self);
    }
    for (size_t i = 0; i < n->num_outputs(); ++i) fresh->output(i)->copy_metadata(*n->output(i));
    fresh->copy_metadata(*n);
    fresh->insert_before(n);
    n->replace_uses_with(fresh);
    n->destroy();
  }
  return changed;
}

}  // namespace fc::jit
