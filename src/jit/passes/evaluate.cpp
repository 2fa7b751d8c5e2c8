// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/evaluate.h"

#include <algorithm>

#include "autograd/autograd.h"
#include "core/containers.h"
#include "core/error.h"
#include "define/calls.h"
#include "dispatch/operator.h"
#include "jit/ir/graph.h"
#include "jit/ir/operators.h"

namespace fc::jit {
namespace {

using Values = std::vector<fc::Value>;

// What a graph knows as int may be a dtype, layout or memory format to the operator.
Arg argument(const Operator& op, const Parameter& p, const fc::Value& v) {
  if (op.is_hidden() && v.tag() >= Tag::IntList) return Arg::whole(v);
  return v.tag() == Tag::Int && !p.type.list ? argument_of(p.type.kind, v.raw_int()) : v.arg();
}

std::optional<Values> evaluate_structure(const Node& n, const Values& in) {
  if (n.is(prim_ListConstruct)) return Values{make_list(in, n.output(0)->type()->item())};
  if (n.is(prim_TupleConstruct))
    return Values{tuple_value(in, n.output(0)->type()->name().empty() ? nullptr : n.output(0)->type())};
  if (n.is(prim_TupleUnpack) && in.size() == 1 && in[0].tag() == Tag::Tuple &&
      tuple_of(in[0]).items.size() == n.num_outputs())
    return tuple_of(in[0]).items;
  if (n.is(prim_TupleIndex) && in.size() == 2 && in[0].tag() == Tag::Tuple) {
    const auto& items = tuple_of(in[0]).items;
    const auto size = static_cast<int64_t>(items.size());
    int64_t i = in[1].arg().integer();
    if (i < 0) i += size;
    if (i < 0 || i >= size) return {};
    return Values{items[static_cast<size_t>(i)]};
  }
  if (n.is(prim_NumToTensor) && in.size() == 1) {
    const Scalar s = in[0].arg().scalar();
    const DType dtype = s.is_bool()            ? DType::Bool
                        : s.is_integral(false) ? DType::Int64
                        : s.is_complex()       ? DType::Complex128
                                               : DType::Float64;
    return Values{call<"aten::full", Tensor>(IntSpan(), s, dtype, std::optional<Layout>(), std::optional<Device>(),
                                             std::optional<bool>())};
  }
  return {};
}

}  // namespace

std::optional<Values> evaluate_constant_node(const Node& n) {
  Values in;
  for (size_t i = 0; i < n.num_inputs(); ++i) {
    auto v = constant_of(n.input(i));
    if (!v) return {};
    in.push_back(std::move(*v));
  }
  try {
    if (n.kind().space() == "prim")
      if (auto made = evaluate_structure(n, in)) return made;
    const Operator* op = n.find_operator();
    if (in.empty()) return {};  // it asks for a state, such as whether gradients are recorded
    if (!op || !op->has_kernel() || op->num_args() != in.size() || op->num_results() != n.num_outputs()) return {};
    std::vector<Arg> args;
    for (size_t i = 0; i < in.size(); ++i) args.push_back(argument(*op, op->schema().parameters[i], in[i]));
    Values out(op->num_results());
    op->call(args.data(), out.data());
    for (const fc::Value& v : out)
      if (v.is_tensor() && v.tensor().defined() && autograd::requires_grad(v.tensor())) return {};
    return out;
  } catch (const Error&) { return {}; }
}

}  // namespace fc::jit
