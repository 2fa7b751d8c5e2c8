// SPDX-License-Identifier: Apache-2.0
// The stack of an interrupted thread, read by the thread itself in its signal handler: by the unwinding tables that
// every shared object carries (.eh_frame), found without a lock through _dl_find_object (glibc 2.35). Assembly and
// generated code have none; there the stack is searched for a return address from which the tables lead to the
// thread's start. Only memory between the interrupted stack pointer and `stack_end` is read, and tables of loaded
// objects.
#pragma once
#include <cstddef>
#include <cstdint>

struct link_map;

namespace fc::sampler {

// DWARF's numbers of x86-64 registers; Pc is the return address's.
enum Register : uint8_t { Rbx = 3, Rbp = 6, Rsp = 7, R12 = 12, R13, R14, R15, Pc = 16, kRegisters };

struct Registers {
  uint64_t of[kRegisters];
};

struct Frame {
  uint64_t pc;      // of the interrupted instruction, or inside of the call instruction
  uint64_t offset;  // of pc in its object
  uint32_t object;  // what Unwinder's owner calls it; 0: no object's
};

// What a row of an unwinding table says, for rows that only add and load: nearly all of them. In one cache line,
// because a program that computes leaves nothing of ours in the cache.
struct alignas(64) Row {
  uint64_t pc;
  uint64_t base;        // the object's address
  uint32_t generation;  // of the loaded objects: another one may come to lie at the same address
  uint32_t object;
  int32_t frame_offset;  // of the frame's address from frame_register
  uint8_t frame_register;
  bool outermost, signal;
  int16_t saved_at[7];  // of kKept and the return address, in words from the frame's address; kNotSaved
};

class Unwinder {
 public:
  // `generation` changes whenever an object is unloaded. `name` gives an object's number.
  void prepare(uint32_t generation, uint32_t (*name)(const link_map*));
  // Fills `frames`, the innermost first. `complete`: the last one is the thread's first.
  size_t walk(const Registers& at, uint64_t stack_end, Frame* frames, size_t most, bool& complete);

 private:
  enum class Step { Done, Outermost, NoTable, Bad };
  Step step(Registers& r, bool& called, Frame& frame);
  Step step_by_rules(const struct FrameRules& rules, Registers& r, bool& called) const;
  Step move_to(const Registers& caller, Registers& r, bool signal, bool& called) const;
  size_t walk_tables(Registers r, bool called, Frame* frames, size_t most, Step& end);
  size_t search(const Registers& at, Frame* frames, size_t most, bool& complete);
  bool read(uint64_t address, uint64_t& value) const;

  static constexpr size_t kRows = 1024;
  Row rows_[kRows];
  bool searching_ = false;
  uint32_t generation_;
  uint32_t (*name_)(const link_map*);
  uint64_t low_, high_;
  // The last search's: the page of code, the caller's address, where it was above the stack pointer, and in which way.
  struct {
    uint64_t page, pc, words;
    int way;
  } found_;
};

}  // namespace fc::sampler
