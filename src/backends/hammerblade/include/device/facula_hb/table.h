// SPDX-License-Identifier: Apache-2.0
// What the host knows of a kernel that was written with kernel.h: the row that its record in the library's table
// points to
// (hb_emul_kernel_t::facts). Plain data, shared by both sides.
#pragma once
#include <stdint.h>

namespace hb {

inline constexpr int kMaxDims = 8;  // of a tensor that a kernel gets

enum ParameterKind : uint8_t {
  kOut,      // a result
  kIn,       // a tensor argument
  kMaybe,    // one that may be absent
  kChanged,  // one that is written; may be absent
  kList,     // a list of tensors
  kInts,     // a list of integers
  kNumbers,  // some numbers of one type
  kNumber,   // one number
  kIgnored,  // an argument that the kernel does not need
  kFault,    // no argument: where a bad index is told
};
struct Parameter {
  uint8_t kind;
  int8_t dtype;
  bool dense;  // without gaps, last dimension fastest: the host copies others
};

struct Row {
  const char* op;  // the operator that it does, "aten::sigmoid"; empty: only launched by name
  const Parameter* parameters;
  int32_t n_parameters;             // -1: a formula that is not for this type
  int32_t family, opcode, compute;  // of a family; family -1: a whole operator
  // Whether a call can be done, from its arguments' numbers and lists in the operator's order (null: always). Host
  // code.
  bool (*accepts)(const struct Call&);
  // The sizes of a result that the operator has no rule for; returns how many dimensions it has. Host code.
  int32_t (*sizes)(const struct Call&, int32_t result, int64_t* sizes) = nullptr;
};

// What `accepts` sees of a call: arguments in the operator's order; tensors as their sizes.
struct Call {
  struct Argument {
    bool present;
    double number;
    const int64_t* list;  // an integer list's elements, a tensor's sizes
    int32_t n;
  };
  const Argument* arguments;
  int32_t n;
  const Argument& operator[](int32_t i) const { return arguments[i]; }
  bool all(int32_t i, int64_t value) const {
    for (int32_t k = 0; k < arguments[i].n; ++k)
      if (arguments[i].list[k] != value) return false;
    return true;
  }
};

}  // namespace hb
