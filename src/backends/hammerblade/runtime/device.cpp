// SPDX-License-Identifier: Apache-2.0
#include "backends/hammerblade/runtime/device.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "backends/hammerblade/include/host/bsg_manycore_errno.h"
#include "backends/hammerblade/runtime/library.h"
#include "backends/hammerblade/runtime/watch.h"

namespace fc::hb {

namespace {

uint32_t from_environment(const char* name, uint32_t otherwise, long most) {
  const char* text = getenv(name);
  if (!text || !*text) return otherwise;
  char* end;
  long n = strtol(text, &end, 10);
  if (*end || n < 1 || n > most)
    throw Error(HB_MC_INVALID, format("%s=%s must be a number from 1 to %ld", name, text, most));
  return static_cast<uint32_t>(n);
}

Mode mode_from_environment() {
  Mode mode = Mode::Fast;
  if (const char* name = getenv("FACULA_HB_MODE"); name && *name) {
    if (strcmp(name, "fast") != 0 && strcmp(name, "check") != 0)
      throw Error(HB_MC_INVALID, format("FACULA_HB_MODE=%s: modes are fast and check", name));
    mode = mode_named(name);
  }
  const char* engine = getenv("FACULA_HB");
  if (!engine || !*engine || strcmp(engine, "emul") == 0) return mode;
  if (strcmp(engine, "sim") != 0) throw Error(HB_MC_INVALID, format("FACULA_HB=%s: engines are emul and sim", engine));
  return Mode::Sim;
}

void tell_memory(const facula_hb_memory_t& event) {
  Watchers& watchers = Watchers::get();
  if (!watchers.any()) return;
  const auto telling = watchers.telling();
  watchers.memory(event);
}

}  // namespace

class Device::Program {
 public:
  std::string path;  // as it was given
  struct Made {
    std::unique_ptr<Image> image;
    std::string failed;  // why there is none
  };
  Made made[mode_count];
  Made& of(Mode mode) { return made[static_cast<size_t>(mode)]; }
};

Device& Device::get() {
  static auto* device = new Device;  // launches may still run at exit
  return *device;
}

Device::Device() {
  Watchers::get().load_from_environment();
  const char* machine = getenv("FACULA_HB_MACHINE");
  machine_ = read_machine(machine && *machine ? machine : Machine().name);
  mode_ = mode_from_environment();
  if (mode_ != Mode::Sim) emulator_mode_ = mode_;
  engine_ = &engine_for(mode_);
  seed_ = from_environment("FACULA_HB_SEED", 1, 2147483647);
  if (const char* seconds = getenv("FACULA_HB_WATCHDOG"); seconds && *seconds) {
    char* end;
    watchdog_seconds_ = strtod(seconds, &end);
    if (*end || watchdog_seconds_ < 0)
      throw Error(HB_MC_INVALID, format("FACULA_HB_WATCHDOG=%s must be a number of seconds, or 0 for never", seconds));
  }
  debug_ = getenv("HBEMUL_DEBUG");
  if (debug_) fprintf(stderr, "Emulating CUDALite...\n");
  memory().open(static_cast<uint64_t>(machine_.dram_address), static_cast<uint64_t>(machine_.dram_bytes));
  packet_ = memory().allocate(packet_room_ = 1 << 16);
  memory().set_check(mode_ != Mode::Fast);
  open_mesh({from_environment("HBEMUL_TILE_X_DIM", static_cast<uint32_t>(machine_.tiles_x), 64),
             from_environment("HBEMUL_TILE_Y_DIM", static_cast<uint32_t>(machine_.tiles_y), 32)});
}

void Device::open_mesh(Dimension tiles) {
  engine_->set_machine(machine_, tiles);
  tiles_ = tiles;
  if (tiles.area() > reduction_tiles_) {
    Eva buffer = memory().allocate(tiles.area() * 8);
    if (reduction_buffer_) memory().release(reduction_buffer_);
    reduction_buffer_ = buffer;
    reduction_tiles_ = tiles.area();
  }
  memset(reinterpret_cast<void*>(static_cast<uintptr_t>(reduction_buffer_)), 0, reduction_tiles_ * 8);
  if (debug_) fprintf(stderr, "Emulation barrier init'ed with %u threads\n", tiles.area());
}

Machine Device::machine() {
  std::lock_guard lock(mutex_);
  return machine_;
}

void Device::select_machine(const std::string& name_or_path) {
  Machine machine = read_machine(name_or_path);
  std::lock_guard lock(mutex_);
  memory().open(static_cast<uint64_t>(machine_.dram_address), static_cast<uint64_t>(machine.dram_bytes));
  std::swap(machine_, machine);
  try {
    open_mesh({static_cast<uint32_t>(machine_.tiles_x), static_cast<uint32_t>(machine_.tiles_y)});
  } catch (...) {
    std::swap(machine_, machine);
    memory().open(static_cast<uint64_t>(machine_.dram_address), static_cast<uint64_t>(machine_.dram_bytes));
    throw;
  }
}

Dimension Device::tiles() {
  std::lock_guard lock(mutex_);
  return tiles_;
}

void Device::set_tiles(Dimension tiles) {
  if (tiles.x < 1 || tiles.y < 1 || tiles.x > 64 || tiles.y > 32)
    throw Error(HB_MC_INVALID, format("a mesh of %u x %u tiles: x is 1 to 64, y 1 to 32", tiles.x, tiles.y));
  std::lock_guard lock(mutex_);
  open_mesh(tiles);
}

Mode Device::mode() {
  std::lock_guard lock(mutex_);
  return mode_;
}

uint32_t Device::seed() {
  std::lock_guard lock(mutex_);
  return seed_;
}

void Device::set_mode(Mode mode, uint32_t seed) {
  std::lock_guard lock(mutex_);
  Engine& engine = engine_for(mode);
  if (&engine != engine_) engine.set_machine(machine_, tiles_);
  memory().set_check(mode != Mode::Fast);
  engine_ = &engine;
  mode_ = mode;
  if (mode != Mode::Sim) emulator_mode_ = mode;
  seed_ = seed;
}

Mode Device::emulator_mode() {
  std::lock_guard lock(mutex_);
  return emulator_mode_;
}

std::vector<Engine::Setting> Device::engine_settings() {
  std::lock_guard lock(mutex_);
  return engine_->settings();
}

void Device::set_engine(const std::string& name, const std::string& value) {
  std::lock_guard lock(mutex_);
  engine_->set(name, value);
}

uint64_t Device::cycle() {
  std::lock_guard lock(mutex_);
  return engine_->cycle();
}

std::vector<Engine::Estimate> Device::estimates() {
  std::lock_guard lock(mutex_);
  return engine_->estimates();
}

void Device::set_watchdog(double seconds) {
  std::lock_guard lock(mutex_);
  watchdog_seconds_ = seconds;
}

void Device::set_echo(bool on) {
  std::lock_guard lock(mutex_);
  echo_ = on;
}

// ---- memory ---------------------------------------------------------------------------------------------------------

Eva Device::device_malloc(size_t bytes) {
  const Eva address = memory().allocate(bytes);
  tell_memory({FACULA_HB_ALLOCATED, 1, address, 0, bytes, nullptr});
  return address;
}

void Device::device_free(Eva address) {
  tell_memory({FACULA_HB_FREED, 1, address, 0, 0, nullptr});
  memory().release(address);
}

void Device::memcpy_host_to_device(Eva to, const void* from, size_t bytes) {
  memory().require(to, bytes, "a copy to the device");
  std::lock_guard lock(mutex_);
  tell_memory({FACULA_HB_TO_DEVICE, 0, to, 0, bytes, from});
  if (bytes) memcpy(reinterpret_cast<void*>(static_cast<uintptr_t>(to)), from, bytes);
  tell_memory({FACULA_HB_TO_DEVICE, 1, to, 0, bytes, from});
  ++counters_.copies;
  counters_.copied_bytes += bytes;
}

void Device::memcpy_device_to_host(void* to, Eva from, size_t bytes) {
  memory().require(from, bytes, "a copy from the device");
  std::lock_guard lock(mutex_);
  tell_memory({FACULA_HB_TO_HOST, 0, from, 0, bytes, to});
  if (bytes) memcpy(to, reinterpret_cast<const void*>(static_cast<uintptr_t>(from)), bytes);
  tell_memory({FACULA_HB_TO_HOST, 1, from, 0, bytes, to});
  ++counters_.copies;
  counters_.copied_bytes += bytes;
}

void Device::memset_device(Eva to, uint8_t value, size_t bytes) {
  memory().require(to, bytes, "a fill");
  std::lock_guard lock(mutex_);
  tell_memory({FACULA_HB_FILLED, 0, to, value, bytes, nullptr});
  if (bytes) memset(reinterpret_cast<void*>(static_cast<uintptr_t>(to)), value, bytes);
  tell_memory({FACULA_HB_FILLED, 1, to, value, bytes, nullptr});
}

// ---- programs -------------------------------------------------------------------------------------------------------

const Image& Device::image_of(Program& program, Mode mode) {
  Program::Made& made = program.of(mode);
  if (!made.failed.empty()) throw Error(HB_MC_FAIL, made.failed);
  if (made.image) return *made.image;
  Engine& engine = engine_for(mode);
  if (&engine != engine_) engine.set_machine(machine_, tiles_);
  try {
    made.image = engine.prepare(program.path, mode);
  } catch (const Error& e) {
    if (e.status() != HB_MC_NOTFOUND) made.failed = e.what();  // once: every launch would try again
    throw;
  }
  return *made.image;
}

// What the program's kernels are called and what they take: the same in each of its libraries.
const Library& Device::table_of(Program& program) {
  for (Mode mode : {emulator_mode_, Mode::Fast, Mode::Check})
    if (program.of(mode).image) return static_cast<const Library&>(*program.of(mode).image);
  return static_cast<const Library&>(image_of(program, emulator_mode_));
}

Device::Program* Device::load(const std::string& path) {
  std::lock_guard lock(mutex_);
  auto program = std::make_unique<Program>();
  program->path = path;
  image_of(*program, mode_);
  table_of(*program);
  programs_.insert(programs_.begin(), std::move(program));
  return programs_.front().get();
}

void Device::unload(Program* program) {
  std::lock_guard lock(mutex_);
  auto at = std::find_if(programs_.begin(), programs_.end(), [&](const auto& p) { return p.get() == program; });
  if (at == programs_.end()) throw Error(HB_MC_INVALID, "the program is not loaded");
  for (Mode mode : {Mode::Fast, Mode::Check, Mode::Sim})
    if (std::unique_ptr<Image>& image = program->of(mode).image) engine_for(mode).release(std::move(image));
  programs_.erase(at);
}

Device::Program* Device::find_program(const std::string& kernel) {
  for (const auto& program : programs_)
    if (table_of(*program).find(kernel)) return program.get();
  return nullptr;
}

std::vector<std::string> Device::kernels() {
  std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& program : programs_) {
    for (const auto* kernel : table_of(*program).kernels())
      if (std::find(names.begin(), names.end(), kernel->name) == names.end()) names.emplace_back(kernel->name);
  }
  return names;
}

bool Device::has_kernel(const std::string& name) {
  std::lock_guard lock(mutex_);
  return find_program(name);
}

std::string Device::kernel_signature(const std::string& name) {
  std::lock_guard lock(mutex_);
  if (Program* program = find_program(name)) return table_of(*program).find(name)->signature;
  throw Error(HB_MC_NOTFOUND, unknown_kernel(name));
}

const std::vector<const hb_emul_kernel_t*>& Device::records(Program* program) {
  std::lock_guard lock(mutex_);
  return table_of(*program).kernels();
}

std::string Device::unknown_kernel(const std::string& name) {
  std::string near;  // the longest common beginning
  size_t best = 0, count = 0;
  for (const std::string& other : kernels()) {
    size_t same = 0;
    while (same < name.size() && same < other.size() && name[same] == other[same]) ++same;
    if (same > best) best = same, near = other;
    ++count;
  }
  if (!count) return format("there is no kernel %s: no program is loaded", name.c_str());
  return format("there is no kernel %s among the %zu that are loaded%s%s", name.c_str(), count,
                near.empty() ? "" : "; the nearest is ", near.c_str());
}

// ---- launches -------------------------------------------------------------------------------------------------------

Device::Time Device::offload_kernel(const std::string& name, const Packet& packet, Program* of) {
  std::lock_guard lock(mutex_);
  return run(name, packet, {1, 1}, tiles_, of);
}

Device::Time Device::launch(const std::string& name, const Packet& packet, Dimension grid, Dimension group) {
  std::lock_guard lock(mutex_);
  return run(name, packet, grid, group);
}

Device::Time Device::launch(const std::string& name, std::span<const uint32_t> words, Dimension grid, Dimension group) {
  Packet packet;
  for (uint32_t word : words) packet.word(word);
  return launch(name, packet, grid, group);
}

Device::Time Device::run(const std::string& name, const Packet& packet, Dimension grid, Dimension group, Program* of) {
  const bool check = mode_ == Mode::Check;
  if (!of) of = find_program(name);
  const hb_emul_kernel_t* kernel = of ? table_of(*of).find(name) : nullptr;
  if (!kernel) throw Error(HB_MC_NOTFOUND, unknown_kernel(name));
  if (packet.argc() != kernel->argc)
    throw Error(HB_MC_INVALID, format("%s takes %u arguments (%s), but was given %u", name.c_str(), kernel->argc,
                                      kernel->signature, packet.argc()));
  if (group.x < 1 || group.y < 1 || group.x > tiles_.x || group.y > tiles_.y)
    throw Error(HB_MC_INVALID, format("%s: a tile group of %u x %u does not fit the mesh of %u x %u tiles",
                                      name.c_str(), group.x, group.y, tiles_.x, tiles_.y));
  if (grid.x < 1 || grid.y < 1 || uint64_t{grid.x} * grid.y > (1 << 20))
    throw Error(HB_MC_INVALID,
                format("%s: a grid of %u x %u: it has 1 to 1048576 tile groups", name.c_str(), grid.x, grid.y));

  Launch launch;
  launch.image = &image_of(*of, mode_);
  launch.mode = mode_;
  launch.kernel = kernel->name;
  launch.argc = kernel->argc;
  launch.grid = grid;
  launch.group = group;
  launch.reduction_buffer = reduction_buffer_;
  launch.seed = seed_;
  launch.watchdog_seconds = watchdog_seconds_;

  size_t bytes = packet.bytes();
  if (bytes > packet_room_) {
    if (packet_) memory().release(std::exchange(packet_, 0));
    packet_room_ = 0;
    size_t room = std::max<size_t>(bytes * 2, 1 << 16);
    packet_ = memory().allocate(room);
    packet_room_ = room;
  }
  // In check mode a block of its own size, so that reading past a record is seen.
  launch.argv = check ? memory().allocate(bytes) : packet_;
  launch.packet_bytes = static_cast<uint32_t>(bytes);
  packet.write(reinterpret_cast<void*>(static_cast<uintptr_t>(launch.argv)), launch.argv);
  ++counters_.launches;
  counters_.tiles += uint64_t{grid.x} * grid.y * group.area();
  counters_.packet_bytes += bytes;
  if (debug_) {
    fprintf(stderr, "Emulation layer enqueued kernel %s\n", name.c_str());
    fprintf(stderr, "  Emulation layer launched %u threads to simulate the tile group\n", group.area());
  }
  Outcome outcome;
  try {
    outcome = run_told(launch);
  } catch (...) {
    if (check) memory().release(launch.argv);
    throw;
  }
  if (check) memory().release(launch.argv);
  prints_ = std::move(outcome.prints);
  if (echo_)
    for (const Print& print : prints_) fwrite(print.text.data(), 1, print.text.size(), stderr);
  if (!outcome.finding.empty()) throw Error(outcome.status, outcome.finding);
  last_time_ = {outcome.nanoseconds, outcome.cycles};
  return last_time_;
}

Outcome Device::run_told(const Launch& launch) {
  Watchers& watchers = Watchers::get();
  if (!watchers.any()) return engine_->run(launch);
  const auto telling = watchers.telling();
  facula_hb_launch_t told{};
  told.number = counters_.launches;
  told.kernel = launch.kernel;
  told.mode = name_of(launch.mode);
  told.told = watchers.accesses_wanted() && launch.mode != Mode::Fast;
  told.tiles = launch.grid.area() * launch.group.area();
  told.argc = launch.argc;
  told.argv = reinterpret_cast<const uint32_t*>(static_cast<uintptr_t>(launch.argv));
  watchers.launch_begins(told, launch.argv, launch.packet_bytes);
  told.ended = -1;
  try {
    Outcome outcome = engine_->run(launch);
    if (outcome.finding.empty()) told.ended = 1;
    watchers.launch_ended(told);
    return outcome;
  } catch (...) {
    watchers.launch_ended(told);
    throw;
  }
}

Device::Time Device::last_time() {
  std::lock_guard lock(mutex_);
  return last_time_;
}

std::vector<Print> Device::prints() {
  std::lock_guard lock(mutex_);
  return prints_;
}

Counters Device::counters() {
  std::lock_guard lock(mutex_);
  Memory::Counters m = memory().counters();
  Counters all = counters_;
  all.allocations = m.allocations;
  all.frees = m.frees;
  all.allocated_bytes = m.bytes;
  all.peak_bytes = m.peak;
  return all;
}

}  // namespace fc::hb
