// SPDX-License-Identifier: Apache-2.0
// The HammerBlade device of this process: memory, programs, launches. CUDA-Lite
// (cuda_lite.cpp) and the backend stand on it; the functions of the PyTorch port's c10::hammerblade have their names
// here (offload_kernel, device_malloc, …).
//
// Opened by first use, with the machine of FACULA_HB_MACHINE (default pod_X1Y1_ruche_X16Y8), the engine of FACULA_HB
// (emul or sim; the emulator's mode of FACULA_HB_MODE, fast or check, seed FACULA_HB_SEED) and HBEMUL_TILE_X_DIM x
// HBEMUL_TILE_Y_DIM tiles where those are set. Any thread may call; launches run one at a time. Errors are hb::Error.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "backends/hammerblade/include/device/hb_emul_records.h"
#include "backends/hammerblade/runtime/engine.h"
#include "backends/hammerblade/runtime/machine.h"
#include "backends/hammerblade/runtime/memory.h"
#include "backends/hammerblade/runtime/packet.h"

namespace fc::hb {

class Library;

struct Counters {
  uint64_t launches = 0, tiles = 0, packet_bytes = 0, copies = 0, copied_bytes = 0;
  uint64_t allocations = 0, frees = 0, allocated_bytes = 0, peak_bytes = 0;
};

class FC_HB_API Device {
 public:
  static Device& get();  // opens it

  // ---- configuration, between launches
  Machine machine();
  void select_machine(const std::string& name_or_path);
  Dimension tiles();
  void set_tiles(Dimension);  // another mesh than the machine's
  // The engine and its mode, for launches from now on. Throws where this build has no such engine; then nothing
  // changes.
  Mode mode();
  uint32_t seed();
  void set_mode(Mode, uint32_t seed = 1);
  Mode emulator_mode();  // fast or check: what it is, or was when the emulator ran last
  // Settings of the engine in effect.
  std::vector<Engine::Setting> engine_settings();
  void set_engine(const std::string& name, const std::string& value);
  void set_watchdog(double seconds);  // 0: never

  // ---- memory
  Eva device_malloc(size_t bytes);
  void device_free(Eva);
  void memcpy_host_to_device(Eva to, const void* from, size_t bytes);
  void memcpy_device_to_host(void* to, Eva from, size_t bytes);
  void memset_device(Eva to, uint8_t value, size_t bytes);

  // ---- programs. What a mode needs of one (a library x.so may have x.check.so beside it) is made when it is needed.
  class Program;
  Program* load(const std::string& path);  // a library, or a .cpp file, which is compiled for the mode
  void unload(Program*);
  // Kernels of the programs, the one loaded last first.
  std::vector<std::string> kernels();
  bool has_kernel(const std::string& name);
  // The records of a program's kernels: what HB_KERNEL and HB_EMUL_REG_KERNEL say of them. They live with the program.
  const std::vector<const hb_emul_kernel_t*>& records(Program*);

  // ---- launches
  // One group of all tiles, as the port launches.
  // `of`: the program whose kernel of that name it is; null: the newest program that has one.
  // Returns how long the kernel took, by the engine's clock or measured, and in cycles where the engine has them.
  struct Time {
    uint64_t nanoseconds = 0, cycles = 0;
  };
  Time offload_kernel(const std::string& name, const Packet&, Program* of = nullptr);
  Time launch(const std::string& name, const Packet&, Dimension grid, Dimension group);
  Time launch(const std::string& name, std::span<const uint32_t> words, Dimension grid, Dimension group);
  Time last_time();  // of the last launch
  uint64_t cycle();  // of the engine's clock; 0: it has none
  std::vector<Engine::Estimate> estimates();
  // What the tiles of the last launch printed, by tile. It is also written to standard error unless echo is off.
  std::vector<Print> prints();
  void set_echo(bool);
  std::string kernel_signature(const std::string& name);

  Counters counters();

 private:
  Device();
  void open_mesh(Dimension);
  Time run(const std::string& name, const Packet&, Dimension grid, Dimension group, Program* of = nullptr);
  Outcome run_told(const Launch&);
  const Image& image_of(Program&, Mode);
  const Library& table_of(Program&);
  // The program that a kernel is launched from, newest first; null: there is none. Throws Error when that program
  // cannot be made for the mode, with the reason; those that have no such kernel do not matter.
  Program* find_program(const std::string& kernel);
  std::string unknown_kernel(const std::string& name);

  std::recursive_mutex mutex_;
  Machine machine_;
  Dimension tiles_;
  Mode mode_ = Mode::Fast, emulator_mode_ = Mode::Fast;
  Engine* engine_ = nullptr;  // of the mode
  uint32_t seed_ = 1;
  double watchdog_seconds_ = 60;
  bool echo_ = true, debug_ = false;
  Eva reduction_buffer_ = 0;
  uint32_t reduction_tiles_ = 0;
  Eva packet_ = 0;  // pooled: grown when a launch needs more
  size_t packet_room_ = 0;
  std::vector<std::unique_ptr<Program>> programs_;
  std::vector<Print> prints_;
  Time last_time_;
  Counters counters_;
};

}  // namespace fc::hb
