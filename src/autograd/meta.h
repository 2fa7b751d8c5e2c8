// SPDX-License-Identifier: Apache-2.0
// What autograd keeps on a tensor: its gradient, the node that made it, hooks, and for views their base.
#pragma once
#include <optional>

#include "autograd/node.h"

namespace fc::autograd {

enum class ViewOrigin : uint8_t { Normal, NoGrad, MultiOutput, Inference };

struct ViewInfo {
  Tensor base;           // never itself a view
  uint32_t version = 0;  // version at which grad_fn was made; older than the base's: make it anew
  ViewOrigin origin = ViewOrigin::Normal;
};

class RetainGradHook;

struct AutogradMeta final : AutogradMetaBase {
  ~AutogradMeta() override;
  Tensor grad;
  Ref<Node> grad_fn;      // null for leaves
  Ref<Node> accumulator;  // leaves: made on first use
  uint32_t output_nr = 0;
  bool requires_grad = false;
  Ref<RetainGradHook> retain;                // set by retain_grad(); cut loose when the tensor dies before its graph
  std::vector<HookEntry<TensorHook>> hooks;  // of leaves, moved to the accumulator when it is made
  std::vector<HookEntry<TensorHook>> post_accumulate;
  std::optional<ViewInfo> view;
};

class RetainGradHook final : public TensorHook {
 public:
  explicit RetainGradHook(TensorImpl* t) : tensor(t) {}
  Tensor call(const Tensor& gradient) override;
  TensorImpl* tensor;  // null once it is gone
};

inline AutogradMeta* meta(const Tensor& t) { return static_cast<AutogradMeta*>(t.impl().autograd()); }
AutogradMeta& make_meta(const Tensor& t);  // creates it if missing

}  // namespace fc::autograd
