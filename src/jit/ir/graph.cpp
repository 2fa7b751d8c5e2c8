// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/graph.h"

#include <algorithm>

#include "core/error.h"
#include "jit/ir/walk.h"

namespace fc::jit {
namespace {

constexpr int64_t first_position = INT64_MIN, last_position = INT64_MAX, stride = int64_t(1) << 40;

template <class T>
T* take(std::deque<T>& places, std::vector<T*>& unused) {
  if (unused.empty()) return &places.emplace_back();
  T* p = unused.back();
  unused.pop_back();
  return p;
}

}  // namespace

std::string_view to_string(AttributeKind k) {
  constexpr std::string_view names[] = {"f", "fs", "c", "cs", "i",  "is",  "s",   "ss",
                                        "t", "ts", "g", "gs", "ty", "tys", "ival"};
  return names[static_cast<size_t>(k)];
}

// --- values

Value* Value::set_type(TypeRef t) {
  FC_CHECK(t, "a value has a type");
  if (t == type_) return this;
  type_ = t;
  for (const Use& u : uses_) u.user->forget_operator();
  return this;
}

void Value::replace_uses_with(Value* other) {
  FC_CHECK(&graph() == &other->graph(), "replace_uses_with: the values are of two graphs");
  if (other == this) return;
  for (const Use& u : uses_) {
    Node::Input& in = u.user->inputs_[u.offset];
    in.value = other;
    in.use = static_cast<uint32_t>(other->uses_.all_.size());
    other->uses_.all_.push_back(u);
    ++other->uses_.live_;
    u.user->forget_operator();
  }
  uses_.all_.clear();
  uses_.live_ = 0;
}

void Value::replace_uses_after_with(Node* node, Value* other) {
  for (const Use& u : uses_.copy())
    if (u.user->is_after(node)) u.user->replace_input(u.offset, other);
}

void Value::replace_uses_dominated_by_with(Node* node, Value* other) {
  for (const Use& u : uses_.copy()) {
    const Node* n = u.user;
    while (n && n->owning_block() != node->owning_block())
      n = n->owning_block() ? n->owning_block()->owning_node() : nullptr;
    if (n && node->is_before(n)) u.user->replace_input(u.offset, other);
  }
}

// --- inputs

void Node::link(size_t i) {
  Uses& uses = inputs_[i].value->uses_;
  inputs_[i].use = static_cast<uint32_t>(uses.all_.size());
  uses.all_.push_back({this, i});
  ++uses.live_;
}

void Node::unlink(size_t i) {
  Uses& uses = inputs_[i].value->uses_;
  uses.all_[inputs_[i].use].user = nullptr;
  --uses.live_;
  if (uses.all_.size() > 2 * uses.live_ + 8) {  // more gaps than uses
    size_t to = 0;
    for (const Use& u : uses.all_) {
      if (!u.user) continue;
      u.user->inputs_[u.offset].use = static_cast<uint32_t>(to);
      uses.all_[to++] = u;
    }
    uses.all_.resize(to);
  }
}

void Node::moved_input(size_t i) { inputs_[i].value->uses_.all_[inputs_[i].use].offset = i; }

Value* Node::input() const {
  FC_CHECK(inputs_.size() == 1, kind_, ": expected one input, it has ", inputs_.size());
  return inputs_[0].value;
}

std::vector<Value*> Node::inputs() const {
  std::vector<Value*> out;
  out.reserve(inputs_.size());
  for (const Input& i : inputs_) out.push_back(i.value);
  return out;
}

Value* Node::add_input(Value* v) { return insert_input(inputs_.size(), v); }

Value* Node::insert_input(size_t i, Value* v) {
  FC_CHECK_AS(IndexError, i <= inputs_.size(), kind_, ": no place ", i, " among ", inputs_.size(), " inputs");
  FC_CHECK(&v->graph() == graph_, kind_, ": an input of another graph");
  forget_operator();
  inputs_.insert(inputs_.begin() + static_cast<std::ptrdiff_t>(i), Input{v, 0});
  for (size_t k = i + 1; k < inputs_.size(); ++k) moved_input(k);
  link(i);
  return v;
}

Value* Node::replace_input(size_t i, Value* v) {
  FC_CHECK_AS(IndexError, i < inputs_.size(), kind_, ": no input ", i, " of ", inputs_.size());
  FC_CHECK(&v->graph() == graph_, kind_, ": an input of another graph");
  forget_operator();
  Value* before = inputs_[i].value;
  unlink(i);
  inputs_[i].value = v;
  link(i);
  return before;
}

void Node::replace_input_with(Value* from, Value* to) {
  for (size_t i = 0; i < inputs_.size(); ++i)
    if (inputs_[i].value == from) replace_input(i, to);
}

void Node::remove_input(size_t i) {
  FC_CHECK_AS(IndexError, i < inputs_.size(), kind_, ": no input ", i, " of ", inputs_.size());
  forget_operator();
  unlink(i);
  inputs_.erase(inputs_.begin() + static_cast<std::ptrdiff_t>(i));
  for (size_t k = i; k < inputs_.size(); ++k) moved_input(k);
}

void Node::remove_all_inputs() {
  forget_operator();
  for (size_t i = 0; i < inputs_.size(); ++i) unlink(i);
  inputs_.clear();
}

namespace {

void check_order(Symbol kind, std::span<const size_t> order, size_t n) {
  std::vector<bool> seen(n);
  FC_CHECK(order.size() == n, kind, ": an order of ", order.size(), " for ", n);
  for (size_t i : order) {
    FC_CHECK(i < n && !seen[i], kind, ": this is no order of ", n);
    seen[i] = true;
  }
}

}  // namespace

void Node::permute_outputs(std::span<const size_t> order) {
  check_order(kind_, order, outputs_.size());
  forget_operator();
  std::vector<Value*> before = outputs_;
  for (size_t i = 0; i < order.size(); ++i) {
    outputs_[i] = before[order[i]];
    outputs_[i]->offset_ = static_cast<uint32_t>(i);
  }
}

void Node::permute_inputs(std::span<const size_t> order) {
  check_order(kind_, order, inputs_.size());
  forget_operator();
  std::vector<Input> before = inputs_;
  for (size_t i = 0; i < order.size(); ++i) inputs_[i] = before[order[i]];
  for (size_t i = 0; i < order.size(); ++i) moved_input(i);
}

// --- outputs

Value* Node::output() const {
  FC_CHECK(outputs_.size() == 1, kind_, ": expected one output, it has ", outputs_.size());
  return outputs_[0];
}

Value* Node::add_output() { return insert_output(outputs_.size()); }

Value* Node::insert_output(size_t i) {
  FC_CHECK_AS(IndexError, i <= outputs_.size(), kind_, ": no place ", i, " among ", outputs_.size(), " outputs");
  forget_operator();
  Value* v = graph_->make_value(this, i);
  outputs_.insert(outputs_.begin() + static_cast<std::ptrdiff_t>(i), v);
  for (size_t k = i + 1; k < outputs_.size(); ++k) outputs_[k]->offset_ = static_cast<uint32_t>(k);
  return v;
}

void Node::erase_output(size_t i) {
  FC_CHECK_AS(IndexError, i < outputs_.size(), kind_, ": no output ", i, " of ", outputs_.size());
  FC_CHECK(!outputs_[i]->has_uses(), kind_, ": output %", outputs_[i]->name(), " is used, it cannot be erased");
  forget_operator();
  graph_->free_value(outputs_[i]);
  outputs_.erase(outputs_.begin() + static_cast<std::ptrdiff_t>(i));
  for (size_t k = i; k < outputs_.size(); ++k) outputs_[k]->offset_ = static_cast<uint32_t>(k);
}

bool Node::has_uses() const {
  return std::ranges::any_of(outputs_, [](const Value* v) { return v->has_uses(); });
}

void Node::replace_uses_with(Node* other) {
  FC_CHECK(other->outputs_.size() == outputs_.size(), kind_, ": has ", outputs_.size(), " outputs, ", other->kind_, " ",
           other->outputs_.size());
  for (size_t i = 0; i < outputs_.size(); ++i) outputs_[i]->replace_uses_with(other->outputs_[i]);
}

// --- blocks and places

Block* Node::add_block() {
  forget_operator();
  Block* b = graph_->make_block(this);
  blocks_.push_back(b);
  return b;
}

void Node::assign_position() {
  if (this == block_->return_) return;
  bool first = prev_ == block_->return_, last = next_ == block_->return_;
  int64_t before = first ? first_position : prev_->position_, after = last ? last_position : next_->position_;
  if (first && last) position_ = 0;
  else if (last && before < last_position - stride) position_ = before + stride;
  else if (first && after > first_position + stride) position_ = after - stride;
  else if (int64_t middle = before / 2 + after / 2; !first && !last && middle > before && middle < after) {
    position_ = middle;
  } else {
    int64_t at = first_position / 2;
    for (Node* n = block_->first(); n != block_->return_; n = n->next_, at += stride / 64) n->position_ = at;
  }
}

Node* Node::insert_before(Node* n) {
  FC_CHECK(!in_list() && n->in_list(), kind_, ": only a node that stands nowhere is inserted, and where nodes stand");
  FC_CHECK(n->graph_ == graph_, kind_, ": inserted into another graph");
  block_ = n->block_;
  next_ = n;
  prev_ = n->prev_;
  prev_->next_ = next_->prev_ = this;
  assign_position();
  return this;
}

Node* Node::insert_after(Node* n) {
  FC_CHECK(n->in_list(), kind_, ": inserted after a node that stands nowhere");
  FC_CHECK(n != n->block_->return_, kind_, ": nothing stands after the return node");
  return insert_before(n->next_);
}

void Node::remove_from_list() {
  FC_CHECK(in_list(), kind_, ": stands nowhere");
  prev_->next_ = next_;
  next_->prev_ = prev_;
  next_ = prev_ = nullptr;
  block_ = nullptr;
}

void Node::move_before(Node* n) {
  if (n == this) return;
  remove_from_list();
  insert_before(n);
}

void Node::move_after(Node* n) {
  if (n == this) return;
  remove_from_list();
  insert_after(n);
}

bool Node::is_before(const Node* other) const {
  if (this == other) return false;
  auto position = [](const Node* n) {
    if (!n->block_ || n == n->block_->param_) return first_position;
    return n == n->block_->return_ ? last_position : n->position_;
  };
  if (block_ == other->block_) return position(this) < position(other);
  // The ancestors in the innermost block that is around both.
  auto up = [](const Node* n) { return n->block_ ? n->block_->owner_ : nullptr; };
  auto depth = [&](const Node* n) {
    size_t d = 0;
    for (; n; n = up(n)) ++d;
    return d;
  };
  const Node *a = this, *b = other;
  size_t da = depth(a), db = depth(b);
  for (; da > db; --da) a = up(a);
  for (; db > da; --db) b = up(b);
  if (a == b) return a == this;  // one stands in the other: outside comes first
  while (a->block_ != b->block_) {
    const Node *pa = up(a), *pb = up(b);
    FC_CHECK(pa && pb, "is_before: the nodes are of two graphs, or not in it");
    if (pa == pb) {  // in two blocks of one node
      for (const Block* block : pa->blocks_) {
        if (block == a->block_) return true;
        if (block == b->block_) return false;
      }
    }
    a = pa;
    b = pb;
  }
  return position(a) < position(b);
}

void Node::drop_block(Block* b) {
  b->clear();
  for (Node* edge : {b->param_, b->return_}) {
    edge->next_ = edge->prev_ = nullptr;
    ++graph_->live_nodes_;  // they are not among those that count
    edge->destroy();
  }
  b->serial_ = 0;
  graph_->free_blocks_.push_back(b);
}

void Node::erase_block(size_t i) {
  FC_CHECK_AS(IndexError, i < blocks_.size(), kind_, ": no block ", i, " of ", blocks_.size());
  forget_operator();
  drop_block(blocks_[i]);
  blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(i));
}

void Block::clear() {
  // Innermost last blocks first: whatever stands deeper is empty when its node goes.
  return_->remove_all_inputs();
  std::vector<Block*> open{this};
  while (!open.empty()) {
    Block* b = open.back();
    Node* n = b->last();
    if (n == b->return_) {
      open.pop_back();
      continue;
    }
    bool clean = true;
    for (Block* inner : n->blocks()) {
      inner->return_->remove_all_inputs();
      if (!inner->empty()) {
        open.push_back(inner);
        clean = false;
      }
    }
    if (clean) n->destroy();
  }
}

void Node::destroy() {
  if (serial_ == 0) return;
  for (Value* v : outputs_)
    FC_CHECK(!v->has_uses(), kind_, ": output %", v->name(), " is used, the node cannot be destroyed");
  while (!blocks_.empty()) {
    drop_block(blocks_.back());
    blocks_.pop_back();
  }
  remove_all_inputs();
  if (graph_->insert_point_ == this && next_) graph_->insert_point_ = next_;
  if (in_list()) remove_from_list();
  for (Value* v : outputs_) graph_->free_value(v);
  outputs_.clear();
  attributes_.clear();
  range_ = {};
  scope_ = nullptr;
  call_site_ = {};
  attached_ = {};
  block_ = nullptr;
  forget_operator();
  serial_ = 0;
  --graph_->live_nodes_;
  graph_->free_nodes_.push_back(this);
}

std::vector<Node*> Block::nodes() const {
  std::vector<Node*> out;
  for (Node* n = first(); n != end(); n = n->next()) out.push_back(n);
  return out;
}

Value* Block::add_input(std::string_view name) { return insert_input(inputs().size(), name); }

Value* Block::insert_input(size_t i, std::string_view name) {
  Value* v = param_->insert_output(i);
  v->set_name(name);
  return v;
}

size_t Block::register_output(Value* v) {
  return_->add_input(v);
  return return_->num_inputs() - 1;
}

// --- attributes

const Attribute* Node::find(Symbol name) const {
  auto found = std::ranges::find(attributes_, name, &Attribute::name);
  return found == attributes_.end() ? nullptr : &*found;
}

Node* Node::set(Symbol name, Attribute::Content content) {
  auto found = std::ranges::find(attributes_, name, &Attribute::name);
  if (found == attributes_.end()) attributes_.push_back({name, std::move(content)});
  else found->content = std::move(content);
  return this;
}

void Node::remove(Symbol name) {
  std::erase_if(attributes_, [&](const Attribute& a) { return a.name == name; });
}

void Node::copy_attributes(const Node& from) { attributes_ = from.attributes_; }

void Node::copy_metadata(const Node& from) {
  range_ = from.range_;
  set_scope(from.scope());
  call_site_ = from.call_site_;
}

const std::string& Node::scope() const {
  static const std::string none;
  return scope_ ? *scope_ : none;
}

void Node::set_scope(std::string_view s) { scope_ = s.empty() ? nullptr : graph_->keep_scope(s); }

// --- the graph

Ref<Graph> Graph::make() {
  auto* g = new Graph;
  g->retain_first();
  return Ref<Graph>::adopt(g);
}

Graph::Graph() {
  block_ = make_block(nullptr);
  insert_point_ = block_->return_node();
}

Graph::~Graph() = default;

Value* Graph::make_value(Node* n, size_t offset) {
  Value* v = take(values_, free_values_);
  v->node_ = n;
  v->offset_ = static_cast<uint32_t>(offset);
  v->unique_ = next_unique_++;
  v->serial_ = next_serial_++;
  v->type_ = tensor_type();
  return v;
}

void Graph::free_value(Value* v) {
  if (v->has_name()) names_.erase(v->own_name_);
  v->own_name_.clear();
  v->serial_ = 0;
  v->uses_.all_.clear();
  free_values_.push_back(v);
}

Block* Graph::make_block(Node* owner) {
  Block* b = take(blocks_, free_blocks_);
  b->graph_ = this;
  b->owner_ = owner;
  b->serial_ = next_serial_++;
  b->param_ = create(prim_Param, 0);
  b->return_ = create(prim_Return, 0);
  live_nodes_ -= 2;
  b->param_->block_ = b->return_->block_ = b;
  b->return_->next_ = b->return_->prev_ = b->return_;
  return b;
}

const std::string* Graph::keep_scope(std::string_view s) {
  for (const auto& kept : scopes_)
    if (*kept == s) return kept.get();
  return scopes_.emplace_back(std::make_unique<std::string>(s)).get();
}

Node* Graph::create(Symbol kind, size_t outputs) {
  Node* n = take(nodes_, free_nodes_);
  n->kind_ = kind;
  n->graph_ = this;
  n->serial_ = next_serial_++;
  n->scope_ = current_scope_;
  ++live_nodes_;
  for (size_t i = 0; i < outputs; ++i) n->add_output();
  return n;
}

Node* Graph::create(Symbol kind, std::span<Value* const> inputs, size_t outputs) {
  Node* n = create(kind, outputs);
  for (Value* v : inputs) n->add_input(v);
  return n;
}

Node* Graph::create_none() {
  Node* n = create(prim_Constant);
  n->output()->set_type(simple_type(TypeKind::None));
  return n;
}

Node* Graph::create_list(TypeRef item, std::span<Value* const> values) {
  Node* n = create(prim_ListConstruct, values);
  n->output()->set_type(list_type(item));
  return n;
}

Node* Graph::create_tuple(std::span<Value* const> values, TypeRef named) {
  std::vector<TypeRef> types;
  for (Value* v : values) types.push_back(v->type());
  Node* n = create(prim_TupleConstruct, values);
  n->output()->set_type(named ? named : tuple_type(std::move(types)));
  return n;
}

Node* Graph::create_tuple_unpack(Value* v) {
  FC_CHECK_AS(TypeError, v->type()->is(TypeKind::Tuple), "%", v->name(), " is no tuple, it is ",
              annotation_text(v->type()));
  Node* n = create(prim_TupleUnpack, std::span<Value* const>(&v, 1), 0);
  for (TypeRef t : v->type()->items()) n->add_output()->set_type(t);
  return n;
}

Node* Graph::create_tuple_index(Value* tuple, Value* index, TypeRef output) {
  Value* in[] = {tuple, index};
  Node* n = create(prim_TupleIndex, in);
  n->output()->set_type(output);
  return n;
}

Node* Graph::create_list_unpack(Value* v, size_t size) {
  FC_CHECK_AS(TypeError, v->type()->is(TypeKind::List), "%", v->name(), " is no list, it is ",
              annotation_text(v->type()));
  TypeRef item = v->type()->item();
  Node* n = create(prim_ListUnpack, std::span<Value* const>(&v, 1), 0);
  for (size_t i = 0; i < size; ++i) n->add_output()->set_type(item);
  return n;
}

Node* Graph::create_num_to_tensor(Value* v) {
  Node* n = create(prim_NumToTensor, std::span<Value* const>(&v, 1));
  n->output()->set_type(tensor_type());
  return n;
}

// --- copies

namespace {

Value* mapped(const Graph::ValueMap& map, const Value* v) {
  auto found = map.find(v);
  FC_CHECK(found != map.end(), "a copy met a use of a value %", v->name(), " that is not in scope. Run lint!");
  return found->second;
}

}  // namespace

// The node alone. Of the same graph, what the map does not know is the value itself: it stands around the copy.
static Node* clone_alone(Graph& g, const Node* n, const Graph::ValueMap& map) {
  Node* r = g.create(n->kind(), 0);
  for (const Value* o : n->outputs()) r->add_output()->copy_metadata(*o);
  r->copy_attributes(*n);
  r->copy_metadata(*n);
  r->set_attached(n->attached());
  for (size_t i = 0; i < n->num_inputs(); ++i) {
    auto found = map.find(n->input(i));
    r->add_input(found != map.end() ? found->second : &n->graph() == &g ? n->input(i) : mapped(map, n->input(i)));
  }
  return r;
}

void Graph::clone_into(Block* to, const Block* from, ValueMap& map) {
  struct Frame {
    const Block* from;
    Block* to;
    const Node* next;
    Node* copy;  // of the node before `next`, whose blocks are being copied
    size_t child;
  };
  std::vector<Frame> stack;
  auto open = [&](const Block* a, Block* b) {
    for (const Value* v : a->inputs()) map[v] = b->add_input()->copy_metadata(*v);
    stack.push_back({a, b, a->first(), nullptr, 0});
  };
  open(from, to);
  while (!stack.empty()) {
    Frame& f = stack.back();
    if (f.copy) {
      if (f.child < f.next->blocks().size()) {
        const Block* inner = f.next->block(f.child++);
        open(inner, f.copy->add_block());
        continue;
      }
      // The name goes over a second time, as in PyTorch: which of the two has the later number follows from it.
      for (size_t i = 0; i < f.copy->num_outputs(); ++i)
        map[f.next->output(i)] = f.copy->output(i)->copy_metadata(*f.next->output(i));
      f.to->append(f.copy);
      f.copy = nullptr;
      f.next = f.next->next();
    } else if (f.next != f.from->end()) {
      f.copy = clone_alone(*this, f.next, map);
      f.child = 0;
    } else {
      for (size_t i = 0; i < f.from->num_outputs(); ++i) {
        const Value* v = f.from->output(i);
        auto found = map.find(v);
        f.to->register_output(found != map.end()    ? found->second
                              : &v->graph() == this ? const_cast<Value*>(v)
                                                    : mapped(map, v));
      }
      stack.pop_back();
    }
  }
}

Node* Graph::create_clone(const Node* n, ValueMap& map, bool copy_blocks) {
  Node* r = clone_alone(*this, n, map);
  if (copy_blocks)
    for (const Block* b : n->blocks()) clone_into(r->add_block(), b, map);
  return r;
}

std::vector<Value*> Graph::insert_graph(const Graph& callee, std::span<Value* const> inputs, ValueMap& map) {
  FC_CHECK(callee.inputs().size() == inputs.size(), "insert_graph: the graph takes ", callee.inputs().size(),
           " inputs, not ", inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) map[callee.inputs()[i]] = inputs[i];
  for (Node* n = callee.block()->first(); n != callee.block()->end(); n = n->next()) {
    Node* copy = insert(create_clone(n, map));
    for (size_t i = 0; i < n->num_outputs(); ++i) map[n->output(i)] = copy->output(i);
  }
  std::vector<Value*> out;
  for (const Value* v : callee.outputs()) out.push_back(mapped(map, v));
  return out;
}

std::vector<Value*> Graph::insert_graph(const Graph& callee, std::span<Value* const> inputs) {
  ValueMap map;
  return insert_graph(callee, inputs, map);
}

Ref<Graph> Graph::copy() const {
  Ref<Graph> g = make();
  ValueMap map;
  g->clone_into(g->block(), block_, map);
  return g;
}

}  // namespace fc::jit
