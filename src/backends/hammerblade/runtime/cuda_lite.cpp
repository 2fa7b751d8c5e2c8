// SPDX-License-Identifier: Apache-2.0
// The C interfaces: CUDA-Lite (bsg_manycore_cuda.h) and what goes beyond (facula_hb.h).
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <new>
#include <utility>

#include "backends/hammerblade/include/host/bsg_manycore_cuda.h"
#include "backends/hammerblade/include/host/facula_hb.h"
#include "backends/hammerblade/runtime/chip.h"
#include "backends/hammerblade/runtime/compile.h"
#include "backends/hammerblade/simulator/execute.h"
#include "backends/hammerblade/runtime/device.h"
#include "backends/hammerblade/runtime/lines.h"
#include "backends/hammerblade/runtime/error.h"
#include "backends/hammerblade/runtime/places.h"
#include "backends/hammerblade/runtime/scratch.h"
#include "backends/hammerblade/runtime/watch.h"

using fc::hb::Device;
using fc::hb::Error;
using fc::hb::Packet;

#define HB_EXPORT __attribute__((visibility("default")))

namespace {

thread_local std::string last_error;

// No exception crosses into C.
template <class F>
int status_of(F&& f) {
  try {
    f();
    return HB_MC_SUCCESS;
  } catch (const Error& e) {
    last_error = e.what();
    return e.status();
  } catch (const std::bad_alloc&) {
    last_error = "out of host memory";
    return HB_MC_NOMEM;
  } catch (const std::exception& e) {
    last_error = e.what();
    return HB_MC_FAIL;
  }
}

template <class F>
long text_of(char* out, size_t size, F&& f) {
  std::string text;
  int status = status_of([&] { text = f(); });
  if (status) return status;
  if (size) {
    size_t n = std::min(size - 1, text.size());
    memcpy(out, text.data(), n);
    out[n] = 0;
  }
  return static_cast<long>(text.size());
}

struct Enqueued {
  std::string name;
  std::vector<uint32_t> words;
  fc::hb::Dimension grid, group;
};

// Behind hb_mc_device_t.
struct State {
  hb_mc_manycore_t manycore{};
  hb_mc_mesh_t mesh{};
  hb_mc_program_t program{};
  std::string name, program_path, allocator, binary;
  Device::Program* loaded = nullptr;
  std::vector<Enqueued> queue;
  std::vector<hb_mc_eva_t> blocks;
  fc::hb::Dimension tiles_before;  // custom dimensions are this device's: finish gives back what was there
  bool custom = false;
};

State& state_of(hb_mc_device_t* device, bool program = true) {
  if (!device) throw Error(HB_MC_INVALID, "the device is a null pointer");
  auto* state = static_cast<State*>(device->state);
  if (!state) throw Error(HB_MC_UNINITIALIZED, "the device was not initialised: hb_mc_device_init comes first");
  if (program && !state->loaded)
    throw Error(HB_MC_UNINITIALIZED, "no program is loaded: hb_mc_device_program_init comes first");
  return *state;
}

void unload(State& state) {
  if (state.loaded) Device::get().unload(std::exchange(state.loaded, nullptr));
  for (hb_mc_eva_t block : std::exchange(state.blocks, {})) Device::get().device_free(block);
  state.queue.clear();
  if (!state.binary.empty()) unlink(std::exchange(state.binary, {}).c_str());
}

void init(hb_mc_device_t* device, const char* name, hb_mc_manycore_id_t id, const hb_mc_dimension_t* dim) {
  if (!device) throw Error(HB_MC_INVALID, "the device is a null pointer");
  if (id != 0) throw Error(HB_MC_INVALID, fc::hb::format("there is one device, number 0, not %d", id));
  Device& d = Device::get();
  fc::hb::Dimension before = d.tiles();
  if (dim) d.set_tiles({dim->x, dim->y});
  auto* state = new State;
  state->tiles_before = before;
  state->custom = dim;
  state->name = name ? name : "";
  state->manycore = {state->name.c_str(), id};
  state->mesh.dim = {d.tiles().x, d.tiles().y};
  *device = {&state->manycore, nullptr, &state->mesh, state->name.c_str(), state};
}

void load(hb_mc_device_t* device, const char* path, const char* allocator) {
  State& state = state_of(device, false);
  if (!path) throw Error(HB_MC_INVALID, "the program's name is a null pointer");
  if (state.loaded)
    throw Error(HB_MC_INITIALIZED_TWICE, "a program is loaded already: hb_mc_device_program_finish comes first");
  state.program_path = path;
  state.allocator = allocator ? allocator : "";
  state.loaded = Device::get().load(path);
  state.program = {state.program_path.c_str(), state.allocator.c_str()};
  device->program = &state.program;
}

// What the simulator writes, from here on or no longer; the emulator writes nothing.
int record(const char* value) {
  return status_of([&] {
    if (Device::get().mode() == fc::hb::Mode::Sim) Device::get().set_engine("recording", value);
  });
}

}  // namespace

extern "C" {

HB_EXPORT const char* hb_mc_strerror(int status) {
  switch (status) {
    case HB_MC_SUCCESS: return "Success";
    case HB_MC_FAIL: return "Failure";
    case HB_MC_TIMEOUT: return "Timeout";
    case HB_MC_UNINITIALIZED: return "Not initialized";
    case HB_MC_INVALID: return "Invalid input";
    case HB_MC_NOMEM: return "Out of memory";
    case HB_MC_NOIMPL: return "Not implemented";
    case HB_MC_NOTFOUND: return "Not found";
    case HB_MC_BUSY: return "Busy";
    case HB_MC_UNALIGNED: return "Unaligned";
    default: return "Unknown error";
  }
}

HB_EXPORT int hb_mc_manycore_trace_enable(hb_mc_manycore_t*) { return record("on"); }
HB_EXPORT int hb_mc_manycore_trace_disable(hb_mc_manycore_t*) { return record("off"); }
HB_EXPORT int hb_mc_manycore_log_enable(hb_mc_manycore_t*) { return record("on"); }
HB_EXPORT int hb_mc_manycore_log_disable(hb_mc_manycore_t*) { return record("off"); }
HB_EXPORT int hb_mc_manycore_get_cycle(hb_mc_manycore_t*, uint64_t* cycle) {
  return status_of([&] {
    if (!cycle) throw Error(HB_MC_INVALID, "the cycle's address is a null pointer");
    *cycle = Device::get().cycle();
  });
}

HB_EXPORT int hb_mc_device_init(hb_mc_device_t* device, const char* name, hb_mc_manycore_id_t id) {
  return status_of([&] { init(device, name, id, nullptr); });
}
HB_EXPORT int hb_mc_device_init_custom_dimensions(hb_mc_device_t* device, const char* name, hb_mc_manycore_id_t id,
                                                  hb_mc_dimension_t dim) {
  return status_of([&] { init(device, name, id, &dim); });
}
HB_EXPORT int hb_mc_device_program_init(hb_mc_device_t* device, const char* bin_name, const char* alloc_name,
                                        hb_mc_allocator_id_t) {
  return status_of([&] { load(device, bin_name, alloc_name); });
}
HB_EXPORT int hb_mc_device_program_init_binary(hb_mc_device_t* device, const char* bin_name,
                                               const unsigned char* bin_data, size_t bin_size, const char* alloc_name,
                                               hb_mc_allocator_id_t) {
  return status_of([&] {
    State& state = state_of(device, false);
    if (!bin_data || !bin_size) throw Error(HB_MC_INVALID, "the program has no bytes");
    std::string name = fc::hb::scratch_folder() + "/XXXXXX.so";
    int fd = mkstemps(name.data(), 3);
    if (fd < 0) throw Error(HB_MC_FAIL, fc::hb::format("%s cannot be made: %s", name.c_str(), strerror(errno)));
    state.binary = name;
    bool whole = true;
    for (size_t done = 0; done < bin_size && whole;) {
      ssize_t n = write(fd, bin_data + done, bin_size - done);
      whole = n > 0;
      done += whole ? static_cast<size_t>(n) : 0;
    }
    close(fd);
    if (!whole) throw Error(HB_MC_FAIL, fc::hb::format("%s cannot be written: %s", name.c_str(), strerror(errno)));
    load(device, name.c_str(), alloc_name);
    if (bin_name) state.program_path = bin_name;
    state.program.bin_name = state.program_path.c_str();
  });
}
HB_EXPORT int hb_mc_device_program_finish(hb_mc_device_t* device) {
  return status_of([&] {
    unload(state_of(device));
    device->program = nullptr;
  });
}
HB_EXPORT int hb_mc_device_finish(hb_mc_device_t* device) {
  return status_of([&] {
    State& state = state_of(device, false);
    unload(state);
    if (state.custom) Device::get().set_tiles(state.tiles_before);
    delete &state;
    *device = {};
  });
}

HB_EXPORT int hb_mc_device_malloc(hb_mc_device_t* device, uint32_t size, hb_mc_eva_t* eva) {
  return status_of([&] {
    State& state = state_of(device);
    if (!eva) throw Error(HB_MC_INVALID, "the address of the result is a null pointer");
    *eva = Device::get().device_malloc(size);
    state.blocks.push_back(*eva);
  });
}
HB_EXPORT int hb_mc_device_free(hb_mc_device_t* device, hb_mc_eva_t eva) {
  return status_of([&] {
    State& state = state_of(device);
    Device::get().device_free(eva);
    std::erase(state.blocks, eva);
  });
}
HB_EXPORT int hb_mc_device_memcpy_to_device(hb_mc_device_t* device, hb_mc_eva_t daddr, const void* haddr,
                                            uint32_t bytes) {
  return status_of([&] {
    state_of(device);
    Device::get().memcpy_host_to_device(daddr, haddr, bytes);
  });
}
HB_EXPORT int hb_mc_device_memcpy_to_host(hb_mc_device_t* device, void* haddr, hb_mc_eva_t daddr, uint32_t bytes) {
  return status_of([&] {
    state_of(device);
    Device::get().memcpy_device_to_host(haddr, daddr, bytes);
  });
}
HB_EXPORT int hb_mc_device_memcpy(hb_mc_device_t* device, void* dst, const void* src, uint32_t bytes,
                                  enum hb_mc_memcpy_kind kind) {
  auto device_address = [](const void* p) { return static_cast<hb_mc_eva_t>(reinterpret_cast<uintptr_t>(p)); };
  if (kind == HB_MC_MEMCPY_TO_DEVICE) return hb_mc_device_memcpy_to_device(device, device_address(dst), src, bytes);
  if (kind == HB_MC_MEMCPY_TO_HOST) return hb_mc_device_memcpy_to_host(device, dst, device_address(src), bytes);
  last_error = "a copy goes to the device (0) or to the host (1)";
  return HB_MC_INVALID;
}
HB_EXPORT int hb_mc_device_memset(hb_mc_device_t* device, const hb_mc_eva_t* eva, uint8_t value, size_t bytes) {
  return status_of([&] {
    state_of(device);
    if (!eva) throw Error(HB_MC_INVALID, "the address is a null pointer");
    Device::get().memset_device(*eva, value, bytes);
  });
}
HB_EXPORT int hb_mc_device_dma_to_device(hb_mc_device_t* device, const hb_mc_dma_htod_t* jobs, size_t count) {
  return status_of([&] {
    state_of(device);
    for (size_t i = 0; i < count; ++i)
      Device::get().memcpy_host_to_device(jobs[i].d_addr, jobs[i].h_addr, jobs[i].size);
  });
}
HB_EXPORT int hb_mc_device_dma_to_host(hb_mc_device_t* device, const hb_mc_dma_dtoh_t* jobs, size_t count) {
  return status_of([&] {
    state_of(device);
    for (size_t i = 0; i < count; ++i)
      Device::get().memcpy_device_to_host(jobs[i].h_addr, jobs[i].d_addr, jobs[i].size);
  });
}

HB_EXPORT int hb_mc_kernel_enqueue(hb_mc_device_t* device, hb_mc_dimension_t grid_dim, hb_mc_dimension_t tg_dim,
                                   const char* name, uint32_t argc, const uint32_t* argv) {
  return status_of([&] {
    State& state = state_of(device);
    if (!name) throw Error(HB_MC_INVALID, "the kernel's name is a null pointer");
    if (argc && !argv) throw Error(HB_MC_INVALID, "the arguments are a null pointer");
    if (argc > 1024) throw Error(HB_MC_INVALID, fc::hb::format("%s: %u arguments; 1024 are allowed", name, argc));
    if (!Device::get().has_kernel(name)) Device::get().kernel_signature(name);  // says what there is
    if (tg_dim.x < 1 || tg_dim.y < 1 || tg_dim.x > state.mesh.dim.x || tg_dim.y > state.mesh.dim.y)
      throw Error(HB_MC_INVALID, fc::hb::format("%s: a tile group of %u x %u does not fit the mesh of %u x %u tiles",
                                                name, tg_dim.x, tg_dim.y, state.mesh.dim.x, state.mesh.dim.y));
    state.queue.push_back({name, {argv, argv + argc}, {grid_dim.x, grid_dim.y}, {tg_dim.x, tg_dim.y}});
  });
}
HB_EXPORT int hb_mc_device_tile_groups_execute(hb_mc_device_t* device) {
  return status_of([&] {
    State& state = state_of(device);
    // One that fails leaves nothing behind that would run the next time.
    for (const Enqueued& one : std::exchange(state.queue, {}))
      Device::get().launch(one.name, one.words, one.grid, one.group);
  });
}

// ---- beyond CUDA-Lite
// -------------------------------------------------------------------------------------------------

HB_EXPORT const char* facula_hb_last_error(void) { return last_error.c_str(); }

HB_EXPORT long facula_hb_machine(const char* name_or_path, char* out, size_t size) {
  return text_of(out, size, [&] {
    return fc::hb::print_machine(name_or_path ? fc::hb::read_machine(name_or_path) : Device::get().machine());
  });
}
HB_EXPORT int facula_hb_select_machine(const char* name_or_path) {
  return status_of([&] { Device::get().select_machine(name_or_path); });
}
HB_EXPORT int facula_hb_set_mode(const char* mode, uint32_t seed) {
  return status_of([&] { Device::get().set_mode(fc::hb::mode_named(mode), seed); });
}
HB_EXPORT long facula_hb_compile_command(const char* mode, const char* output, const char* const* sources, size_t count,
                                         char* out, size_t size) {
  return text_of(out, size, [&] {
    std::string text;
    for (const std::string& word :
         fc::hb::compile_command({sources, sources + count}, output, fc::hb::mode_named(mode)))
      text += (text.empty() ? "" : "\n") + word;
    return text;
  });
}
HB_EXPORT long facula_hb_chip_words(const char* machine, char* out, size_t size) {
  return text_of(out, size, [&] {
    std::string text;
    for (const std::string& word :
         fc::hb::chip_compile_words(machine ? fc::hb::read_machine(machine) : fc::hb::Machine()))
      text += (text.empty() ? "" : "\n") + word;
    return text;
  });
}
HB_EXPORT int facula_hb_has_chip_compiler(void) { return fc::hb::has_chip_compiler(); }
HB_EXPORT long facula_hb_run_instructions(const uint32_t* words, size_t count, void* data, uint32_t at, size_t bytes) {
  return fc::hb::sim::run_instructions(words, count, static_cast<uint8_t*>(data), at, bytes);
}
HB_EXPORT int facula_hb_compile(const char* mode, const char* output, const char* const* sources, size_t count) {
  return status_of([&] { fc::hb::compile({sources, sources + count}, output, fc::hb::mode_named(mode)); });
}
HB_EXPORT long facula_hb_folder(const char* which, char* out, size_t size) {
  return text_of(out, size, [&] {
    const fc::hb::Places& at = fc::hb::places();
    struct {
      const char* name;
      const std::string* folder;
    } rows[] = {{"device", &at.device},
                {"host", &at.host},
                {"bare", &at.bare},
                {"machines", &at.machines},
                {"library", &at.library}};
    for (const auto& row : rows)
      if (strcmp(which, row.name) == 0) return *row.folder;
    if (strcmp(which, "headers") == 0) {
      std::string all;
      for (const std::string& folder : at.headers) all += (all.empty() ? "" : "\n") + folder;
      return all;
    }
    throw Error(HB_MC_INVALID,
                fc::hb::format("folders are device, headers, host, bare, machines and library, not %s", which));
  });
}
HB_EXPORT void facula_hb_counters(facula_hb_counters_t* out) {
  *out = {};
  status_of([&] {
    fc::hb::Counters c = Device::get().counters();
    *out = {c.launches,    c.tiles, c.packet_bytes,    c.copies,    c.copied_bytes,
            c.allocations, c.frees, c.allocated_bytes, c.peak_bytes};
  });
}
HB_EXPORT long facula_hb_watch(const facula_hb_watcher_t* watcher) {
  long number = 0;
  const int status = status_of([&] {
    if (!watcher) throw Error(HB_MC_INVALID, "the watcher is a null pointer");
    number = fc::hb::Watchers::get().add(*watcher);
  });
  return status ? status : number;
}
HB_EXPORT void facula_hb_unwatch(long number) { fc::hb::Watchers::get().remove(number); }
HB_EXPORT long facula_hb_site(uint64_t site, char* out, size_t size) {
  return text_of(out, size, [&] {
    return fc::hb::engine_for(site & fc::hb::kSimulatedSite ? fc::hb::Mode::Sim : fc::hb::Mode::Check).line_of(site);
  });
}
HB_EXPORT long facula_hb_lines(const char* program, const uint32_t* addresses, size_t count, char* out, size_t size) {
  return text_of(out, size, [&] {
    std::string text;
    for (size_t i = 0; i < count; ++i) text += (i ? "\n" : "") + fc::hb::locate_in(program, {addresses[i]});
    return text;
  });
}
HB_EXPORT long facula_hb_printed(char* out, size_t size) {
  return text_of(out, size, [&] {
    std::string text;
    for (const auto& print : Device::get().prints()) {
      std::string line;
      auto flush = [&] {
        text += fc::hb::format("(%u,%u) ", print.tile.x, print.tile.y) + line + "\n";
        line.clear();
      };
      for (char c : print.text) {
        if (c == '\n') flush();
        else line += c;
      }
      if (!line.empty()) flush();
    }
    return text;
  });
}
}
