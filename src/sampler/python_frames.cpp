// SPDX-License-Identifier: Apache-2.0
#include "sampler/python_frames.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

namespace fc::sampler {

namespace {

// CPython 3.11, 64 bit.
constexpr uint32_t kVersion = 3 << 8 | 11;
constexpr uint64_t kThreadCFrame = 56, kCFrameCurrent = 8;
constexpr uint64_t kFrameCode = 32;  // of _PyInterpreterFrame
struct CodeObject {                  // PyCodeObject, from ob_type on
  static constexpr uint64_t kStart = 8, kInstructions = 184;
  uint64_t type, others[7];
  int32_t first_line, unused[9];
  uint64_t file_name, name, qualified_name, line_table;
};
static_assert(offsetof(CodeObject, file_name) == 112 - CodeObject::kStart);
static_assert(offsetof(CodeObject, line_table) == 136 - CodeObject::kStart);
static_assert(offsetof(CodeObject, first_line) == 72 - CodeObject::kStart);
constexpr uint64_t kLength = 16, kTextState = 32, kAsciiText = 48, kOtherText = 72, kBytes = 32;

bool copy(uint64_t from, void* to, size_t bytes) {
  const iovec local{to, bytes}, remote{reinterpret_cast<void*>(from), bytes};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
}
template <class T>
bool copy(uint64_t from, T& to) {
  return copy(from, &to, sizeof to);
}

struct Text {
  uint64_t at = 0;
  uint16_t bytes = 0;
  uint8_t width = 1;
};

// A str's characters: compact ones lie behind the object.
Text text_of(uint64_t object, uint64_t most) {
  uint64_t length;
  uint32_t state;
  if (!copy(object + kLength, length) || !copy(object + kTextState, state)) return {};
  const uint32_t width = state >> 2 & 7, compact = state >> 5 & 1, ascii = state >> 6 & 1;
  if (!compact || (width != 1 && width != 2 && width != 4)) return {};
  const uint64_t bytes = std::min(length, most / 4) * width;
  return {object + (ascii ? kAsciiText : kOtherText), static_cast<uint16_t>(bytes), static_cast<uint8_t>(width)};
}

}  // namespace

void Python::find(Header& header) {
  auto* version = static_cast<const uint32_t*>(dlsym(RTLD_DEFAULT, "Py_Version"));
  void* loop = dlsym(RTLD_DEFAULT, "_PyEval_EvalFrameDefault");
  void* type = dlsym(RTLD_DEFAULT, "PyCode_Type");
  void* state = dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
  if (!loop || !type || !state) return;
  const uint32_t found = version ? *version >> 16 : 0;  // before 3.11 there is no such number
  if (found != kVersion) {
    header.other_python = found ? found : 3 << 8;
    return;
  }
  uint32_t read;
  if (!copy(reinterpret_cast<uint64_t>(version), read)) {  // some containers forbid the call
    header.other_python = Header::kForbidden;
    return;
  }
  Dl_info info;
  const ElfW(Sym)* symbol = nullptr;
  if (!dladdr1(loop, &info, reinterpret_cast<void**>(const_cast<ElfW(Sym)**>(&symbol)), RTLD_DL_SYMENT) || !symbol)
    return;
  loop_ = reinterpret_cast<uint64_t>(loop);
  loop_bytes_ = symbol->st_size;
  code_type_ = reinterpret_cast<uint64_t>(type);
  state_ = reinterpret_cast<void* (*)()>(state);
  header.python = found;
}

uint32_t Python::code_record(Store& store, uint64_t code) const {
  CodeObject object;
  if (!copy(code + CodeObject::kStart, object) || object.type != code_type_) return 0;
  // An address is used again when a function is gone: its parts tell one from the next.
  const uint32_t parts = hash(object.qualified_name, object.line_table + static_cast<uint32_t>(object.first_line));
  if (const uint32_t id = store.find(Kind::Code, 0, parts, code)) return id;

  uint64_t table_bytes = 0;
  copy(object.line_table + kLength, table_bytes);
  const Text texts[] = {text_of(object.file_name, 4096),
                        text_of(object.qualified_name, 1024),
                        {object.line_table + kBytes, static_cast<uint16_t>(table_bytes < 60000 ? table_bytes : 0), 1}};
  size_t payload = sizeof(CodeText);
  for (const Text& t : texts) payload += t.bytes;
  Record* r = store.reserve(Kind::Code, 0, parts, code, payload);
  if (!r) return 0;
  auto* head = static_cast<CodeText*>(r->payload());
  head->first_line = object.first_line;
  head->version[0] = kVersion >> 8;
  head->version[1] = kVersion & 0xFF;
  auto* p = reinterpret_cast<uint8_t*>(head + 1);
  for (size_t i = 0; i < std::size(texts); ++i) {
    const bool copied = texts[i].bytes && copy(texts[i].at, p, texts[i].bytes);
    head->width[i] = texts[i].width;
    head->bytes[i] = copied ? texts[i].bytes : 0;
    p += head->bytes[i];
  }
  return store.publish(r);
}

void Python::read(Store& store, uint64_t sp, uint64_t stack_end, PythonStack& stack) const {
  const auto thread = reinterpret_cast<uint64_t>(state_());
  if (!thread) return;
  uint64_t c_frame = 0;
  stack.local[0] = {&c_frame, sizeof c_frame};
  stack.remote[0] = {reinterpret_cast<void*>(thread + kThreadCFrame), sizeof c_frame};
  const size_t expected = stack.ahead_size;
  for (size_t i = 0; i < expected; ++i) {
    stack.local[i + 1] = {&stack.ahead[i], sizeof stack.ahead[i]};
    stack.remote[i + 1] = {reinterpret_cast<void*>(stack.ahead_at[i] + kFrameCode), sizeof stack.ahead[i]};
  }
  const ssize_t bytes = process_vm_readv(getpid(), stack.local, expected + 1, stack.remote, expected + 1, 0);
  const size_t have = bytes < 8 ? 0 : (static_cast<size_t>(bytes) - 8) / sizeof stack.ahead[0];
  stack.ahead_size = 0;
  if (bytes < 8) return;

  // The thread's state points to the loop's own variable, or to one in the state itself while no loop runs.
  uint64_t at = 0;
  if (c_frame >= sp && c_frame + 16 <= stack_end && c_frame % 8 == 0)
    at = *reinterpret_cast<const uint64_t*>(c_frame + kCFrameCurrent);
  size_t next = 0;
  while (at && stack.size < PythonStack::kMost) {
    PythonStack::Read f;
    size_t found = next;
    while (found < have && stack.ahead_at[found] != at) ++found;
    if (found < have) {
      f = stack.ahead[found];
      next = found + 1;
    } else if (!copy(at + kFrameCode, f)) {
      break;
    }
    PythonFrame& frame = stack.frames[stack.size];
    // Where the last sample had the same frame with the same code, it is the same: its code object need not be read.
    const bool same = found < have && frame.address == at && frame.code == f.code && frame.record;
    if (!same) frame.record = code_record(store, f.code);
    if (!frame.record) break;
    frame.address = at;
    frame.code = f.code;
    frame.offset = static_cast<uint32_t>(f.last_instruction - (f.code + CodeObject::kInstructions));
    frame.entry = f.is_entry != 0;
    ++stack.size;
    at = f.previous;
  }
  for (; stack.ahead_size < stack.size; ++stack.ahead_size)
    stack.ahead_at[stack.ahead_size] = stack.frames[stack.ahead_size].address;
}

}  // namespace fc::sampler
