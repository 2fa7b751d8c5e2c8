// SPDX-License-Identifier: Apache-2.0
#include "backends/hammerblade/runtime/compile.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "backends/hammerblade/include/host/bsg_manycore_errno.h"
#include "backends/hammerblade/runtime/chip.h"
#include "backends/hammerblade/runtime/error.h"
#include "backends/hammerblade/runtime/places.h"
#include "backends/hammerblade/runtime/scratch.h"

extern char** environ;

namespace fc::hb {

namespace {

std::vector<std::string> compiler() {
  if (const char* named = getenv("CXX"); named && *named) {
    std::istringstream words(named);  // CXX="ccache g++"
    std::vector<std::string> command;
    for (std::string word; words >> word;) command.push_back(word);
    if (!command.empty()) {
      std::string found = program_on_path(command[0]);
      if (found.empty())
        throw Error(HB_MC_NOTFOUND, format("CXX=%s names no compiler: %s is not found", named, command[0].c_str()));
      command[0] = found;
      return command;
    }
  }
  for (const char* name : {"c++", "g++", "clang++"})
    if (std::string found = program_on_path(name); !found.empty()) return {found};
  throw Error(HB_MC_NOTFOUND,
              "no C++ compiler was found to compile kernels: install one (Debian: apt-get install g++) or name "
              "it in CXX");
}

}  // namespace

std::string program_on_path(const std::string& name) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? name : "";
  const char* path = getenv("PATH");
  std::istringstream folders(path ? path : "/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string file = (folder.empty() ? "." : folder) + "/" + name;
    if (access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

bool is_file(const std::string& path) {  // a pipe would be waited for
  struct stat s;
  return stat(path.c_str(), &s) == 0 && S_ISREG(s.st_mode);
}

// Headers beside a file are found in angle brackets, too, as in the port's folder of kernels.
void add_sources(std::vector<std::string>& words, const std::vector<std::string>& sources) {
  for (const std::string& source : sources) {
    const size_t slash = source.rfind('/');
    words.push_back("-I" + (slash == std::string::npos ? "." : source.substr(0, slash + 1)));
    words.push_back(source);
  }
}

std::string scratch_for_programs() { return scratch_folder(); }

const std::vector<std::string>& common_compile_words() {
  // Kernels were written for compilers of C++14, whose plain char is unsigned on the chip; narrowing constants pass.
  static const std::vector<std::string> words = {"-std=gnu++20",      "-funsigned-char", "-fwrapv",
                                                 "-ffp-contract=off", "-Wno-narrowing",  "-Wno-register",
                                                 "-Wno-attributes"};
  return words;
}

std::vector<std::string> compile_command(const std::vector<std::string>& sources, const std::string& output, Mode mode,
                                         const Machine& machine) {
  if (mode == Mode::Sim) {
    std::vector<std::string> words = chip_compile_words(machine);
    add_sources(words, sources);
    for (const char* name : {"/start.S", "/runtime.cpp", "/multiply_high.S"}) words.push_back(places().chip + name);
    for (std::string& word : chip_link_words(machine, output)) words.push_back(std::move(word));
    for (const std::string& word : chip_compiler().libraries) words.push_back(word);
    return words;
  }
  const bool check = mode == Mode::Check;
  std::vector<std::string> words = compiler();
  // No start files: what lies in .data and .bss are the kernels' own variables.
  for (const std::string& word : common_compile_words()) words.push_back(word);
  for (const char* word :
       {"-g", "-fPIC", "-shared", "-nostartfiles", "-fvisibility=hidden", "-DHB_EMUL", "-fno-exceptions", "-fno-rtti",
        "-fno-math-errno", "-fno-trapping-math", "-fno-stack-protector", "-U_FORTIFY_SOURCE",
        "-fstack-clash-protection", "-Wl,-z,relro,-z,now"})
    words.emplace_back(word);
  if (check) {
    // Copies, fills and comparisons as calls, which the linker turns into ours; no default libraries, or the
    // sanitizer's came along.
    for (const char* word : {"-O2", "-nodefaultlibs", "-fno-omit-frame-pointer", "-fsanitize=thread", "-DHB_EMUL_CHECK",
                             "-include", "hb_emul_calls.h", "-fno-builtin-memcpy", "-fno-builtin-memset",
                             "-fno-builtin-memmove", "-fno-builtin-memcmp", "-fno-builtin-strlen",
                             "-Wl,--wrap=memcpy,--wrap=memset,--wrap=memmove,--wrap=memcmp,--wrap=strlen"})
      words.emplace_back(word);
  } else {
    words.emplace_back("-O3");
#if defined(__x86_64__)
    words.emplace_back("-march=native");
    words.emplace_back("-mprefer-vector-width=512");
#endif
  }
  const Places& at = places();
  for (const std::string& folder : at.headers) words.push_back("-I" + folder);
  for (const std::string& word : {std::string("-o"), output}) words.push_back(word);
  add_sources(words, sources);
  for (const std::string& word : {"-L" + at.library, "-Wl,-rpath," + at.library, std::string("-lfacula_hb")})
    words.push_back(word);
  if (check)
    for (const char* word : {"-Wl,--as-needed", "-lstdc++", "-lm", "-lc", "-lgcc_s", "-lgcc"}) words.emplace_back(word);
  return words;
}

int run_command(std::vector<std::string> words, std::string* said) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC)) throw Error(HB_MC_FAIL, format("%s cannot be started: %s", argv[0], strerror(errno)));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  pid_t child = 0;
  const int failed = posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0 || (n < 0 && errno == EINTR);)
    if (n > 0 && said->size() < (1 << 20)) said->append(buffer, static_cast<size_t>(n));
  close(ends[0]);
  if (failed) {
    *said = format("%s cannot be started: %s", argv[0], strerror(failed));
    return -1;
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  return status;
}

void compile(const std::vector<std::string>& sources, const std::string& output, Mode mode, const Machine& machine) {
  for (const std::string& source : sources)
    if (access(source.c_str(), R_OK))
      throw Error(HB_MC_NOTFOUND, format("kernel file %s: %s", source.c_str(), strerror(errno)));
  for (const std::string& source : sources)
    if (!is_file(source)) throw Error(HB_MC_INVALID, format("kernel file %s: it is not a file", source.c_str()));
  std::string part = format("%s.%d.part", output.c_str(), static_cast<int>(getpid())), said;
  if (int status = run_command(compile_command(sources, part, mode, machine), &said)) {
    unlink(part.c_str());
    throw Error(status < 0 ? HB_MC_NOTFOUND : HB_MC_FAIL, status < 0 ? said : "the kernel does not compile:\n" + said);
  }
  if (rename(part.c_str(), output.c_str())) {
    int why = errno;
    unlink(part.c_str());
    throw Error(HB_MC_FAIL, format("%s cannot be written: %s", output.c_str(), strerror(why)));
  }
}

std::vector<std::string> headers_of(const std::string& source) {
  std::vector<std::string> found;
  for (size_t next = 0; next <= found.size(); ++next) {  // the source, then what was found
    const std::string file = next ? found[next - 1] : source;
    std::vector<std::string> folders = {file.substr(0, file.rfind('/') + 1)};
    for (const std::string& folder : places().headers) folders.push_back(folder + "/");
    if (!is_file(file)) continue;
    std::ifstream lines(file);
    for (std::string line; std::getline(lines, line);) {
      const size_t hash = line.find_first_not_of(" \t");
      if (hash == std::string::npos || line[hash] != '#') continue;
      const size_t word = line.find_first_not_of(" \t", hash + 1);
      if (word == std::string::npos || line.compare(word, 7, "include")) continue;
      const size_t open = line.find_first_of("<\"", word), close = line.find_first_of(">\"", open + 1);
      if (open == std::string::npos || close == std::string::npos) continue;
      const std::string name = line.substr(open + 1, close - open - 1);
      for (const std::string& folder : folders) {
        const std::string at = folder + name;
        if (access(at.c_str(), R_OK)) continue;
        if (std::find(found.begin(), found.end(), at) == found.end()) found.push_back(at);
        break;
      }
    }
  }
  return found;
}

std::string check_name(const std::string& library) {
  return library.ends_with(".so") ? library.substr(0, library.size() - 3) + ".check.so" : library + ".check";
}

}  // namespace fc::hb
