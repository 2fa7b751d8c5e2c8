// SPDX-License-Identifier: Apache-2.0
#include "jit/frontend/environment.h"

#include "jit/frontend/match.h"

namespace fc::jit {

bool is_meaningful(std::string_view name) {
  if (name.empty() || name[0] == '$') return false;
  if (name[0] != '_') return true;
  for (char c : name.substr(1))
    if (c < '0' || c > '9') return true;
  return false;
}

Node* create_load(Graph& g, const std::string& name, TypeRef t) {
  Node* n = g.create(prim_Load);
  n->set(attr_name, name);
  n->output()->set_type(t);
  return n;
}
Node* create_store(Graph& g, const std::string& name, Value* v) {
  Node* n = g.create(prim_Store, std::vector{v}, 0);
  n->set(attr_name, name);
  return n;
}

SugaredRef Environment::find_here(const std::string& name) {
  if (const auto s = sugared_.find(name); s != sugared_.end()) return s->second;
  const auto t = types_.find(name);
  if (t == types_.end()) return {};
  Graph& g = block_->graph();
  Node* load = g.insert(create_load(g, name, t->second));
  if (is_meaningful(name)) load->output()->set_name(name);
  return simple(load->output());
}

SugaredRef Environment::find_above(const std::string& name) { return next_ ? next_->find(name) : SugaredRef(); }

SugaredRef Environment::find(const std::string& name) {
  for (Environment* e = this; e; e = e->next_.get())
    if (SugaredRef found = e->find_here(name)) return found;
  return {};
}

const std::string* Environment::find_error(const std::string& name) const {
  for (const Environment* e = this; e; e = e->next_.get())
    if (const auto found = e->errors_.find(name); found != e->errors_.end()) return &found->second;
  return nullptr;
}

Value* Environment::value(const std::string& name, const SourceRange& at) {
  SugaredRef found = find(name);
  if (!found) fail(at, "undefined value ", name);
  return found->as_value(at, block_->graph());
}

void Environment::store(const SourceRange& at, const std::string& name, Value* v, TypeRef t) {
  Graph& g = block_->graph();
  g.insert(create_store(g, name, v))->set_range(at);
  types_[name] = t;
}

void Environment::set(const SourceRange& at, const std::string& name, SugaredRef v, TypeRef annotated) {
  Value* own = v->graph_value();
  if (own && !own->has_name() && is_meaningful(name) && own->node()->owning_block() == block_) own->set_name(name);
  if (SugaredRef above = find_above(name)) {
    if (annotated)
      fail(at, "Attempting to declare and annotate the type of variable '", name,
           "' but it is already defined in an outer block");
    if (!own)
      fail(at, "Cannot re-assign '", name, "' to a value of type ", v->kind(), " because ", name,
           " is not a first-class value.  Only reassignments to first-class values are allowed");
    Value* before = above->graph_value();
    if (!before)
      fail(at, "Cannot re-assign '", name, "' because it has type ", v->kind(), " and ", name,
           " is not a first-class value.  Only reassignments to first-class values are allowed");
    TypeRef type = before->type()->unshaped();
    own = convert_to(at, block_->graph(), type, own, true);
    std::string why;
    if (!is_subtype(own->type(), type, &why)) {
      std::string text = str("Variable '", name, "' previously had type ", type_name(before->type()),
                             " but is now being assigned to a value of type ", type_name(own->type()));
      if (own->type()->is(TypeKind::List) && own->type()->item()->is(TypeKind::Tensor))
        text +=
            "\nEmpty lists default to List[Tensor]. Add a variable annotation to the assignment to create an empty "
            "list of another type (torch.jit.annotate(List[T, []]) where T is the type of elements in the list for "
            "Python 2)";
      fail(at, text, "\n", why);
    }
  }
  if (!own) {
    sugared_[name] = std::move(v);
    types_.erase(name);
    return;
  }
  if (annotated && !is_subtype(own->type(), annotated))
    fail(at, "Variable '", name, "' is annotated with type ", type_name(annotated),
         " but is being assigned to a value of type ", type_name(own->type()));
  sugared_.erase(name);
  store(at, name, own, annotated ? annotated : own->type());
}

bool Environment::remove(const std::string& name) {
  for (Environment* e = this; e; e = e->next_.get())
    if (e->sugared_.erase(name) + e->types_.erase(name) > 0) return true;
  return false;
}

std::vector<std::string> Environment::defined() const {
  std::vector<std::string> out;
  for (const auto& [name, type] : types_) out.push_back(name);
  return out;
}

}  // namespace fc::jit
