// SPDX-License-Identifier: Apache-2.0
#include "backends/hammerblade/runtime/engine.h"

#include "backends/hammerblade/emulator/emulator.h"
#include "backends/hammerblade/include/host/bsg_manycore_errno.h"
#include "backends/hammerblade/simulator/simulator.h"

namespace fc::hb {

const char* name_of(Mode mode) {
  switch (mode) {
    case Mode::Fast: return "fast";
    case Mode::Check: return "check";
    case Mode::Sim: return "sim";
  }
  return "";
}

const char* engine_name(Mode mode) { return mode == Mode::Sim ? "sim" : "emul"; }

Mode mode_named(const std::string& name) {
  for (Mode mode : {Mode::Fast, Mode::Check, Mode::Sim})
    if (name == name_of(mode)) return mode;
  throw Error(HB_MC_INVALID, "modes are fast, check and sim, not " + name);
}

Engine& engine_for(Mode mode) {
  if (mode == Mode::Sim) return sim::Simulator::get();
  return Emulator::get();
}

}  // namespace fc::hb
