// SPDX-License-Identifier: Apache-2.0
#include "sampler/cfi.h"

#include <cstring>

namespace fc::sampler {

namespace {

class Reader {
 public:
  explicit Reader(const uint8_t* p) : p_(p) {}
  template <class T>
  T get() {
    T value;
    __builtin_memcpy(&value, p_, sizeof value);
    p_ += sizeof value;
    return value;
  }
  uint64_t uleb() {
    uint64_t value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      const uint8_t byte = *p_++;
      if (shift < 64) value |= uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) break;
    }
    return value;
  }
  int64_t sleb() {
    uint64_t value = 0;
    for (int shift = 0; shift < 70;) {
      const uint8_t byte = *p_++;
      if (shift < 64) value |= uint64_t{byte & 0x7Fu} << shift;
      shift += 7;
      if (byte < 0x80) {
        if ((byte & 0x40) && shift < 64) value |= ~uint64_t{0} << shift;
        break;
      }
    }
    return static_cast<int64_t>(value);
  }
  // DW_EH_PE_*: the low half is the form, the high half what it counts from; 0x80 (indirect) is for personalities only.
  bool pointer(uint8_t encoding, uint64_t& value) {
    const auto here = reinterpret_cast<uint64_t>(p_);
    switch (encoding & 0x0F) {
      case 0x00:
      case 0x04:
      case 0x0C: value = get<uint64_t>(); break;
      case 0x01: value = uleb(); break;
      case 0x02: value = get<uint16_t>(); break;
      case 0x03: value = get<uint32_t>(); break;
      case 0x09: value = static_cast<uint64_t>(sleb()); break;
      case 0x0A: value = static_cast<uint64_t>(get<int16_t>()); break;
      case 0x0B: value = static_cast<uint64_t>(get<int32_t>()); break;
      default: return false;
    }
    if ((encoding & 0x70) == 0x10) value += here;
    return (encoding & 0x60) == 0;
  }
  const uint8_t* at() const { return p_; }
  void skip(uint64_t bytes) { p_ += bytes; }

 private:
  const uint8_t* p_;
};

struct Function {
  uint64_t begin, end;
  int64_t data_step;
  uint64_t code_step;
  const uint8_t *first, *first_end;  // instructions of all functions that share the CIE
  const uint8_t *own, *own_end;
  bool signal;
};

// Binary search in the sorted table of (function, FDE) that linkers write; both as 32-bit distances from the table.
const uint8_t* find_entry(const uint8_t* index, uint64_t pc) {
  constexpr uint8_t kVersion = 1, kPcRelative4 = 0x1B, kUnsigned4 = 0x03, kIndexRelative4 = 0x3B;
  if (!index || index[0] != kVersion || index[1] != kPcRelative4 || index[2] != kUnsigned4 ||
      index[3] != kIndexRelative4)
    return nullptr;
  const auto base = reinterpret_cast<uint64_t>(index);
  uint32_t low = 0, high = 0;
  memcpy(&high, index + 8, 4);
  const auto key = static_cast<int64_t>(pc - base);
  auto entry = [&](uint32_t i, int field) {
    int32_t value;
    memcpy(&value, index + 12 + size_t{8} * i + 4 * field, 4);
    return int64_t{value};
  };
  if (high == 0 || key < entry(0, 0)) return nullptr;
  while (high - low > 1) {
    const uint32_t middle = low + (high - low) / 2;
    (entry(middle, 0) <= key ? low : high) = middle;
  }
  return index + entry(low, 1);
}

bool read_function(const uint8_t* entry, Function& f) {
  Reader fde(entry);
  const auto length = fde.get<uint32_t>();
  if (length == 0 || length == UINT32_MAX) return false;
  f.own_end = fde.at() + length;
  const uint8_t* id_at = fde.at();
  const uint8_t* cie_at = id_at - fde.get<uint32_t>();
  Reader cie(cie_at);
  const auto cie_length = cie.get<uint32_t>();
  if (cie_length == UINT32_MAX) return false;
  f.first_end = cie.at() + cie_length;
  if (cie.get<uint32_t>() != 0) return false;
  const auto version = cie.get<uint8_t>();
  if (version != 1 && version != 3) return false;
  const char* augmentation = reinterpret_cast<const char*>(cie.at());
  cie.skip(strlen(augmentation) + 1);
  f.code_step = cie.uleb();
  f.data_step = cie.sleb();
  version == 1 ? cie.get<uint8_t>() : cie.uleb();  // the return address's column: 16 on this machine
  uint8_t encoding = 0;
  f.signal = false;
  const bool sized = *augmentation == 'z';
  if (sized) {
    const uint64_t bytes = cie.uleb();
    Reader a(cie.at());
    cie.skip(bytes);
    for (const char* c = augmentation + 1; *c; ++c) {
      uint64_t unused;
      if (*c == 'R') {
        encoding = a.get<uint8_t>();
      } else if (*c == 'P') {
        if (!a.pointer(a.get<uint8_t>() & 0x0F, unused)) return false;
      } else if (*c == 'L') {
        a.get<uint8_t>();
      } else if (*c == 'S') {
        f.signal = true;
      } else {
        return false;
      }
    }
  } else if (*augmentation) {
    return false;
  }
  f.first = cie.at();
  uint64_t size;
  if (!fde.pointer(encoding, f.begin) || !fde.pointer(encoding & 0x0F, size)) return false;
  f.end = f.begin + size;
  if (sized) {
    const uint64_t bytes = fde.uleb();
    fde.skip(bytes);
  }
  f.own = fde.at();
  return true;
}

// Runs a table's instructions up to the row that holds for `pc`.
class Table {
 public:
  Table(const Function& f, FrameRules& rules) : f_(f), rules_(rules) {}

  bool run(const uint8_t* from, const uint8_t* end, uint64_t pc, const FrameRules* initial) {
    uint64_t location = f_.begin;
    Reader r(from);
    while (r.at() < end) {
      const auto op = r.get<uint8_t>();
      uint64_t step = 0;
      switch (op >> 6) {
        case 1: step = op & 0x3F; break;
        case 2: set(op & 0x3F, Rule::Offset, static_cast<int64_t>(r.uleb()) * f_.data_step); continue;
        case 3: restore(op & 0x3F, initial); continue;
        default:
          switch (op) {
            case 0x02: step = r.get<uint8_t>(); break;
            case 0x03: step = r.get<uint16_t>(); break;
            case 0x04: step = r.get<uint32_t>(); break;
            default:
              if (!other(op, r, initial)) return false;
              continue;
          }
      }
      location += step * f_.code_step;
      if (location > pc) return true;
    }
    return true;
  }

 private:
  void set(uint64_t column, Rule::Kind kind, int64_t offset, const uint8_t* expression = nullptr) {
    if (column < FrameRules::kColumns) rules_.columns[column] = {kind, offset, expression};
  }
  void restore(uint64_t column, const FrameRules* initial) {
    if (initial && column < FrameRules::kColumns) rules_.columns[column] = initial->columns[column];
  }

  bool other(uint8_t op, Reader& r, const FrameRules* initial) {
    auto column = [&] { return r.uleb(); };
    auto expression = [&] {
      const uint8_t* at = r.at();
      const uint64_t bytes = r.uleb();
      r.skip(bytes);
      return at;
    };
    uint64_t c;
    switch (op) {
      case 0x00: return true;  // nop
      case 0x05: c = column(), set(c, Rule::Offset, static_cast<int64_t>(r.uleb()) * f_.data_step); return true;
      case 0x06: restore(column(), initial); return true;
      case 0x07: set(column(), Rule::Undefined, 0); return true;
      case 0x08: set(column(), Rule::Same, 0); return true;
      case 0x09: c = column(), set(c, Rule::InRegister, static_cast<int64_t>(r.uleb())); return true;
      case 0x0A:  // remember_state
        if (depth_ == kDepth) return false;
        kept_[depth_++] = rules_;
        return true;
      case 0x0B:  // restore_state
        if (depth_ == 0) return false;
        rules_ = kept_[--depth_];
        return true;
      case 0x0C:  // def_cfa
        rules_.frame_register = r.uleb();
        rules_.frame = {Rule::Offset, static_cast<int64_t>(r.uleb()), nullptr};
        return true;
      case 0x0D: rules_.frame_register = r.uleb(); return true;
      case 0x0E: rules_.frame.offset = static_cast<int64_t>(r.uleb()); return true;
      case 0x0F: rules_.frame = {Rule::Expression, 0, expression()}; return true;
      case 0x10: c = column(), set(c, Rule::Expression, 0, expression()); return true;
      case 0x11: c = column(), set(c, Rule::Offset, r.sleb() * f_.data_step); return true;
      case 0x12:
        rules_.frame_register = r.uleb();
        rules_.frame = {Rule::Offset, r.sleb() * f_.data_step, nullptr};
        return true;
      case 0x13: rules_.frame.offset = r.sleb() * f_.data_step; return true;
      case 0x14: c = column(), set(c, Rule::ValueOffset, static_cast<int64_t>(r.uleb()) * f_.data_step); return true;
      case 0x15: c = column(), set(c, Rule::ValueOffset, r.sleb() * f_.data_step); return true;
      case 0x16: c = column(), set(c, Rule::ValueExpression, 0, expression()); return true;
      case 0x2E: r.uleb(); return true;  // GNU_args_size
      default: return false;
    }
  }

  static constexpr int kDepth = 4;
  const Function& f_;
  FrameRules& rules_;
  FrameRules kept_[kDepth];
  int depth_ = 0;
};

bool find_function(const uint8_t* index, uint64_t pc, Function& f) {
  const uint8_t* entry = find_entry(index, pc);
  return entry && read_function(entry, f) && pc >= f.begin && pc < f.end;
}

}  // namespace

Range function_at(const uint8_t* index, uint64_t pc) {
  Function f;
  return find_function(index, pc, f) ? Range{f.begin, f.end} : Range{};
}

bool find_rules(const uint8_t* index, uint64_t pc, FrameRules& rules) {
  Function f;
  if (!find_function(index, pc, f)) return false;
  rules = FrameRules();
  Table table(f, rules);
  if (!table.run(f.first, f.first_end, UINT64_MAX, nullptr)) return false;
  const FrameRules initial = rules;
  rules.signal = f.signal;
  return table.run(f.own, f.own_end, pc, &initial);
}

bool evaluate(const uint8_t* expression, const ExpressionInput& input, bool start_with_frame, uint64_t frame,
              uint64_t& value) {
  Reader r(expression);
  const uint64_t bytes = r.uleb();
  const uint8_t* end = r.at() + bytes;
  constexpr int kDepth = 16;
  uint64_t stack[kDepth];
  int top = 0;
  if (start_with_frame) stack[top++] = frame;
  while (r.at() < end) {
    const auto op = r.get<uint8_t>();
    if (top == kDepth) return false;
    if (op >= 0x30 && op < 0x50) {  // lit
      stack[top++] = op - 0x30u;
      continue;
    }
    if (op >= 0x70 && op < 0x90) {  // breg
      if (op - 0x70u >= FrameRules::kColumns) return false;
      stack[top++] = input.registers[op - 0x70] + static_cast<uint64_t>(r.sleb());
      continue;
    }
    bool constant = true;
    switch (op) {
      case 0x08: stack[top++] = r.get<uint8_t>(); break;
      case 0x09: stack[top++] = static_cast<uint64_t>(r.get<int8_t>()); break;
      case 0x0A: stack[top++] = r.get<uint16_t>(); break;
      case 0x0B: stack[top++] = static_cast<uint64_t>(r.get<int16_t>()); break;
      case 0x0C: stack[top++] = r.get<uint32_t>(); break;
      case 0x0D: stack[top++] = static_cast<uint64_t>(r.get<int32_t>()); break;
      case 0x0E:
      case 0x0F: stack[top++] = r.get<uint64_t>(); break;
      case 0x10: stack[top++] = r.uleb(); break;
      case 0x11: stack[top++] = static_cast<uint64_t>(r.sleb()); break;
      default: constant = false;
    }
    if (constant) continue;
    if (top < 1) return false;
    uint64_t& a = stack[top - 1];
    if (op == 0x06) {  // deref
      if (!input.read(input.memory, a, a)) return false;
    } else if (op == 0x12) {
      stack[top] = a, ++top;
    } else if (op == 0x13) {
      --top;
    } else if (op == 0x23) {
      a += r.uleb();
    } else {
      if (top < 2) return false;
      const uint64_t b = a;
      uint64_t& x = stack[--top - 1];
      const auto sx = static_cast<int64_t>(x), sb = static_cast<int64_t>(b);
      switch (op) {
        case 0x1A: x &= b; break;
        case 0x1C: x -= b; break;
        case 0x21: x |= b; break;
        case 0x22: x += b; break;
        case 0x24: x = b < 64 ? x << b : 0; break;
        case 0x25: x = b < 64 ? x >> b : 0; break;
        case 0x29: x = sx == sb; break;
        case 0x2A: x = sx >= sb; break;
        case 0x2B: x = sx > sb; break;
        case 0x2C: x = sx <= sb; break;
        case 0x2D: x = sx < sb; break;
        case 0x2E: x = sx != sb; break;
        default: return false;
      }
    }
  }
  if (top < 1) return false;
  value = stack[top - 1];
  return true;
}

}  // namespace fc::sampler
