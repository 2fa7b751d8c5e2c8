// SPDX-License-Identifier: Apache-2.0
#include "sampler/python_frames.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>

namespace fc::sampler {

namespace {

// Whether memory can be read: the kernel reads the set of signals before it finds that there is no ~0 to do with it.
bool readable(uint64_t address) {
  return syscall(SYS_rt_sigprocmask, ~0, address, nullptr, 8) == -1 && errno == EINVAL;
}

}  // namespace

// Memory of which a sample reads pieces. The kernel is asked once for each page.
class Memory {
 public:
  bool copy(uint64_t from, void* to, size_t bytes) {
    const uint64_t last = (from + bytes - 1) / kPage;
    if (from + bytes < from) return false;
    for (uint64_t page = from / kPage; page <= last; ++page) {
      uint64_t& known = known_[page % kKnown];
      if (known == page + 1) continue;
      if (!readable(page * kPage)) return false;
      known = page + 1;
    }
    memcpy(to, reinterpret_cast<const void*>(from), bytes);
    return true;
  }
  template <class T>
  bool copy(uint64_t from, T& to) {
    return copy(from, &to, sizeof to);
  }

 private:
  static constexpr uint64_t kPage = 4096, kKnown = 16;
  uint64_t known_[kKnown] = {};  // numbers of pages plus 1
};

namespace {

constexpr uint32_t version_of(uint32_t minor) { return 3 << 8 | minor; }

// 64-bit builds. Before 3.11 a frame is an object, and every one is a run of the loop.
constexpr PythonLayout kLayouts[] = {
    {version_of(9), Entries::All, {24, PythonLayout::kNone}, {32, 24, 104, 32}, {40, 104, 112, 120, 0}, {48, 72}},
    {version_of(10), Entries::All, {24, PythonLayout::kNone}, {32, 24, 96, 32}, {40, 104, 112, 120, 0}, {48, 72}},
    {version_of(11), Entries::Marked, {56, 8}, {32, 48, 56, 68}, {72, 112, 128, 136, 184}, {48, 72}},
    {version_of(12), Entries::BelowShims, {56, 0}, {0, 8, 56, 70}, {68, 112, 128, 136, 192}, {40, 56}},
};

// From 3.13 on the interpreter says where things are (_Py_DebugOffsets, at the start of _PyRuntime): numbers of 64 bits
// in groups, whose places differ between versions.
struct Groups {
  uint32_t version;
  uint8_t thread, frame, code;
};
constexpr Groups kGroups[] = {{version_of(13), 19, 28, 34}, {version_of(14), 22, 31, 39}};

template <class T>
T value_at(const std::byte* memory, size_t offset) {
  T value;
  memcpy(&value, memory + offset, sizeof value);
  return value;
}

struct Text {
  uint64_t at = 0;
  uint16_t bytes = 0;
  uint8_t width = 1;
};

constexpr uint64_t kType = 8, kLength = 16, kTextState = 32, kBytes = 32;

// A str's characters: compact ones lie behind the object.
Text text_of(Memory& memory, const PythonLayout& layout, uint64_t object, uint64_t most) {
  uint64_t length;
  uint32_t state;
  if (!memory.copy(object + kLength, length) || !memory.copy(object + kTextState, state)) return {};
  const uint32_t width = state >> 2 & 7, compact = state >> 5 & 1, ascii = state >> 6 & 1;
  if (!compact || (width != 1 && width != 2 && width != 4)) return {};
  const uint64_t bytes = std::min(length, most / 4) * width;
  return {object + (ascii ? layout.text.ascii : layout.text.wide), static_cast<uint16_t>(bytes),
          static_cast<uint8_t>(width)};
}

// Of this interpreter, or one without a version.
PythonLayout layout_of(uint32_t version) {
  for (const PythonLayout& known : kLayouts)
    if (known.version == version) return known;
  auto* runtime = static_cast<const uint64_t*>(dlsym(RTLD_DEFAULT, "_PyRuntime"));
  for (const Groups& g : kGroups) {
    if (g.version != version || !runtime || memcmp(runtime, "xdebugpy", 8) != 0 || runtime[1] >> 16 != version)
      continue;
    if (runtime[2]) break;  // without the interpreter's lock, threads have bytecode of their own
    const uint64_t *thread = runtime + g.thread, *frame = runtime + g.frame, *code = runtime + g.code;
    const uint64_t inside[][2] = {
        {thread[4], thread[0]}, {frame[1], frame[0]}, {frame[2], frame[0]}, {frame[3], frame[0]}, {frame[5], frame[0]},
        {code[1], code[0]},     {code[3], code[0]},   {code[4], code[0]},   {code[5], code[0]},   {code[9], code[0]}};
    for (auto [at, size] : inside)
      if (at >= size || size > 4096) return {};
    auto small = [](uint64_t at) { return static_cast<uint16_t>(at); };
    return {version,
            Entries::BelowShims,
            {small(thread[4]), PythonLayout::kNone},
            {small(frame[2]), small(frame[1]), small(frame[3]), small(frame[5])},
            {small(code[5]), small(code[1]), small(code[3]), small(code[4]), small(code[9])},
            {40, 56}};
  }
  return {};
}

// Compilers may lay a part of a function elsewhere, which nothing names in a stripped interpreter. What it jumps into
// the middle of is its own: the range that most such jumps (0F 80 to 0F 8F, then a distance) lead to.
Range rest_of(Range function, const dl_find_object& object) {
  Range best;
  int votes = 0;
  for (uint64_t at = function.begin; at + 6 <= function.end; ++at) {
    const auto* p = reinterpret_cast<const uint8_t*>(at);
    if (p[0] != 0x0F || (p[1] & 0xF0) != 0x80) continue;
    int32_t distance;
    memcpy(&distance, p + 2, sizeof distance);
    const uint64_t to = at + 6 + static_cast<uint64_t>(int64_t{distance});
    if (function.has(to)) continue;
    const Range found = function_at(static_cast<const uint8_t*>(object.dlfo_eh_frame), to);
    if (to == found.begin || !found.end) continue;
    if (votes == 0) best = found;
    votes += found.begin == best.begin ? 1 : -1;
  }
  return votes > 1 ? best : Range{};
}

// "3.10.13 (main, …": before 3.11 the version is no number that can be read.
uint32_t version_from(const char* text) {
  char* end = nullptr;
  const unsigned long major = strtoul(text, &end, 10), minor = *end == '.' ? strtoul(end + 1, nullptr, 10) : 0;
  return static_cast<uint32_t>(major << 8 | (minor & 0xFF));
}

}  // namespace

void Python::find(Header& header) {
  auto* version = static_cast<const uint32_t*>(dlsym(RTLD_DEFAULT, "Py_Version"));
  auto* text = reinterpret_cast<const char* (*)()>(dlsym(RTLD_DEFAULT, "Py_GetVersion"));
  void* loop = dlsym(RTLD_DEFAULT, "_PyEval_EvalFrameDefault");
  void* type = dlsym(RTLD_DEFAULT, "PyCode_Type");
  void* state = dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
  dl_find_object object;
  if (!loop || !type || !state || !(version || text) || _dl_find_object(loop, &object) != 0) return;
  const uint32_t found = version ? *version >> 16 : version_from(text());
  layout_ = layout_of(found);
  const auto& in = layout_.frame;
  const auto [first, last] = std::minmax({in.code, in.previous, in.instruction, in.owner});
  frame_start_ = first;
  frame_bytes_ = last + size_t{8} - first;
  code_bytes_ =
      std::max({layout_.code.first_line, layout_.code.file, layout_.code.name, layout_.code.lines}) + size_t{8};
  if (!layout_.version || frame_bytes_ > kMostFrameBytes || code_bytes_ > kMostCodeBytes) {
    header.other_python = found;
    return;
  }
  if (!readable(reinterpret_cast<uint64_t>(loop)) || readable(0)) {  // a system that checks in another order
    header.other_python = Header::kForbidden;
    return;
  }
  loop_ = function_at(static_cast<const uint8_t*>(object.dlfo_eh_frame), reinterpret_cast<uint64_t>(loop));
  rest_of_loop_ = rest_of(loop_, object);
  code_type_ = reinterpret_cast<uint64_t>(type);
  state_ = reinterpret_cast<void* (*)()>(state);
  header.python = found;
}

uint32_t Python::code_record(Memory& memory, Store& store, uint64_t code) const {
  std::byte object[kMostCodeBytes];
  auto part = [&](uint16_t at) { return value_at<uint64_t>(object, at); };
  if (!memory.copy(code, object, code_bytes_) || part(kType) != code_type_) return 0;
  const auto first_line = value_at<int32_t>(object, layout_.code.first_line);
  // An address is used again when a function is gone: its parts tell one from the next.
  const uint32_t parts = hash(part(layout_.code.name), part(layout_.code.lines) + static_cast<uint32_t>(first_line));
  if (const uint32_t id = store.find(Kind::Code, 0, parts, code)) return id;

  uint64_t table_bytes = 0;
  memory.copy(part(layout_.code.lines) + kLength, table_bytes);
  const Text texts[] = {
      text_of(memory, layout_, part(layout_.code.file), 4096),
      text_of(memory, layout_, part(layout_.code.name), 1024),
      {part(layout_.code.lines) + kBytes, static_cast<uint16_t>(table_bytes < 60000 ? table_bytes : 0), 1}};
  size_t payload = sizeof(CodeText);
  for (const Text& t : texts) payload += t.bytes;
  Record* r = store.reserve(Kind::Code, 0, parts, code, payload);
  if (!r) return 0;
  auto* head = static_cast<CodeText*>(r->payload());
  head->first_line = first_line;
  head->version[0] = static_cast<uint8_t>(layout_.version >> 8);
  head->version[1] = static_cast<uint8_t>(layout_.version & 0xFF);
  auto* p = reinterpret_cast<uint8_t*>(head + 1);
  for (size_t i = 0; i < std::size(texts); ++i) {
    const bool copied = texts[i].bytes && memory.copy(texts[i].at, p, texts[i].bytes);
    head->width[i] = texts[i].width;
    head->bytes[i] = copied ? texts[i].bytes : 0;
    p += head->bytes[i];
  }
  return store.publish(r);
}

void Python::read(Store& store, uint64_t sp, uint64_t stack_end, PythonStack& stack) const {
  const auto thread = reinterpret_cast<uint64_t>(state_());
  if (!thread) return;
  Memory memory;
  uint64_t at = 0;
  if (!memory.copy(thread + layout_.thread.newest, at)) return;
  if (layout_.thread.loop != PythonLayout::kNone) {
    // The thread's state points to the loop's own variable, or to one in the state itself while no loop runs.
    const bool on_stack = at >= sp && at + 16 <= stack_end && at % 8 == 0;
    at = on_stack ? *reinterpret_cast<const uint64_t*>(at + layout_.thread.loop) : 0;
  }
  for (size_t visited = 0; at && stack.size < PythonStack::kMost && visited < PythonStack::kMost; ++visited) {
    std::byte f[kMostFrameBytes];
    if (!memory.copy(at + frame_start_, f, frame_bytes_)) break;
    auto field = [&](uint16_t offset) { return value_at<uint64_t>(f, offset - frame_start_); };
    const auto owner = static_cast<uint8_t>(f[layout_.frame.owner - frame_start_]);
    if (layout_.entries == Entries::BelowShims && owner >= 3) {  // of the interpreter itself
      if (stack.size) stack.frames[stack.size - 1].entry = true;
      at = field(layout_.frame.previous);
      continue;
    }
    const uint64_t code = field(layout_.frame.code) & ~uint64_t{7};  // 3.14 keeps marks in the lowest bits
    PythonFrame& frame = stack.frames[stack.size];
    // Where the last sample had the same frame with the same code, it is the same: its code object need not be read.
    const bool same = frame.address == at && frame.code == code && frame.record;
    if (!same) frame.record = code_record(memory, store, code);
    if (!frame.record) break;
    frame.address = at;
    frame.code = code;
    frame.offset = layout_.code.instructions
                       ? static_cast<uint32_t>(field(layout_.frame.instruction) - (code + layout_.code.instructions))
                       : static_cast<uint32_t>(field(layout_.frame.instruction));
    frame.entry = layout_.entries == Entries::All || (layout_.entries == Entries::Marked && owner != 0);
    ++stack.size;
    at = field(layout_.frame.previous);
  }
}

}  // namespace fc::sampler
