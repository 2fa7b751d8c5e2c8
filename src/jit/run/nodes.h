// SPDX-License-Identifier: Apache-2.0
// Node kinds that are no operators: lists, tuples, dicts, attributes, casts. A row each: what runs it, and what it
// needs to know of its node.
#pragma once
#include "jit/run/code.h"

namespace fc::jit {

struct NodeKind {
  SymbolEntry kind;
  void (*run)(const NodeCall& call, fc::Value* registers);
  void (*prepare)(const Node& n, NodeCall& call) = nullptr;  // null: only the results' types are kept
};
const NodeKind* find_node_kind(Symbol kind);  // null: none
const NodeKind& node_kind(size_t i);
size_t index_of(const NodeKind& k);

// Calls what is attached to a prim::PythonOp: the Python front puts it here. Null: there is no Python.
extern std::vector<fc::Value> (*python_hook)(RefCounted& function, std::vector<fc::Value> arguments,
                                             std::span<const TypeRef> results);

// Where prim::Print writes: standard output, or what the Python front puts here.
extern void (*print_hook)(const std::string& line);
void print_line(const std::string& line);

// Takes an operand: moved out at its last use.
inline fc::Value take(const Operand& o, fc::Value* registers) {
  return o.last ? std::move(registers[o.slot]) : registers[o.slot];
}

}  // namespace fc::jit
