// SPDX-License-Identifier: Apache-2.0
// What instructions do that touch nothing but a tile's registers. Memory, atomics, fences and barriers are the
// engine's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/hammerblade/simulator/isa.h"

namespace fc::hb::sim {

struct State {
  uint32_t x[32] = {};  // x[0] stays 0
  uint32_t f[32] = {};  // as bits
  uint32_t pc = 0;
  uint8_t rounding = 0;          // frm
  uint8_t flags = 0;             // fflags; only where somebody reads them
  bool keep_flags = false;       // the program reads fflags
  uint32_t credit_limit = 32;    // CSR 0xFC0
  uint32_t barrier_csr[3] = {};  // 0xFC1 to 0xFC3
};

// Registers and pc after `i`, which is not of a kind that the engine does (Load, Store, Reserve, Atomic, Fence,
// Barrier, Other). False: it is a CSR or a rounding mode that does not exist; nothing has changed.
bool execute(const Instruction& i, State& s);

// Instructions in a row over a piece of memory, without a machine: from the first until it leaves them, or cannot go
// on.
// Returns the number of the word where it ended.
long run_instructions(const uint32_t* words, size_t count, uint8_t* data, uint32_t at, size_t bytes);

// A loaded value, as the instruction extends it.
inline uint32_t extended(Op op, uint32_t value) {
  switch (op) {
    case Op::Lb: return static_cast<uint32_t>(static_cast<int32_t>(static_cast<int8_t>(value)));
    case Op::Lbu: return value & 0xff;
    case Op::Lh: return static_cast<uint32_t>(static_cast<int32_t>(static_cast<int16_t>(value)));
    case Op::Lhu: return value & 0xffff;
    default: return value;
  }
}
inline uint32_t bytes_of(Op op) {
  switch (op) {
    case Op::Lb:
    case Op::Lbu:
    case Op::Sb: return 1;
    case Op::Lh:
    case Op::Lhu:
    case Op::Sh: return 2;
    default: return 4;
  }
}

}  // namespace fc::hb::sim
