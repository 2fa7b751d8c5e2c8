// SPDX-License-Identifier: Apache-2.0
#include "backends/hammerblade/runtime/lines.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <mutex>

#include "backends/hammerblade/runtime/error.h"
#include "backends/hammerblade/runtime/places.h"

namespace fc::hb {

namespace {

// The part of libdw that is needed; its structures are opaque or, on the stack, of the documented size.
struct Die {
  void *address, *cu, *abbreviation;
  long padding;
};
struct Attribute {
  unsigned code, form;
  unsigned char* value;
  void* cu;
};
constexpr int inlined_subroutine = 0x1d;
constexpr unsigned at_call_file = 0x58, at_call_line = 0x59;

struct Dw {
  void* (*begin)(int fd, int command);
  void* (*address_die)(void* dwarf, unsigned long address, Die* result);
  int (*next_unit)(void* dwarf, unsigned long at, unsigned long* next, size_t* header, unsigned long* abbreviations,
                   unsigned char* address_size, unsigned char* offset_size);
  void* (*die_at)(void* dwarf, unsigned long at, Die* result);
  int (*has_address)(Die* die, unsigned long address);
  void* (*source)(Die* cu, unsigned long address);
  int (*line_number)(void* line, int* number);
  const char* (*line_file)(void* line, unsigned long* modified, unsigned long* length);
  int (*scopes)(Die* cu, unsigned long pc, Die** scopes);
  int (*scopes_of)(Die* die, Die** scopes);
  int (*tag)(Die* die);
  Attribute* (*attribute)(Die* die, unsigned name, Attribute* result);
  int (*unsigned_value)(Attribute* attribute, unsigned long* value);
  int (*files)(Die* cu, void** files, size_t* count);
  const char* (*file_name)(void* files, size_t index, unsigned long* modified, unsigned long* length);
  bool ready = false;
};

const Dw& dw() {
  static const Dw functions = [] {
    Dw d{};
    void* library = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return d;
    auto get = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      return function != nullptr;
    };
    d.ready = get(d.begin, "dwarf_begin") && get(d.address_die, "dwarf_addrdie") && get(d.source, "dwarf_getsrc_die") &&
              get(d.line_number, "dwarf_lineno") && get(d.line_file, "dwarf_linesrc") &&
              get(d.scopes, "dwarf_getscopes") && get(d.scopes_of, "dwarf_getscopes_die") && get(d.tag, "dwarf_tag") &&
              get(d.attribute, "dwarf_attr") && get(d.unsigned_value, "dwarf_formudata") &&
              get(d.next_unit, "dwarf_nextcu") && get(d.die_at, "dwarf_offdie") && get(d.has_address, "dwarf_haspc") &&
              get(d.files, "dwarf_getsrcfiles") && get(d.file_name, "dwarf_filesrc");
    return d;
  }();
  return functions;
}

struct Frame {
  std::string file;
  int line;
};

void* opened(const std::string& path) {
  static std::map<std::string, void*> files;  // a library keeps its name as long as it is loaded
  auto [at, fresh] = files.try_emplace(path, nullptr);
  if (fresh) {
    int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd >= 0) at->second = dw().begin(fd, 0);
  }
  return at->second;
}

// The unit that has an address: by the table of addresses, or where libdw refuses it (large programs for the chip have
// such ones) by asking each.
bool find_unit(void* file, unsigned long address, Die* unit) {
  const Dw& d = dw();
  if (d.address_die(file, address, unit)) return true;
  unsigned long at = 0, next = 0, abbreviations = 0;
  size_t header = 0;
  unsigned char address_size = 0, offset_size = 0;
  for (; d.next_unit(file, at, &next, &header, &abbreviations, &address_size, &offset_size) == 0; at = next)
    if (d.die_at(file, at + header, unit) && d.has_address(unit, address) > 0) return true;
  return false;
}

// The line at an address, and the lines from which its function was inlined.
std::vector<Frame> frames_in(const std::string& path, unsigned long address) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  std::vector<Frame> out;
  const Dw& d = dw();
  void* file = d.ready ? opened(path) : nullptr;
  if (!file) return out;
  Die cu;
  if (!find_unit(file, address, &cu)) return out;
  if (void* line = d.source(&cu, address)) {
    int number = 0;
    const char* name = d.line_file(line, nullptr, nullptr);
    if (name && d.line_number(line, &number) == 0) out.push_back({name, number});
  }
  void* files = nullptr;
  size_t file_count = 0;
  d.files(&cu, &files, &file_count);
  Die *innermost = nullptr, *scopes = nullptr;
  // Those of an address go on from an inlined function to where it was written, those of a DIE to where it was called.
  int count = d.scopes(&cu, address, &innermost) > 0 ? d.scopes_of(innermost, &scopes) : 0;
  free(innermost);
  for (int i = 0; i < count; ++i) {
    if (d.tag(&scopes[i]) != inlined_subroutine) continue;
    Attribute attribute;
    unsigned long at_file = 0, at_line = 0;
    if (d.attribute(&scopes[i], at_call_file, &attribute)) d.unsigned_value(&attribute, &at_file);
    if (d.attribute(&scopes[i], at_call_line, &attribute)) d.unsigned_value(&attribute, &at_line);
    const char* name = files && at_file < file_count ? d.file_name(files, at_file, nullptr, nullptr) : nullptr;
    if (name) out.push_back({name, static_cast<int>(at_line)});
  }
  free(scopes);
  return out;
}

bool is_ours(const std::string& file) {
  return file.find("hammerblade/include/") != std::string::npos || file.starts_with(places().device) ||
         file.starts_with(places().chip) || file.starts_with(places().bare);
}

}  // namespace

std::string short_path(const std::string& file) {
  size_t slash = file.rfind('/');
  return slash == std::string::npos ? file : file.substr(slash + 1);
}

std::string locate(const std::vector<uintptr_t>& pcs) {
  std::string inside, function;
  for (uintptr_t pc : pcs) {
    Dl_info info{};
    if (!pc || !dladdr(reinterpret_cast<void*>(pc - 1), &info) || !info.dli_fname) continue;
    for (const Frame& frame : frames_in(info.dli_fname, pc - 1 - reinterpret_cast<uintptr_t>(info.dli_fbase))) {
      std::string line = format("%s:%d", short_path(frame.file).c_str(), frame.line);
      if (!is_ours(frame.file)) return inside.empty() ? line : line + " (in " + inside + ")";
      if (inside.empty()) inside = line;
    }
    if (function.empty()) {
      char* readable = info.dli_sname ? abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, nullptr) : nullptr;
      std::string name = readable ? readable : info.dli_sname ? info.dli_sname : short_path(info.dli_fname);
      uintptr_t from = reinterpret_cast<uintptr_t>(info.dli_sname ? info.dli_saddr : info.dli_fbase);
      function = format("%s+0x%llx", name.c_str(), static_cast<unsigned long long>(pc - 1 - from));
      free(readable);
    }
  }
  if (!inside.empty()) return inside;
  return function.empty() ? "an unknown place" : function;
}

std::string locate_in(const std::string& file, const std::vector<uint64_t>& addresses) {
  std::string inside;
  for (uint64_t address : addresses) {
    for (const Frame& frame : frames_in(file, address)) {
      std::string line = format("%s:%d", short_path(frame.file).c_str(), frame.line);
      if (!is_ours(frame.file)) return inside.empty() ? line : line + " (in " + inside + ")";
      if (inside.empty()) inside = line;
    }
  }
  return inside;
}

}  // namespace fc::hb
