// SPDX-License-Identifier: Apache-2.0
#include "jit/run/profile.h"

#include <algorithm>
#include <mutex>
#include <optional>

#include "autograd/autograd.h"
#include "core/sparse.h"
#include "dispatch/layers.h"
#include "dispatch/operator.h"
#include "jit/ir/walk.h"
#include "jit/passes/create_autodiff_subgraphs.h"

namespace fc::jit {
namespace {

constexpr std::string_view profiled[] = {
#define OPERATOR(name) name,
#define INPUTS(name)
#include "jit/run/profiled.def"
#undef OPERATOR
#undef INPUTS
};
constexpr std::string_view profiled_inputs[] = {
#define OPERATOR(name)
#define INPUTS(name) name,
#include "jit/run/profiled.def"
#undef OPERATOR
#undef INPUTS
};

bool is_profiled(const Node& n) {
  if (is_any(n.kind(), prim_Constant, prim_profile)) return false;
  if (is_any(n.kind(), prim_AutogradAdd, prim_AutogradAnyNonZero, prim_AutogradAllNonZero, prim_AutogradAllZero,
             prim_AutogradZero, prim_ListConstruct, prim_ConstantChunk))
    return true;
  if (is_differentiable(n)) return true;
  const Operator* op = n.find_operator();
  return op && std::ranges::binary_search(profiled, op->name());
}
bool wants_inputs(const Node& n) {
  if (is_profiled(n)) return true;
  const Operator* op = n.find_operator();
  return op && std::ranges::binary_search(profiled_inputs, op->name());
}

bool maybe_tensor(TypeRef t) {
  return t->is(TypeKind::Tensor) || (t->is(TypeKind::Optional) && t->item()->is(TypeKind::Tensor));
}

const TensorFacts* seen_by(const Node& n) {
  const TypeRef* t = n.is(prim_profile) ? n.get<TypeRef>(attr_profiled_type) : nullptr;
  return t && (*t)->is(TypeKind::Tensor) ? (*t)->facts() : nullptr;
}

}  // namespace

// Copies of the graph, which somebody may run when the record is gone, share it with the record.
struct Seen final : RefCounted {
  std::mutex mutex;  // of all that was seen, by any thread that runs the graph
  ProfilingRecord* record = nullptr;
};

// What passes through one prim::profile.
class Profile final : public ProfileHook {
 public:
  explicit Profile(Ref<Seen> s) : seen_(std::move(s)) {}
  void run(const fc::Value* v) override {
    const std::lock_guard lock(seen_->mutex);
    if (v->is_tensor()) {
      const TensorFacts now = facts_here(v->tensor());
      facts_ = facts_ ? merge(*facts_, now) : now;
    } else {
      none_ = true;
    }
  }
  void tell(Node& n) const {
    if (facts_) n.set(attr_profiled_type, tensor_type(*facts_));
    n.set_int(attr_seen_none, none_);
  }

 private:
  Ref<Seen> seen_;
  std::optional<TensorFacts> facts_;
  bool none_ = false;
};

class RunCounter final : public ProfileHook {
 public:
  explicit RunCounter(Ref<Seen> s) : seen_(std::move(s)) {}
  void run(const fc::Value*) override {
    const std::lock_guard lock(seen_->mutex);
    if (seen_->record) seen_->record->finish_run();
  }

 private:
  Ref<Seen> seen_;
};

ProfilingRecord::~ProfilingRecord() {
  if (!seen_) return;
  Seen& seen = static_cast<Seen&>(*seen_);
  const std::lock_guard lock(seen.mutex);
  seen.record = nullptr;
}

void ProfilingRecord::finish_run() {
  if (left_ == 0) return;
  for (Node* n : nodes_) static_cast<const Profile*>(n->attached().get())->tell(*n);
  if (--left_ == 0) full_.store(true, std::memory_order_release);
}

Ref<ProfilingRecord> ProfilingRecord::instrument_graph(const Graph& g, int runs) {
  auto record = make_ref<ProfilingRecord>();
  record->graph_ = g.copy();
  record->left_ = runs;
  auto seen = make_ref<Seen>();
  seen->record = record.get();
  record->seen_ = seen;
  Graph& graph = *record->graph_;
  auto profile = [&](Node* user, size_t i) {
    Value* v = user->input(i);
    Node* n = graph.create(prim_profile, std::span<Value* const>(&v, 1));
    n->set(attr_profiled_type, tensor_type());
    n->set_int(attr_seen_none, 0);
    n->output()->set_type(v->type());
    n->set_attached(make_ref<Profile>(seen));
    n->insert_before(user);
    user->replace_input(i, n->output());
    record->nodes_.push_back(n);
  };
  struct Instrument final : Visitor {
    decltype(profile)& insert;
    explicit Instrument(decltype(profile)& f) : insert(f) {}
    bool enter(Node* n) override {
      if (n->is(prim_profile)) return true;
      const bool all = wants_inputs(*n);
      for (size_t i = 0; i < n->num_inputs(); ++i)
        if (maybe_tensor(n->input(i)->type()) && (all || is_profiled(*n->input(i)->node()))) insert(n, i);
      return true;
    }
    void leave_block(Block* b) override {
      for (size_t i = 0; i < b->num_outputs(); ++i)
        if (maybe_tensor(b->output(i)->type())) insert(b->return_node(), i);
    }
  } instrument(profile);
  walk(*graph.block(), instrument);
  Node* counter = graph.create(prim_profile, 0);
  counter->set_attached(make_ref<RunCounter>(seen));
  graph.block()->append(counter);
  record->full_ = runs == 0;
  return record;
}

bool any_requires_grad(const Block& b) {
  for (const Node* n = walk_first(b); n; n = walk_next(n, b))
    if (const TensorFacts* f = seen_by(*n); f && f->requires_grad.value_or(false)) return true;
  return false;
}

TensorFacts facts_here(const Tensor& t) {
  TensorFacts f;
  if (!t.defined()) {
    f.undefined = true;
    return f;
  }
  f.undefined = false;
  f.dtype = t.dtype();
  f.device = t.device();
  f.requires_grad = grad_enabled() && autograd::requires_grad(t);
  if (!is_sparse(t)) {
    f.sizes.emplace(t.sizes().begin(), t.sizes().end());
    f.strides.emplace(t.strides().begin(), t.strides().end());
  }
  return f;
}

bool holds(const TensorFacts& f, const Tensor& t) {
  if (f.undefined && *f.undefined != !t.defined()) return false;
  if (!t.defined()) return true;
  if ((f.dtype && *f.dtype != t.dtype()) || (f.device && *f.device != t.device())) return false;
  if (f.requires_grad && *f.requires_grad != (grad_enabled() && autograd::requires_grad(t))) return false;
  auto same = [](const auto& known, auto actual) {
    if (known->size() != actual.size()) return false;
    for (size_t i = 0; i < actual.size(); ++i)
      if ((*known)[i] && *(*known)[i] >= 0 && *(*known)[i] != actual[i]) return false;
    return true;
  };
  if (!f.sizes) return true;
  return !is_sparse(t) && same(f.sizes, t.sizes()) && (!f.strides || same(f.strides, t.strides()));
}

void remove_profile_nodes(Block& top, bool types) {
  std::vector<Block*> blocks{&top};
  while (!blocks.empty()) {
    Block& b = *blocks.back();
    blocks.pop_back();
    for (Node *n = b.first(), *next = nullptr; n != b.end(); n = next) {
      next = n->next();
      for (Block* inner : n->blocks()) blocks.push_back(inner);
      if (const auto* sub = n->get<Ref<Graph>>(attr_Subgraph)) blocks.push_back((*sub)->block());
      if (!n->is(prim_profile) || n->num_outputs() != 1) continue;
      Value* v = n->input();
      if (const TypeRef* seen = n->get<TypeRef>(attr_profiled_type); types && seen && v->type()->is(TypeKind::Tensor))
        v->set_type(*seen);
      n->output()->replace_uses_with(v);
      n->destroy();
    }
  }
}

void remove_profile_counter(Block& b) {
  if (Node* n = b.last(); n != b.end() && n->is(prim_profile) && n->num_outputs() == 0) n->destroy();
}

}  // namespace fc::jit
