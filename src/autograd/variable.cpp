// SPDX-License-Identifier: Apache-2.0
// Tensor-level state: leaves, gradients, views and their history.
#include "autograd/autograd.h"
#include "autograd/meta.h"
#include "core/error.h"
#include "core/sparse.h"
#include "define/calls.h"
#include "dispatch/layers.h"

namespace fc::autograd {
namespace {

// Adds arriving gradients to a leaf's .grad. Who holds it by an edge holds the leaf, and otherwise the leaf holds it;
// `leaf` is therefore a plain pointer. It stays what it was made for: after `.data` got another type or size, the leaf
// takes another one, and graphs recorded before keep this.
class AccumulateGrad final : public Node {
 public:
  explicit AccumulateGrad(const Tensor& leaf, TensorHooks& hooks)
      : Node(UINT64_MAX),  // runs as soon as it can, as PyTorch's does
        leaf_(&leaf.impl()) {
    tensor_hooks.set_first(Ref<TensorHooks>(&hooks));
    add_input(leaf);
  }
  std::string name() const override { return "torch::autograd::AccumulateGrad"; }

  std::vector<Tensor> apply(std::vector<Tensor>&& grads) override {
    if (!grads[0].defined()) return {};
    Tensor leaf{Ref<TensorImpl>(leaf_)};
    AutogradMeta& m = make_meta(leaf);
    add_to(m.slot(), leaf, std::move(grads[0]));
    for_each_hook(m.post_accumulate, [&](const auto& h) { h.hook->call(leaf); });
    return {};
  }

 private:
  // A gradient lies in memory as its leaf does, so that optimisers go through both in one order: by the leaf's strides,
  // or contiguous where the leaf itself has gaps or overlaps.
  static bool lies_as(const Tensor& leaf, const Tensor& g) {
    if (!leaf.impl().is_dense()) return g.is_contiguous();
    for (int64_t d = 0; d < leaf.dim(); ++d)
      if (leaf.size(d) > 1 && g.stride(d) != leaf.stride(d)) return g.numel() == 0;
    return true;
  }
  static Tensor copied_as(const Tensor& leaf, const Tensor& g) {
    if (!leaf.impl().is_dense()) return clone(g, MemoryFormat::Contiguous);
    return copy_(empty_strided_tensor(g.sizes(), leaf.strides(), g.dtype(), g.device()), g);
  }
  static bool is_only_user(const Tensor& g) {
    const auto& parts = sparse_parts(g);
    const auto alone = [](const Tensor& t) { return t.impl().storage()->use_count() == 1; };
    return g.impl().use_count() == 1 && alone(g) && alone(parts.indices) && alone(parts.values);
  }
  // A sparse gradient stays sparse until a strided one joins it.
  static void add_sparse(GradSlot& slot, const Tensor& before, const Tensor& g) {
    if (!before.defined()) slot.write(grad_enabled() || !is_only_user(g) ? clone(g) : g);
    else if (before.impl().is_sparse() && !g.impl().is_sparse()) slot.write(add(g, before));
    else if (grad_enabled()) slot.write(add(before, g));
    else add_(before, g);
  }
  static void add_to(GradSlot& slot, const Tensor& leaf, Tensor&& g) {
    std::lock_guard guard(slot.adding);
    Tensor before = slot.read();
    if (g.impl().is_sparse() || (before.defined() && before.impl().is_sparse())) [[unlikely]] {
      add_sparse(slot, before, g);
    } else if (!before.defined()) {
      // Take the tensor over if nobody else sees it; otherwise copy, so that later additions stay ours.
      const bool fits = lies_as(leaf, g);
      const bool ours = !grad_enabled() && fits && sees_alone(g);
      const Tensor from = ours || grad_enabled() ? std::move(g) : detach(g);
      slot.write(ours ? (is_view(from) ? data_of(from) : from) : fits ? clone(from) : copied_as(leaf, from));
    } else if (!grad_enabled()) {
      add_(before, g);
    } else {
      slot.write(add(before, g));
    }
  }

  TensorImpl* leaf_;
};

// The gradient function of a view whose base was changed in place: picks the view's part out of the base's gradient.
class AsStridedNode final : public Node {
 public:
  AsStridedNode(const Tensor& view, const Tensor& base)
      : sizes_(view.sizes()),
        strides_(view.strides()),
        offset_(view.offset() - base.offset()),
        base_sizes_(base.sizes()),
        base_strides_(base.strides()) {
    add_input(view);
    edges.push_back(gradient_edge(base));
  }
  std::string name() const override { return "AsStridedBackward0"; }
  std::vector<Tensor> apply(std::vector<Tensor>&& grads) override {
    if (!grads[0].defined()) return {Tensor()};
    Tensor all = zeros_base(grads[0]);
    Tensor part = as_strided(all, sizes_, strides_, offset_);
    copy_(part, grads[0]);
    return {all};
  }

 private:
  Tensor zeros_base(const Tensor& g) const {
    Tensor t = empty_strided_tensor(base_sizes_, base_strides_, g.dtype(), g.device());
    return zero_(t);
  }
  Dims sizes_, strides_;
  int64_t offset_;
  Dims base_sizes_, base_strides_;
};

// In-place write through a view, seen from the base: outside the view the gradient passes, inside it goes through fn,
// whose input number `self` is the view before it was written to.
class CopySlices final : public Node {
 public:
  CopySlices(const Tensor& base, const Tensor& view, Ref<Node> fn, size_t self)
      : base_sizes_(base.sizes()),
        base_strides_(base.strides()),
        sizes_(view.sizes()),
        strides_(view.strides()),
        offset_(view.offset() - base.offset()),
        fn_(std::move(fn)),
        self_(self) {
    add_input(base);
    edges = fn_->edges;
    edges[self_] = gradient_edge(base);
  }
  std::string name() const override { return "CopySlices"; }
  void release_saved() override { fn_->release_saved(); }
  std::vector<Tensor> apply(std::vector<Tensor>&& grads) override {
    if (!grads[0].defined()) return std::vector<Tensor>(edges.size());
    Tensor all = empty_strided_tensor(base_sizes_, base_strides_, grads[0].dtype(), grads[0].device());
    copy_(all, grads[0]);
    Tensor part = as_strided(all, sizes_, strides_, offset_);
    std::vector<Tensor> out = fn_->apply({clone(part)});
    out.resize(edges.size());
    if (edges[self_]) {
      if (out[self_].defined()) copy_(part, out[self_]);
      else zero_(part);
      out[self_] = all;
    }
    return out;
  }

 private:
  Dims base_sizes_, base_strides_, sizes_, strides_;
  int64_t offset_;
  Ref<Node> fn_;
  size_t self_;
};

// The node that adds to a leaf's gradient, made on first use, by whichever thread comes first.
Ref<Node> accumulator(AutogradMeta& m, const Tensor& leaf) {
  if (Ref<Node> made = m.accumulator()) {
    const InputMeta& was = made->inputs[0];  // set_ and resize_ change what the leaf is; graphs from before keep theirs
    if (Dims::same(was.sizes, leaf.sizes()) && was.dtype == leaf.dtype()) return made;
    m.set_accumulator(nullptr);
  }
  return m.set_accumulator(make_ref<AccumulateGrad>(leaf, hooks_at(m.hooks)));
}

void mark(const Tensor& t) { t.impl().set_layer(layer::Autograd, true); }

// Gives a tensor another history. retain_grad is about the tensor, so its hook moves along; other hooks watch the value
// that the tensor had.
void replace_fn(AutogradMeta& m, Ref<Node> node, uint32_t nr) {
  if (m.retain()) {
    if (Edge before = m.fn()) hooks_at(before.node->retain_hooks).remove(m.retain());
    m.set_retain(hooks_at(node->retain_hooks).add(make_ref<RetainGradHook>(Ref<GradSlot>(&m.slot())), nr));
  }
  m.set_fn(std::move(node), nr);
}

}  // namespace

std::string (*stack_trace_hook)() = nullptr;

AutogradMeta& make_meta(const Tensor& t) {
  if (AutogradMeta* m = meta(t)) return *m;
  return *static_cast<AutogradMeta*>(t.impl().add_autograd(new AutogradMeta));
}

Ref<Node> AutogradMeta::set_accumulator(Ref<Node> next) {
  std::lock_guard guard(lock_);
  if (!next || !accumulator_) accumulator_.swap(next);
  return accumulator_;
}

bool requires_grad(const Tensor& t) {
  AutogradMeta* m = t.defined() ? meta(t) : nullptr;
  return m && (m->requires_grad() || m->has_fn() || (m->view && requires_grad(m->view->base)));  // a base is no view
}

bool is_leaf(const Tensor& t) {
  AutogradMeta* m = meta(t);
  return !m || !(m->view ? static_cast<bool>(grad_fn(t)) : m->has_fn());
}

void set_requires_grad(const Tensor& t, bool on) {
  FC_CHECK(!on || is_floating(t.dtype()) || is_complex(t.dtype()),
           "only Tensors of floating point dtype can require gradients");
  if (!is_leaf(t)) {  // computed from one that does: so does it
    FC_CHECK(on,
             "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in ",
             "a subgraph that doesn't require differentiation use var_no_grad = var.detach().");
    return;
  }
  FC_CHECK(!on || !t.impl().is_inference() || thread_state().inference_mode,
           "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.");
  if (!on && !meta(t)) return;
  make_meta(t).set_requires_grad(on);
  t.impl().set_layer(layer::Autograd, on);
}

Tensor grad_of(const Tensor& t) {
  GradSlot* slot = meta(t) ? meta(t)->slot_if_any() : nullptr;
  return slot ? slot->read() : Tensor();
}

void set_grad(const Tensor& t, const Tensor& g) {
  if (!g.defined()) {
    if (GradSlot* slot = meta(t) ? meta(t)->slot_if_any() : nullptr) slot->write({});
    return;
  }
  FC_CHECK(!g.same(t), "can't assign Variable as its own grad");
  FC_CHECK(g.dtype() == t.dtype(), "assigned grad has data of a different type: expected ", t.dtype(), ", got ",
           g.dtype());
  FC_CHECK(g.device() == t.device(), "assigned grad has data located on a different device: expected ", t.device(),
           ", got ", g.device());
  FC_CHECK(Dims::same(g.sizes(), t.sizes()), "assigned grad has data of a different size: expected ", t.sizes(),
           ", got ", g.sizes());
  make_meta(t).slot().write(g);
}

bool sees_alone(const Tensor& t) {
  const Storage& storage = *t.impl().storage();
  if (t.impl().use_count() != 1 || !storage.resizable()) return false;
  if (storage.use_count() == 1) return true;
  return storage.use_count() == 2 && is_view(t) && base_of(t).impl().use_count() == 1 &&
         storage.bytes() == static_cast<size_t>(t.numel()) * item_size(t.dtype());
}

bool is_view(const Tensor& t) { return meta(t) && meta(t)->view; }
const Tensor& base_of(const Tensor& t) { return meta(t)->view->base; }
uint32_t output_nr(const Tensor& t) { return meta(t) ? meta(t)->fn().nr : 0; }

void make_view_of(const Tensor& view, const Tensor& base, bool multi_output) {
  if (view.same(base) || view.impl().storage().get() != base.impl().storage().get()) return;
  if (base.impl().is_sparse()) return;  // has no memory of its own that a view could write to
  AutogradMeta& m = make_meta(view);
  if (m.view) return;
  m.view.emplace();
  m.view->base = is_view(base) ? base_of(base) : base;
  m.view->set_made_at(view.impl().version());
  m.view->origin = thread_state().inference_mode ? ViewOrigin::Inference
                   : !grad_enabled()             ? ViewOrigin::NoGrad
                   : multi_output                ? ViewOrigin::MultiOutput
                   : is_view(base)               ? meta(base)->view->origin
                                                 : ViewOrigin::Normal;
  // The base may get a history later, by an in-place write; then this view has one too.
  if (is_floating(view.dtype()) || is_complex(view.dtype())) mark(view);
}

// The node that made the tensor, and which of its results it is; empty for leaves.
static Edge fn_edge(const Tensor& t) {
  AutogradMeta* m = meta(t);
  if (!m) return {};
  bool follows = m->view && (m->view->origin == ViewOrigin::Normal || m->view->origin == ViewOrigin::MultiOutput);
  if (follows && m->view->made_at() != t.impl().version() && requires_grad(m->view->base)) {
    const uint32_t now = t.impl().version();
    replace_fn(*m, make_ref<AsStridedNode>(t, m->view->base), 0);
    m->view->set_made_at(now);
    mark(t);
  }
  return m->fn();
}

Ref<Node> grad_fn(const Tensor& t) { return fn_edge(t).node; }

Edge gradient_edge(const Tensor& t) {
  if (!t.defined()) return {};
  if (Edge e = fn_edge(t)) return e;
  if (!requires_grad(t)) return {};
  return {accumulator(*meta(t), t), t.ref(), 0};
}

void set_history(const Tensor& result, const Ref<Node>& node) {
  uint32_t nr = node->add_input(result);
  if (!result.defined()) return;
  if (!is_floating(result.dtype()) && !is_complex(result.dtype())) return;
  if (!meta(result)) {
    auto* fresh = new AutogradMeta;
    fresh->set_first_fn(node, nr);
    result.impl().set_first_autograd(fresh, layer::Autograd);
    return;
  }
  AutogradMeta& m = *meta(result);
  m.set_fn(node, nr);
  if (m.view) m.view->set_made_at(result.impl().version());
  mark(result);
}

void check_in_place(const char* op, const Tensor& self) {
  if (!grad_enabled()) return;
  AutogradMeta* m = meta(self);
  if (m && m->view) {
    const Tensor& base = m->view->base;
    if (m->view->origin != ViewOrigin::Normal) {
      const char* why =
          m->view->origin == ViewOrigin::MultiOutput
              ? "This view is the output of a function that returns multiple views. Such functions do not "
                "allow the output views to be modified inplace. You should replace the inplace operation "
                "by an out-of-place one."
          : m->view->origin == ViewOrigin::Inference
              ? "This view was created in inference mode and is being modified inplace with grad mode enabled."
              : "A view was created in no_grad mode and is being modified inplace with grad mode enabled. Make the "
                "view and change it either both inside the no_grad block or both outside.";
      raise<Error>(op, ": Output ", output_nr(self), " of a view is being modified inplace. ", why);
    }
    FC_CHECK(!(requires_grad(base) && is_leaf(base)), op,
             ": a view of a leaf Variable that requires grad is being used in an in-place operation.");
  }
  FC_CHECK(!(requires_grad(self) && is_leaf(self)), op,
           ": a leaf Variable that requires grad is being used in an in-place operation.");
}

void rebase_history(const Tensor& self, const Ref<Node>& node, size_t input) {
  AutogradMeta& m = make_meta(self);
  const uint32_t nr = node->add_input(self);
  if (!m.view) {
    replace_fn(m, node, nr);
    mark(self);
    return;
  }
  const Tensor& base = m.view->base;
  replace_fn(make_meta(base), make_ref<CopySlices>(base, self, node, input), 0);
  mark(base);
  replace_fn(m, make_ref<AsStridedNode>(self, base), 0);
  m.view->set_made_at(self.impl().version());
  mark(self);
}

Tensor data_of(const Tensor& t) { return shallow_copy(t, false); }

void set_data(const Tensor& t, const Tensor& data) {
  FC_CHECK(t.device().is_meta() == data.device().is_meta(),
           "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor type: ",
           t.device(), " and ", data.device());
  FC_CHECK(t.dtype() == data.dtype() || !requires_grad(t) || is_floating(data.dtype()) || is_complex(data.dtype()),
           "data set to a tensor that requires gradients must be floating point or complex dtype");
  TensorImpl& to = t.impl();
  const TensorImpl& from = data.impl();
  const bool same_kind =
      to.dtype() == from.dtype() && to.device() == from.device() && Dims::same(to.sizes(), from.sizes());
  // Graphs recorded so far go on with the old kind: their edges own the node that adds gradients of it.
  if (AutogradMeta* m = meta(t); m && !same_kind) m->set_accumulator(nullptr);
  to.set_storage(from.storage(), from.dtype(), from.device());
  to.set_layer(kSparse, from.is_sparse());
  if (from.is_sparse()) to.set_without_strides(from.sizes());
  else to.set_geometry(from.sizes(), from.strides(), from.offset());
}

void detach_in_place(const Tensor& t) {
  FC_CHECK(!is_view(t), "Can't detach views in-place. Use detach() instead.");
  if (AutogradMeta* m = meta(t)) {
    m->set_fn(nullptr, 0);
    m->set_requires_grad(false);
    t.impl().set_layer(layer::Autograd, false);
  }
}

Tensor RetainGradHook::call(const Tensor& g) {
  if (slot_->use_count() == 1) return {};  // the tensor is gone
  std::lock_guard guard(slot_->adding);
  Tensor before = slot_->read();
  slot_->write(before.defined() ? add(before, g) : clone(g));
  return {};
}

void retain_grad(const Tensor& t) {
  FC_CHECK(requires_grad(t), "can't retain_grad on Tensor that has requires_grad=False");
  if (is_leaf(t) || meta(t)->retain()) return;
  AutogradMeta& m = *meta(t);
  Edge e = gradient_edge(t);
  m.set_retain(hooks_at(e.node->retain_hooks).add(make_ref<RetainGradHook>(Ref<GradSlot>(&m.slot())), e.nr));
}
bool retains_grad(const Tensor& t) { return meta(t) && meta(t)->retain(); }

HookHandle add_hook(const Tensor& t, Ref<TensorHook> hook) {
  FC_CHECK(requires_grad(t), "cannot register a hook on a tensor that doesn't require gradient");
  Edge e = gradient_edge(t);
  TensorHooks& list = hooks_at(e.node->tensor_hooks);
  return {Ref<AnyHookList>(&list), list.add(std::move(hook), e.nr)};
}

HookHandle add_post_accumulate_hook(const Tensor& t, Ref<TensorHook> hook) {
  FC_CHECK(requires_grad(t), "cannot register a hook on a tensor that doesn't require gradient");
  FC_CHECK(is_leaf(t), "post accumulate grad hooks cannot be registered on non-leaf tensors");
  TensorHooks& list = hooks_at(make_meta(t).post_accumulate);
  return {Ref<AnyHookList>(&list), list.add(std::move(hook))};
}

}  // namespace fc::autograd
