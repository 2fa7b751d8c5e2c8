// SPDX-License-Identifier: Apache-2.0
#include "backends/hammerblade/simulator/simulator.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "backends/hammerblade/include/host/bsg_manycore_errno.h"
#include "backends/hammerblade/runtime/chip.h"
#include "backends/hammerblade/runtime/library.h"
#include "backends/hammerblade/runtime/memory.h"
#include "backends/hammerblade/runtime/places.h"
#include "backends/hammerblade/runtime/watch.h"
#include "backends/hammerblade/simulator/functional.h"
#include "backends/hammerblade/simulator/interrupt.h"

namespace fc::hb::sim {

namespace {

constexpr const char* startup = "tensorlib_hb_startup";

constexpr const char* fidelity_names[] = {"functional", "timed", "trace"};
constexpr const char* kept_names[] = {"none", "profile", "trace", "wave", "saif"};

template <size_t n>
int choice(const std::string& value, const char* const (&names)[n], const char* what) {
  std::string all;
  for (size_t i = 0; i < n; ++i) {
    if (value == names[i]) return static_cast<int>(i);
    all += (i == 0 ? "" : i + 1 == n ? " and " : ", ") + std::string(names[i]);
  }
  throw Error(HB_MC_INVALID, format("%s are %s, not %s", what, all.c_str(), value.c_str()));
}

std::vector<std::string> kernel_files(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
    if (entry.path().extension() == ".cpp") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

// The kernel files that a library was compiled from.
std::vector<std::string> sources_of(const std::string& library) {
  if (library.ends_with("/hammerblade_kernels.so")) return kernel_files(places().kernels);
  std::vector<std::string> files;
  const Library loaded(library, false);
  for (const hb_emul_kernel_t* kernel : loaded.kernels())
    if (std::find(files.begin(), files.end(), kernel->file) == files.end()) files.emplace_back(kernel->file);
  for (const std::string& file : files)
    if (access(file.c_str(), R_OK))
      throw Error(
          HB_MC_NOTFOUND,
          format("%s: the chip's program is compiled from its kernel files, and %s is not there (load the .cpp file, "
                 "or have %s.riscv beside the library)",
                 library.c_str(), file.c_str(), library.substr(0, library.size() - 3).c_str()));
  return files;
}

}  // namespace

Simulator& Simulator::get() {
  static auto* engine = new Simulator;
  return *engine;
}

Simulator::Simulator() {
  constexpr struct {
    const char *variable, *setting;
  } rows[] = {{"FACULA_HB_FIDELITY", "fidelity"}, {"FACULA_HB_FILES", "files"},   {"FACULA_HB_FOLDER", "folder"},
              {"FACULA_HB_LIMIT", "limit"},       {"FACULA_HB_SAMPLE", "sample"}, {"FACULA_HB_GDB", "gdb"}};
  for (const auto& row : rows)
    if (const char* value = getenv(row.variable); value && *value) set(row.setting, value);
}

void Simulator::set_machine(const Machine& machine, Dimension mesh) {
  std::lock_guard lock(running_);
  memory().require_text();
  if (timed_) cycles_ += timed_->now();
  timed_.reset();
  if (mesh_) mesh_->put(nullptr);
  machine_ = machine;
  machine_.dram_address = static_cast<int64_t>(memory().base());
  size_ = mesh;
  mesh_ = std::make_unique<Mesh>(machine_, size_, static_cast<uint32_t>(memory().base()), memory().span());
}

std::string Simulator::program_of(const std::string& path, bool* own) const {
  *own = false;
  if (path.ends_with(".riscv")) return path;
  if (!path.ends_with(".so")) return chip_program({path}, machine_, false);
  const std::string beside = path.substr(0, path.size() - 3) + ".riscv";
  if (!access(beside.c_str(), R_OK)) return beside;
  *own = path.ends_with("/hammerblade_kernels.so");
  return chip_program(sources_of(path), machine_, *own);
}

std::unique_ptr<Image> Simulator::prepare(const std::string& program, Mode) {
  bool own;
  auto image =
      std::make_unique<Program>(program_of(program, &own), static_cast<uint32_t>(machine_.dram_address), machine_);
  std::lock_guard lock(running_);
  image->number = programs_.empty() ? 1 : programs_.rbegin()->first + 1;
  programs_[image->number] = image.get();
  return image;
}

void Simulator::release(std::unique_ptr<Image> image) {
  std::lock_guard lock(running_);
  auto* const program = static_cast<Program*>(image.get());
  if (mesh_) mesh_->forget(program);
  if (timed_program_ == program) timed_program_ = nullptr;  // another one may come to lie at its place
  programs_.erase(program->number);
}

std::vector<Engine::Setting> Simulator::settings() const {
  return {{"fidelity", fidelity_names[static_cast<int>(fidelity_)]},
          {"files", kept_names[static_cast<int>(kept_)]},
          {"folder", folder_},
          {"limit", std::to_string(limit_)},
          {"recording", recording_},
          {"sample", "1/" + std::to_string(sample_)},
          {"gdb", gdb_where_}};
}

void Simulator::set(const std::string& name, const std::string& value) {
  const auto number = [&](const std::string& text) {
    char* end = nullptr;
    errno = 0;
    const unsigned long long n = strtoull(text.c_str(), &end, 10);
    if (text.empty() || *end || errno || text[0] == '-')
      throw Error(HB_MC_INVALID, format("%s is a number, not %s", name.c_str(), text.c_str()));
    return n;
  };
  if (name == "fidelity") {
    fidelity_ = static_cast<Fidelity>(choice(value, fidelity_names, "fidelities"));
    if (fidelity_ == Fidelity::Trace && kept_ == Kept::Nothing) kept_ = Kept::Trace;
  } else if (name == "files") {
    const auto kept = static_cast<Kept>(choice(value, kept_names, "files"));
    if (kept != kept_) files_.reset();
    kept_ = kept;
  } else if (name == "folder") {
    if (value != folder_) files_.reset();
    folder_ = value;
  } else if (name == "limit") {
    const uint64_t limit = number(value);
    if (limit != limit_) files_.reset();
    limit_ = limit;
  } else if (name == "recording") {
    if (value != "always" && value != "on" && value != "off")
      throw Error(HB_MC_INVALID, format("recording is always, on or off, not %s", value.c_str()));
    if (value == "on" && recording_ == "always") files_.reset();  // what was written before is not asked for
    recording_ = value;
  } else if (name == "sample") {
    const size_t slash = value.find('/');
    const auto n = slash == std::string::npos || value.substr(0, slash) != "1" ? 0 : number(value.substr(slash + 1));
    if (n < 1 || n > 1000000) throw Error(HB_MC_INVALID, format("sample is 1/n, such as 1/16, not %s", value.c_str()));
    sample_ = static_cast<uint32_t>(n);
    sampled_.clear();
  } else if (name == "gdb") {
    if (value == gdb_where_) return;
    std::lock_guard lock(running_);
    gdb_.reset();
    gdb_where_ = "none";
    if (value != "none") gdb_ = std::make_unique<Gdb>(value);
    gdb_where_ = value;
  } else {
    throw Error(HB_MC_INVALID, format("the engine 'sim' has no setting %s: it has fidelity, files, folder, limit, "
                                      "recording, sample and gdb",
                                      name.c_str()));
  }
}

void Simulator::start(Program& program, const Launch& first) {
  mesh_->put(&program);
  run_functional(*mesh_, 0);  // to where tiles wait for kernels
  Launch launch = first;
  launch.kernel = startup;
  launch.grid = size_;
  launch.group = {1, 1};
  launch.argc = 1;
  uint32_t word = first.reduction_buffer;
  const uint32_t at = program.symbol("__hb_startup_words");
  memcpy(Mesh::dram(at), &word, 4);
  launch.argv = at;
  mesh_->begin(launch);
  write_words(*mesh_, mesh_->next_groups());
  run_functional(*mesh_, 0);
  mesh_->settle();
  if (mesh_->stopped() || !mesh_->done())
    throw Error(HB_MC_FAIL, "the program's start-up kernel does not end: " + mesh_->outcome().finding);
  memcpy(program.barrier.data(), mesh_->tiles[0].scratch + program.barrier_at, program.barrier.size());
}

// What simulated cycles cost, of measurements on one core (docs/cosim.md): what each cycle takes by itself, and what
// tiles that run add to it.
void Simulator::say_what_to_expect() {
  if (std::exchange(told_what_to_expect_, true)) return;
  const double tiles = size_.area();
  const bool trace = kept_ == Kept::Trace || kept_ == Kept::Wave;
  const double least = 60 + tiles * (trace ? 60 : 0.5), most = 100 + tiles * (trace ? 500 : 10);
  fprintf(stderr,
          "hammerblade: %u x %u tiles are simulated, %s: expect %.0f to %.0f times the chip's time, %.2g to %.2g s for "
          "each million cycles%s\n",
          size_.x, size_.y, trace ? "with a trace" : "timed", least * static_cast<double>(machine_.clock_mhz) / 1000,
          most * static_cast<double>(machine_.clock_mhz) / 1000, least / 1000, most / 1000,
          sample_ > 1 ? "" : "; sample=1/16 times some launches, fidelity functional none");
}

std::vector<Engine::Estimate> Simulator::estimates() const {
  std::lock_guard lock(running_);
  std::vector<Estimate> all;
  for (const auto& [kernel, sample] : sampled_)
    if (sample.any())
      all.push_back({kernel, sample.launches(), sample.timed_launches(), sample.cycles(), sample.interval()});
  return all;
}

std::string Simulator::line_of(uint64_t site) const {
  std::lock_guard lock(running_);
  const auto at = programs_.find(static_cast<uint32_t>(site >> 32 & 0x7fffffff));
  return at == programs_.end() ? "" : at->second->line_of({static_cast<uint32_t>(site)});
}

uint64_t Simulator::run_for_results(const Launch& launch) {
  uint64_t instructions = 0;
  while (!mesh_->stopped() && !mesh_->done()) {
    const std::vector<HostWord> words = mesh_->next_groups();
    write_words(*mesh_, words);
    const uint64_t before = mesh_->progress;
    instructions += run_functional(*mesh_, launch.watchdog_seconds);
    mesh_->settle();
    if (!mesh_->done() && words.empty() && mesh_->progress == before) mesh_->stuck();
  }
  return instructions;
}

void Simulator::run_timed(const Launch& launch, Outcome& out) {
  if (!timed_) timed_ = std::make_unique<Timed>(*mesh_);
  if (timed_program_ != mesh_->program()) timed_->forget_text();
  timed_program_ = mesh_->program();
  const bool writes = kept_ != Kept::Nothing && recording_ != "off";
  const auto begin = std::chrono::steady_clock::now();
  if (writes) {
    if (!files_) files_ = std::make_unique<Files>(kept_, folder_, limit_);
    files_->begin(*mesh_, *timed_);
    timed_->set_watcher(files_.get());
    mesh_->watcher = files_.get();
    mesh_->on_stat = [](void* files, Tile& tile, uint32_t tag) { static_cast<Files*>(files)->stat(tile, tag); };
    mesh_->on_saif = [](void* files, Tile&, bool start) { static_cast<Files*>(files)->saif(start); };
  }
  const uint64_t instructions = timed_->instructions();
  if (!timed_->run(launch.watchdog_seconds)) mesh_->stuck();
  Sample& sample = sampled_[launch.kernel];
  if (!mesh_->stopped()) sample.timed(timed_->instructions() - instructions, timed_->kernel_cycles());
  if (writes) {
    files_->end(
        launch.kernel,
        static_cast<uint64_t>(
            std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin).count()),
        sample.interval());
    timed_->set_watcher(nullptr);
    mesh_->on_stat = nullptr;
    mesh_->on_saif = nullptr;
  }
  out.cycles = timed_->kernel_cycles();
  out.nanoseconds = out.cycles * 1000 / static_cast<uint64_t>(machine_.clock_mhz);
}

Outcome Simulator::run(const Launch& launch) {
  std::lock_guard lock(running_);
  const auto begin = std::chrono::steady_clock::now();
  auto& program = const_cast<Program&>(static_cast<const Program&>(*launch.image));
  if (program.scratchpads.size() != size_.area() * static_cast<size_t>(machine_.scratchpad_bytes)) {
    start(program, launch);
  } else if (mesh_->program() != &program) {
    mesh_->put(&program);
    run_functional(*mesh_, 0);
  }
  mesh_->used_double = false;
  mesh_->begin(launch);
  const NoticesInterrupts notices;
  struct Looks {  // who does so while the launch runs
    Mesh& mesh;
    Gdb* gdb;
    ~Looks() {
      mesh.watched = false;
      mesh.debugger = nullptr;
      if (gdb) gdb->ends();
    }
  } const looks{*mesh_, gdb_.get()};
  mesh_->watched = Watchers::get().accesses_wanted();
  if (gdb_) {
    mesh_->debugger = gdb_.get();
    gdb_->begins(*mesh_, launch.kernel);
  }
  Outcome took;
  if (fidelity_ == Fidelity::Functional) {
    run_for_results(launch);
  } else if (Sample& sample = sampled_[launch.kernel]; sample.wanted(sample_)) {
    say_what_to_expect();
    run_timed(launch, took);
  } else {
    took.cycles = sample.other(run_for_results(launch));
    took.nanoseconds = took.cycles * 1000 / static_cast<uint64_t>(machine_.clock_mhz);
    if (files_ && recording_ != "off") files_->estimated(*mesh_, launch.kernel, took.cycles, sample.interval());
  }
  if (mesh_->used_double && !told_double_[launch.kernel]) {
    told_double_[launch.kernel] = true;
    fprintf(stderr,
            "hammerblade: %s computes with double, which the chip does in software (facula hb lint says where)\n",
            launch.kernel);
  }
  Outcome out = mesh_->outcome();
  if (!out.finding.empty()) {  // the next launch finds the tiles as a program does that has just been loaded
    mesh_->put(nullptr);
    program.scratchpads.clear();
    if (timed_) cycles_ += timed_->now();
    timed_.reset();
  }
  out.cycles = took.cycles;
  out.nanoseconds = took.nanoseconds;
  if (fidelity_ == Fidelity::Functional)
    out.nanoseconds = static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin).count());
  return out;
}

}  // namespace fc::hb::sim
