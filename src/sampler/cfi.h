// SPDX-License-Identifier: Apache-2.0
// Call frame information: what .eh_frame says of one address. Reads the tables of loaded objects, which the loader and
// the C++ runtime trust as well; allocates nothing.
#pragma once
#include <cstddef>
#include <cstdint>

namespace fc::sampler {

struct Rule {
  enum Kind : uint8_t { Same, Undefined, Offset, ValueOffset, InRegister, Expression, ValueExpression };
  Kind kind = Same;
  int64_t offset = 0;  // or the register's number
  const uint8_t* expression = nullptr;
};

struct FrameRules {
  static constexpr size_t kColumns = 17;
  Rule columns[kColumns];
  Rule frame;  // the frame's address: Offset from frame_register, or Expression
  uint64_t frame_register = 0;
  bool signal = false;  // a signal handler's caller: its address is not that of a call
};

// `index` is the object's .eh_frame_hdr. False: no function of the object is known at pc, or its table is of a form
// that compilers for this machine do not write.
bool find_rules(const uint8_t* index, uint64_t pc, FrameRules& rules);

// The function, or the part of one that was split, in which pc lies; empty where none is known.
struct Range {
  uint64_t begin = 0, end = 0;
  bool has(uint64_t pc) const { return pc - begin < end - begin; }
};
Range function_at(const uint8_t* index, uint64_t pc);

// The value of a DWARF expression; `read` loads a word of the stack.
struct ExpressionInput {
  const uint64_t* registers;
  const void* memory;
  bool (*read)(const void* memory, uint64_t address, uint64_t& value);
};
bool evaluate(const uint8_t* expression, const ExpressionInput& input, bool start_with_frame, uint64_t frame,
              uint64_t& value);

}  // namespace fc::sampler
