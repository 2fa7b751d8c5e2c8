// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/frozen_folding.h"

#include <algorithm>
#include <array>

#include "define/calls.h"
#include "jit/ir/walk.h"
#include "jit/passes/pass.h"

namespace fc::jit {
namespace {

bool is_conv(const Node& n) {  // that is no transposed one
  if (is_any(n.kind(), aten_conv1d, aten_conv2d, aten_conv3d)) return n.num_inputs() == 7;
  return n.is(aten__convolution) && n.num_inputs() == 13 && constant_bool(n.input(6)) == false;
}
bool is_linear(const Node& n) { return n.is(aten_linear) && n.num_inputs() == 3; }

bool is_constant(const Value* v) { return v->node()->is(prim_Constant); }

// The tensor that a constant is; undefined: it is none, or no tensor.
Tensor tensor_of(const Value* v) {
  const auto c = constant_of(v);
  return c && c->is_tensor() ? c->tensor() : Tensor();
}

std::optional<Scalar> number_of(const Value* v) {
  if (!v->type()->is_number()) return {};
  const auto c = constant_of(v);
  return c ? std::optional(c->arg().scalar()) : std::nullopt;
}

// What follows a convolution or linear layer whose weight and bias are constants, and is its only reader.
struct Follower {
  Node* layer;
  Tensor weight, bias;  // bias: undefined if there is none
};
std::optional<Follower> follower(const Node& n, bool (*is_layer)(const Node&)) {
  Node* layer = n.num_inputs() ? n.input(0)->node() : nullptr;
  if (!layer || !is_layer(*layer) || layer->output()->uses().size() != 1) return {};
  Follower f{layer, tensor_of(layer->input(1)), tensor_of(layer->input(2))};
  if (!f.weight.defined() || f.weight.dim() < 2 || (!f.bias.defined() && !is_none(layer->input(2)))) return {};
  return f;
}

// A value for each output channel, as the weight's first dimension has them.
Tensor by_channel(const Tensor& v, const Tensor& weight) {
  Dims sizes(weight.dim(), 1);
  sizes[0] = -1;
  return reshape(v, sizes);
}

std::string folded_name(const Value* v, const char* suffix) { return v->has_name() ? v->name() + suffix : ""; }

// A constant as input `at` of the layer.
void replace_constant(Node* layer, size_t at, const Tensor& t, const std::string& name) {
  Graph& g = layer->graph();
  InsertAt here(layer);
  Value* made = g.insert_constant(fc::Value(t));
  if (!name.empty()) made->set_name(name);
  layer->replace_input(at, made);
}

void forward_result(Node* n, Node* layer) {
  n->output()->replace_uses_with(layer->output());
  n->destroy();
}

// Walks the graph; `fold` says whether the node is gone.
template <class Fold>
bool fold_all(Graph& g, PassContext& context, Fold fold) {
  bool changed = false;
  for (Node *n = walk_first(*g.block()), *next = nullptr; n; n = next) {
    next = walk_next(n, *g.block());
    changed = fold(n) || changed;
  }
  context.run("EliminateDeadCode", g);
  return changed;
}

// Batch norm with statistics that it only reads: y = (x - mean) * scale + shift, by channel.
bool fold_batch_norm(Node* n, PassContext& context, bool (*is_layer)(const Node&)) {
  // input, weight, bias, mean, variance, training, momentum, eps, cudnn_enabled
  if (!n->is(aten_batch_norm) || n->num_inputs() != 9 || constant_bool(n->input(5)) != false) return false;
  const auto f = follower(*n, is_layer);
  if (!f) return false;
  const Tensor weight = tensor_of(n->input(1)), shift = tensor_of(n->input(2));
  const Tensor mean = tensor_of(n->input(3)), variance = tensor_of(n->input(4));
  const auto eps = number_of(n->input(7));
  const int64_t channels = f->weight.size(0);
  auto fits = [&](const Tensor& t) { return t.dim() == 1 && t.size(0) == channels; };
  if ((!weight.defined() && !is_none(n->input(1))) || (!shift.defined() && !is_none(n->input(2))) || !eps) return false;
  if (!mean.defined() || !variance.defined() || !fits(mean) || !fits(variance)) return false;
  if ((weight.defined() && !fits(weight)) || (shift.defined() && !fits(shift)) || !context.allowed()) return false;
  Tensor scale = rsqrt(add(variance, *eps));
  if (weight.defined()) scale = mul(scale, weight);
  Tensor bias = mul(f->bias.defined() ? sub(f->bias, mean) : neg(mean), scale);
  if (shift.defined()) bias = add(bias, shift);
  const DType dtype = f->weight.dtype();
  const std::string weight_name = folded_name(f->layer->input(1), "_fused_bn");
  const std::string bias_name = folded_name(f->layer->input(2), "_fused_bn");
  replace_constant(f->layer, 1, to_dtype(mul(f->weight, by_channel(scale, f->weight)), dtype), weight_name);
  replace_constant(f->layer, 2, to_dtype(bias, dtype), bias_name);
  context.update("folded batch norm into ", weight_name);
  forward_result(n, f->layer);
  return true;
}

enum class Binary { Add, Sub, Mul, Div };
std::optional<Binary> binary_of(const Node& n) {
  if (n.is(aten_add) && n.num_inputs() == 3) return Binary::Add;
  if (n.is(aten_sub) && n.num_inputs() == 3) return Binary::Sub;
  if (n.is(aten_mul) && n.num_inputs() == 2) return Binary::Mul;
  if (n.is(aten_div) && n.num_inputs() == 2) return Binary::Div;
  return {};
}
constexpr std::array<const char*, 4> suffixes = {"_fused_add", "_fused_sub", "_fused_mul", "_fused_div"};

template <class Other>
Tensor apply(Binary op, const Tensor& a, const Other& b, const Scalar& alpha) {
  switch (op) {
    case Binary::Add: return add(a, b, alpha);
    case Binary::Sub: return sub(a, b, alpha);
    case Binary::Mul: return mul(a, b);
    case Binary::Div: break;
  }
  return div(a, b);
}

bool fold_binary(Node* n, PassContext& context, bool additive) {
  const auto op = binary_of(*n);
  if (!op || (*op == Binary::Add || *op == Binary::Sub) != additive) return false;
  const auto f = follower(*n, is_conv);
  const Tensor k = tensor_of(n->input(1));
  const auto number = number_of(n->input(1));
  if (!f || (!k.defined() && !number)) return false;
  Scalar alpha = 1;
  if (additive) {
    const auto given = number_of(n->input(2));
    if (!given) return false;
    alpha = *given;
  }
  // The channels of a result: [1, C, 1, …], as what is added has to have them.
  const int64_t channels = f->weight.size(0);
  Dims sizes(f->weight.dim(), 1);
  sizes[1] = channels;
  const DType dtype = f->weight.dtype();
  const Tensor bias = f->bias.defined() ? reshape(f->bias, sizes) : zeros(sizes, dtype, f->weight.device());
  Tensor of_bias;
  if (k.defined()) {
    bool fits = k.numel() == 1 && k.dim() <= f->weight.dim();
    if (!fits && k.dim() == f->weight.dim()) fits = k.size(1) == channels && k.numel() == channels;
    if (!fits) return false;
    of_bias = apply(*op, bias, k, alpha);
  } else {
    of_bias = apply(*op, bias, *number, alpha);
  }
  if (of_bias.dtype() != dtype || !context.allowed()) return false;
  const Dims flat{channels};
  const char* suffix = suffixes[static_cast<size_t>(*op)];
  if (!additive) {
    const Tensor& w = f->weight;
    const Tensor scaled = k.defined() ? apply(*op, w, by_channel(k, w), alpha) : apply(*op, w, *number, alpha);
    // PyTorch calls the weight as the bias was called, if there is one.
    const std::string name = folded_name(f->layer->input(f->bias.defined() ? 2 : 1), suffix);
    replace_constant(f->layer, 1, to_dtype(scaled, dtype), name);
    if (f->bias.defined()) replace_constant(f->layer, 2, reshape(of_bias, flat), "");
  } else {
    replace_constant(f->layer, 2, reshape(of_bias, flat), folded_name(f->layer->input(2), suffix));
  }
  forward_result(n, f->layer);
  return true;
}

// Linear layers that read one value and stand in one block, in order.
bool concat_linears(Value* input, PassContext& context) {
  std::vector<Node*> layers;
  std::vector<Tensor> weights, biases;
  for (const Use& u : input->uses()) {
    Node* n = u.user;
    if (!is_linear(*n) || u.offset != 0 || (!layers.empty() && n->owning_block() != layers[0]->owning_block()))
      continue;
    const Tensor w = tensor_of(n->input(1)), b = tensor_of(n->input(2));
    if (!w.defined() || !b.defined() || w.dim() != 2 || b.dim() != 1 || w.device().is_cpu()) continue;
    if (!weights.empty() && (w.dtype() != weights[0].dtype() || w.device() != weights[0].device())) continue;
    layers.push_back(n);
    weights.push_back(w);
    biases.push_back(b);
  }
  if (layers.size() < 2 || !context.allowed()) return false;
  Node* first = *std::ranges::min_element(layers, [](Node* a, Node* b) { return a != b && a->is_before(b); });
  Graph& g = first->graph();
  InsertAt here(first);
  Value* in[] = {input, g.insert_constant(fc::Value(cat(TensorSpan(weights)))),
                 g.insert_constant(fc::Value(cat(TensorSpan(biases))))};
  Value* all = g.insert(g.create(aten_linear, in))->output();
  int64_t at = 0;
  for (size_t i = 0; i < layers.size(); ++i) {
    const int64_t end = at + weights[i].size(0);
    Value* part[] = {all, g.insert_constant(int64_t(-1)), g.insert_constant(at), g.insert_constant(end),
                     g.insert_constant(int64_t(1))};
    Value* made = g.insert(g.create(aten_slice, part))->output();
    made->copy_metadata(*layers[i]->output());
    layers[i]->output()->replace_uses_with(made);
    layers[i]->destroy();
    at = end;
  }
  return true;
}

}  // namespace

bool fold_frozen_conv_bn(Graph& g, PassContext& context) {
  return fold_all(g, context, [&](Node* n) { return fold_batch_norm(n, context, is_conv); });
}
bool fold_frozen_conv_add_or_sub(Graph& g, PassContext& context) {
  return fold_all(g, context, [&](Node* n) { return fold_binary(n, context, true); });
}
bool fold_frozen_conv_mul_or_div(Graph& g, PassContext& context) {
  return fold_all(g, context, [&](Node* n) { return fold_binary(n, context, false); });
}
bool fold_frozen_linear_bn(Graph& g, PassContext& context) {
  return fold_all(g, context, [&](Node* n) { return fold_batch_norm(n, context, is_linear); });
}

bool concat_frozen_linear(Graph& g, PassContext& context) {
  std::vector<Value*> inputs;
  for_each_node(*g.block(), [&](Node* n) {
    if (is_linear(*n) && std::ranges::find(inputs, n->input(0)) == inputs.end()) inputs.push_back(n->input(0));
  });
  bool changed = false;
  for (Value* v : inputs) changed = concat_linears(v, context) || changed;
  if (changed) context.run("EliminateDeadCode", g);
  return changed;
}

bool transpose_frozen_linear(Graph& g, PassContext& context) {
  return fold_all(g, context, [&](Node* n) {
    if (!is_linear(*n)) return false;
    const Tensor w = tensor_of(n->input(1));
    if (!w.defined() || w.dim() != 2 || (!is_none(n->input(2)) && !is_constant(n->input(2))) || !context.allowed())
      return false;
    InsertAt here(n);
    Value* in[] = {n->input(0), g.insert_constant(fc::Value(contiguous(t(w))))};
    Value* out = g.insert(g.create(aten_matmul, in))->output();
    if (!is_none(n->input(2))) {
      Value* sum[] = {out, n->input(2), g.insert_constant(int64_t(1))};
      out = g.insert(g.create(aten_add, sum))->output();
    }
    out->copy_metadata(*n->output());
    n->output()->replace_uses_with(out);
    n->destroy();
    return true;
  });
}

bool remove_dropout(Graph& g, PassContext& context) {
  bool changed = false;
  for (Node *n = walk_first(*g.block()), *next = nullptr; n; n = next) {
    next = walk_next(n, *g.block());
    if (!is_any(n->kind(), aten_dropout, aten_dropout_, aten_feature_dropout, aten_feature_dropout_) ||
        n->num_inputs() != 3 || constant_bool(n->input(2)) != false || !context.allowed())
      continue;
    n->output()->replace_uses_with(n->input(0));
    n->destroy();
    changed = true;
  }
  return changed;
}

bool optimize_frozen_graph(Graph& g, PassContext& context) {
  bool changed = context.run("removeDropout", g), again = true;
  while (again) {
    again = false;
    for (const char* name : {"FrozenConcatLinear", "FoldFrozenConvBatchnorm", "FoldFrozenConvAddOrSub",
                             "FoldFrozenConvMulOrDiv", "FoldFrozenLinearBatchnorm"})
      again = context.run(name, g) || again;
    changed = changed || again;
  }
  return changed;
}

}  // namespace fc::jit
