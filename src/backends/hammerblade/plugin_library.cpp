// SPDX-License-Identifier: Apache-2.0
#include "plugin_library.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <facula/backend.hpp>

#include "backends/hammerblade/runtime/compile.h"
#include "backends/hammerblade/runtime/places.h"

namespace hammerblade {
namespace {

namespace fb = facula::backend;
using fc::hb::Device;

// When a file was changed last, in nanoseconds; 0: there is none (any more, where something else has its name).
int64_t changed(const std::string& file) {
  struct stat s;
  return stat(file.c_str(), &s) || !S_ISREG(s.st_mode)
             ? 0
             : static_cast<int64_t>(s.st_mtim.tv_sec) * 1000000000 + s.st_mtim.tv_nsec;
}

int64_t now() {  // by the clock that files are stamped with
  timespec t;
  clock_gettime(CLOCK_REALTIME_COARSE, &t);
  return static_cast<int64_t>(t.tv_sec) * 1000000000 + t.tv_nsec;
}

}  // namespace

Library::Library() {
  const int64_t start = now();
  add(fc::hb::places().library + "/hammerblade_kernels.so");
  // The files that they were compiled from are watched where they lie beside the headers; what a compiler calls them
  // may be relative to a folder that is gone.
  for (auto& k : all_) {
    k->file = fc::hb::places().device + "/../../kernels/" + k->file.substr(k->file.rfind('/') + 1);
    watch(k->file, {changed(k->file), start});
  }
  // The port's folder for kernels: one that does not compile is told, and the others serve.
  for (const std::string& file : fc::hb::port_kernels()) {
    try {
      add(file);
      watch(file, {changed(file), start});
    } catch (const fc::hb::Error& e) { fprintf(stderr, "hammerblade: %s: %s\n", file.c_str(), e.what()); }
  }
}

std::vector<std::string> Library::load(const std::string& path) {
  std::lock_guard lock(mutex_);
  Source source{changed(path), now()};
  Stamps stamps;
  source.loaded = std::max(source.loaded, newest(path, source, stamps));
  auto names = add(path);
  watch(path, source);
  return names;
}

void Library::watch(const std::string& file, Source source) {
  if (source.changed && !file.ends_with(".so")) sources_[file] = std::move(source);
}

// When the file, or what it includes, was changed last.
int64_t Library::newest(const std::string& file, Source& source, Stamps& stamps) {
  if (source.headers.empty()) source.headers = fc::hb::headers_of(file);
  int64_t latest = changed(file);
  for (const std::string& header : source.headers) {
    auto [at, fresh] = stamps.try_emplace(header);
    if (fresh) at->second = changed(header);
    latest = std::max(latest, at->second);
  }
  return latest;
}

std::vector<std::string> Library::reload(bool unseen) {
  std::lock_guard lock(mutex_);
  struct Stale {
    const std::string& file;
    Source& source;
    int64_t changed, newest;
  };
  std::vector<Stale> stale;
  Stamps stamps;
  for (auto& [file, source] : sources_) {
    const int64_t when = changed(file);
    if (!when) continue;
    const int64_t latest = newest(file, source, stamps);
    if ((when == source.changed && latest <= source.loaded) || (unseen && latest == source.failed)) continue;
    stale.push_back({file, source, when, latest});
  }
  const bool told = stale.size() > 1 && isatty(STDERR_FILENO);  // a header of all of them: a minute
  std::vector<std::string> names;
  std::string failures;
  for (const Stale& s : stale) {
    if (told)
      fprintf(stderr, "\rhammerblade: compiling %td of %zu: %s\033[K", &s - stale.data() + 1, stale.size(),
              s.file.c_str() + s.file.rfind('/') + 1);
    const int64_t start = now();
    try {
      for (std::string& name : add(s.file)) names.push_back(std::move(name));
      s.source = {s.changed, std::max(start, s.newest)};
    } catch (const fc::hb::Error& e) {
      s.source.failed = s.newest;
      s.source.headers.clear();  // another one may be needed
      failures += (failures.empty() ? "" : "\n") + std::string(e.what());
    }
  }
  if (told) fputs("\r\033[K", stderr);
  if (!failures.empty()) fb::fail(failures);
  return names;
}

std::vector<std::string> Library::add(const std::string& path) {
  Device& device = Device::get();
  Device::Program* program = device.load(path);
  std::vector<std::string> names;
  for (const hb_emul_kernel_t* r : device.records(program)) {
    auto* row = static_cast<const hb::Row*>(r->facts);
    if (row && row->n_parameters < 0) continue;  // a formula that is not for this type
    all_.push_back(std::make_unique<Kernel>(Kernel{r->name, row, r->signature, r->file, r->argc, program}));
    newest_[r->name] = all_.back().get();
    if (row) serving_[r->name] = all_.back().get();
    names.emplace_back(r->name);
  }
  rebuild();
  return names;
}

void Library::bind(const std::string& op, const std::string& kernel) {
  std::lock_guard lock(mutex_);
  if (!kernel.empty()) {
    if (!newest_.contains(kernel)) fb::fail("there is no kernel " + kernel);
    bound_[op] = kernel;
  } else {
    bound_.erase(op);
  }
  rebuild();
}

std::string Library::bound(const std::string& op) {
  std::lock_guard lock(mutex_);
  auto it = bound_.find(op);
  return it == bound_.end() ? "" : it->second;
}

void Library::rebuild() {
  auto t = std::make_unique<Table>();
  t->kernels = newest_;
  for (auto& [name, kernel] : serving_) {
    const hb::Row* row = kernel->row;
    if (row->family >= 0) t->families[key(row->family, row->opcode, row->compute)] = kernel;
    else if (*row->op) t->by_operator[row->op].push_back(kernel);
  }
  for (auto& [op, kernel] : bound_) {
    auto& list = t->by_operator[op];
    list.insert(list.begin(), newest_.at(kernel));
  }
  for (auto& [op, list] : t->by_operator) t->operators.push_back(names_.insert(op).first->c_str());
  t->operators.push_back(nullptr);
  table_.store(t.get(), std::memory_order_release);
  tables_.push_back(std::move(t));
}

const Kernel* Library::find(const std::string& kernel) const {
  const Table* t = table_.load(std::memory_order_acquire);
  auto it = t->kernels.find(kernel);
  return it == t->kernels.end() ? nullptr : it->second;
}

const std::vector<const Kernel*>* Library::find_operator(const std::string& name) const {
  const Table* t = table_.load(std::memory_order_acquire);
  auto it = t->by_operator.find(name);
  return it == t->by_operator.end() ? nullptr : &it->second;
}

std::vector<const Kernel*> Library::kernels() const {
  std::vector<const Kernel*> list;
  for (auto& [name, kernel] : table_.load(std::memory_order_acquire)->kernels) list.push_back(kernel);
  return list;
}

}  // namespace hammerblade
