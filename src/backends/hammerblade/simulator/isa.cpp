// SPDX-License-Identifier: Apache-2.0
#include "backends/hammerblade/simulator/isa.h"

namespace fc::hb::sim {

namespace {

struct Row {
  const char* name;
  Kind kind;
};
constexpr Row rows[] = {
#define X(op, text, kind) {text, Kind::kind},
    HB_SIM_OPERATIONS(X)
#undef X
};

constexpr uint32_t bits(uint32_t word, int high, int low) { return word >> low & ((2u << (high - low)) - 1); }
constexpr int32_t sign_extended(uint32_t value, int width) {
  return static_cast<int32_t>(value << (32 - width)) >> (32 - width);
}

int32_t imm_i(uint32_t w) { return static_cast<int32_t>(w) >> 20; }
int32_t imm_s(uint32_t w) { return sign_extended(bits(w, 31, 25) << 5 | bits(w, 11, 7), 12); }
int32_t imm_b(uint32_t w) {
  return sign_extended(bits(w, 31, 31) << 12 | bits(w, 7, 7) << 11 | bits(w, 30, 25) << 5 | bits(w, 11, 8) << 1, 13);
}
int32_t imm_j(uint32_t w) {
  return sign_extended(bits(w, 31, 31) << 20 | bits(w, 19, 12) << 12 | bits(w, 20, 20) << 11 | bits(w, 30, 21) << 1,
                       21);
}

struct Form {
  Op op = Op::Illegal;
  int uses = 0;
  int32_t imm = 0;
};

Form of_register(uint32_t w, bool multiply_high) {
  const uint32_t f3 = bits(w, 14, 12), f7 = bits(w, 31, 25);
  constexpr int uses = reads_x1 | reads_x2 | writes_x;
  if (f7 == 0) {
    constexpr Op ops[] = {Op::Add, Op::Sll, Op::Slt, Op::Sltu, Op::Xor, Op::Srl, Op::Or, Op::And};
    return {ops[f3], uses};
  }
  if (f7 == 0x20 && f3 == 0) return {Op::Sub, uses};
  if (f7 == 0x20 && f3 == 5) return {Op::Sra, uses};
  if (f7 != 1) return {};
  constexpr Op ops[] = {Op::Mul, Op::Mulh, Op::Mulhsu, Op::Mulhu, Op::Div, Op::Divu, Op::Rem, Op::Remu};
  if (f3 >= 1 && f3 <= 3 && !multiply_high) return {};
  return {ops[f3], uses};
}

Form of_immediate(uint32_t w) {
  const uint32_t f3 = bits(w, 14, 12), f7 = bits(w, 31, 25);
  constexpr int uses = reads_x1 | writes_x;
  const auto shift = static_cast<int32_t>(bits(w, 24, 20));
  switch (f3) {
    case 0: return {Op::Addi, uses, imm_i(w)};
    case 1: return f7 == 0 ? Form{Op::Slli, uses, shift} : Form{};
    case 2: return {Op::Slti, uses, imm_i(w)};
    case 3: return {Op::Sltiu, uses, imm_i(w)};
    case 4: return {Op::Xori, uses, imm_i(w)};
    case 5: return f7 == 0 ? Form{Op::Srli, uses, shift} : f7 == 0x20 ? Form{Op::Srai, uses, shift} : Form{};
    case 6: return {Op::Ori, uses, imm_i(w)};
    default: return {Op::Andi, uses, imm_i(w)};
  }
}

Form of_atomic(uint32_t w, bool amoadd) {
  if (bits(w, 14, 12) != 2) return {};
  const auto order = static_cast<int32_t>(bits(w, 26, 25));  // 2: acquire, 1: release
  switch (bits(w, 31, 27)) {
    case 0x02: return bits(w, 24, 20) ? Form{} : Form{bits(w, 26, 26) ? Op::LrAq : Op::Lr, reads_x1 | writes_x};
    case 0x01: return {Op::Amoswap, reads_x1 | reads_x2 | writes_x, order};
    case 0x08: return {Op::Amoor, reads_x1 | reads_x2 | writes_x, order};
    case 0x00: return amoadd ? Form{Op::Amoadd, reads_x1 | reads_x2 | writes_x, order} : Form{};
    default: return {};
  }
}

Form of_system(uint32_t w) {
  if (w == 0x73) return {Op::Ecall};
  if (w == 0x100073) return {Op::Ebreak};
  const auto csr = static_cast<int32_t>(w >> 20);
  switch (bits(w, 14, 12)) {
    case 1: return {Op::Csrrw, reads_x1 | writes_x, csr};
    case 2: return {Op::Csrrs, reads_x1 | writes_x, csr};
    case 3: return {Op::Csrrc, reads_x1 | writes_x, csr};
    case 5: return {Op::Csrrwi, writes_x, csr};
    case 6: return {Op::Csrrsi, writes_x, csr};
    case 7: return {Op::Csrrci, writes_x, csr};
    default: return {};
  }
}

bool sound_rounding(uint32_t f3) { return f3 <= 4 || f3 == 7; }

Form of_float(uint32_t w) {
  const uint32_t f3 = bits(w, 14, 12), f7 = bits(w, 31, 25), rs2 = bits(w, 24, 20);
  constexpr int two = reads_f1 | reads_f2 | writes_f, compare = reads_f1 | reads_f2 | writes_x;
  const bool rounds = sound_rounding(f3);
  switch (f7) {
    case 0x00: return rounds ? Form{Op::Fadd, two} : Form{};
    case 0x04: return rounds ? Form{Op::Fsub, two} : Form{};
    case 0x08: return rounds ? Form{Op::Fmul, two} : Form{};
    case 0x0c: return rounds ? Form{Op::Fdiv, two} : Form{};
    case 0x2c: return rounds && !rs2 ? Form{Op::Fsqrt, reads_f1 | writes_f} : Form{};
    case 0x10:
      return f3 == 0   ? Form{Op::Fsgnj, two}
             : f3 == 1 ? Form{Op::Fsgnjn, two}
             : f3 == 2 ? Form{Op::Fsgnjx, two}
                       : Form{};
    case 0x14: return f3 == 0 ? Form{Op::Fmin, two} : f3 == 1 ? Form{Op::Fmax, two} : Form{};
    case 0x50:
      return f3 == 2   ? Form{Op::Feq, compare}
             : f3 == 1 ? Form{Op::Flt, compare}
             : f3 == 0 ? Form{Op::Fle, compare}
                       : Form{};
    case 0x60: return rs2 > 1 || !rounds ? Form{} : Form{rs2 ? Op::FcvtWuS : Op::FcvtWS, reads_f1 | writes_x};
    case 0x68: return rs2 > 1 || !rounds ? Form{} : Form{rs2 ? Op::FcvtSWu : Op::FcvtSW, reads_x1 | writes_f};
    case 0x70:
      return rs2       ? Form{}
             : f3 == 0 ? Form{Op::FmvXW, reads_f1 | writes_x}
             : f3 == 1 ? Form{Op::Fclass, reads_f1 | writes_x}
                       : Form{};
    case 0x78: return !rs2 && f3 == 0 ? Form{Op::FmvWX, reads_x1 | writes_f} : Form{};
    default: return {};
  }
}

Form form_of(uint32_t w, bool multiply_high, bool amoadd) {
  const uint32_t f3 = bits(w, 14, 12);
  switch (bits(w, 6, 0)) {
    case 0x37: return {Op::Lui, writes_x, static_cast<int32_t>(w & 0xfffff000)};
    case 0x17: return {Op::Auipc, writes_x, static_cast<int32_t>(w & 0xfffff000)};
    case 0x6f: return {Op::Jal, writes_x, imm_j(w)};
    case 0x67: return f3 ? Form{} : Form{Op::Jalr, reads_x1 | writes_x, imm_i(w)};
    case 0x63: {
      constexpr Op ops[] = {Op::Beq, Op::Bne, Op::Illegal, Op::Illegal, Op::Blt, Op::Bge, Op::Bltu, Op::Bgeu};
      return {ops[f3], reads_x1 | reads_x2, imm_b(w)};
    }
    case 0x03: {
      constexpr Op ops[] = {Op::Lb, Op::Lh, Op::Lw, Op::Illegal, Op::Lbu, Op::Lhu, Op::Illegal, Op::Illegal};
      return {ops[f3], reads_x1 | writes_x, imm_i(w)};
    }
    case 0x23:
      return f3 > 2 ? Form{} : Form{f3 == 0 ? Op::Sb : f3 == 1 ? Op::Sh : Op::Sw, reads_x1 | reads_x2, imm_s(w)};
    case 0x07: return f3 == 2 ? Form{Op::Flw, reads_x1 | writes_f, imm_i(w)} : Form{};
    case 0x27: return f3 == 2 ? Form{Op::Fsw, reads_x1 | reads_f2, imm_s(w)} : Form{};
    case 0x13: return of_immediate(w);
    case 0x33: return of_register(w, multiply_high);
    case 0x0f:
      if (w == 0x1000000f) return {Op::Barsend};
      if (w == 0x2000000f) return {Op::Barrecv};
      return f3 == 0 ? Form{Op::Fence} : f3 == 1 ? Form{Op::FenceI} : Form{};
    case 0x2f: return of_atomic(w, amoadd);
    case 0x73: return of_system(w);
    case 0x53: return of_float(w);
    case 0x43:
    case 0x47:
    case 0x4b:
    case 0x4f: {
      if (bits(w, 26, 25) || !sound_rounding(f3)) return {};
      constexpr Op ops[] = {Op::Fmadd, Op::Fmsub, Op::Fnmsub, Op::Fnmadd};
      return {ops[bits(w, 3, 2)], reads_f1 | reads_f2 | reads_f3 | writes_f};
    }
    default: return {};
  }
}

}  // namespace

const char* name_of(Op op) { return rows[static_cast<int>(op)].name; }
Kind kind_of(Op op) { return rows[static_cast<int>(op)].kind; }

Instruction decode(uint32_t word, bool multiply_high, bool amoadd) {
  const Form form = form_of(word, multiply_high, amoadd);
  Instruction i;
  i.op = form.op;
  if (form.op == Op::Illegal) return i;
  i.kind = kind_of(form.op);
  i.imm = form.imm;
  i.rd = static_cast<uint8_t>(bits(word, 11, 7));
  i.rs1 = static_cast<uint8_t>(bits(word, 19, 15));
  i.rs2 = static_cast<uint8_t>(bits(word, 24, 20));
  i.rs3 = static_cast<uint8_t>(bits(word, 31, 27));
  i.rounding = static_cast<uint8_t>(bits(word, 14, 12));
  int uses = form.uses;
  if (i.rs1 == 0) uses &= ~reads_x1;
  if (i.rs2 == 0) uses &= ~reads_x2;
  if (i.rd == 0) uses &= ~writes_x;
  if ((uses & writes_x) && i.rd == 2 && i.kind == Kind::Alu) uses |= moves_stack;
  i.uses = static_cast<uint8_t>(uses);
  return i;
}

}  // namespace fc::hb::sim
