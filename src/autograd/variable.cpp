// SPDX-License-Identifier: Apache-2.0
// Tensor-level state: leaves, gradients, views and their history.
#include "autograd/autograd.h"
#include "autograd/meta.h"
#include "core/error.h"
#include "dispatch/layers.h"
#include "ops/calls.h"

namespace fc::autograd {
namespace {

std::mutex accumulator_mutex;  // leaves are few; making their nodes is rare

// Adds arriving gradients to a leaf's .grad. Owned by the leaf's meta; `leaf` is therefore a plain pointer.
class AccumulateGrad final : public Node {
 public:
  explicit AccumulateGrad(TensorImpl* leaf) : leaf_(leaf) {
    sequence = UINT64_MAX;  // runs as soon as it can, as PyTorch's does
    Tensor t{Ref<TensorImpl>(leaf)};
    add_input(t);
  }
  std::string name() const override { return "AccumulateGrad"; }
  Tensor variable() const { return Tensor{Ref<TensorImpl>(leaf_)}; }

  std::vector<Tensor> apply(std::vector<Tensor>&& grads) override {
    Tensor& g = grads[0];
    if (!g.defined()) return {};
    Tensor leaf = variable();
    AutogradMeta& m = make_meta(leaf);
    if (!m.grad.defined()) {
      // Take the tensor over if nobody else sees it; otherwise copy, so that later additions stay ours.
      bool ours = !grad_enabled() && g.impl().use_count() == 1 && g.impl().storage()->use_count() == 1 &&
                  (g.is_contiguous() == leaf.is_contiguous()) && g.impl().is_dense();
      m.grad = ours ? std::move(g) : grad_enabled() ? clone(g) : clone(detach(g));
    } else if (!grad_enabled()) {
      add_(m.grad, g);
    } else {
      m.grad = add(m.grad, g);
    }
    for (auto& h : m.post_accumulate) h.hook->call(leaf);
    return {};
  }

 private:
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

// In-place write through a view, seen from the base: outside the view the gradient passes, inside it goes through fn.
class CopySlices final : public Node {
 public:
  CopySlices(const Tensor& base, const Tensor& view, Ref<Node> fn)
      : base_sizes_(base.sizes()),
        base_strides_(base.strides()),
        sizes_(view.sizes()),
        strides_(view.strides()),
        offset_(view.offset() - base.offset()),
        fn_(std::move(fn)) {
    add_input(base);
    edges.push_back(gradient_edge(base));
    for (size_t i = 1; i < fn_->edges.size(); ++i) edges.push_back(fn_->edges[i]);
  }
  std::string name() const override { return "CopySlices"; }
  void release_saved() override {
    if (fn_) fn_->release_saved();
  }
  std::vector<Tensor> apply(std::vector<Tensor>&& grads) override {
    std::vector<Tensor> out(edges.size());
    if (!grads[0].defined()) return out;
    Tensor all = empty_strided_tensor(base_sizes_, base_strides_, grads[0].dtype(), grads[0].device());
    copy_(all, grads[0]);
    Tensor part = as_strided(all, sizes_, strides_, offset_);
    std::vector<Tensor> inner = fn_->apply({clone(part)});
    for (size_t i = 0; i < inner.size() && i < out.size(); ++i) {
      if (i > 0) out[i] = std::move(inner[i]);
      else if (edges[0]) {
        if (inner[0].defined()) copy_(part, inner[0]);
        else zero_(part);
        out[0] = all;
      }
    }
    return out;
  }

 private:
  Dims base_sizes_, base_strides_, sizes_, strides_;
  int64_t offset_;
  Ref<Node> fn_;
};

// The node that adds to a leaf's gradient, made on first use, by whichever thread comes first.
Node* accumulator(AutogradMeta& m, TensorImpl& leaf) {
  static_assert(sizeof(Ref<Node>) == sizeof(Node*));
  auto* slot = reinterpret_cast<Node**>(&m.accumulator);
  if (Node* made = __atomic_load_n(slot, __ATOMIC_ACQUIRE)) return made;
  std::lock_guard lock(accumulator_mutex);
  if (!*slot) {
    Ref<Node> fresh = make_ref<AccumulateGrad>(&leaf);
    fresh->tensor_hooks = std::move(m.hooks);
    m.hooks.clear();
    __atomic_store_n(slot, fresh.detach(), __ATOMIC_RELEASE);
  }
  return *slot;
}

void mark(const Tensor& t) { t.impl().set_layer(layer::Autograd, true); }

}  // namespace

std::string (*stack_trace_hook)() = nullptr;

AutogradMeta& make_meta(const Tensor& t) {
  if (!t.impl().autograd()) t.impl().set_autograd(new AutogradMeta);
  return *meta(t);
}

bool requires_grad(const Tensor& t) {
  AutogradMeta* m = t.defined() ? meta(t) : nullptr;
  return m && (m->requires_grad || m->grad_fn || (m->view && requires_grad(m->view->base)));  // a base is never a view
}

bool is_leaf(const Tensor& t) {
  AutogradMeta* m = meta(t);
  return !m || !(m->view ? grad_fn(t) : m->grad_fn);
}

void set_requires_grad(const Tensor& t, bool on) {
  FC_CHECK(!on || is_floating(t.dtype()) || is_complex(t.dtype()),
           "only Tensors of floating point dtype can require gradients");
  FC_CHECK(is_leaf(t),
           on ? "requires_grad_: you can only change requires_grad flags of leaf variables."
              : "you can only change requires_grad flags of leaf variables. If you want to use a computed "
                "variable in a subgraph that doesn't require differentiation use var_no_grad = var.detach().");
  FC_CHECK(!on || !t.impl().is_inference() || thread_state().inference_mode,
           "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.");
  if (!on && !meta(t)) return;
  make_meta(t).requires_grad = on;
  t.impl().set_layer(layer::Autograd, on);
}

Tensor grad_of(const Tensor& t) { return meta(t) ? meta(t)->grad : Tensor(); }

void set_grad(const Tensor& t, const Tensor& g) {
  if (!g.defined()) {
    if (meta(t)) meta(t)->grad.reset();
    return;
  }
  FC_CHECK(!g.same(t), "can't assign Variable as its own grad");
  FC_CHECK(g.dtype() == t.dtype(), "assigned grad has data of a different type: expected ", t.dtype(), ", got ",
           g.dtype());
  FC_CHECK(g.device() == t.device(), "assigned grad has data located on a different device: expected ", t.device(),
           ", got ", g.device());
  FC_CHECK(Dims::same(g.sizes(), t.sizes()), "assigned grad has data of a different size: expected ", t.sizes(),
           ", got ", g.sizes());
  make_meta(t).grad = g;
}

bool is_view(const Tensor& t) { return meta(t) && meta(t)->view; }
const Tensor& base_of(const Tensor& t) { return meta(t)->view->base; }
uint32_t output_nr(const Tensor& t) { return meta(t) ? meta(t)->output_nr : 0; }

void make_view_of(const Tensor& view, const Tensor& base, bool multi_output) {
  if (view.same(base) || view.impl().storage().get() != base.impl().storage().get()) return;
  AutogradMeta& m = make_meta(view);
  if (m.view) return;
  m.view.emplace();
  m.view->base = is_view(base) ? base_of(base) : base;
  m.view->version = view.impl().version();
  m.view->origin = thread_state().inference_mode ? ViewOrigin::Inference
                   : !grad_enabled()             ? ViewOrigin::NoGrad
                   : multi_output                ? ViewOrigin::MultiOutput
                   : is_view(base)               ? meta(base)->view->origin
                                                 : ViewOrigin::Normal;
  // The base may get a history later, by an in-place write; then this view has one too.
  if (is_floating(view.dtype()) || is_complex(view.dtype())) mark(view);
}

Ref<Node> grad_fn(const Tensor& t) {
  AutogradMeta* m = meta(t);
  if (!m) return nullptr;
  bool follows = m->view && (m->view->origin == ViewOrigin::Normal || m->view->origin == ViewOrigin::MultiOutput);
  if (follows && m->view->version != t.impl().version() && requires_grad(m->view->base)) {
    Ref<Node> node = make_ref<AsStridedNode>(t, m->view->base);
    m->grad_fn = node;
    m->output_nr = 0;
    m->view->version = t.impl().version();
    mark(t);
  }
  return m->grad_fn;
}

Edge gradient_edge(const Tensor& t) {
  if (!t.defined()) return {};
  if (Ref<Node> fn = grad_fn(t)) {
    Node* node = fn.get();
    return {std::move(fn), node, meta(t)->output_nr};
  }
  if (!requires_grad(t)) return {};
  AutogradMeta& m = *meta(t);
  return {t.ref(), accumulator(m, t.impl()), 0};
}

void set_history(const Tensor& result, const Ref<Node>& node) {
  uint32_t nr = node->add_input(result);
  if (!result.defined()) return;
  if (!is_floating(result.dtype()) && !is_complex(result.dtype())) return;
  AutogradMeta& m = make_meta(result);
  m.grad_fn = node;
  m.output_nr = nr;
  if (m.view) m.view->version = result.impl().version();
  mark(result);
}

void check_in_place(const char* op, const Tensor& self) {
  if (!grad_enabled()) return;
  AutogradMeta* m = meta(self);
  if (m && m->view) {
    const Tensor& base = m->view->base;
    if (m->view->origin != ViewOrigin::Normal && requires_grad(base)) {
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

void rebase_history(const Tensor& self, const Ref<Node>& node) {
  AutogradMeta& m = make_meta(self);
  if (m.view) {
    Tensor base = m.view->base;
    node->add_input(self);
    auto slices = make_ref<CopySlices>(base, self, node);
    AutogradMeta& bm = make_meta(base);
    bm.grad_fn = slices;
    bm.output_nr = 0;
    mark(base);
    m.grad_fn = make_ref<AsStridedNode>(self, base);
    m.output_nr = 0;
    m.view->version = self.impl().version();
    mark(self);
    return;
  }
  m.output_nr = node->add_input(self);
  m.grad_fn = node;
  mark(self);
}

Tensor data_of(const Tensor& t) { return shallow_copy(t, false); }

void set_data(const Tensor& t, const Tensor& data) {
  FC_CHECK(t.dtype() == data.dtype() || !requires_grad(t) || is_floating(data.dtype()) || is_complex(data.dtype()),
           "data set to a tensor that requires gradients must be floating point or complex dtype");
  TensorImpl& to = t.impl();
  const TensorImpl& from = data.impl();
  to.set_storage(from.storage(), from.dtype(), from.device());
  to.set_geometry(from.sizes(), from.strides(), from.offset());
  if (AutogradMeta* m = meta(t)) {
    m->accumulator = nullptr;  // its idea of sizes and type is stale
  }
}

void detach_in_place(const Tensor& t) {
  FC_CHECK(!is_view(t), "Can't detach views in-place. Use detach() instead.");
  if (AutogradMeta* m = meta(t)) {
    m->grad_fn = nullptr;
    m->output_nr = 0;
    m->requires_grad = false;
    t.impl().set_layer(layer::Autograd, false);
  }
}

AutogradMeta::~AutogradMeta() {
  if (retain) retain->tensor = nullptr;
}

Tensor RetainGradHook::call(const Tensor& g) {
  if (!tensor) return {};
  Tensor t{Ref<TensorImpl>(tensor)};
  AutogradMeta& m = make_meta(t);
  m.grad = m.grad.defined() ? add(m.grad, g) : clone(g);
  return {};
}

void retain_grad(const Tensor& t) {
  FC_CHECK(requires_grad(t), "can't retain_grad on Tensor that has requires_grad=False");
  if (is_leaf(t) || meta(t)->retain) return;
  meta(t)->retain = make_ref<RetainGradHook>(&t.impl());
  Edge e = gradient_edge(t);
  e.node->retain_hooks.push_back({next_hook_id(), Ref<TensorHook>(meta(t)->retain), e.nr});
}
bool retains_grad(const Tensor& t) { return meta(t) && meta(t)->retain; }

uint64_t add_hook(const Tensor& t, Ref<TensorHook> hook) {
  FC_CHECK(requires_grad(t), "cannot register a hook on a tensor that doesn't require gradient");
  Edge e = gradient_edge(t);
  uint64_t id = next_hook_id();
  e.node->tensor_hooks.push_back({id, std::move(hook), e.nr});
  return id;
}

uint64_t add_post_accumulate_hook(const Tensor& t, Ref<TensorHook> hook) {
  FC_CHECK(requires_grad(t), "cannot register a hook on a tensor that doesn't require gradient");
  FC_CHECK(is_leaf(t), "post accumulate grad hooks cannot be registered on non-leaf tensors");
  uint64_t id = next_hook_id();
  make_meta(t).post_accumulate.push_back({id, std::move(hook)});
  return id;
}

void remove_hook(const Tensor& t, uint64_t id) {
  auto drop = [id](auto& list) { std::erase_if(list, [id](const auto& h) { return h.id == id; }); };
  AutogradMeta* m = meta(t);
  if (!m) return;
  drop(m->post_accumulate);
  if (m->accumulator) drop(m->accumulator->tensor_hooks);
  if (m->grad_fn) drop(m->grad_fn->tensor_hooks);
}

}  // namespace fc::autograd
