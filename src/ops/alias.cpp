// SPDX-License-Identifier: Apache-2.0
// Second names of operators. An alias has every overload of its target, in-place and out= forms included, and calls
// it; whatever looks at operators (autograd, tracing) sees the target.
#include "define/row.h"
#include "ops/register.h"

namespace fc {
namespace {

constexpr struct {
  const char *alias, *target;
} aliases[] = {
    {"absolute", "abs"},
    {"arccos", "acos"},
    {"arccosh", "acosh"},
    {"arcsin", "asin"},
    {"arcsinh", "asinh"},
    {"arctan", "atan"},
    {"arctan2", "atan2"},
    {"arctanh", "atanh"},
    {"clip", "clamp"},
    {"divide", "div"},
    {"fix", "trunc"},
    {"greater", "gt"},
    {"greater_equal", "ge"},
    {"less", "lt"},
    {"less_equal", "le"},
    {"multiply", "mul"},
    {"negative", "neg"},
    {"not_equal", "ne"},
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
    {"special_logit", "logit"},
    {"special_polygamma", "polygamma"},
    {"special_psi", "digamma"},
    {"special_round", "round"},
    {"special_sinc", "sinc"},
    {"special_xlogy", "xlogy"},
    {"subtract", "sub"},
    {"true_divide", "div"},
    {"__and__", "bitwise_and"},
    {"__lshift__", "bitwise_left_shift"},
    {"__or__", "bitwise_or"},
    {"__rshift__", "bitwise_right_shift"},
    {"__xor__", "bitwise_xor"},
};

void forward(void* target, const Operator&, const Arg* args, Value* results) {
  static_cast<const Operator*>(target)->call(args, results);
}

void add_alias(std::string_view alias, std::string_view target) {
  for (Operator* op : overloads(str("aten::", target))) {
    Schema schema = op->schema();
    schema.name = alias;
    Operator& second = define(to_string(schema));
    second.set_composite({forward, op});
    second.differentiable = op->differentiable;
    second.python_hidden = op->python_hidden;
    second.takes_numbers = op->takes_numbers;
  }
}

}  // namespace

void define_aliases() {
  for (auto [alias, target] : aliases) {
    add_alias(alias, target);
    if (std::string_view(alias).starts_with("special_")) continue;
    if (std::string_view(alias).starts_with("__"))  // __and__ -> __iand__
      add_alias(str("__i", std::string_view(alias).substr(2)), str(target, "_"));
    else add_alias(str(alias, "_"), str(target, "_"));
  }
}

}  // namespace fc
