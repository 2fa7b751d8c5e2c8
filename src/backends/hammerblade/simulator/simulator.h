// SPDX-License-Identifier: Apache-2.0
// The engine that simulates: the chip's own code on a model of the machine, with its cycles where they are asked for.
//
// Settings: fidelity ("functional": results only; "timed"; "trace": timed, and every cycle of every tile is written);
// files ("none", "profile", "trace", "wave", "saif") that are written to `folder`, at most `limit` rows of a trace,
// while recording is "on" or "always"; sample ("1/16": of so many launches of a kernel one is timed); gdb (a port or a
// socket's name: launches wait there for a debugger).
// One launch runs at a time. Nothing of it runs between launches.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "backends/hammerblade/runtime/engine.h"
#include "backends/hammerblade/simulator/files.h"
#include "backends/hammerblade/simulator/gdb.h"
#include "backends/hammerblade/simulator/mesh.h"
#include "backends/hammerblade/simulator/sample.h"
#include "backends/hammerblade/simulator/timed.h"

namespace fc::hb::sim {

enum class Fidelity : uint8_t { Functional, Timed, Trace };

class Simulator final : public Engine {
 public:
  static Simulator& get();

  void set_machine(const Machine&, Dimension mesh) override;
  std::unique_ptr<Image> prepare(const std::string& program, Mode) override;
  void release(std::unique_ptr<Image>) override;
  Outcome run(const Launch&) override;
  uint64_t cycle() const override { return cycles_ + (timed_ ? timed_->now() : 0); }
  std::vector<Estimate> estimates() const override;
  std::string line_of(uint64_t site) const override;
  std::vector<Setting> settings() const override;
  void set(const std::string& name, const std::string& value) override;

 private:
  Simulator();
  void start(Program&, const Launch&);      // its first launch: every tile runs the start-up kernel
  uint64_t run_for_results(const Launch&);  // returns its instructions
  void say_what_to_expect();
  void run_timed(const Launch&, Outcome&);
  std::string program_of(const std::string& path, bool* own) const;

  mutable std::recursive_mutex running_;  // watchers ask for lines in a launch
  Machine machine_;
  Dimension size_{0, 0};
  std::unique_ptr<Mesh> mesh_;
  std::unique_ptr<Timed> timed_;            // of the mesh, made when it is first needed
  const Program* timed_program_ = nullptr;  // whose text its caches hold
  Fidelity fidelity_ = Fidelity::Timed;
  uint64_t cycles_ = 0;  // of machines that are no more
  Kept kept_ = Kept::Nothing;
  std::string folder_ = ".";
  uint64_t limit_ = 0;
  std::string recording_ = "always";
  std::unique_ptr<Files> files_;
  std::unique_ptr<Gdb> gdb_;
  std::string gdb_where_ = "none";
  bool told_what_to_expect_ = false;
  uint32_t sample_ = 1;
  std::map<std::string, Sample> sampled_;        // of each kernel
  std::map<uint32_t, const Program*> programs_;  // by number
  std::map<std::string, bool> told_double_;      // kernels that compute with double
};

}  // namespace fc::hb::sim
