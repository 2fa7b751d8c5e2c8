// SPDX-License-Identifier: Apache-2.0
// The graph of a function: nodes that compute values from values, in blocks.
//
//   graph(%x : Tensor,
//         %c : bool):
//     %y : Tensor = prim::If(%c)          a node with two blocks
//       block0():
//         %2 : Tensor = aten::neg(%x)     a node of a block, which sees what stands before it and around it
//         -> (%2)                         what the block gives: the inputs of its return node
//       block1():
//         -> (%x)
//     return (%y)
//
// A Graph owns its nodes, values and blocks and lives as long as a handle to it (Ref<Graph>). One value has one
// definition; there is no jump, only blocks. A graph belongs to one thread at a time; several may read one that nobody
// changes. What may stand where is said by check.h, which runs after every pass of a debug build.
//
// Nodes and values that were destroyed are used again, with a new serial(): who keeps a pointer beyond a change of the
// graph keeps the serial beside it (Handle below). Nothing here recurses into blocks: walk.h.
#pragma once
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/ref.h"
#include "jit/ir/attributes.h"
#include "jit/ir/range.h"

namespace fc {
class Operator;
}
namespace fc::jit {

class Node;
class Block;
class Value;

// One operand: input `offset` of `user`.
struct Use {
  Node* user;
  size_t offset;
  bool operator==(const Use&) const = default;
};

// The uses of a value, oldest first. Those that ended leave gaps until there are many.
class Uses {
 public:
  class Iterator {
   public:
    using value_type = Use;
    using difference_type = std::ptrdiff_t;
    Iterator(const Use* at, const Use* end) : at_(at), end_(end) { skip(); }
    const Use& operator*() const { return *at_; }
    const Use* operator->() const { return at_; }
    Iterator& operator++() {
      ++at_;
      skip();
      return *this;
    }
    bool operator==(const Iterator& o) const { return at_ == o.at_; }

   private:
    void skip() {
      while (at_ != end_ && !at_->user) ++at_;
    }
    const Use *at_, *end_;
  };
  Iterator begin() const { return {all_.data(), all_.data() + all_.size()}; }
  Iterator end() const { return {all_.data() + all_.size(), all_.data() + all_.size()}; }
  size_t size() const { return live_; }
  bool empty() const { return live_ == 0; }
  std::vector<Use> copy() const {  // to change the graph while looking
    std::vector<Use> out;
    for (const Use& u : *this) out.push_back(u);
    return out;
  }

 private:
  friend class Node;
  friend class Value;
  friend class Graph;
  std::vector<Use> all_;
  size_t live_ = 0;
};

class Value {
 public:
  Node* node() const { return node_; }
  size_t offset() const { return offset_; }
  int64_t unique() const { return unique_; }
  uint64_t serial() const { return serial_; }  // 0: destroyed
  const Uses& uses() const { return uses_; }
  bool has_uses() const { return !uses_.empty(); }
  Graph& graph() const;

  TypeRef type() const { return type_; }
  Value* set_type(TypeRef t);

  // The name it prints with: its own, or its number. A name that another value has makes that one `name.1` (names.cpp).
  std::string name() const { return own_name_.empty() ? std::to_string(unique_) : own_name_; }
  bool has_name() const { return !own_name_.empty(); }
  Value* set_name(std::string_view name);  // empty: none. Throws ValueError for digits only.
  static bool is_valid_name(std::string_view name);
  Value* copy_metadata(const Value& from);  // type, and the name if it has one

  void replace_uses_with(Value* other);
  void replace_uses_after_with(Node* node, Value* other);         // uses by nodes that stand after
  void replace_uses_dominated_by_with(Node* node, Value* other);  // uses that see this node's results
  std::string dump() const;                                       // for debuggers

 private:
  friend class Node;
  friend class Graph;
  Node* node_ = nullptr;
  uint32_t offset_ = 0;
  int64_t unique_ = 0;
  uint64_t serial_ = 0;
  TypeRef type_ = nullptr;
  Uses uses_;
  std::string own_name_;
};

// How calls that were inlined led to a node: the outermost call, then what it called. For error texts.
class CallSite final : public RefCounted {
 public:
  std::string function;  // what was called
  SourceRange range;     // of the call, in the function before
  Ref<CallSite> callee;  // the call within it; null: the node is the function's own
};

class Node {
 public:
  Symbol kind() const { return kind_; }
  bool is(const SymbolEntry& k) const { return kind_ == Symbol(k); }
  void set_kind(Symbol k) {
    kind_ = k;
    forget_operator();
  }
  Graph& graph() const { return *graph_; }
  uint64_t serial() const { return serial_; }  // 0: destroyed

  // --- inputs
  size_t num_inputs() const { return inputs_.size(); }
  Value* input(size_t i) const { return inputs_[i].value; }
  Value* input() const;  // the only one
  std::vector<Value*> inputs() const;
  Value* named_input(std::string_view parameter) const;  // by the schema; throws if there is none
  Value* add_input(Value* v);
  Value* insert_input(size_t i, Value* v);
  Value* replace_input(size_t i, Value* v);  // returns the one before
  void replace_input_with(Value* from, Value* to);
  void remove_input(size_t i);
  void remove_all_inputs();
  void permute_inputs(std::span<const size_t> order);

  // --- outputs
  std::span<Value* const> outputs() const { return outputs_; }
  size_t num_outputs() const { return outputs_.size(); }
  Value* output(size_t i) const { return outputs_[i]; }
  Value* output() const;  // the only one
  Value* add_output();
  Value* insert_output(size_t i);
  void erase_output(size_t i);  // which has no uses
  void permute_outputs(std::span<const size_t> order);
  bool has_uses() const;
  void replace_uses_with(Node* other);  // output by output

  // --- blocks
  std::span<Block* const> blocks() const { return blocks_; }
  Block* block(size_t i) const { return blocks_[i]; }
  Block* add_block();
  void erase_block(size_t i);
  Block* owning_block() const { return block_; }  // null: not in the graph

  // --- place
  Node* next() const { return next_; }  // the block's return node after its last
  Node* prev() const { return prev_; }
  bool in_list() const { return next_ != nullptr; }
  bool is_before(const Node* other) const;  // across blocks: where the ancestors in one block stand
  bool is_after(const Node* other) const { return this != other && !is_before(other); }
  Node* insert_before(Node* n);
  Node* insert_after(Node* n);
  void move_before(Node* n);
  void move_after(Node* n);
  void remove_from_list();
  void destroy();  // which has no uses; with its blocks

  // --- attributes
  const std::vector<Attribute>& attributes() const { return attributes_; }
  const Attribute* find(Symbol name) const;
  bool has(Symbol name) const { return find(name) != nullptr; }
  template <class T>
  const T* get(Symbol name) const {  // null: absent, or of another kind
    const Attribute* a = find(name);
    return a ? std::get_if<T>(&a->content) : nullptr;
  }
  Node* set(Symbol name, Attribute::Content content);
  Node* set_int(Symbol name, int64_t v) { return set(name, v); }
  void remove(Symbol name);
  void copy_attributes(const Node& from);

  // --- where it comes from
  const SourceRange& range() const { return range_; }
  void set_range(SourceRange r) { range_ = std::move(r); }
  const std::string& scope() const;
  void set_scope(std::string_view s);
  const Ref<CallSite>& call_site() const { return call_site_; }
  void set_call_site(Ref<CallSite> c) { call_site_ = std::move(c); }
  void copy_metadata(const Node& from);  // range, scope, call site

  // --- what it does. The operator is found by kind and the inputs' types, and remembered until one of them changes.
  const Operator* find_operator() const;        // null: none fits
  const Operator& get_operator() const;         // throws, with every candidate
  bool matches(std::string_view schema) const;  // its operator is the one of this schema text
  bool is_nondeterministic() const;
  bool has_side_effects() const;
  bool must_be_none() const;  // a constant None, or an AutogradZero …

  // What its text only names: of a PythonOp what the bindings call, of a constant function the Function.
  const Ref<RefCounted>& attached() const { return attached_; }
  void set_attached(Ref<RefCounted> p) { attached_ = std::move(p); }

  std::string dump() const;

 private:
  friend class Graph;
  friend class Block;
  friend class Value;
  struct Input {
    Value* value;
    uint32_t use;  // place in the value's uses
  };
  void link(size_t i);
  void unlink(size_t i);
  void moved_input(size_t i);  // tells the use its new offset
  void drop_block(Block* b);
  void forget_operator() { operator_known_ = false; }
  void assign_position();

  Symbol kind_{prim_Placeholder};
  Graph* graph_ = nullptr;
  Block* block_ = nullptr;
  Node *next_ = nullptr, *prev_ = nullptr;
  uint64_t serial_ = 0;
  int64_t position_ = 0;  // grows along a block
  mutable const Operator* operator_ = nullptr;
  mutable bool operator_known_ = false;
  std::vector<Input> inputs_;
  std::vector<Value*> outputs_;
  std::vector<Block*> blocks_;
  std::vector<Attribute> attributes_;
  SourceRange range_;
  const std::string* scope_ = nullptr;  // kept by the graph
  Ref<CallSite> call_site_;
  Ref<RefCounted> attached_;
};

class Block {
 public:
  Graph& graph() const { return *graph_; }
  Node* owning_node() const { return owner_; }  // null: the graph's own block
  uint64_t serial() const { return serial_; }
  std::span<Value* const> inputs() const { return param_->outputs(); }
  std::vector<Value*> outputs() const { return return_->inputs(); }
  Value* output(size_t i) const { return return_->input(i); }
  size_t num_outputs() const { return return_->num_inputs(); }
  Node* param_node() const { return param_; }
  Node* return_node() const { return return_; }

  Node* first() const { return return_->next(); }  // the return node if there are none
  Node* last() const { return return_->prev(); }
  Node* end() const { return return_; }
  bool empty() const { return first() == end(); }
  std::vector<Node*> nodes() const;

  Value* add_input(std::string_view name = {});
  Value* insert_input(size_t i, std::string_view name = {});
  void erase_input(size_t i) { param_->erase_output(i); }
  size_t register_output(Value* v);
  void insert_output(size_t i, Value* v) { return_->insert_input(i, v); }
  void erase_output(size_t i) { return_->remove_input(i); }
  void permute_inputs(std::span<const size_t> order) { param_->permute_outputs(order); }
  void replace_output(size_t i, Value* v) { return_->replace_input(i, v); }
  Node* append(Node* n) { return n->insert_before(return_); }
  Node* prepend(Node* n) { return n->insert_before(first()); }
  void clear();  // destroys its nodes; outputs are gone

 private:
  friend class Graph;
  friend class Node;
  Graph* graph_ = nullptr;
  Node *owner_ = nullptr, *param_ = nullptr, *return_ = nullptr;
  uint64_t serial_ = 0;
};

class Graph final : public RefCounted {
 public:
  static Ref<Graph> make();
  static void* operator new(size_t bytes) { return ::operator new(bytes); }
  static void operator delete(void* p) { ::operator delete(p); }

  Block* block() const { return block_; }
  std::span<Value* const> inputs() const { return block_->inputs(); }
  std::vector<Value*> outputs() const { return block_->outputs(); }
  Node* param_node() const { return block_->param_node(); }
  Node* return_node() const { return block_->return_node(); }
  Value* add_input(std::string_view name = {}) { return block_->add_input(name); }
  size_t register_output(Value* v) { return block_->register_output(v); }

  // --- new nodes, which stand nowhere yet
  // Nodes are made in the current scope ("__module.a/__module.a.fc"): of a trace, the module whose forward() runs.
  void set_current_scope(std::string_view s) { current_scope_ = s.empty() ? nullptr : keep_scope(s); }
  Node* create(Symbol kind, size_t outputs = 1);
  Node* create(Symbol kind, std::span<Value* const> inputs, size_t outputs = 1);
  Node* create_none();
  Node* create_list(TypeRef item, std::span<Value* const> values);
  Node* create_tuple(std::span<Value* const> values, TypeRef named = nullptr);
  Node* create_tuple_unpack(Value* v);
  Node* create_tuple_index(Value* tuple, Value* index, TypeRef output);
  Node* create_list_unpack(Value* v, size_t size);
  Node* create_num_to_tensor(Value* v);
  // A copy of a node of any graph; `map` gives the value here for one there. With its blocks.
  using ValueMap = std::unordered_map<const Value*, Value*>;
  Node* create_clone(const Node* n, ValueMap& map, bool copy_blocks = true);
  void clone_into(Block* to, const Block* from, ValueMap& map);  // inputs, nodes and outputs

  // --- the insertion point: before a node
  Node* insert(Node* n) { return n->insert_before(insert_point_); }
  Node* insert_point() const { return insert_point_; }
  void set_insert_point(Block* b) { insert_point_ = b->return_node(); }
  void set_insert_point(Node* n) { insert_point_ = n; }
  // A call of the operator that fits best, with constants for missing parameters; throws if none fits.
  Value* insert_call(Symbol kind, std::span<Value* const> inputs);
  // A constant before the insertion point; null from try_…: no constant holds such a value.
  Value* insert_constant(const fc::Value& v);
  Value* try_insert_constant(const fc::Value& v);
  // Copies the nodes of `callee` before the insertion point; its results.
  std::vector<Value*> insert_graph(const Graph& callee, std::span<Value* const> inputs);
  std::vector<Value*> insert_graph(const Graph& callee, std::span<Value* const> inputs, ValueMap& map);

  Ref<Graph> copy() const;
  size_t num_nodes() const { return live_nodes_; }

  std::string text(bool ranges = true) const;  // print.cpp; byte for byte PyTorch's
  void dump() const;                           // to stderr, for debuggers

 private:
  friend class Node;
  friend class Block;
  friend class Value;
  Graph();
  ~Graph() override;
  void destroy() noexcept override { delete_in_turn(this); }
  Value* make_value(Node* n, size_t offset);
  void free_value(Value* v);
  Block* make_block(Node* owner);
  const std::string* keep_scope(std::string_view s);

  Block* block_ = nullptr;
  Node* insert_point_ = nullptr;
  int64_t next_unique_ = 0;
  uint64_t next_serial_ = 1;
  size_t live_nodes_ = 0;
  std::deque<Node> nodes_;  // places, of nodes that live and of those that will
  std::deque<Value> values_;
  std::deque<Block> blocks_;
  std::vector<Node*> free_nodes_;
  std::vector<Value*> free_values_;
  std::vector<Block*> free_blocks_;
  std::unordered_map<std::string, Value*> names_;
  std::unordered_map<std::string, int64_t> last_suffix_;  // of a base name
  std::vector<std::unique_ptr<std::string>> scopes_;
  const std::string* current_scope_ = nullptr;
};

inline Graph& Value::graph() const { return node_->graph(); }

// Sets the insertion point for a scope.
class InsertAt {
 public:
  template <class Place>
  explicit InsertAt(Place* place) : graph_(place->graph()), before_(graph_.insert_point()) {
    graph_.set_insert_point(place);
  }
  ~InsertAt() { graph_.set_insert_point(before_); }
  InsertAt(const InsertAt&) = delete;

 private:
  Graph& graph_;
  Node* before_;
};

// The constant that a value is, if its node is one (constants.cpp).
std::optional<fc::Value> constant_of(const Value* v);
// As a number or a truth value, of a constant.
std::optional<int64_t> constant_int(const Value* v);
std::optional<bool> constant_bool(const Value* v);
bool is_none(const Value* v);             // a constant None
TypeRef type_of(const fc::Value& v);      // as a constant's
bool holds_constant(const fc::Value& v);  // whether a constant can be of this value
// Of values of one type; `item` where the values do not tell. Throw TypeError.
fc::Value make_list(std::vector<fc::Value> items, TypeRef item = nullptr);
fc::Value make_tuple(std::vector<fc::Value> items);
fc::Value make_dict(std::vector<std::pair<fc::Value, fc::Value>> entries, TypeRef dict = nullptr);

}  // namespace fc::jit
