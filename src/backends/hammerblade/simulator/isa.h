// SPDX-License-Identifier: Apache-2.0
// RV32IMAF as a tile of the manycore has it: what an instruction word means, decoded once.
//
// Not there: mulh and its kin (they trap, unless the machine says multiply_high), sc.w, the amo operations other than
// swap, or and add, double, compressed instructions. There besides: barsend and barrecv, the hardware barrier's.
#pragma once

#include <cstdint>

namespace fc::hb::sim {

// One row for each operation: the name in C++, the one in traces, its class.
// clang-format off
#define HB_SIM_OPERATIONS(X)                                                                                          \
  X(Illegal, "illegal", Other) X(Lui, "lui", Alu) X(Auipc, "auipc", Alu)                                              \
  X(Addi, "addi", Alu) X(Slti, "slti", Alu) X(Sltiu, "sltiu", Alu) X(Xori, "xori", Alu) X(Ori, "ori", Alu)            \
  X(Andi, "andi", Alu) X(Slli, "slli", Alu) X(Srli, "srli", Alu) X(Srai, "srai", Alu)                                 \
  X(Add, "add", Alu) X(Sub, "sub", Alu) X(Sll, "sll", Alu) X(Slt, "slt", Alu) X(Sltu, "sltu", Alu)                    \
  X(Xor, "xor", Alu) X(Srl, "srl", Alu) X(Sra, "sra", Alu) X(Or, "or", Alu) X(And, "and", Alu)                        \
  X(Mul, "mul", Multiply) X(Mulh, "mulh", Multiply) X(Mulhsu, "mulhsu", Multiply) X(Mulhu, "mulhu", Multiply)         \
  X(Div, "div", Divide) X(Divu, "divu", Divide) X(Rem, "rem", Divide) X(Remu, "remu", Divide)                         \
  X(Beq, "beq", Branch) X(Bne, "bne", Branch) X(Blt, "blt", Branch) X(Bge, "bge", Branch)                             \
  X(Bltu, "bltu", Branch) X(Bgeu, "bgeu", Branch) X(Jal, "jal", Jump) X(Jalr, "jalr", Jump)                           \
  X(Lb, "lb", Load) X(Lh, "lh", Load) X(Lw, "lw", Load) X(Lbu, "lbu", Load) X(Lhu, "lhu", Load)                       \
  X(Sb, "sb", Store) X(Sh, "sh", Store) X(Sw, "sw", Store) X(Flw, "flw", Load) X(Fsw, "fsw", Store)                   \
  X(Lr, "lr", Reserve) X(LrAq, "lr_aq", Reserve)                                                                      \
  X(Amoswap, "amoswap", Atomic) X(Amoor, "amoor", Atomic) X(Amoadd, "amoadd", Atomic)                                 \
  X(Fence, "fence", Fence) X(FenceI, "fence_i", Other) X(Barsend, "barsend", Barrier) X(Barrecv, "barrecv", Barrier)  \
  X(Csrrw, "csrrw", Csr) X(Csrrs, "csrrs", Csr) X(Csrrc, "csrrc", Csr)                                                \
  X(Csrrwi, "csrrwi", Csr) X(Csrrsi, "csrrsi", Csr) X(Csrrci, "csrrci", Csr)                                          \
  X(Ecall, "ecall", Other) X(Ebreak, "ebreak", Other)                                                                 \
  X(Fadd, "fadd", Float) X(Fsub, "fsub", Float) X(Fmul, "fmul", Float)                                                \
  X(Fdiv, "fdiv", FloatDivide) X(Fsqrt, "fsqrt", FloatDivide)                                                         \
  X(Fsgnj, "fsgnj", FloatMove) X(Fsgnjn, "fsgnjn", FloatMove) X(Fsgnjx, "fsgnjx", FloatMove)                          \
  X(Fmin, "fmin", Float) X(Fmax, "fmax", Float) X(Fmadd, "fmadd", Float) X(Fmsub, "fmsub", Float)                     \
  X(Fnmsub, "fnmsub", Float) X(Fnmadd, "fnmadd", Float)                                                               \
  X(Feq, "feq", FloatMove) X(Flt, "flt", FloatMove) X(Fle, "fle", FloatMove)                                          \
  X(FcvtWS, "fcvt_w_s", FloatMove) X(FcvtWuS, "fcvt_wu_s", FloatMove) X(FcvtSW, "fcvt_s_w", Float)                    \
  X(FcvtSWu, "fcvt_s_wu", Float) X(Fclass, "fclass", FloatMove) X(FmvXW, "fmv_x_w", FloatMove)                        \
  X(FmvWX, "fmv_w_x", FloatMove)
// clang-format on

enum class Op : uint8_t {
#define X(name, text, kind) name,
  HB_SIM_OPERATIONS(X)
#undef X
};
inline constexpr int op_count = 0
#define X(name, text, kind) +1
    HB_SIM_OPERATIONS(X)
#undef X
    ;

// What an operation keeps busy, and what somebody who needs its result waits for.
enum class Kind : uint8_t {
  Alu,
  Multiply,
  Divide,
  Branch,
  Jump,
  Load,
  Store,
  Reserve,
  Atomic,
  Fence,
  Barrier,
  Csr,
  Float,
  FloatMove,
  FloatDivide,
  Other,
};

const char* name_of(Op);
Kind kind_of(Op);

enum Uses : uint8_t {  // registers that an instruction reads and writes
  reads_x1 = 1,
  reads_x2 = 2,
  reads_f1 = 4,
  reads_f2 = 8,
  reads_f3 = 16,
  writes_x = 32,
  writes_f = 64,
  moves_stack = 128,  // writes sp
};

struct Instruction {
  Op op = Op::Illegal;
  uint8_t rd = 0, rs1 = 0, rs2 = 0, rs3 = 0;
  uint8_t rounding = 0;  // 7: as the register frm says
  uint8_t uses = 0;
  Kind kind = Kind::Other;
  int32_t imm = 0;     // or the number of a CSR
  uint32_t marks = 0;  // what the program knows of this place
};
enum Mark : uint32_t {
  at_double = 1,      // a routine that does double in software begins here
  at_return = 2,      // where kernels return to
  at_breakpoint = 4,  // a debugger wants to look
};

// What of the instruction set a machine leaves out decodes as Illegal.
Instruction decode(uint32_t word, bool multiply_high = true, bool amoadd = true);

}  // namespace fc::hb::sim
