// SPDX-License-Identifier: Apache-2.0
#include "backends/hammerblade/simulator/simulator.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "backends/hammerblade/include/host/bsg_manycore_errno.h"
#include "backends/hammerblade/runtime/chip.h"
#include "backends/hammerblade/runtime/library.h"
#include "backends/hammerblade/runtime/memory.h"
#include "backends/hammerblade/runtime/places.h"
#include "backends/hammerblade/simulator/functional.h"

namespace fc::hb::sim {

namespace {

constexpr const char* startup = "tensorlib_hb_startup";

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
  if (const char* name = getenv("FACULA_HB_FIDELITY"); name && *name) set("fidelity", name);
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
  return std::make_unique<Program>(program_of(program, &own), static_cast<uint32_t>(machine_.dram_address), machine_);
}

void Simulator::release(std::unique_ptr<Image> image) {
  std::lock_guard lock(running_);
  if (mesh_) mesh_->forget(static_cast<Program*>(image.get()));
}

std::vector<Engine::Setting> Simulator::settings() const {
  constexpr const char* names[] = {"functional", "timed", "trace"};
  return {{"fidelity", names[static_cast<int>(fidelity_)]}};
}

void Simulator::set(const std::string& name, const std::string& value) {
  if (name != "fidelity")
    throw Error(HB_MC_INVALID, format("the engine 'sim' has no setting %s: it has fidelity", name.c_str()));
  if (value == "functional") fidelity_ = Fidelity::Functional;
  else if (value == "timed") fidelity_ = Fidelity::Timed;
  else if (value == "trace") fidelity_ = Fidelity::Trace;
  else throw Error(HB_MC_INVALID, format("fidelities are functional, timed and trace, not %s", value.c_str()));
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

void Simulator::run_for_results(const Launch& launch) {
  while (!mesh_->stopped() && !mesh_->done()) {
    const std::vector<HostWord> words = mesh_->next_groups();
    write_words(*mesh_, words);
    const uint64_t before = mesh_->progress;
    run_functional(*mesh_, launch.watchdog_seconds);
    mesh_->settle();
    if (!mesh_->done() && words.empty() && mesh_->progress == before) mesh_->stuck();
  }
}

void Simulator::run_timed(const Launch& launch, Outcome& out) {
  if (!timed_) timed_ = std::make_unique<Timed>(*mesh_);
  if (timed_program_ != mesh_->program()) timed_->forget_text();
  timed_program_ = mesh_->program();
  if (!timed_->run(launch.watchdog_seconds)) mesh_->stuck();
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
  Outcome took;
  if (fidelity_ == Fidelity::Functional) run_for_results(launch);
  else run_timed(launch, took);
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
