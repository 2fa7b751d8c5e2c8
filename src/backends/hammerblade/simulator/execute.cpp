// SPDX-License-Identifier: Apache-2.0
// Floats are the host's, which are IEEE's: what differs is said here (NaN is the one canonical NaN, minimum and
// maximum,
// conversions saturate, rounding to nearest with ties away from zero). Compiled with -frounding-math.
#include "backends/hammerblade/simulator/execute.h"

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <vector>

namespace fc::hb::sim {

namespace {

#if defined(__x86_64__)
__extension__ typedef __float128 Wide;  // 113 bits: products of floats are exact, sums to the last bit that matters
#else
typedef long double Wide;
#endif

constexpr uint32_t canonical_nan = 0x7fc00000;
enum Rounding : uint8_t { nearest = 0, to_zero = 1, down = 2, up = 3, ties_away = 4, dynamic = 7 };
enum Flag : uint8_t { inexact = 1, underflow = 2, overflow = 4, by_zero = 8, invalid = 16 };

float number(uint32_t bits) { return std::bit_cast<float>(bits); }
uint32_t bits_of(float value) { return value != value ? canonical_nan : std::bit_cast<uint32_t>(value); }
bool is_nan(uint32_t bits) { return (bits & 0x7fffffff) > 0x7f800000; }
bool is_signaling(uint32_t bits) { return is_nan(bits) && !(bits & 0x400000); }

// Keeps a value from being computed before or after what sets and reads the rounding mode and the flags.
template <class T>
T pinned(T value) {
  asm volatile("" : "+m"(value) : : "memory");
  return value;
}

float computed(Op op, float a, float b, float c) {
  switch (op) {
    case Op::Fadd: return a + b;
    case Op::Fsub: return a - b;
    case Op::Fmul: return a * b;
    case Op::Fdiv: return a / b;
    case Op::Fsqrt: return std::sqrt(a);
    case Op::Fmadd: return std::fma(a, b, c);
    case Op::Fmsub: return std::fma(a, b, -c);
    case Op::Fnmsub: return std::fma(-a, b, c);
    default: return std::fma(-a, b, -c);  // fnmadd
  }
}

int host_rounding(uint8_t mode) {
  return mode == to_zero ? FE_TOWARDZERO : mode == down ? FE_DOWNWARD : mode == up ? FE_UPWARD : FE_TONEAREST;
}

float computed_in(int rounding, Op op, float a, float b, float c) {
  std::fesetround(rounding);
  const float result = pinned(computed(op, pinned(a), pinned(b), pinned(c)));
  std::fesetround(FE_TONEAREST);
  return result;
}

// Whether the exact result lies in the middle between two neighbouring floats.
bool is_tie(Op op, float a, float b, float c, float zeroward, float away) {
  const Wide middle = (static_cast<Wide>(zeroward) + away) / 2;
  const Wide x = a, y = b, z = c;
  const auto sums_to_middle = [&](Wide p, Wide q) {  // p + q, with what is rounded off
    const Wide sum = p + q, rest = q - (sum - p) + (p - (sum - (sum - p)));
    return sum == middle && rest == 0;
  };
  switch (op) {
    case Op::Fadd: return sums_to_middle(x, y);
    case Op::Fsub: return sums_to_middle(x, -y);
    case Op::Fmul: return x * y == middle;
    case Op::Fdiv: return middle * y == x;
    case Op::Fsqrt: return middle * middle == x;
    case Op::Fmadd: return sums_to_middle(x * y, z);
    case Op::Fmsub: return sums_to_middle(x * y, -z);
    case Op::Fnmsub: return sums_to_middle(-x * y, z);
    default: return sums_to_middle(-x * y, -z);
  }
}

void collect_flags(State& s) {
  const int host = std::fetestexcept(FE_ALL_EXCEPT);
  s.flags |= static_cast<uint8_t>((host & FE_INEXACT ? inexact : 0) | (host & FE_UNDERFLOW ? underflow : 0) |
                                  (host & FE_OVERFLOW ? overflow : 0) | (host & FE_DIVBYZERO ? by_zero : 0) |
                                  (host & FE_INVALID ? invalid : 0));
}

uint32_t rounded(const Instruction& i, State& s, uint8_t mode) {
  const float a = number(s.f[i.rs1]), b = number(s.f[i.rs2]), c = number(s.f[i.rs3]);
  if (s.keep_flags) std::feclearexcept(FE_ALL_EXCEPT);
  float result = computed_in(host_rounding(mode), i.op, a, b, c);
  if (s.keep_flags) {
    collect_flags(s);
    // Infinity times zero is invalid even beside a quiet NaN.
    if ((i.uses & reads_f3) && ((std::isinf(a) && b == 0) || (a == 0 && std::isinf(b)))) s.flags |= invalid;
  }
  if (mode == ties_away && std::isfinite(result)) {
    const float zeroward = computed_in(FE_TOWARDZERO, i.op, a, b, c);
    const float away = std::nextafter(zeroward, std::signbit(zeroward) ? -INFINITY : INFINITY);
    if (std::isfinite(away) && is_tie(i.op, a, b, c, zeroward, away)) result = away;
  }
  return bits_of(result);
}

uint32_t from_integer(double exact, State& s, uint8_t mode) {
  if (s.keep_flags) std::feclearexcept(FE_ALL_EXCEPT);
  std::fesetround(host_rounding(mode));
  auto result = pinned(static_cast<float>(pinned(exact)));
  std::fesetround(FE_TONEAREST);
  if (s.keep_flags) collect_flags(s);
  if (mode == ties_away && static_cast<double>(result) != exact) {
    const float other = std::nextafter(result, exact > result ? INFINITY : -INFINITY);
    if (std::fabs(other - exact) == std::fabs(exact - result) && std::fabs(other) > std::fabs(result)) result = other;
  }
  return bits_of(result);
}

uint32_t to_integer(uint32_t bits, bool is_signed, State& s, uint8_t mode) {
  const double value = number(bits);
  const double least = is_signed ? -2147483648.0 : 0.0, most = is_signed ? 2147483647.0 : 4294967295.0;
  if (is_nan(bits)) {
    s.flags |= invalid;
    return is_signed ? 0x7fffffff : 0xffffffff;
  }
  double whole = 0;
  switch (mode) {
    case to_zero: whole = std::trunc(value); break;
    case down: whole = std::floor(value); break;
    case up: whole = std::ceil(value); break;
    case ties_away: whole = std::round(value); break;
    default: whole = std::nearbyint(value); break;
  }
  if (whole < least || whole > most) {
    s.flags |= invalid;
    whole = whole < least ? least : most;
  } else if (whole != value) {
    s.flags |= inexact;
  }
  return is_signed ? static_cast<uint32_t>(static_cast<int32_t>(whole)) : static_cast<uint32_t>(whole);
}

uint32_t least_or_most(uint32_t a, uint32_t b, bool least, State& s) {
  if (is_signaling(a) || is_signaling(b)) s.flags |= invalid;
  if (is_nan(a)) return is_nan(b) ? canonical_nan : b;
  if (is_nan(b)) return a;
  const float x = number(a), y = number(b);
  const bool first_is_less = x < y || (x == y && (a >> 31) > (b >> 31));  // -0 is less than 0
  return first_is_less == least ? a : b;
}

uint32_t compared(Op op, uint32_t a, uint32_t b, State& s) {
  if (is_nan(a) || is_nan(b)) {
    if (op != Op::Feq || is_signaling(a) || is_signaling(b)) s.flags |= invalid;
    return 0;
  }
  const float x = number(a), y = number(b);
  return op == Op::Feq ? x == y : op == Op::Flt ? x < y : x <= y;
}

uint32_t classified(uint32_t bits) {
  const bool negative = bits >> 31;
  if (is_nan(bits)) return is_signaling(bits) ? 1 << 8 : 1 << 9;
  const uint32_t exponent = bits >> 23 & 0xff, fraction = bits & 0x7fffff;
  if (exponent == 0xff) return negative ? 1 << 0 : 1 << 7;
  if (exponent) return negative ? 1 << 1 : 1 << 6;
  if (fraction) return negative ? 1 << 2 : 1 << 5;
  return negative ? 1 << 3 : 1 << 4;
}

bool read_csr(const State& s, int32_t csr, uint32_t* value) {
  switch (csr) {
    case 0x001: *value = s.flags; return true;
    case 0x002: *value = s.rounding; return true;
    case 0x003: *value = static_cast<uint32_t>(s.rounding << 5 | s.flags); return true;
    case 0xfc0: *value = s.credit_limit; return true;
    case 0xfc1:
    case 0xfc2:
    case 0xfc3: *value = s.barrier_csr[csr - 0xfc1]; return true;
    default: return false;
  }
}

void write_csr(State& s, int32_t csr, uint32_t value) {
  switch (csr) {
    case 0x001: s.flags = value & 0x1f; break;
    case 0x002: s.rounding = value & 7; break;
    case 0x003:
      s.flags = value & 0x1f;
      s.rounding = value >> 5 & 7;
      break;
    case 0xfc0: s.credit_limit = value ? value : 1; break;
    default: s.barrier_csr[csr - 0xfc1] = value; break;
  }
}

bool csr(const Instruction& i, State& s) {
  uint32_t old = 0;
  if (!read_csr(s, i.imm, &old)) return false;
  const bool immediate = i.op == Op::Csrrwi || i.op == Op::Csrrsi || i.op == Op::Csrrci;
  const uint32_t operand = immediate ? i.rs1 : s.x[i.rs1];
  if (i.op == Op::Csrrw || i.op == Op::Csrrwi) write_csr(s, i.imm, operand);
  else if (i.rs1) write_csr(s, i.imm, i.op == Op::Csrrs || i.op == Op::Csrrsi ? old | operand : old & ~operand);
  s.x[i.rd] = old;
  return true;
}

}  // namespace

bool execute(const Instruction& i, State& s) {
  uint32_t* const x = s.x;
  const uint32_t a = x[i.rs1], b = x[i.rs2], imm = static_cast<uint32_t>(i.imm);
  const auto sa = static_cast<int32_t>(a), sb = static_cast<int32_t>(b);
  uint32_t next = s.pc + 4, value = 0;
  bool taken = false;
  switch (i.op) {
    case Op::Lui: value = imm; break;
    case Op::Auipc: value = s.pc + imm; break;
    case Op::Addi: value = a + imm; break;
    case Op::Slti: value = sa < i.imm; break;
    case Op::Sltiu: value = a < imm; break;
    case Op::Xori: value = a ^ imm; break;
    case Op::Ori: value = a | imm; break;
    case Op::Andi: value = a & imm; break;
    case Op::Slli: value = a << imm; break;
    case Op::Srli: value = a >> imm; break;
    case Op::Srai: value = static_cast<uint32_t>(sa >> i.imm); break;
    case Op::Add: value = a + b; break;
    case Op::Sub: value = a - b; break;
    case Op::Sll: value = a << (b & 31); break;
    case Op::Slt: value = sa < sb; break;
    case Op::Sltu: value = a < b; break;
    case Op::Xor: value = a ^ b; break;
    case Op::Srl: value = a >> (b & 31); break;
    case Op::Sra: value = static_cast<uint32_t>(sa >> (b & 31)); break;
    case Op::Or: value = a | b; break;
    case Op::And: value = a & b; break;
    case Op::Mul: value = a * b; break;
    case Op::Mulh: value = static_cast<uint32_t>(int64_t{sa} * sb >> 32); break;
    case Op::Mulhsu: value = static_cast<uint32_t>(int64_t{sa} * int64_t{b} >> 32); break;
    case Op::Mulhu: value = static_cast<uint32_t>(uint64_t{a} * b >> 32); break;
    case Op::Div: value = !b ? 0xffffffff : a == 0x80000000 && sb == -1 ? a : static_cast<uint32_t>(sa / sb); break;
    case Op::Divu: value = b ? a / b : 0xffffffff; break;
    case Op::Rem: value = !b ? a : a == 0x80000000 && sb == -1 ? 0 : static_cast<uint32_t>(sa % sb); break;
    case Op::Remu: value = b ? a % b : a; break;
    case Op::Beq: taken = a == b; break;
    case Op::Bne: taken = a != b; break;
    case Op::Blt: taken = sa < sb; break;
    case Op::Bge: taken = sa >= sb; break;
    case Op::Bltu: taken = a < b; break;
    case Op::Bgeu: taken = a >= b; break;
    case Op::Jal:
      value = next;
      next = s.pc + imm;
      break;
    case Op::Jalr:
      value = next;
      next = (a + imm) & ~1u;
      break;
    case Op::Csrrw:
    case Op::Csrrs:
    case Op::Csrrc:
    case Op::Csrrwi:
    case Op::Csrrsi:
    case Op::Csrrci:
      if (!csr(i, s)) return false;
      x[0] = 0;
      s.pc = next;
      return true;
    case Op::Fadd:
    case Op::Fsub:
    case Op::Fmul:
    case Op::Fdiv:
    case Op::Fsqrt:
    case Op::Fmadd:
    case Op::Fmsub:
    case Op::Fnmsub:
    case Op::Fnmadd: {
      const uint8_t mode = i.rounding == dynamic ? s.rounding : i.rounding;
      if (mode > ties_away) return false;
      if (mode == nearest && !s.keep_flags)
        s.f[i.rd] = bits_of(computed(i.op, number(s.f[i.rs1]), number(s.f[i.rs2]), number(s.f[i.rs3])));
      else s.f[i.rd] = rounded(i, s, mode);
      s.pc = next;
      return true;
    }
    case Op::Fsgnj: s.f[i.rd] = (s.f[i.rs1] & 0x7fffffff) | (s.f[i.rs2] & 0x80000000); break;
    case Op::Fsgnjn: s.f[i.rd] = (s.f[i.rs1] & 0x7fffffff) | (~s.f[i.rs2] & 0x80000000); break;
    case Op::Fsgnjx: s.f[i.rd] = s.f[i.rs1] ^ (s.f[i.rs2] & 0x80000000); break;
    case Op::Fmin:
    case Op::Fmax: s.f[i.rd] = least_or_most(s.f[i.rs1], s.f[i.rs2], i.op == Op::Fmin, s); break;
    case Op::Feq:
    case Op::Flt:
    case Op::Fle: value = compared(i.op, s.f[i.rs1], s.f[i.rs2], s); break;
    case Op::FcvtWS:
    case Op::FcvtWuS:
    case Op::FcvtSW:
    case Op::FcvtSWu: {
      const uint8_t mode = i.rounding == dynamic ? s.rounding : i.rounding;
      if (mode > ties_away) return false;
      if (i.op == Op::FcvtSW) s.f[i.rd] = from_integer(sa, s, mode);
      else if (i.op == Op::FcvtSWu) s.f[i.rd] = from_integer(a, s, mode);
      else value = to_integer(s.f[i.rs1], i.op == Op::FcvtWS, s, mode);
      break;
    }
    case Op::Fclass: value = classified(s.f[i.rs1]); break;
    case Op::FmvXW: value = s.f[i.rs1]; break;
    case Op::FmvWX: s.f[i.rd] = a; break;
    default: return false;
  }
  if (taken) next = s.pc + imm;
  if (i.uses & writes_x) x[i.rd] = value;
  s.pc = next;
  return true;
}

long run_instructions(const uint32_t* words, size_t count, uint8_t* data, uint32_t at, size_t bytes) {
  std::vector<Instruction> code;
  for (size_t i = 0; i < count; ++i) code.push_back(decode(words[i]));
  State s;
  s.keep_flags = true;
  while (s.pc / 4 < count) {
    const Instruction& i = code[s.pc / 4];
    if (i.kind != Kind::Load && i.kind != Kind::Store) {
      if (!execute(i, s)) break;
      continue;
    }
    const uint32_t offset = s.x[i.rs1] + static_cast<uint32_t>(i.imm) - at, size = bytes_of(i.op);
    if (offset >= bytes || bytes - offset < size) break;
    if (i.kind == Kind::Store) {
      memcpy(data + offset, i.op == Op::Fsw ? &s.f[i.rs2] : &s.x[i.rs2], size);
    } else {
      uint32_t value = 0;
      memcpy(&value, data + offset, size);
      value = extended(i.op, value);
      if (i.op == Op::Flw) s.f[i.rd] = value;
      else if (i.rd) s.x[i.rd] = value;
    }
    s.pc += 4;
  }
  return static_cast<long>(s.pc / 4);
}

}  // namespace fc::hb::sim
