// SPDX-License-Identifier: Apache-2.0
// Which lines of Python the interrupted thread is at. The interpreter's own structures are read by the thread whose
// frames they are, after the kernel has said that the pages can be read: a frame that is just being made or dropped
// gives a short list, never a crash. What is taken for a code object has the type of one.
//
// Layouts are those of CPython 3.9 to 3.14; other versions' frames show as the interpreter's C functions.
#pragma once
#include <cstddef>
#include <cstdint>

#include "sampler/cfi.h"
#include "sampler/store.h"

namespace fc::sampler {

// Which frames C called: each, those that say so, or those above a frame of the interpreter's own making.
enum class Entries : uint8_t { All, Marked, BelowShims };

// Where an interpreter keeps what is read here, in bytes from the start of its structures.
struct PythonLayout {
  static constexpr uint16_t kNone = UINT16_MAX;
  uint32_t version = 0;
  Entries entries = Entries::All;
  struct {
    uint16_t newest, loop;  // the newest frame's address, or where it is in the loop's own variable, kNone: here
  } thread = {};
  struct {
    uint16_t code, previous, instruction, owner;
  } frame = {};
  struct {
    uint16_t first_line, file, name, lines, instructions;
  } code = {};
  struct {
    uint16_t ascii, wide;  // characters of compact ones
  } text = {};
};

struct PythonFrame {
  uint64_t address, code;  // of the frame and its code object
  uint32_t record;         // the code's
  uint32_t offset;         // of the instruction, in bytes
  bool entry;              // called by C: the frames below it belong to an outer run of the interpreter's loop
};

struct PythonStack {
  static constexpr size_t kMost = 512;
  PythonFrame frames[kMost];  // innermost first
  size_t size;
};

class Memory;  // which of it can be read

class Python {
 public:
  // Looks the interpreter up in this process. Not for signal handlers.
  void find(Header& header);
  bool found() const { return state_ != nullptr; }
  bool in_loop(uint64_t pc) const { return loop_.has(pc) || rest_of_loop_.has(pc); }
  // `sp` and `stack_end` bound the thread's stack, on which the interpreter's loop keeps its newest frame's address.
  void read(Store& store, uint64_t sp, uint64_t stack_end, PythonStack& stack) const;

 private:
  static constexpr size_t kMostFrameBytes = 88, kMostCodeBytes = 256;
  uint32_t code_record(Memory& memory, Store& store, uint64_t code) const;
  PythonLayout layout_;
  size_t frame_start_ = 0, frame_bytes_ = 0, code_bytes_ = 0;  // what is read of them
  void* (*state_)() = nullptr;                                 // PyGILState_GetThisThreadState
  uint64_t code_type_ = 0;
  Range loop_, rest_of_loop_;
};

}  // namespace fc::sampler
