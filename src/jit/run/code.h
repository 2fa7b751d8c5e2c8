// SPDX-License-Identifier: Apache-2.0
// A graph as instructions over registers. Every value of the graph has a register from its definition to its last use;
// registers of values that live one after the other are the same. Constants have registers too, filled when a frame
// begins. Made once, immutable: any number of threads may run it.
//
// What a value's last use takes is moved, so tensors and lists die there; what is used last inside of a block but made
// outside of it is dropped after the node with that block.
#pragma once
#include <string>
#include <vector>

#include "jit/ir/graph.h"

namespace fc::jit {

class Function;  // function.h

enum class Op : uint8_t {
#define OPCODE(name) name,
#include "jit/run/opcodes.def"
#undef OPCODE
};
std::string_view to_string(Op op);

struct Instruction {
  Op op;
  int32_t a = 0, b = 0, c = 0;
};
static_assert(sizeof(Instruction) == 16);

// How a register becomes an operator's argument.
enum class PassAs : uint8_t {
  Any,    // as it is
  DType,  // a graph's int
  Layout,
  MemoryFormat,
  Whole,  // with what it holds, for hidden operators
};

struct Operand {
  int32_t slot;
  PassAs pass = PassAs::Any;
  bool last = false;      // moved
  uint16_t argument = 0;  // of CALL_OP: which
};
Arg pass(const fc::Value& v, PassAs how);

// A node that takes more than three registers, or something beside them.
struct NodeCall {
  const Operator* op = nullptr;  // of CALL_OP
  std::vector<Operand> in;
  std::vector<int32_t> out;
  std::vector<int32_t> drop;               // registers that end with it
  std::vector<Arg> prepared;               // of CALL_OP: constants are there already
  bool plain_results = true;               // none is a dtype, layout or memory format, which graphs see as int
  TypeRef type = nullptr;                  // of the result
  std::vector<TypeRef> types;              // of isinstance; of a PythonOp its results'
  Ref<RefCounted> attached;                // of a PythonOp: what Python calls
  std::vector<fc::Value> prepared_values;  // numbers that a node kind takes from its attributes
  int32_t slot = -1;                       // of an attribute, in objects of `type`
  std::string text;                        // name of an attribute, function or method
  Ref<Function> function;                  // of CALL, ENTER, EXIT, FORK; null: `text` is a method of the first operand,
                                           // or without text the first operand is the function
};

struct Code final : RefCounted {
  Ref<Graph> graph;  // while it is compiled
  std::string name;
  std::vector<Instruction> instructions;
  std::vector<NodeCall> calls;
  std::vector<fc::Value> constants;  // of the first registers
  std::vector<SourceRange> ranges;   // of the instructions
  std::vector<Ref<CallSite>> sites;  // of instructions that were inlined, else null
  int32_t registers = 0;
  std::vector<int32_t> parameters, results;  // registers
  std::vector<bool> result_moves;            // the register ends with the result
};

// Throws Error, with the node's place, for what cannot run.
Ref<Code> compile(const Graph& g, std::string name);
std::string dump(const Code& code);  // one line an instruction

}  // namespace fc::jit
