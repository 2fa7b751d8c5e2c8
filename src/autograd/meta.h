// SPDX-License-Identifier: Apache-2.0
// What autograd keeps on a tensor: its gradient, the node that made it, hooks, and for views their base. Threads may
// use one tensor's meta at the same time: references in it are copied and swapped under its lock.
#pragma once
#include <optional>

#include "autograd/node.h"

namespace fc::autograd {

enum class ViewOrigin : uint8_t { Normal, NoGrad, MultiOutput, Inference };

struct ViewInfo {
  Tensor base;  // never itself a view; set when the view is made, as is the origin
  ViewOrigin origin = ViewOrigin::Normal;

  // The version at which grad_fn was made; older than the base's: make it anew.
  uint32_t made_at() const { return __atomic_load_n(&made_at_, __ATOMIC_RELAXED); }
  void set_made_at(uint32_t version) { __atomic_store_n(&made_at_, version, __ATOMIC_RELAXED); }

 private:
  uint32_t made_at_ = 0;
};

// Where a tensor's gradient lies. It may outlive the tensor: then only a retain_grad hook still holds it.
class GradSlot final : public RefCounted {
 public:
  Tensor read() const {
    std::lock_guard guard(lock_);
    return grad_;
  }
  void write(Tensor g) {  // what was there is dropped after the lock
    std::lock_guard guard(lock_);
    grad_.ref().swap(g.ref());
  }
  Tensor& unguarded() { return grad_; }  // for a caller that keeps other threads away

  // Held while a gradient is added. Adding calls operators, and what a program hangs on those may come back here.
  std::recursive_mutex adding;

 private:
  mutable SpinLock lock_;
  Tensor grad_;
};

// retain_grad: adds what arrives to the slot of a tensor that is no leaf.
class RetainGradHook final : public TensorHook {
 public:
  explicit RetainGradHook(Ref<GradSlot> s) : slot_(std::move(s)) {}
  Tensor call(const Tensor& gradient) override;

 private:
  Ref<GradSlot> slot_;
};

struct AutogradMeta final : AutogradMetaBase {
  bool requires_grad() const { return __atomic_load_n(&requires_grad_, __ATOMIC_RELAXED); }  // as a leaf
  void set_requires_grad(bool on) { __atomic_store_n(&requires_grad_, on, __ATOMIC_RELAXED); }

  bool has_fn() const { return __atomic_load_n(&has_fn_, __ATOMIC_RELAXED); }
  Edge fn() const {  // empty for leaves
    if (!has_fn()) return {};
    std::lock_guard guard(lock_);
    return {grad_fn_, nullptr, output_nr_};
  }
  void set_fn(Ref<Node> node, uint32_t nr) {
    std::lock_guard guard(lock_);
    grad_fn_.swap(node);
    output_nr_ = nr;
    __atomic_store_n(&has_fn_, static_cast<bool>(grad_fn_), __ATOMIC_RELAXED);
  }

  void set_first_fn(const Ref<Node>& node, uint32_t nr) {  // while nobody else can see the tensor
    grad_fn_ = node;
    output_nr_ = nr;
    has_fn_ = true;
  }

  Ref<Node> accumulator() const {  // null until first use, and for results
    std::lock_guard guard(lock_);
    return accumulator_;
  }
  // Takes `next` for the node that adds to the gradient from now on, unless another thread came first; null drops it.
  Ref<Node> set_accumulator(Ref<Node> next);

  GradSlot& slot() {
    return slot_.get_or_make([] { return make_ref<GradSlot>(); });
  }
  GradSlot* slot_if_any() const { return slot_.get(); }

  uint64_t retain() const { return __atomic_load_n(&retain_, __ATOMIC_RELAXED); }  // the retain_grad hook's id, or 0
  void set_retain(uint64_t id) { __atomic_store_n(&retain_, id, __ATOMIC_RELAXED); }

  OnceRef<TensorHooks> hooks;            // of leaves: shared with every node that adds to the gradient
  OnceRef<TensorHooks> post_accumulate;  // of leaves
  std::optional<ViewInfo> view;

 private:
  mutable SpinLock lock_;
  bool requires_grad_ = false;
  bool has_fn_ = false;
  uint32_t output_nr_ = 0;
  uint64_t retain_ = 0;
  Ref<Node> grad_fn_;
  Ref<Node> accumulator_;
  OnceRef<GradSlot> slot_;
};

inline AutogradMeta* meta(const Tensor& t) { return static_cast<AutogradMeta*>(t.impl().autograd()); }
AutogradMeta& make_meta(const Tensor& t);  // creates it if missing

// Whether nobody else sees the tensor or its memory, which is our own and lent to nobody. The base that a view of it
// all alone still holds is nobody else: a weight's gradient is the transpose of a product.
bool sees_alone(const Tensor& t);

}  // namespace fc::autograd
