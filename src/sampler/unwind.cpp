// SPDX-License-Identifier: Apache-2.0
#include "sampler/unwind.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <iterator>

#include "sampler/cfi.h"

namespace fc::sampler {

namespace {

constexpr int16_t kNotSaved = INT16_MIN;
constexpr Register kKept[] = {Rbx, Rbp, R12, R13, R14, R15};  // what a function must leave as it found it

// Whether the instruction before `pc` is a call: E8, or FF /2 with any of its addressing forms.
bool follows_call(uint64_t pc) {
  const auto* p = reinterpret_cast<const uint8_t*>(pc);
  if (p[-5] == 0xE8) return true;
  for (const int length : {2, 3, 4, 6, 7}) {
    const uint8_t* q = p - length;
    if (q[0] == 0xFF && (q[1] & 0x38) == 0x10) return true;
  }
  return false;
}

// Whether the call before `pc` can have led to code that was made at run time: through a register or an object's
// memory, which a jump at the end of a short function may do for it. What calls compiled code by its name, or through
// a table of the linker's, has left its address behind on the stack and returned.
bool may_call_generated(uint64_t pc) {
  const auto* p = reinterpret_cast<const uint8_t*>(pc);
  if (p[-5] != 0xE8) return !(p[-6] == 0xFF && p[-5] == 0x15);
  int32_t by;
  __builtin_memcpy(&by, p - 4, sizeof by);
  const uint64_t target = pc + static_cast<uint64_t>(int64_t{by});
  dl_find_object object;
  if (_dl_find_object(reinterpret_cast<void*>(target), &object) != 0) return true;
  const uint64_t end = function_at(static_cast<const uint8_t*>(object.dlfo_eh_frame), target).end;
  if (!end) return false;
  const uint64_t last = std::min(end - 1, target + 128);
  for (uint64_t at = target; at < last; ++at) {
    const auto* q = reinterpret_cast<const uint8_t*>(at);
    if (q[0] == 0xFF && (q[1] & 0x38) == 0x20 && q[1] != 0x25) return true;
  }
  return false;
}

bool compact(const FrameRules& rules, Row& row) {
  if (rules.frame.kind != Rule::Offset || rules.frame_register >= kRegisters) return false;
  if (rules.frame.offset != static_cast<int32_t>(rules.frame.offset)) return false;
  row.frame_register = static_cast<uint8_t>(rules.frame_register);
  row.frame_offset = static_cast<int32_t>(rules.frame.offset);
  row.outermost = rules.columns[Pc].kind == Rule::Undefined;
  row.signal = rules.signal;
  for (size_t i = 0; i < std::size(row.saved_at); ++i) {
    const Rule& rule = rules.columns[i < std::size(kKept) ? kKept[i] : Pc];
    row.saved_at[i] = kNotSaved;
    if (rule.kind == Rule::Same || rule.kind == Rule::Undefined) continue;
    const int64_t words = rule.offset / 8;
    if (rule.kind != Rule::Offset || rule.offset % 8 || words != static_cast<int16_t>(words)) return false;
    row.saved_at[i] = static_cast<int16_t>(words);
  }
  return !rules.signal;
}

}  // namespace

void Unwinder::prepare(uint32_t generation, uint32_t (*name)(const link_map*)) {
  if (generation != generation_) found_ = {};  // addresses may be other functions' now
  generation_ = generation;
  name_ = name;
}

bool Unwinder::read(uint64_t address, uint64_t& value) const {
  if (address < low_ || address > high_ - 8 || address % 8) return false;
  value = *reinterpret_cast<const uint64_t*>(address);
  return true;
}

Unwinder::Step Unwinder::move_to(const Registers& caller, Registers& r, bool signal, bool& called) const {
  if (caller.of[Rsp] <= r.of[Rsp] || caller.of[Rsp] > high_) return Step::Bad;
  if (caller.of[Pc] == 0) return searching_ ? Step::Bad : Step::Outermost;
  r = caller;
  called = !signal;
  return Step::Done;
}

Unwinder::Step Unwinder::step_by_rules(const FrameRules& rules, Registers& r, bool& called) const {
  const ExpressionInput input{r.of, this, [](const void* self, uint64_t address, uint64_t& value) {
                                return static_cast<const Unwinder*>(self)->read(address, value);
                              }};
  if (rules.columns[Pc].kind == Rule::Undefined) return Step::Outermost;
  uint64_t frame;
  if (rules.frame.kind == Rule::Expression) {
    if (!evaluate(rules.frame.expression, input, false, 0, frame)) return Step::Bad;
  } else if (rules.frame_register < kRegisters) {
    frame = r.of[rules.frame_register] + static_cast<uint64_t>(rules.frame.offset);
  } else {
    return Step::Bad;
  }
  Registers caller = r;
  caller.of[Rsp] = frame;  // unless a rule says otherwise, as a signal's frame does
  for (int i = 0; i < kRegisters; ++i) {
    const Rule& rule = rules.columns[i];
    uint64_t at = frame + static_cast<uint64_t>(rule.offset);
    switch (rule.kind) {
      case Rule::Same:
      case Rule::Undefined: continue;
      case Rule::InRegister:
        if (rule.offset < 0 || rule.offset >= kRegisters) return Step::Bad;
        caller.of[i] = r.of[rule.offset];
        continue;
      case Rule::ValueOffset: caller.of[i] = at; continue;
      case Rule::ValueExpression:
        if (!evaluate(rule.expression, input, true, frame, caller.of[i])) return Step::Bad;
        continue;
      case Rule::Expression:
        if (!evaluate(rule.expression, input, true, frame, at)) return Step::Bad;
        [[fallthrough]];
      case Rule::Offset:
        if (!read(at, caller.of[i])) return Step::Bad;
    }
  }
  return move_to(caller, r, rules.signal, called);
}

// `called`: r.of[Pc] is a return address. Fills `frame` for it and moves r to the caller.
Unwinder::Step Unwinder::step(Registers& r, bool& called, Frame& frame) {
  const uint64_t pc = r.of[Pc] - called;
  Row& row = rows_[(pc ^ pc >> 10) % kRows];
  if (row.pc != pc || row.generation != generation_) {
    dl_find_object object;
    frame = {pc, pc, 0};
    if (_dl_find_object(reinterpret_cast<void*>(pc), &object) != 0) return Step::NoTable;
    Row fresh = {};
    fresh.pc = pc;
    fresh.generation = generation_;
    fresh.base = object.dlfo_link_map->l_addr;
    fresh.object = name_(object.dlfo_link_map);
    frame = {pc, pc - fresh.base, fresh.object};
    FrameRules rules;
    if (!find_rules(static_cast<const uint8_t*>(object.dlfo_eh_frame), pc, rules)) return Step::NoTable;
    if (!compact(rules, fresh)) return step_by_rules(rules, r, called);
    row = fresh;
  }
  frame = {pc, pc - row.base, row.object};
  if (row.outermost) return Step::Outermost;
  Registers caller = r;
  caller.of[Rsp] = r.of[row.frame_register] + static_cast<uint64_t>(int64_t{row.frame_offset});
  for (size_t i = 0; i < std::size(row.saved_at); ++i) {
    uint64_t& to = caller.of[i < std::size(kKept) ? kKept[i] : Pc];
    const int64_t words = row.saved_at[i];
    if (words != kNotSaved && !read(caller.of[Rsp] + static_cast<uint64_t>(words * 8), to)) return Step::Bad;
  }
  if (row.saved_at[std::size(kKept)] == kNotSaved) return Step::Bad;
  return move_to(caller, r, false, called);
}

size_t Unwinder::walk_tables(Registers r, bool called, Frame* frames, size_t most, Step& end) {
  size_t n = 0;
  for (end = Step::Done; n < most && end == Step::Done;) end = step(r, called, frames[n++]);
  return n;
}

// Code without a table. Its caller's address lies somewhere above the stack pointer; of the words that could be one,
// the right one leads to the thread's first function. What the code did with its caller's registers is tried in the
// ways that are in use: left alone, pushed in order before anything else (oneDNN), stored in order at the stack
// pointer (OpenBLAS), a frame pointer.
size_t Unwinder::search(const Registers& at, Frame* frames, size_t most, bool& complete) {
  constexpr uint64_t kWords = 1024, kPage = 4096;
  constexpr int kCandidates = 8;
  int candidates = 0;
  const uint64_t frame_pointer = at.of[Rbp];
  const uint64_t from = at.of[Rsp];
  // Whether `slot` holds the caller's address, and its registers were treated in this way: then the answer.
  auto leads_out = [&](uint64_t slot, uint64_t pc, int way) -> size_t {
    Registers r = at;
    r.of[Pc] = pc;
    r.of[Rsp] = slot + 8;
    bool readable = true;
    if (way == 3) readable = read(frame_pointer, r.of[Rbp]);
    for (uint64_t i = 0; i < std::size(kKept) && (way == 1 || way == 2); ++i)
      readable = readable && read(way == 1 ? slot - 8 - 8 * i : from + 8 * i, r.of[kKept[i]]);
    if (!readable) return 0;
    // The tables may stop at the most frames that are asked for: deep enough is right as well.
    Step end;
    const size_t n = walk_tables(r, true, frames, most, end);
    if (end == Step::Outermost || (end == Step::Done && n == most)) {
      complete = end == Step::Outermost;
      return n;
    }
    return 0;  // an address that leads nowhere is no caller's
  };
  searching_ = true;  // remains on the stack are often zero: only a function that says so is a thread's first
  dl_find_object own;
  const bool generated = _dl_find_object(reinterpret_cast<void*>(at.of[Pc]), &own) != 0;
  auto may_be_caller = [&](uint64_t pc) {
    dl_find_object object;
    return pc >= 4096 && _dl_find_object(reinterpret_cast<void*>(pc - 1), &object) == 0 &&
           function_at(static_cast<const uint8_t*>(object.dlfo_eh_frame), pc - 1).end && follows_call(pc) &&
           (!generated || may_call_generated(pc));
  };
  // Code made at run time seldom moves its stack pointer: what was found last time is tried first.
  uint64_t pc;
  if (found_.pc && found_.page == at.of[Pc] / kPage && read(from + found_.words * 8, pc) && pc == found_.pc)
    if (const size_t n = leads_out(from + found_.words * 8, pc, found_.way)) return n;
  const bool framed = frame_pointer % 8 == 0 && frame_pointer >= from && frame_pointer < high_ - 16;
  for (uint64_t word = framed ? 0 : 1; word <= kWords && candidates < kCandidates; ++word) {
    const uint64_t slot = word == 0 ? frame_pointer + 8 : from + (word - 1) * 8;
    if (!read(slot, pc)) break;
    if (!may_be_caller(pc)) continue;
    ++candidates;
    for (int way = word == 0 ? 3 : 0; way < (word == 0 ? 4 : 3); ++way)
      if (const size_t n = leads_out(slot, pc, way)) {
        found_ = {at.of[Pc] / kPage, pc, (slot - from) / 8, way};
        return n;
      }
  }
  complete = false;
  return 0;
}

size_t Unwinder::walk(const Registers& at, uint64_t stack_end, Frame* frames, size_t most, bool& complete) {
  low_ = at.of[Rsp];
  high_ = stack_end;
  complete = false;
  Registers r = at;
  size_t n = 0;
  for (bool called = false; n < most;) {
    const Step end = step(r, called, frames[n++]);
    if (end == Step::Done) continue;
    complete = end == Step::Outermost;
    if (end == Step::NoTable) n += search(r, frames + n, most - n, complete);
    searching_ = false;
    break;
  }
  return n;
}

}  // namespace fc::sampler
