// SPDX-License-Identifier: Apache-2.0
#include "backends/hammerblade/runtime/chip.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <sstream>
#include <thread>

#include "backends/hammerblade/include/host/bsg_manycore_errno.h"
#include "backends/hammerblade/runtime/compile.h"
#include "backends/hammerblade/runtime/places.h"

namespace fc::hb {

namespace {

constexpr const char* nothing_there =
    "the engine 'sim' compiles kernels for RV32, and no compiler for it is installed: make setup-cosim installs "
    "Debian's "
    "gcc-riscv64-unknown-elf and picolibc-riscv64-unknown-elf (or have clang and lld; FACULA_HB_CHIP_CXX names "
    "another)";

// What a program that is asked for its version and places says; empty: it cannot be asked.
std::string answer(std::vector<std::string> words) {
  std::string said;
  return run_command(std::move(words), &said) ? "" : said.substr(0, said.find_last_not_of(" \n\r\t") + 1);
}

bool is_file(const std::string& path) {
  struct stat s;
  return !stat(path.c_str(), &s) && S_ISREG(s.st_mode);
}

void find_libraries(ChipCompiler& c) {
  // libgcc's for exactly this target has no multiply at all; rv32imf's would have mulh, which the chip has not.
  std::string gcc = c.clang ? program_on_path("riscv64-unknown-elf-gcc") : c.command[0];
  std::string which = "rv32iaf/ilp32f", own;
  if (!gcc.empty()) {
    if (std::string said = answer({gcc, "-march=rv32imaf", "-mabi=ilp32f", "-print-multi-directory"}); !said.empty())
      which = said;
    own = answer({gcc, "-march=rv32imaf", "-mabi=ilp32f", "-print-libgcc-file-name"});
  }
  const char* named = getenv("FACULA_HB_PICOLIBC");  // the folder that has lib/ and include/
  for (const std::string& root : {std::string(named ? named : ""), std::string("/usr/lib/picolibc/riscv64-unknown-elf"),
                                  std::string("/usr/local/lib/picolibc/riscv64-unknown-elf")}) {
    const std::string folder = root + "/lib/" + which;
    if (root.empty() || !is_file(folder + "/libm.a")) continue;
    c.libraries = {"-L" + folder, "-lm", "-lc"};
    break;
  }
  if (is_file(own)) c.libraries.push_back(own);
}

ChipCompiler find_compiler() {
  ChipCompiler c;
  std::vector<std::vector<std::string>> candidates;
  if (const char* named = getenv("FACULA_HB_CHIP_CXX"); named && *named) {
    std::istringstream words(named);
    std::vector<std::string> command;
    for (std::string word; words >> word;) command.push_back(word);
    if (command.empty() || program_on_path(command[0]).empty())
      throw Error(HB_MC_NOTFOUND, format("FACULA_HB_CHIP_CXX=%s names no compiler that is there", named));
    candidates = {command};
  } else {
    candidates = {{"riscv64-unknown-elf-g++"}, {"riscv32-unknown-elf-g++"}, {"clang++"}};
  }
  for (std::vector<std::string>& command : candidates) {
    command[0] = program_on_path(command[0]);
    if (command[0].empty()) continue;
    c.version = answer({command[0], "--version"});
    c.clang = c.version.find("clang") != std::string::npos;
    if (c.clang) {
      if (answer({command[0], "--print-targets"}).find("riscv32") == std::string::npos) continue;
      if (program_on_path("ld.lld").empty()) continue;
      command.emplace_back("--target=riscv32-unknown-elf");
    }
    c.command = command;
    find_libraries(c);
    return c;
  }
  throw Error(HB_MC_NOTFOUND, nothing_there);
}

uint64_t mixed(uint64_t hash, const std::string& text) {  // FNV-1a, length first
  hash = (hash ^ text.size()) * 0x100000001b3;
  for (unsigned char c : text) hash = (hash ^ c) * 0x100000001b3;
  return hash;
}

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(HB_MC_NOTFOUND, format("kernel file %s: %s", path.c_str(), strerror(errno)));
  std::ostringstream all;
  all << file.rdbuf();
  return all.str();
}

// Two hashes with different beginnings, as a name.
std::string name_of(const std::vector<std::string>& parts) {
  uint64_t a = 0xcbf29ce484222325, b = 0x9e3779b97f4a7c15;
  for (const std::string& part : parts) {
    a = mixed(a, part);
    b = mixed(b, part);
  }
  return format("%016llx%016llx", static_cast<unsigned long long>(a), static_cast<unsigned long long>(b));
}

bool made_folder(const std::string& path) {
  for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (mkdir(part.c_str(), 0777) && errno != EEXIST) return false;
    if (slash == std::string::npos) return !access(path.c_str(), W_OK);
  }
}

// Where programs are kept; nothing that can be written: this process's own folder.
std::string cache_folder() {
  static const std::string folder = [] {
    std::vector<std::string> candidates;
    if (const char* named = getenv("FACULA_CACHE"); named && *named) candidates.emplace_back(named);
    if (const char* named = getenv("XDG_CACHE_HOME"); named && *named)
      candidates.push_back(named + std::string("/facula"));
    if (const char* home = getenv("HOME"); home && *home) candidates.push_back(home + std::string("/.cache/facula"));
    for (const std::string& candidate : candidates)
      if (made_folder(candidate + "/hammerblade")) return candidate + "/hammerblade";
    return std::string();
  }();
  return folder.empty() ? scratch_for_programs() : folder;
}

std::vector<std::string> joined(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Runs it with the output under another name first, so that what is there is whole.
void make(std::vector<std::string> words, const std::string& placeholder, const std::string& output,
          const std::string& what) {
  static std::atomic<int> count = 0;
  const std::string part = format("%s.%d.%d.part", output.c_str(), static_cast<int>(getpid()), ++count);
  for (std::string& word : words)
    if (word == placeholder) word = part;
  std::string said;
  if (int status = run_command(words, &said)) {
    unlink(part.c_str());
    throw Error(status < 0 ? HB_MC_NOTFOUND : HB_MC_FAIL, what + ":\n" + said);
  }
  if (rename(part.c_str(), output.c_str())) {
    const int why = errno;
    unlink(part.c_str());
    throw Error(HB_MC_FAIL, format("%s cannot be written: %s", output.c_str(), strerror(why)));
  }
}

std::string undefined_symbols(const std::string& said) {
  std::string names;
  for (const char* mark : {"undefined reference to `", "undefined symbol: "}) {
    for (size_t at = said.find(mark); at != std::string::npos; at = said.find(mark, at + 1)) {
      const size_t from = at + strlen(mark), to = said.find_first_of("'\n", from);
      std::string name = said.substr(from, to - from);
      if (name.empty() || (", " + names + ",").find(", " + name + ",") != std::string::npos) continue;
      names += (names.empty() ? "" : ", ") + name;
    }
  }
  return names;
}

std::string own_folder() { return places().chip; }

std::string object_of(const std::string& source, const Machine& machine, bool through_parts) {
  const ChipCompiler& c = chip_compiler();
  std::vector<std::string> words = chip_compile_words(machine), parts = words;
  parts.push_back(c.version);
  parts.push_back(contents(source));
  parts.push_back(source);  // debug information names it
  for (const std::string& header : headers_of(source)) parts.push_back(contents(header));
  if (through_parts) parts.push_back(contents(own_folder() + "/multiply_high.inc"));
  const std::string base = cache_folder() + "/" + name_of(parts), output = base + ".o", there = "@";
  if (is_file(output)) return output;
  const std::string failed = format("%s does not compile for the chip", source.c_str());
  if (!through_parts || source.ends_with(".S")) {
    make(joined(words, {"-c", "-o", there, source}), there, output, failed);
    return output;
  }
  // Through the assembler's macros.
  const std::string assembly = format("%s.%d.s", base.c_str(), static_cast<int>(getpid()));
  make(joined(words, {"-S", "-o", there, source}), there, assembly, failed);
  std::string text;
  try {
    text = contents(own_folder() + "/multiply_high.inc") + contents(assembly);
    std::ofstream(assembly, std::ios::binary) << text;
    make(joined(c.command, {"-march=rv32imaf", "-mabi=ilp32f", "-c", "-o", there, assembly}), there, output, failed);
  } catch (...) {
    unlink(assembly.c_str());
    throw;
  }
  unlink(assembly.c_str());
  return output;
}

}  // namespace

const ChipCompiler& chip_compiler() {
  static std::mutex mutex;
  static ChipCompiler* found = nullptr;
  std::lock_guard lock(mutex);
  if (!found) found = new ChipCompiler(find_compiler());
  return *found;
}

bool has_chip_compiler() {
  try {
    chip_compiler();
    return true;
  } catch (const Error&) { return false; }
}

std::vector<std::string> chip_compile_words(const Machine& m) {
  const ChipCompiler& c = chip_compiler();
  std::vector<std::string> words = c.command;
  for (const char* word : {"-march=rv32imaf", "-mabi=ilp32f", "-O2", "-g", "-ffreestanding", "-fno-exceptions",
                           "-fno-rtti", "-fno-threadsafe-statics", "-fno-use-cxa-atexit", "-fno-math-errno",
                           "-fno-trapping-math", "-fno-stack-protector", "-fno-common", "-nostdinc"})
    words.emplace_back(word);
  if (c.clang)
    for (const char* word : {"-Wno-c++11-narrowing", "-Wno-pass-failed"}) words.emplace_back(word);
  const std::string own = answer({c.command[0], "-print-file-name=include"});
  const std::string resources = c.clang ? answer({c.command[0], "-print-resource-dir"}) + "/include" : own;
  for (const std::string& word : {std::string("-isystem"), places().bare, std::string("-isystem"), resources})
    words.push_back(word);
  for (const std::string& folder : places().headers) words.push_back("-I" + folder);
  const int barrier = m.barrier_kind == "hardware" ? 1 : m.barrier_kind == "amoadd" ? 2 : 0;
  for (const std::string& word :
       {format("-Dbsg_global_X=%lld", static_cast<long long>(m.tiles_x)),
        format("-Dbsg_global_Y=%lld", static_cast<long long>(m.tiles_y)),
        format("-DHB_TILE_ADDRESS=0x%llxu", static_cast<unsigned long long>(m.tile_address)),
        format("-DHB_GROUP_ADDRESS=0x%llxu", static_cast<unsigned long long>(m.group_address)),
        format("-DHB_DRAM_ADDRESS=0x%llxu", static_cast<unsigned long long>(m.dram_address)),
        format("-DHB_BARRIER_KIND=%d", barrier)})
    words.push_back(word);
  for (const std::string& word : common_compile_words()) words.push_back(word);
  if (const char* more = getenv("FACULA_HB_CHIP_FLAGS")) {
    std::istringstream split(more);
    for (std::string word; split >> word;) words.push_back(word);
  }
  return words;
}

std::vector<std::string> chip_link_words(const Machine& m, const std::string& output) {
  const ChipCompiler& c = chip_compiler();
  std::vector<std::string> words = c.command;
  for (const std::string& word :
       {std::string("-march=rv32imaf"), std::string("-mabi=ilp32f"), std::string("-nostdlib"), std::string("-static"),
        std::string("-T") + own_folder() + "/chip.ld",
        format("-Wl,--defsym=__dram=0x%llx", static_cast<unsigned long long>(m.dram_address)),
        format("-Wl,--defsym=__scratchpad_bytes=%lld", static_cast<long long>(m.scratchpad_bytes)), std::string("-o"),
        output})
    words.push_back(word);
  words.emplace_back(c.clang ? "-fuse-ld=lld" : "-Wl,--no-warn-rwx-segments");
  return words;
}

std::string chip_program(const std::vector<std::string>& sources, const Machine& machine, bool own) {
  for (const std::string& source : sources)
    if (access(source.c_str(), R_OK))
      throw Error(HB_MC_NOTFOUND, format("kernel file %s: %s", source.c_str(), strerror(errno)));
  const bool through_parts = own && !machine.multiply_high;
  std::vector<std::string> files = sources;
  for (const char* name : {"/start.S", "/runtime.cpp", "/multiply_high.S"}) files.push_back(own_folder() + name);

  // As many at a time as there are processors; the first failure is told.
  std::vector<std::string> objects(files.size());
  std::atomic<size_t> next = 0, done = 0;
  std::mutex mutex;
  std::string failure;
  int status = 0;
  const bool told = own && isatty(STDERR_FILENO);
  const auto work = [&] {
    for (size_t i; (i = next++) < files.size();) {
      try {
        // The common part goes through 16-bit parts, too: printing divides by ten.
        objects[i] = object_of(files[i], machine, through_parts || (i >= sources.size() && !machine.multiply_high));
      } catch (const Error& e) {
        std::lock_guard lock(mutex);
        if (failure.empty()) failure = e.what(), status = e.status();
        next = files.size();
      }
      if (told)
        fprintf(stderr, "\rhammerblade: kernels for the chip, once: %zu of %zu\033[K", size_t{++done}, files.size());
    }
  };
  std::vector<std::thread> threads;
  const size_t n = std::min<size_t>(std::max(1u, std::thread::hardware_concurrency()), files.size());
  for (size_t i = 1; i < n; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  if (told) fputs("\r\033[K", stderr);
  if (!failure.empty()) throw Error(status, failure);

  const ChipCompiler& c = chip_compiler();
  std::vector<std::string> words = chip_link_words(machine, "@");
  std::vector<std::string> parts = words;
  parts.push_back(contents(own_folder() + "/chip.ld"));
  for (const std::string& library : c.libraries) parts.push_back(library);
  for (const std::string& object : objects) parts.push_back(object.substr(object.rfind('/') + 1));
  const std::string output = cache_folder() + "/" + name_of(parts) + ".riscv";
  if (is_file(output)) return output;
  words.insert(words.end(), objects.begin(), objects.end());
  words.emplace_back("-Wl,--start-group");
  words.insert(words.end(), c.libraries.begin(), c.libraries.end());
  words.emplace_back("-Wl,--end-group");
  const std::string which =
      sources.size() == 1 ? sources[0] : format("the program of %zu kernel files", sources.size());
  try {
    make(words, "@", output, "");
  } catch (const Error& e) {
    const std::string said = e.what(), names = undefined_symbols(said);
    if (said.find("take more than the 16 MB") != std::string::npos)
      throw Error(HB_MC_NOMEM, which + ": text and constants take more than the 16 MB that the chip has for them");
    if (said.find("leave no room for a stack") != std::string::npos)
      throw Error(HB_MC_NOMEM,
                  format("%s: its variables leave no room for a stack in a tile's scratchpad of %lld bytes "
                         "(constants are better const; large tables belong into DRAM)",
                         which.c_str(), static_cast<long long>(machine.scratchpad_bytes)));
    if (said.find("has a C++ constructor") != std::string::npos)
      throw Error(HB_MC_INVALID, which +
                                     ": a variable has a C++ constructor, and none runs on the device (make it "
                                     "constexpr, or give it its value in the kernel)");
    if (!names.empty())
      throw Error(HB_MC_FAIL, format("%s does not link for the chip: %s %s missing%s", which.c_str(), names.c_str(),
                                     names.find(',') == std::string::npos ? "is" : "are",
                                     c.libraries.empty()
                                         ? " (functions of libm and software arithmetic come from "
                                           "picolibc-riscv64-unknown-elf and gcc-riscv64-unknown-elf, which are not "
                                           "installed: make setup-cosim)"
                                         : ""));
    throw Error(e.status(), which + " does not link for the chip" + said);
  }
  return output;
}

}  // namespace fc::hb
