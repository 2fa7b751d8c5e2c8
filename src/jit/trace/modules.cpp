// SPDX-License-Identifier: Apache-2.0
#include "jit/trace/modules.h"

#include <unordered_set>

#include "core/class_type.h"
#include "core/containers.h"
#include "jit/ir/walk.h"
#include "jit/passes/pass.h"
#include "jit/run/function.h"

namespace fc::jit::trace {
namespace {

bool is_forward(const Node* n) { return n->is(prim_TracedModuleForward); }

std::vector<std::string> parts_of(std::string_view name) {
  std::vector<std::string> out;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('.', begin), name.size());
    out.emplace_back(name.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

void know_attributes(State& s, const fc::Value& object, Value* value, const std::string& prefix) {
  const Instance& o = *static_cast<Instance*>(object.box());
  const auto& attributes = o.type->class_info()->attributes;
  s.set_value(object, value);
  for (size_t i = 0; i < attributes.size(); ++i) {
    const std::string name = prefix + "." + attributes[i].name;
    const fc::Value& v = o.slots[i];
    Node* n = s.graph->insert(s.graph->create(prim_TracedAttr));
    n->set(attr_scope, name);
    if (v.tag() == Tag::Instance) {
      n->output()->set_type(static_cast<Instance*>(v.box())->type);
      know_attributes(s, v, n->output(), name);
    } else if (v.is_tensor() && v.tensor().defined()) {
      s.take_input(v, type_of(v), n->output());
    } else {
      n->output()->set_type(attributes[i].type);
    }
  }
}

// --- attributes, read where they are used
class Attributes {
 public:
  explicit Attributes(Graph& g) {
    for (Node* n : g.block()->nodes())
      if (n->is(prim_TracedAttr)) by_name_.emplace(*n->get<std::string>(attr_scope), n->output());
  }

  void run(Graph& g) {
    add_self(g.block());
    resolve(g.block(), "__module", g.inputs()[0]);
    for (auto& [name, value] : by_name_) value->node()->destroy();
  }

 private:
  void add_self(Block* b) {
    for (Node* n : b->nodes()) {
      if (is_forward(n)) {
        n->add_input(by_name_.at(*n->get<std::string>(attr_scope)));
        n->block(0)->add_input("self")->set_type(n->input(0)->type());
      }
      for (Block* inner : n->blocks()) add_self(inner);
    }
  }

  // Gives back attributes of modules further out, which the block takes as inputs.
  std::vector<Value*> resolve(Block* b, const std::string& prefix, Value* self) {
    std::vector<Value*> outside;
    std::unordered_map<Value*, Value*> here;
    const auto at = [&](Node* n, size_t i) {
      Value* v = n->input(i);
      if (auto found = here.find(v); found != here.end()) {
        n->replace_input(i, found->second);
        return;
      }
      if (!v->node()->is(prim_TracedAttr)) return;
      const std::vector<std::string> path = parts_of(*v->node()->get<std::string>(attr_scope)), own = parts_of(prefix);
      Value* made = self;
      if (own.size() <= path.size() && std::equal(own.begin(), own.end(), path.begin())) {
        const InsertAt begin(b->first());
        for (size_t k = own.size(); k < path.size(); ++k) made = read(made, path[k]);
      } else {
        made = b->add_input();
        made->copy_metadata(*v);
        outside.push_back(v);
      }
      n->replace_input(i, made);
      here[v] = made;
    };
    for (Node* n : b->nodes()) {
      for (Block* inner : n->blocks()) {
        const bool forward = is_forward(n);
        for (Value* v :
             resolve(inner, forward ? *n->get<std::string>(attr_scope) : prefix, forward ? inner->inputs()[0] : self))
          n->add_input(v);
      }
      for (size_t i = 0; i < n->num_inputs(); ++i) at(n, i);
    }
    for (size_t i = 0; i < b->num_outputs(); ++i) at(b->return_node(), i);
    return outside;
  }

  static Value* read(Value* object, const std::string& name) {
    Graph& g = object->graph();
    Node* n = g.insert(g.create(prim_GetAttr, std::span<Value* const>(&object, 1)));
    n->set(attr_name, name);
    const ClassInfo& info = *object->type()->class_info();
    n->output()->set_type(info.attributes[static_cast<size_t>(info.find_attribute(name))].type);
    const bool number = name.find_first_not_of("0123456789") == name.npos;
    n->output()->set_name(number ? "_" + name : name);
    return n->output();
  }

  std::unordered_map<std::string, Value*> by_name_;
};

// --- values that are used outside of the block in which they are made become its outputs
bool stands_in(const Block* inner, const Block* outer) {
  while (inner && inner != outer) inner = inner->owning_node() ? inner->owning_node()->owning_block() : nullptr;
  return inner == outer;
}

class Lift {
 public:
  void run(Block* b) {
    for (Node* n : b->nodes()) {
      for (size_t i = 0; i < n->num_inputs(); ++i) look(n, i, b);
      for (Block* inner : n->blocks()) run(inner);
    }
    for (size_t i = 0; i < b->num_outputs(); ++i) look(b->return_node(), i, b);
  }

 private:
  void look(Node* n, size_t i, Block* b) {
    Value* v = n->input(i);
    while (!stands_in(b, v->node()->owning_block())) {
      Value*& lifted = lifted_[v];
      if (!lifted) {
        Block* from = v->node()->owning_block();
        from->register_output(v);
        lifted = from->owning_node()->add_output();
        lifted->set_type(v->type());
      }
      v = lifted;
    }
    if (v != n->input(i)) n->replace_input(i, v);
  }
  std::unordered_map<Value*, Value*> lifted_;
};

// One result for each block: several are a tuple, none is None.
void returns_as_tuples(Block* b) {
  Graph& g = b->graph();
  for (Node* n : b->nodes()) {
    for (Block* inner : n->blocks()) returns_as_tuples(inner);
    if (!is_forward(n)) continue;
    Block* inner = n->block(0);
    if (inner->num_outputs() == 0) {
      const InsertAt end(inner->return_node());
      inner->register_output(g.insert(g.create_none())->output());
      n->add_output()->set_type(simple_type(TypeKind::None));
    } else if (inner->num_outputs() > 1) {
      Value* tuple;
      {
        const InsertAt end(inner->return_node());
        tuple = g.insert(g.create_tuple(inner->outputs()))->output();
      }
      while (inner->num_outputs() > 0) inner->erase_output(inner->num_outputs() - 1);
      inner->register_output(tuple);
      Value* result = n->insert_output(0);
      result->set_type(tuple->type());
      Node* apart = g.create_tuple_unpack(result);
      apart->insert_after(n);
      for (size_t i = 0; i < apart->num_outputs(); ++i) {
        Value* before = n->output(i + 1);
        apart->output(i)->copy_metadata(*before);
        before->replace_uses_with(apart->output(i));
      }
      while (n->num_outputs() > 1) n->erase_output(n->num_outputs() - 1);
    }
  }
}

// --- blocks become graphs: what they use from outside are inputs, made where they are met first; a graph inside of one
// that becomes a graph is copied, its inputs first. (Numbers of values follow from it.)

class Body {
 public:
  Body(Node* owner, Block* from) : owner_(owner) {
    for (Value* v : from->inputs()) map_[v] = graph_->add_input()->copy_metadata(*v);
    for (Node* n : from->nodes()) graph_->block()->append(copy(n));
    for (Value* v : from->outputs()) graph_->register_output(inside(v));
  }
  Ref<Graph> graph() const { return graph_; }

 private:
  Node* copy(const Node* n) {
    if (!n->blocks().empty()) {
      for (Block* b : n->blocks())
        for_each_node(*b, [&](const Node* inner) {
          for (Value* v : inner->inputs())
            if (!stands_in(v->node()->owning_block(), b)) inside(v);
        });
      for (Value* v : n->inputs()) inside(v);
      return graph_->create_clone(n, map_);
    }
    Node* c = graph_->create(n->kind(), 0);
    for (Value* v : n->outputs()) map_[v] = c->add_output()->copy_metadata(*v);
    c->copy_attributes(*n);
    if (const auto* inner = n->get<Ref<Graph>>(attr_Subgraph)) c->set(attr_Subgraph, (*inner)->copy());
    c->copy_metadata(*n);
    for (Value* v : n->inputs()) c->add_input(inside(v));
    return c;
  }
  Value* inside(Value* v) {
    if (auto found = map_.find(v); found != map_.end()) return found->second;
    owner_->add_input(v);
    return map_[v] = graph_->add_input()->copy_metadata(*v);
  }
  Node* owner_;
  Ref<Graph> graph_ = Graph::make();
  Graph::ValueMap map_;
};

void lift_blocks(Block* b) {
  for (Node* n : b->nodes()) {
    if (!is_forward(n)) continue;
    lift_blocks(n->block(0));
    n->set(attr_Subgraph, Body(n, n->block(0)).graph());
    n->erase_block(0);
  }
}

std::string free_method_name(TypeRef cls) {
  std::string name = "forward";
  for (int i = 1; find_method(cls, name); ++i) name = "forward" + std::to_string(i);
  return name;
}

void call_methods(Graph& g) {
  for (Node* n : g.block()->nodes()) {
    if (!is_forward(n)) continue;
    const TypeRef cls = n->input(0)->type();
    Ref<Graph> body = *n->get<Ref<Graph>>(attr_Subgraph);
    call_methods(*body);
    const std::string name = free_method_name(cls);
    auto f = make_ref<Function>(std::string(cls->name()) + "." + name, body);
    add_method(cls, f);
    Node* call = g.create(prim_CallMethod, n->inputs());
    call->set(attr_name, name);
    call->output()->set_type(f->schema().returns[0].whole_type);
    call->insert_before(n);
    n->output()->replace_uses_with(call->output());
    n->destroy();
  }
}

void clean(Graph& g) {
  for (const char* name : {"LowerSimpleTuples", "EliminateDeadCode", "Lint"}) run_pass(g, *find_pass(name));
}

void clean_methods(const fc::Value& self, std::unordered_set<TypeRef>& seen) {
  const Instance& o = *static_cast<Instance*>(self.box());
  if (!seen.insert(o.type).second) return;
  for (const fc::Value& v : o.slots)
    if (v.tag() == Tag::Instance) clean_methods(v, seen);
  for (const ClassInfo::Signature& m : o.type->class_info()->methods)
    if (auto* f = static_cast<Function*>(m.function.get())) clean(f->graph());
}

}  // namespace

void know_module(State& s, const fc::Value& self) {
  Value* v = s.graph->add_input("self");
  v->set_type(static_cast<Instance*>(self.box())->type);
  know_attributes(s, self, v, "__module");
}

void make_methods(Graph& g, const fc::Value& self) {
  g.set_current_scope({});
  Attributes(g).run(g);
  Lift().run(g.block());
  returns_as_tuples(g.block());
  lift_blocks(g.block());
  call_methods(g);
  std::unordered_set<TypeRef> seen;
  clean_methods(self, seen);
  clean(g);
}

void inline_modules(Graph& g) { clean(g); }

}  // namespace fc::jit::trace
