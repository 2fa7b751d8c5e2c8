// SPDX-License-Identifier: Apache-2.0
// Which lines of Python the interrupted thread is at. The interpreter's own structures are read by the thread whose
// frames they are, through the kernel (process_vm_readv on itself), which refuses an address instead of faulting: a
// frame that is just being made or dropped gives a short list, never a crash. What is taken for a code object has the
// type of one.
//
// Layouts are those of CPython 3.11; other versions' frames show as the interpreter's C functions.
#pragma once
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>

#include "sampler/store.h"

namespace fc::sampler {

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
  // Most frames are the last sample's: those are read in one call of the kernel. Here, because stacks may be small.
  struct Read {
    uint64_t code, object, previous, last_instruction;  // _PyInterpreterFrame, from f_code on
    int32_t stack_top;
    uint8_t is_entry, owner;
  } ahead[kMost];
  uint64_t ahead_at[kMost];
  size_t ahead_size;
  iovec local[kMost + 1], remote[kMost + 1];
};

class Python {
 public:
  // Looks the interpreter up in this process. Not for signal handlers.
  void find(Header& header);
  bool found() const { return state_ != nullptr; }
  bool in_loop(uint64_t pc) const { return pc - loop_ < loop_bytes_; }
  // `sp` and `stack_end` bound the thread's stack, on which the interpreter's loop keeps its newest frame's address.
  void read(Store& store, uint64_t sp, uint64_t stack_end, PythonStack& stack) const;

 private:
  uint32_t code_record(Store& store, uint64_t code) const;
  void* (*state_)() = nullptr;  // PyGILState_GetThisThreadState
  uint64_t code_type_ = 0, loop_ = 0, loop_bytes_ = 0;
};

}  // namespace fc::sampler
