// SPDX-License-Identifier: Apache-2.0
// What runs kernels: the interface between the runtime, which owns memory, programs and launches, and an engine. The
// emulator (emulator/) is one, in two modes; a simulator of cycles is to be another.
//
// An engine is made at first need and lives until the process ends. The runtime calls it under its own lock, one call
// at a time; what threads an engine starts is its own affair, and they do not survive a fork. Device memory (memory.h)
// lies at its address in this process whichever engine runs, so an engine reads and writes tensors where they are.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/hammerblade/runtime/error.h"
#include "backends/hammerblade/runtime/machine.h"

namespace fc::hb {

// How kernels run: which engine, and in which of its ways. What a program needs for a mode is made when that mode
// first needs it.
enum class Mode : uint8_t {
  Fast,   // emulated: native code on all processors
  Check,  // emulated: every access is looked at, tiles take turns as a seed decides
  Sim,    // simulated: the chip's own code, with its cycles
};
inline constexpr size_t mode_count = 3;
FC_HB_API const char* name_of(Mode);                 // "fast", "check", "sim"
FC_HB_API const char* engine_name(Mode);             // of its engine: "emul", "sim"
FC_HB_API Mode mode_named(const std::string& name);  // throws Error for another name

struct Dimension {
  uint32_t x = 1, y = 1;
  uint32_t area() const { return x * y; }
};

// What an engine made of one program. Only the engine that made it looks inside.
class Image {
 public:
  virtual ~Image() = default;
};

struct Launch {
  const Image* image = nullptr;  // of the program, made by prepare for `mode`
  Mode mode = Mode::Fast;
  const char* kernel = "";      // its name
  uint32_t argc = 0, argv = 0;  // how many words, and their device address
  uint32_t packet_bytes = 0;    // from argv on: what they point to (packet.h)
  Dimension grid, group;
  uint32_t reduction_buffer = 0;  // device address of two words for each tile of the mesh
  uint32_t seed = 1;              // of what is left to chance
  double watchdog_seconds = 60;   // a launch in which nothing moves for so long is ended; 0: never
};

// What a tile printed in a launch.
struct Print {
  Dimension group, tile;
  std::string text;
};

struct Outcome {
  std::string finding;  // a sentence: what ended the launch; empty: it ran to its end
  int status = 0;       // of bsg_manycore_errno.h, with a finding
  std::vector<Print> prints;
  uint64_t nanoseconds = 0;  // that the kernel took: of the machine's clock where the engine has one, else measured
  uint64_t cycles = 0;       // of the machine's clock; 0: the engine has none
};

class Engine {
 public:
  virtual ~Engine() = default;

  // The machine, and the mesh of tiles in effect: before anything else, and whenever one changes, between launches.
  // Throws Error where it cannot be; then what was before stays.
  virtual void set_machine(const Machine&, Dimension mesh) = 0;

  // Code that this engine can run, of a kernel file (.cpp) or of a library of kernels (.so). Throws Error: it does not
  // compile, is not there, does not fit the machine.
  virtual std::unique_ptr<Image> prepare(const std::string& program, Mode) = 0;
  virtual void release(std::unique_ptr<Image>) = 0;  // the program is unloaded

  // To its end. What goes wrong in kernels is the outcome's finding; Error is for what cannot be started.
  virtual Outcome run(const Launch&) = 0;

  // The line of a place in a kernel that it told a watcher (watch.h); empty: it knows none.
  virtual std::string line_of(uint64_t /*site*/) const { return {}; }

  // The machine's clock since the engine was made; 0: it has none.
  virtual uint64_t cycle() const { return 0; }

  // What the launches of each kernel have taken so far by that clock, where only some of them were timed.
  struct Estimate {
    std::string kernel;
    uint64_t launches = 0, timed = 0, cycles = 0;
    double interval = 0;  // 95 %: cycles - interval to cycles + interval; infinite: unknown
  };
  virtual std::vector<Estimate> estimates() const { return {}; }

  // Settings of the engine's own (a simulator's fidelity). Throws Error: there is none of that name, or value.
  struct Setting {
    std::string name, value;
  };
  virtual std::vector<Setting> settings() const { return {}; }
  virtual void set(const std::string& name, const std::string& value) = 0;
};

// The engine of a mode, the same one each time. Throws Error with the reason where this build has none.
Engine& engine_for(Mode);

}  // namespace fc::hb
