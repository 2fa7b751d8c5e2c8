// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/blas_choice.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <system_error>

#include "backends/cpu/onednn.h"
#include "core/error.h"

namespace fc::cpu {
namespace {

namespace fs = std::filesystem;

struct Kind {
  const char *name, *title, *install;
  std::span<const std::string_view> files;  // how names of files begin
};
constexpr std::string_view openblas_files[] = {"libopenblas", "libscipy_openblas"}, blis_files[] = {"libblis"},
                           mkl_files[] = {"libmkl_rt."}, reference_files[] = {"libblas.", "libblas64."};
constexpr Kind kinds[] = {{"openblas", "OpenBLAS", "Debian: libopenblas0-openmp", openblas_files},
                          {"blis", "BLIS", "Debian: libblis4-openmp", blis_files},
                          {"mkl", "MKL", "PyPI: mkl", mkl_files},
                          {"reference", "reference BLAS", "Debian: libblas3", reference_files}};

std::string& environment_folder() {
  static std::string& folder = *new std::string;
  return folder;
}

std::vector<std::string> folders() {
  std::vector<std::string> out;
  auto add_variable = [&](const char* name, const char* below) {
    const char* value = std::getenv(name);
    for (std::string_view rest = value ? value : ""; !rest.empty();) {
      const size_t end = std::min(rest.find(':'), rest.size());
      if (end > 0) out.push_back(std::string(rest.substr(0, end)) + below);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  };
  add_variable("LD_LIBRARY_PATH", "");
  if (!environment_folder().empty()) out.push_back(environment_folder());
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX", "MKLROOT"}) add_variable(name, "/lib");
    // Debian keeps each library in a folder of its own, several variants beside each other: those that share our OpenMP
    // team come first.
#if defined(__aarch64__)
  const std::string system = "/usr/lib/aarch64-linux-gnu";
#else
  const std::string system = "/usr/lib/x86_64-linux-gnu";
#endif
  out.emplace_back("/usr/local/lib");
  for (const char* variant : {"openmp", "pthread", "serial"})
    for (const char* name : {"/openblas-", "/blis-", "/openblas64-", "/blis64-"})
      out.push_back(system + name + variant);
  for (const char* name : {"/blas", "/blas64", ""}) out.push_back(system + name);
  for (const char* name : {"/usr/lib64", "/usr/lib", "/opt/intel/oneapi/mkl/latest/lib"}) out.emplace_back(name);
  return out;
}

// x.so, x.so.3, but no x.so.bak
bool names_library(std::string_view file) {
  const size_t at = file.rfind(".so");
  return at != file.npos && file.find_first_not_of("0123456789.", at + 3) == file.npos;
}

const Kind* kind_of(const std::string& file) {
  for (const Kind& kind : kinds)
    for (std::string_view begin : kind.files)
      if (file.starts_with(begin) && names_library(file)) return &kind;
  return nullptr;
}
// libblas.so.3 is a name that every BLAS takes.
bool takes_name(const Kind& kind, const std::string& real) {
  if (kind.files.data() != reference_files) return false;
  for (const char* other : {"openblas", "blis", "mkl", "atlas"})
    if (real.find(other) != real.npos) return true;
  return false;
}

const Blas& load_named(const Kind& kind) {
  std::string first_error;
  for (const FoundBlas& found : find_blas()) {
    if (found.name != kind.name) continue;
    try {
      return Blas::load(found.path);
    } catch (const Error& e) {
      if (first_error.empty()) first_error = e.what();
    }
  }
  FC_CHECK(first_error.empty(), first_error);
  std::string looked;
  for (std::string_view f : kind.files)
    looked += str(looked.empty() ? "" : " and ", f, f.ends_with('.') ? "so" : "*.so");
  raise<Error>("preferred_blas: no ", kind.title, " was found on this machine (", looked,
               " in the environment's, the system's and LD_LIBRARY_PATH's folders); install it (", kind.install,
               "), or give the path of a library");
}

Choice choice_of(std::string_view text) {
  Choice c;
  std::string_view name = text;
  if (name.ends_with(",force")) {
    c.force = true;
    name.remove_suffix(6);
  }
  if (name.empty()) name = "auto";
  c.text = str(name, c.force ? ",force" : "");
  if (name == "auto") {
    FC_CHECK_AS(ValueError, !c.force, "preferred_blas: \"auto\" leaves the choice open, so there is nothing to force; ",
                "name a library");
  } else if (name == "facula") {
    c.engine = Engine::Facula;
  } else if (name == "onednn") {
    FC_CHECK(onednn_available(), "preferred_blas: oneDNN was not found on this machine, or this Facula was built ",
             "without it (USE_MKLDNN=0)");
    c.engine = Engine::OneDnn;
  } else {
    const Kind* kind = std::ranges::find(kinds, name, [](const Kind& k) { return std::string_view(k.name); });
    const bool file = name.find('/') != name.npos || name.find(".so") != name.npos;
    FC_CHECK_AS(ValueError, kind != std::end(kinds) || file,
                "preferred_blas: expected \"auto\", \"facula\", \"onednn\", ",
                "\"openblas\", \"blis\", \"mkl\", \"reference\" or the path of a library, got \"", name, "\"");
    c.engine = Engine::Blas;
    c.library = kind != std::end(kinds) ? &load_named(*kind) : &Blas::load(std::string(name));
  }
  return c;
}

constinit std::atomic<const Choice*> current = nullptr;

// Choices stay, since calls that read one may be under way; one text is always the same choice.
const Choice& kept_choice(const std::string& text) {
  struct Table {
    std::mutex mutex;
    std::map<std::string, Choice> choices;
  };
  static Table& table = *new Table;
  {
    std::lock_guard lock(table.mutex);
    if (auto it = table.choices.find(text); it != table.choices.end()) return it->second;
  }
  Choice fresh = choice_of(text);  // runs the library's own start-up: not under the lock
  std::lock_guard lock(table.mutex);
  return table.choices.try_emplace(text, std::move(fresh)).first->second;
}

[[gnu::cold]] const Choice& first_choice() {
  const char* text = std::getenv("FACULA_BLAS");
  const Choice *none = nullptr, *fresh = &kept_choice(text ? text : "auto");
  return current.compare_exchange_strong(none, fresh) ? *fresh : *none;
}

}  // namespace

const Choice& blas_choice() {
  const Choice* c = current.load(std::memory_order_acquire);
  return c ? *c : first_choice();
}

void set_preferred_blas(const std::string& text) { current.store(&kept_choice(text), std::memory_order_release); }

const Blas* default_blas() {
#if FC_HAVE_CBLAS
  static const Blas* const library = []() -> const Blas* {
    for (const char* file : {FC_CBLAS_PATH, FC_CBLAS_NAME}) {
      try {
        const Blas& found = Blas::load(file);
        return found.knows_processor() ? &found : nullptr;
      } catch (const Error&) {  // the next one, or our own kernel
      }
    }
    return nullptr;
  }();
  return library;
#else
  return nullptr;
#endif
}

std::vector<FoundBlas> find_blas(std::span<const std::string> more) {
  std::vector<std::string> places = folders();
  places.insert(places.end(), more.begin(), more.end());
  std::vector<FoundBlas> out;
  std::vector<fs::path> seen;
  for (const std::string& place : places) {
    std::vector<fs::path> files;
    std::error_code error;  // a folder that is not there, or not ours to read, has none
    for (fs::directory_iterator it(place, error), end; !error && it != end; it.increment(error))
      files.push_back(it->path());
    std::ranges::sort(files);
    for (const fs::path& file : files) {
      const Kind* kind = kind_of(file.filename().string());
      if (!kind) continue;
      const fs::path real = fs::canonical(file, error);
      if (error || takes_name(*kind, real.string()) || std::ranges::find(seen, real) != seen.end()) continue;
      seen.push_back(real);
      out.push_back({kind->name, file.string()});
    }
  }
  return out;
}

void set_environment_libraries(const std::string& folder) { environment_folder() = folder; }

}  // namespace fc::cpu
