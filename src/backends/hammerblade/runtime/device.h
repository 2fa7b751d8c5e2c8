// SPDX-License-Identifier: Apache-2.0
// The HammerBlade device of this process: memory, programs, launches. CUDA-Lite
// (cuda_lite.cpp) and the backend stand on it; the functions of the PyTorch port's c10::hammerblade have their names
// here (offload_kernel, device_malloc, …).
//
// Opened by first use, with the machine of FACULA_HB_MACHINE (default pod_X1Y1_ruche_X16Y8), the mode of FACULA_HB_MODE
// (fast or check, seed FACULA_HB_SEED) and HBEMUL_TILE_X_DIM x HBEMUL_TILE_Y_DIM tiles where those are set. Any thread
// may call; launches run one at a time. Errors are hb::Error.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "backends/hammerblade/emulator/engine.h"
#include "backends/hammerblade/runtime/error.h"
#include "backends/hammerblade/runtime/machine.h"
#include "backends/hammerblade/runtime/memory.h"
#include "backends/hammerblade/runtime/packet.h"

namespace fc::hb {

enum class Mode { Fast, Check };

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
  Mode mode();
  uint32_t seed();
  void set_mode(Mode, uint32_t seed = 1);
  void set_watchdog(double seconds);  // 0: never

  // ---- memory
  Eva device_malloc(size_t bytes);
  void device_free(Eva);
  void memcpy_host_to_device(Eva to, const void* from, size_t bytes);
  void memcpy_device_to_host(void* to, Eva from, size_t bytes);
  void memset_device(Eva to, uint8_t value, size_t bytes);

  // ---- programs. A library x.so may have x.check.so beside it; the one that the mode needs is loaded when it is
  // needed.
  class Program;
  Program* load(const std::string& path);  // a library, or a .cpp file, which is compiled for the mode
  void unload(Program*);
  // Kernels of the programs, the one loaded last first.
  std::vector<std::string> kernels();
  bool has_kernel(const std::string& name);
  // A symbol of the program's library for the current mode, or null.
  void* symbol(Program*, const char* name);

  // ---- launches
  // One group of all tiles, as the port launches.
  // `of`: the program whose kernel of that name it is; null: the newest program that has one.
  void offload_kernel(const std::string& name, const Packet&, Program* of = nullptr);
  void launch(const std::string& name, const Packet&, Dimension grid, Dimension group);
  void launch(const std::string& name, std::span<const uint32_t> words, Dimension grid, Dimension group);
  // What the tiles of the last launch printed, by tile. It is also written to standard error unless echo is off.
  std::vector<Engine::Print> prints();
  void set_echo(bool);
  std::string kernel_signature(const std::string& name);

  Counters counters();

 private:
  Device();
  void open_mesh(Dimension);
  void run(const std::string& name, const Packet&, Dimension grid, Dimension group, Program* of = nullptr);
  const Library& library_of(Program&, bool check);
  // The program that a kernel is launched from, newest first, with its library; null: there is none. Throws Error
  // when that program cannot be made for the mode, with the reason; those that have no such kernel do not matter.
  const Library* find_library(const std::string& kernel);
  std::string unknown_kernel(const std::string& name);

  std::recursive_mutex mutex_;
  Machine machine_;
  Dimension tiles_;
  Mode mode_ = Mode::Fast;
  uint32_t seed_ = 1;
  double watchdog_seconds_ = 60;
  bool echo_ = true, debug_ = false;
  Eva reduction_buffer_ = 0;
  uint32_t reduction_tiles_ = 0;
  Eva packet_ = 0;  // pooled: grown when a launch needs more
  size_t packet_room_ = 0;
  std::vector<std::unique_ptr<Program>> programs_;
  std::vector<Engine::Print> prints_;
  Counters counters_;
};

}  // namespace fc::hb
