// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/propagate_facts.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/containers.h"
#include "define/calls.h"
#include "dispatch/infer.h"
#include "dispatch/operator.h"
#include "jit/ir/walk.h"
#include "jit/passes/pass.h"

namespace fc::jit {
namespace {

const TensorFacts* facts_of(const Value* v) { return v->type()->is(TypeKind::Tensor) ? v->type()->facts() : nullptr; }
bool sizes_known(const TensorFacts& f) {
  return f.sizes && std::ranges::all_of(*f.sizes, [](const auto& s) { return s && *s >= 0; });
}

// One kind of fact, carried along. Of a loop's carried values it is believed at first that they stay as they begin;
// where a turn says otherwise, what followed from it is taken back in the next round.
class Carrier : public Visitor {
 public:
  Carrier(Graph& g, PassContext& context) : graph_(g), context_(context) {}
  bool run() {
    constexpr int kRounds = 64;  // each takes back something, or is the last
    int round = 0;
    do {
      changed_ = false;
      walk(*graph_.block(), *this);
    } while (changed_ && ++round < kRounds);
    if (changed_)  // not settled: nothing is said
      for (const auto& [v, t] : before_) v->set_type(t);
    return !changed_ && std::ranges::any_of(before_, [](const auto& b) { return b.first->type() != b.second; });
  }

 protected:
  virtual void results(Node* n) = 0;                                          // of a node without blocks
  virtual bool merge(const Value* a, const Value* b, TensorFacts& into) = 0;  // what both say; false: nothing
  void set(Value* v, const TensorFacts& f) {
    const TypeRef t = tensor_type(f);
    if (!v->type()->is(TypeKind::Tensor) || v->type() == t || !context_.allowed()) return;
    before_.try_emplace(v, v->type());
    v->set_type(t);
    changed_ = true;
  }
  void forget(const Node* n) {
    for (Value* v : n->outputs()) unset(v);
  }
  void unset(Value* v) {
    const auto found = before_.find(v);
    if (found == before_.end() || v->type() == found->second) return;
    v->set_type(found->second);
    changed_ = true;
  }
  TensorFacts own(const Value* v) const {  // without what this pass said
    const auto found = before_.find(const_cast<Value*>(v));
    const TensorFacts* f = found == before_.end() ? v->type()->facts() : found->second->facts();
    return f ? *f : TensorFacts{};
  }

 private:
  bool enter(Node* n) final {
    if (n->blocks().empty() && !n->is(prim_Constant)) results(n);
    if (n->is(prim_Loop))
      for (size_t i = 2; i < n->num_inputs(); ++i) {
        Value* c = n->block(0)->inputs()[i - 1];
        const bool doubted = doubted_.contains(c);
        carry(c, n->input(i), doubted ? n->block(0)->output(i - 1) : n->input(i));
      }
    return true;
  }
  void leave(Node* n) final {
    if (n->is(prim_If) && n->blocks().size() == 2)
      for (size_t i = 0; i < n->num_outputs(); ++i) carry(n->output(i), n->block(0)->output(i), n->block(1)->output(i));
    if (n->is(prim_Loop))
      for (size_t i = 0; i < n->num_outputs(); ++i) {
        Value* c = n->block(0)->inputs()[i + 1];
        const TypeRef believed = c->type();
        carry(c, n->input(i + 2), n->block(0)->output(i + 1));
        if (c->type() != believed) doubted_.insert(c);
        carry(n->output(i), n->input(i + 2), n->block(0)->output(i + 1));
      }
  }
  void carry(Value* to, const Value* a, const Value* b) {
    if (!to->type()->is(TypeKind::Tensor) || !a->type()->is(TypeKind::Tensor) || !b->type()->is(TypeKind::Tensor))
      return;
    TensorFacts f = own(to);
    if (merge(a, b, f)) set(to, f);
    else unset(to);
  }

  Graph& graph_;
  PassContext& context_;
  bool changed_ = false;
  std::unordered_map<Value*, TypeRef> before_;
  std::unordered_set<const Value*> doubted_;
};

// The arguments of a call as far as the graph tells, on the meta device.
class Arguments {
 public:
  // `exact`: sizes as they are; else only the ranks count.
  bool prepare(const Node& n, const Operator& op, bool exact) {
    if (op.num_args() != n.num_inputs() || op.is_hidden()) return false;
    values_.clear();
    for (size_t i = 0; i < n.num_inputs(); ++i) {
      std::optional<fc::Value> v = value(n.input(i), op.schema().parameters[i], exact);
      if (!v) return false;
      values_.push_back(std::move(*v));
    }
    args_.clear();
    for (const fc::Value& v : values_) args_.push_back(v.arg());
    return true;
  }
  const Arg* get() const { return args_.data(); }

 private:
  static std::optional<fc::Value> tensor(const Value* v, bool exact) {
    const TensorFacts* f = facts_of(v);
    if (!f || !f->sizes || (exact ? !sizes_known(*f) : !f->dtype)) return {};
    Dims sizes;
    for (const auto& s : *f->sizes) sizes.push_back(exact ? *s : 1);
    if (std::ranges::any_of(sizes, [](int64_t s) { return s < 0; })) return {};
    return fc::Value(call<"aten::empty.memory_format", Tensor>(
        IntSpan(sizes), std::optional(f->dtype.value_or(DType::Float32)), std::optional<Layout>(),
        std::optional(parse_device("meta")), std::optional<bool>(), std::optional<MemoryFormat>()));
  }
  static std::optional<fc::Value> value(const Value* v, const Parameter& p, bool exact) {
    if (auto c = constant_of(v)) {
      if (c->tag() == Tag::Int && !p.type.list && p.type.kind == Kind::DType)
        return fc::Value(static_cast<DType>(c->raw_int()));
      if (c->tag() == Tag::Tensor && c->tensor().defined()) return {};
      if (!exact && c->is_none()) return {};  // as PyTorch, which asks its rules for plain calls only
      return c;
    }
    if (v->type()->is(TypeKind::Tensor)) return tensor(v, exact);
    if (!exact && v->type()->is(TypeKind::Int)) return fc::Value(int64_t(1));
    if (!exact && v->type()->is(TypeKind::Float)) return fc::Value(1.0);
    const Node* made = v->node();
    if (!made->is(prim_ListConstruct)) return {};
    std::vector<fc::Value> items;
    for (const Value* item : made->inputs()) {
      std::optional<fc::Value> one = item->type()->is(TypeKind::Tensor) ? tensor(item, exact) : constant_of(item);
      if (!one) return {};
      items.push_back(std::move(*one));
    }
    return list_value(v->type()->item(), std::move(items));
  }
  std::vector<fc::Value> values_;
  std::vector<Arg> args_;
};

std::optional<std::vector<fc::Value>> infer(const Node& n, bool exact) {
  const Operator* op = n.find_operator();
  Arguments arguments;
  try {
    if (!op || op->num_results() != n.num_outputs() || !arguments.prepare(n, *op, exact)) return {};
    std::vector<fc::Value> out(op->num_results());
    if (!infer_results(*op, arguments.get(), out.data())) return {};
    return out;
  } catch (const Error&) { return {}; }  // wrong shapes: what runs will say so
}

class Shapes final : public Carrier {
  using Carrier::Carrier;
  void results(Node* n) override {
    const auto out = infer(*n, true);
    if (!out) return forget(n);
    for (size_t i = 0; i < out->size(); ++i) {
      if (!(*out)[i].is_tensor() || !(*out)[i].tensor().defined()) continue;
      TensorFacts f = own(n->output(i));
      const auto sizes = (*out)[i].tensor().sizes();
      f.sizes.emplace(sizes.begin(), sizes.end());
      if (f.strides && f.strides->size() != f.sizes->size()) f.strides.reset();
      set(n->output(i), f);
    }
  }
  bool merge(const Value* a, const Value* b, TensorFacts& into) override {
    const TensorFacts *x = facts_of(a), *y = facts_of(b);
    if (!x || !y || !x->sizes || !y->sizes || x->sizes->size() != y->sizes->size()) return false;
    into.sizes = x->sizes;
    for (size_t i = 0; i < y->sizes->size(); ++i)
      if ((*x->sizes)[i] != (*y->sizes)[i]) (*into.sizes)[i].reset();
    if (into.strides && into.strides->size() != into.sizes->size()) into.strides.reset();
    return true;
  }
};

class DTypes final : public Carrier {
  using Carrier::Carrier;
  void results(Node* n) override {
    const auto out = infer(*n, false);
    if (!out) return forget(n);
    for (size_t i = 0; i < out->size(); ++i) {
      if (!(*out)[i].is_tensor() || !(*out)[i].tensor().defined()) continue;
      TensorFacts f = own(n->output(i));
      f.dtype = (*out)[i].tensor().dtype();
      set(n->output(i), f);
    }
  }
  bool merge(const Value* a, const Value* b, TensorFacts& into) override {
    const TensorFacts *x = facts_of(a), *y = facts_of(b);
    if (!x || !y || !x->dtype || x->dtype != y->dtype) return false;
    into.dtype = x->dtype;
    return true;
  }
};

class Devices final : public Carrier {
  using Carrier::Carrier;
  // Zero-dimensional tensors of the CPU go with any device.
  void results(Node* n) override {
    std::optional<Device> device;
    const Operator* op = n->find_operator();
    if (n->kind().text() == "aten::cpu") device = parse_device("cpu");
    else if (n->kind().text() == "aten::cuda") device = Device{parse_device("cuda").type, -1};
    else if (op && n->kind().space() == "aten") device = named(n, *op);
    if (!device) return forget(n);
    for (Value* v : n->outputs()) {
      TensorFacts f = own(v);
      f.device = device;
      set(v, f);
    }
  }
  static std::optional<Device> named(const Node* n, const Operator& op) {
    for (size_t i = 0; i < op.schema().parameters.size() && i < n->num_inputs(); ++i)
      if (op.schema().parameters[i].type.kind == Kind::Device) {
        const auto c = constant_of(n->input(i));
        if (!c || c->tag() != Tag::Device) return {};
        return c->arg().device();
      }
    std::optional<Device> all, scalars;
    for (size_t i = 0; i < n->num_inputs(); ++i) {
      const Value* v = n->input(i);
      if (v->type()->is(TypeKind::List) && v->type()->item()->is(TypeKind::Tensor)) return {};
      if (!v->type()->is(TypeKind::Tensor)) continue;
      const TensorFacts* f = facts_of(v);
      if (!f || !f->device) return {};
      if (f->sizes && f->sizes->empty() && f->device->is_cpu()) {
        scalars = f->device;
        continue;
      }
      if (all && *all != *f->device) return {};
      all = f->device;
    }
    return all ? all : scalars;
  }
  bool merge(const Value* a, const Value* b, TensorFacts& into) override {  // here all that both say
    const TensorFacts *x = facts_of(a), *y = facts_of(b);
    if (!x || !y) return false;
    into = fc::merge(*x, *y);
    return true;
  }
};

}  // namespace

bool propagate_shapes(Graph& g, PassContext& context) { return Shapes(g, context).run(); }
bool propagate_dtypes(Graph& g, PassContext& context) { return DTypes(g, context).run(); }
bool propagate_devices(Graph& g, PassContext& context) { return Devices(g, context).run(); }

}  // namespace fc::jit
