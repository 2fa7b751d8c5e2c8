// SPDX-License-Identifier: Apache-2.0
#include "autograd/saved.h"

#include "autograd/autograd.h"
#include "autograd/meta.h"
#include "core/error.h"
#include "core/kept.h"
#include "define/calls.h"
#include "dispatch/snapshot.h"

namespace fc::autograd {
namespace {

struct Packed final : RefCounted {
  Ref<SavedTensorHooks> hooks;
  Ref<RefCounted> content;
  Edge edge;  // of an input: where its gradient goes
};
void set_made_by(const Tensor& t, Ref<Node> node, uint32_t nr) {
  make_meta(t).set_fn(std::move(node), nr);
  t.impl().set_layer(layer::Autograd, true);
}

Tensor copied(const Tensor& t) {
  GradMode off(false);
  return clone(t);
}

// For an argument that the program may overwrite: its bytes as they are now.
struct KeepBytes final : SavedTensorHooks {
  Ref<RefCounted> pack(const Tensor& t) override {
    return make_ref<KeptTensor>(KeptTensor::can_keep(t) ? t : copied(t));
  }
  Tensor unpack(RefCounted& kept) override { return static_cast<KeptTensor&>(kept).read(); }
};

using Stack = std::vector<Ref<SavedTensorHooks>>;
constinit thread_local Stack* hook_stack [[gnu::tls_model("initial-exec")]] = nullptr;  // null or with a hook in it
thread_local std::optional<std::string> disabled_because;

}  // namespace

void hand_saved_tensor_hooks_to_workers() {
  add_thread_local_part({
      .capture = []() -> void* { return hook_stack ? new Stack(*hook_stack) : nullptr; },
      .enter = [](void* copy) { hook_stack = new Stack(*static_cast<Stack*>(copy)); },
      .leave = [](void*) { delete std::exchange(hook_stack, nullptr); },
      .release = [](void* copy) { delete static_cast<Stack*>(copy); },
  });
}

void push_saved_tensor_hooks(Ref<SavedTensorHooks> hooks) {
  FC_CHECK(!disabled_because, *disabled_because);
  if (hook_stack) hook_stack->push_back(std::move(hooks));
  else hook_stack = new Stack(1, std::move(hooks));
}
void pop_saved_tensor_hooks() {
  FC_CHECK(hook_stack, "saved_tensors_hooks: left without being entered on this thread");
  Ref<SavedTensorHooks> last = std::move(hook_stack->back());
  hook_stack->pop_back();
  if (hook_stack->empty()) delete std::exchange(hook_stack, nullptr);
}

std::optional<std::string> disable_saved_tensor_hooks(std::optional<std::string> because) {
  FC_CHECK(!because || !hook_stack, *because);
  return std::exchange(disabled_because, std::move(because));
}

SavedTensor::SavedTensor(const Tensor& t, bool is_result, bool may_change) {
  if (!t.defined()) return;
  FC_CHECK(!t.impl().is_inference() || thread_state().inference_mode,
           "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
           "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use "
           "it in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`.");
  version_ = t.impl().version();
  is_result_ = is_result;
  if (is_result) {
    output_nr_ = autograd::output_nr(t);
    is_leaf_result_ = is_leaf(t);
    data_ = shallow_copy(t, true);
  } else {
    data_ = t;
  }
  if (hook_stack) pack(t, may_change ? copied(t) : shallow_copy(t, true), hook_stack->back());
  else if (may_change) pack(t, shallow_copy(t, true), make_ref<KeepBytes>());
}

void SavedTensor::pack(const Tensor& t, const Tensor& shown, Ref<SavedTensorHooks> hooks) {
  auto packed = make_ref<Packed>();
  packed->hooks = std::move(hooks);  // its own: packing may leave the mode, and enter others
  const uint32_t version = t.impl().version();
  packed->content = packed->hooks->pack(shown);
  FC_CHECK(
      t.impl().version() == version,
      "A saved tensor pack hook is modifying its input in place. What is given to a pack hook is still used by the "
      "program: change a clone of it.");
  if (!is_result_ && requires_grad(t)) packed->edge = gradient_edge(t);
  packed_ = std::move(packed);
  data_.reset();
}

bool SavedTensor::has_own_hooks() const {
  return packed_ && !dynamic_cast<KeepBytes*>(static_cast<Packed&>(*packed_).hooks.get());
}

void SavedTensor::register_hooks(Ref<SavedTensorHooks> hooks, const Ref<Node>& owner) {
  FC_CHECK(!empty(), "Calling register_hooks on a saved tensor with value None is forbidden");
  FC_CHECK(
      !has_own_hooks(),
      "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of hooks is "
      "allowed at a time.");
  const Tensor t = unpack(owner);
  pack(t, shallow_copy(t, true), std::move(hooks));
}

Tensor SavedTensor::unpack(const Ref<Node>& owner) const {
  if (packed_) {
    auto& p = static_cast<Packed&>(*packed_);
    Tensor t = p.hooks->unpack(*p.content);
    const bool own = is_result_ && !is_leaf_result_;
    if (!own && !p.edge) return t;
    t = shallow_copy(t, true);
    set_made_by(t, own ? owner : p.edge.node, own ? output_nr_ : p.edge.nr);
    return t;
  }
  if (!data_.defined()) return {};
  uint32_t now = data_.impl().version();
  if (now != version_) {
    std::string maker;
    Ref<Node> fn = is_result_ ? owner : grad_fn(data_);
    if (fn)
      maker = str(", which is output ", is_result_ ? output_nr_ : autograd::output_nr(data_), " of ", fn->name(), ",");
    raise<Error>(
        "one of the variables needed for gradient computation has been modified by an inplace operation: [torch.",
        info(data_.dtype()).legacy, "Tensor ", data_.sizes(), "]", maker, " is at version ", now, "; expected version ",
        version_,
        " instead. Hint: enable anomaly detection to find the operation that failed to compute its gradient, "
        "with torch.autograd.set_detect_anomaly(True).");
  }
  if (!is_result_ || is_leaf_result_) return data_;
  Tensor t = shallow_copy(data_, true);
  set_made_by(t, owner, output_nr_);
  return t;
}

}  // namespace fc::autograd
