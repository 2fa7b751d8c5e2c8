// SPDX-License-Identifier: Apache-2.0
// Which values may share memory, and which nodes write it. Built from the operators' schemas: (a) says that a result
// may be an argument's memory, (a!) that it is written, (a -> *) that it goes where nobody follows it. Whatever is
// not followed (inputs of the graph, what stands in containers and attributes) is one wildcard for each type.
//
// An AliasDb describes the graph as it was when it was built. Passes may move nodes through it and replace uses; after
// other changes it is built again. It answers for values that it knows; new ones share memory with nothing.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "jit/ir/graph.h"
#include "jit/ir/serials.h"

namespace fc::jit {

class AliasDb {
 public:
  explicit AliasDb(Graph& g);
  AliasDb(const AliasDb&) = delete;

  bool has_writers(const Value* v) const;
  bool has_writers(const Node* n) const;  // of its inputs or outputs
  bool has_input_writers(const Node* n) const;
  bool has_output_writers(const Node* n) const;
  bool is_mutable(const Node* n) const;  // it writes something
  bool has_wildcard(const Value* v) const;
  bool may_alias(const Value* a, const Value* b) const;
  bool may_contain_alias(const Value* a, const Value* b) const;
  bool may_contain_alias(std::span<Value* const> a, std::span<Value* const> b) const;
  bool writes_to_alias(const Node* n, std::span<Value* const> values) const;
  bool writes_to_wildcard(const Node* n) const;
  bool may_alias_wildcard(const Value* v) const { return has_wildcard(v); }
  bool escapes_scope(std::span<Value* const> values) const;  // seen by the caller
  // Whether nobody can tell if `a` and `b` become one value, or stop being one.
  bool safe_to_alias(std::span<Value* const> a, std::span<Value* const> b) const;

  // Moves `n` to directly before or after `point`, with what must go along; false, and nothing moved, if that would
  // change what is computed.
  bool move_before(Node* n, Node* point) { return try_move(n, point, true, false); }
  bool move_after(Node* n, Node* point) { return try_move(n, point, false, false); }
  bool could_move_before(Node* n, Node* point) { return try_move(n, point, true, true); }
  bool could_move_after(Node* n, Node* point) { return try_move(n, point, false, true); }

  void replace_with_new(const Value* before, const Value* after);  // `after` takes the other's place
  void forget(const Node* n);                           // which will be destroyed: its values, and those of its blocks
  void copy_value(const Value* from, const Value* to);  // `to` shares what `from` shares

  std::string text() const;
  std::string graphviz() const;

 private:
  struct Builder;
  friend struct Builder;
  using Places = std::vector<int>;  // sorted numbers of elements that are memory
  struct Element {
    const Value* value = nullptr;  // null: a wildcard
    TypeRef wildcard = nullptr;    // of this type
    std::vector<int> points_to, contains;
    mutable int state = 0;  // of the search for places: 2 done
    mutable Places places;
    mutable int all_state = 0;
    mutable Places all_places;
  };
  bool try_move(Node* n, Node* point, bool before, bool dry);
  int find(const Value* v) const;
  const Places& places_of(int element) const;
  const Places& all_places_of(int element) const;  // with what it contains
  Places all_places(std::span<Value* const> values) const;
  const Places& writes(const Node* n) const;
  Places reads(const Node* n) const;
  const Places& all_writes(const Node* n) const;  // with its blocks
  std::string element_text(int e) const;

  Graph& graph_;
  std::vector<Element> elements_;
  SerialMap of_value_;
  std::unordered_map<TypeRef, int> wildcards_;
  std::unordered_map<const Node*, std::vector<int>> write_elements_;
  std::unordered_map<const Node*, Places> writes_, all_writes_;
  Places written_;
};

// Types whose values can share memory: tensors, lists, dicts, objects, futures, what holds one of these.
TypeRef alias_type(TypeRef t);  // the one they are grouped by; null: values of it cannot

}  // namespace fc::jit
