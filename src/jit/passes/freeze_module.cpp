// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/freeze_module.h"

#include <algorithm>
#include <map>
#include <set>

#include "autograd/autograd.h"
#include "core/class_type.h"
#include "core/containers.h"
#include "core/type_parse.h"
#include "define/calls.h"
#include "dispatch/operator.h"
#include "jit/ir/walk.h"
#include "jit/passes/passes.h"

namespace fc::jit {
namespace {

using Slot = std::pair<const Instance*, size_t>;

void run_all(Graph& g, std::initializer_list<const char*> names) {
  for (const char* name : names) run_pass(g, *find_pass(name));
}

class Freezer {
 public:
  Freezer(const Instance& top, const std::vector<std::string>& kept) : top_(top) {
    const ClassInfo& info = *top.type->class_info();
    for (const std::string& name : kept) {
      const int i = info.find_attribute(name);
      if (i >= 0) stays_.insert({&top, static_cast<size_t>(i)});
      else if (find_method(top.type, name)) add_method_named(name);
      else raise<Error>("Unknown name: ", name);
    }
    add_method_named("forward");
  }

  fc::Value run() {
    for (auto& [name, g] : graphs_) run_all(*g, {"_jit_pass_inline", "_jit_pass_constant_propagation"});
    look_for_stores();
    replace(false);  // what tells branches apart first: what stands in a branch that is never taken changes nothing
    for (auto& [name, g] : graphs_)
      run_all(*g, {"_jit_pass_peephole", "_jit_pass_constant_propagation", "_jit_pass_dce"});
    stored_.clear();
    look_for_stores();
    look_for_writes();
    replace(true);
    for (auto& [name, g] : graphs_)
      run_all(*g, {"_jit_pass_peephole", "_jit_pass_constant_propagation", "_jit_pass_dce"});
    return rebuilt();
  }

 private:
  void add_method_named(const std::string& name) {
    const Function* f = find_method(top_.type, name);
    FC_CHECK(f, "'", top_.type->name(), "' has no method '", name, "' to freeze");
    if (std::ranges::none_of(graphs_, [&](const auto& g) { return g.first == name; }))
      graphs_.emplace_back(name, f->graph().copy());
  }

  // The object that a value is on every run: self, or what is reached from it by attributes that no code stores to.
  const Instance* object_of(const Value* v) const {
    std::vector<const Node*> path;
    for (; v->node()->is(prim_GetAttr); v = v->node()->input(0)) path.push_back(v->node());
    if (!v->node()->is(prim_Param) || v->node()->owning_block()->owning_node() || v->offset() != 0) return nullptr;
    const Instance* o = &top_;
    for (size_t i = path.size(); i-- > 0;) {
      const auto slot = slot_in(*o, *path[i]->get<std::string>(attr_name));
      if (!slot || stored_.contains({o, *slot}) || o->slots[*slot].tag() != Tag::Instance) return nullptr;
      o = static_cast<const Instance*>(o->slots[*slot].box());
    }
    return o;
  }
  static std::optional<size_t> slot_in(const Instance& o, const std::string& name) {
    const int i = o.type->class_info()->find_attribute(name);
    if (i < 0) return {};
    return static_cast<size_t>(i);
  }
  std::optional<Slot> slot_of(const Node& n) const {  // of a GetAttr or SetAttr
    const Instance* o = object_of(n.input(0));
    if (!o) return {};
    const auto slot = slot_in(*o, *n.get<std::string>(attr_name));
    if (!slot) return {};
    return Slot{o, *slot};
  }

  void fold() {
    for (auto& [name, g] : graphs_)
      run_all(*g, {"_jit_pass_peephole", "_jit_pass_constant_propagation", "_jit_pass_dce"});
  }
  template <class F>
  void for_all(F&& f) {
    for (auto& [name, g] : graphs_) for_each_node(*g->block(), [&](Node* n) { f(n); });
  }

  void look_for_stores() {
    unknown_store_ = false;
    for_all([&](Node* n) {
      if (!n->is(prim_SetAttr)) return;
      if (const auto slot = slot_of(*n)) stored_.insert(*slot);
      else if (n->input(0)->type()->class_info() && n->input(0)->type()->class_info()->is_module) unknown_store_ = true;
    });
  }

  // Whose memory values may share: that of an attribute goes on through views, lists, branches and loops.
  void look_for_writes() {
    for (auto& [name, g] : graphs_) {
      std::map<const Value*, std::set<Slot>> from;
      bool changed = true;
      const auto flow = [&](const Value* a, const Value* b) {
        if (!b->type()->is_mutable() || !from.contains(a)) return;
        for (const Slot& slot : std::set<Slot>(from[a])) changed |= from[b].insert(slot).second;
      };
      while (changed) {
        changed = false;
        for_each_node(*g->block(), [&](Node* n) {
          if (n->is(prim_GetAttr)) {
            const auto slot = slot_of(*n);
            if (slot && n->output()->type()->is_mutable()) changed |= from[n->output()].insert(*slot).second;
          }
          const Operator* op = n->find_operator();
          for (size_t i = 0; i < n->num_outputs(); ++i) {
            const bool fresh = op && i < op->schema().returns.size() && !op->schema().returns[i].marks;
            for (const Value* in : n->inputs())
              if (!fresh) flow(in, n->output(i));
          }
          for (Block* b : n->blocks())
            for (const Value* out : b->outputs()) {
              for (const Value* v : n->outputs()) flow(out, v);
              for (const Value* v : b->inputs()) flow(out, v);
            }
          for (Block* b : n->blocks())
            for (const Value* in : n->inputs())
              for (const Value* v : b->inputs()) flow(in, v);
        });
      }
      for_each_node(*g->block(), [&](Node* n) {
        const Operator* op = n->find_operator();
        const bool calls = is_any(n->kind(), prim_CallMethod, prim_CallFunction, prim_PythonOp, prim_fork);
        for (size_t i = 0; i < n->num_inputs(); ++i) {
          const auto found = from.find(n->input(i));
          if (found == from.end()) continue;
          const AliasInfo* marks =
              op && i < op->schema().parameters.size() ? op->schema().parameters[i].marks : nullptr;
          const bool writes = marks && (marks->write || std::ranges::any_of(marks->items, &AliasInfo::write));
          if (writes || calls) stored_.insert(found->second.begin(), found->second.end());
        }
      });
    }
  }

  void replace(bool whole) {
    if (unknown_store_) return;
    for (auto& [name, g] : graphs_) {
      std::vector<Node*> reads;
      for_each_node(*g->block(), [&](Node* n) {
        if (n->is(prim_GetAttr)) reads.push_back(n);
      });
      for (Node* n : reads) {
        const auto slot = slot_of(*n);
        if (!slot || stored_.contains(*slot) || stays_.contains(*slot)) continue;
        fc::Value v = slot->first->slots[slot->second];
        if (v.tag() == Tag::Instance || (!whole && n->output()->type()->is_mutable())) continue;
        if (v.tag() == Tag::Tensor && v.tensor().defined()) v = detach(v.tensor());
        const InsertAt at(n);
        Value* constant = g->try_insert_constant(v);
        if (!constant) continue;
        constant->set_name("self." + path_of(*n));
        n->output()->replace_uses_with(constant);
      }
    }
  }
  static std::string path_of(const Node& n) {
    const std::string own = *n.get<std::string>(attr_name);
    return n.input(0)->node()->is(prim_GetAttr) ? path_of(*n.input(0)->node()) + "." + own : own;
  }

  // A class with what the code still reads or stores, and the names that stay.
  fc::Value rebuilt() {
    std::set<size_t> needed;
    for (const auto& [o, i] : stays_) needed.insert(i);
    for_all([&](Node* n) {
      if (!is_any(n->kind(), prim_GetAttr, prim_SetAttr) || object_of(n->input(0)) != &top_) return;
      if (const auto i = slot_in(top_, *n->get<std::string>(attr_name))) needed.insert(*i);
    });
    const ClassInfo& info = *top_.type->class_info();
    TypeRef type = new_class_type(top_.type->name(), info.is_module);
    auto object = make_ref<Instance>(type, 0);
    for (const size_t i : needed) {
      type->class_info()->add_attribute(info.attributes[i].name, info.attributes[i].type, info.attributes[i].role);
      object->slots.push_back(top_.slots[i]);
    }
    // In the order that the class had.
    for (const ClassInfo::Signature& m : info.methods)
      for (auto& [name, g] : graphs_) {
        if (name != m.name) continue;
        g->inputs()[0]->set_type(type);
        Schema schema = static_cast<Function*>(m.function.get())->schema();
        schema.parameters[0].whole_type = type;
        auto f = make_ref<Function>(std::string(type->name()) + "." + name, std::move(g));
        f->set_schema(std::move(schema));
        add_method(type, std::move(f));
        break;
      }
    return {Tag::Instance, std::move(object)};
  }

  const Instance& top_;
  std::vector<std::pair<std::string, Ref<Graph>>> graphs_;
  std::set<Slot> stays_, stored_;
  bool unknown_store_ = false;
};

}  // namespace

fc::Value freeze_module(const fc::Value& module, const std::vector<std::string>& kept) {
  FC_CHECK(module.tag() == Tag::Instance, "Freezing expects a module");
  return Freezer(*static_cast<const Instance*>(module.box()), kept).run();
}

}  // namespace fc::jit
