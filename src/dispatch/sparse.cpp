// SPDX-License-Identifier: Apache-2.0
#include "dispatch/sparse.h"

#include <unordered_map>

#include "core/sparse.h"
#include "dispatch/checks.h"

namespace fc {
namespace {

std::unordered_map<const Operator*, Kernel>& kernels() {
  static auto& table = *new std::unordered_map<const Operator*, Kernel>;
  return table;
}

KernelFn values_kernel = nullptr, values_out_kernel = nullptr;

Kernel kernel_for(const Operator& op, Layout layout) {
  const auto found = kernels().find(&op);
  if (found == kernels().end() && op.keeps_zero != KeepsZero::No && !op.composite())
    return {op.is_out ? values_out_kernel : values_kernel, nullptr};
  FC_CHECK_AS(NotImplementedError, found != kernels().end(), "Could not run '", op.name(),
              "' with arguments of layout torch.", to_string(layout),
              ": it has no kernel for sparse tensors. Use to_dense() first, or work on values().");
  return found->second;
}

void sparse_layer(void*, const Operator& op, LayerSet, const Arg* args, Value* results) {
  Layout layout = Layout::Strided;
  for_each_tensor(args, op.tensor_args(), [&](const Tensor& t, size_t) {
    if (layout == Layout::Strided) layout = layout_of(t);
  });
  const Kernel k = kernel_for(op, layout);
  ExcludeLayers inside(layer::ViewInPlace);
  k.fn(k.context, op, args, results);
  thread_state().path = Path::Layer;
}

}  // namespace

void set_sparse_kernel(std::string_view op, Kernel k) { kernels()[&get_operator(op)] = k; }
void set_values_kernels(KernelFn on_values, KernelFn on_values_out) {
  values_kernel = on_values;
  values_out_kernel = on_values_out;
}

void call_for_layout(const Operator& op, Layout layout, const Arg* args, Value* results) {
  kernel_for(op, layout);  // composites that pass the layout by have none either
  if (op.composite()) {
    op.call(args, results);
    return;
  }
  const LayerSet set = process_layers() | thread_state().include | op.argument_layers(args) | layer::Sparse;
  redispatch(op, set & ~thread_state().exclude, args, results);
}

void install_sparse_layer() { set_layer_handler(layer::Sparse, {sparse_layer, nullptr, "sparse"}); }

}  // namespace fc
