// SPDX-License-Identifier: Apache-2.0
// What kernels call: include/device/hammerblade_emul.hpp, on a tile's stack.
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "backends/hammerblade/emulator/check.h"
#include "backends/hammerblade/emulator/emulator.h"
#include "backends/hammerblade/include/host/bsg_manycore_errno.h"
#include "backends/hammerblade/runtime/error.h"

using fc::hb::Emulator;
using fc::hb::Finding;
using fc::hb::format;
using fc::hb::Tile;
using fc::hb::TileState;

#define HB_EXPORT __attribute__((visibility("default")))
#define HB_PC reinterpret_cast<uintptr_t>(__builtin_return_address(0))

namespace {

constexpr size_t most_printed = 1 << 16;  // by a tile in a launch

// The runtime on a tile's stack is not interrupted: it may hold a lock of the C library.
class InRuntime {
 public:
  explicit InRuntime(Tile& tile) : tile_(tile) { tile_.in_runtime = true; }
  ~InRuntime() { tile_.in_runtime = false; }
  InRuntime(const InRuntime&) = delete;
  InRuntime& operator=(const InRuntime&) = delete;

 private:
  Tile& tile_;
};

Tile& tile_of(const char* what, uintptr_t pc) {
  Tile* tile = Emulator::current();
  if (!tile) {
    fprintf(stderr, "%s was called by the host: it belongs into a kernel that is launched\n", what);
    abort();
  }
  Emulator::get().need_room(*tile, pc);
  return *tile;
}

const char* element_name(uint32_t element) {
  switch (element) {
    case HB_EMUL_ELEMENT(1, false): return "bool, int8 or uint8";
    case HB_EMUL_ELEMENT(2, false): return "int16";
    case HB_EMUL_ELEMENT(4, false): return "int32";
    case HB_EMUL_ELEMENT(8, false): return "int64";
    case HB_EMUL_ELEMENT(2, true): return "float16 or bfloat16";
    case HB_EMUL_ELEMENT(4, true): return "float32";
    case HB_EMUL_ELEMENT(8, true): return "float64";
    default: return "another type";
  }
}

}  // namespace

extern "C" {

HB_EXPORT void hb_emul_barrier(void) { Emulator::get().barrier(tile_of("g_barrier.sync", HB_PC), HB_PC); }

HB_EXPORT void hb_emul_yield(void) {
  Tile& tile = tile_of("bsg_wait_while", HB_PC);
  InRuntime guard(tile);
  tile.pc = HB_PC;
  tile.word = nullptr;
  Emulator::get().leave(tile, TileState::Waiting);
}

HB_EXPORT void hb_emul_wait_local(const volatile int* word, int value) {
  Tile& tile = tile_of("bsg_wait_local", HB_PC);
  InRuntime guard(tile);
  Emulator& engine = Emulator::get();
  tile.pc = HB_PC;
  tile.value = value;
  while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value) {
    tile.word = word;
    engine.leave(tile, TileState::Waiting);
  }
  if (engine.options().check) engine.checker()->received(tile);
}

HB_EXPORT void* hb_emul_remote(int x, int y, const volatile void* local, int in_group) {
  Tile& tile = tile_of("bsg_remote_ptr", HB_PC);
  Emulator& engine = Emulator::get();
  const hb_emul_tile_t& block = *tile.block;
  int64_t mesh_x = x, mesh_y = y;
  if (in_group) {
    mesh_x += block.group_origin_x;
    mesh_y += block.group_origin_y;
  }
  if (mesh_x < 0 || mesh_y < 0 || mesh_x >= engine.mesh().x || mesh_y >= engine.mesh().y) {
    tile.in_runtime = true;
    Finding finding;
    finding.kind = "remote pointer";
    finding.text = format("makes a pointer to tile (%d,%d) at %%1, which is outside of the %u x %u tiles of the mesh",
                          x, y, engine.mesh().x, engine.mesh().y);
    finding.pcs = {HB_PC};
    engine.fail(tile, std::move(finding));
  }
  uint8_t* there = engine.tile_base(static_cast<uint32_t>(mesh_x), static_cast<uint32_t>(mesh_y));
  auto address = reinterpret_cast<uintptr_t>(local);
  const auto& library = *tile.wave->library;
  if (library.is_variable(address)) {
    if (there == tile.base) return reinterpret_cast<void*>(address);  // the own one is in place
    return there + library.copy_offset + library.offset_of(address);
  }
  if (engine.is_tile_address(address)) return there + address % HB_EMUL_TILE_BYTES;
  tile.in_runtime = true;
  Finding finding;
  finding.kind = "remote pointer";
  finding.text = format("makes a remote pointer of 0x%08llx at %%1, which is neither on its stack nor a variable",
                        static_cast<unsigned long long>(address));
  finding.pcs = {HB_PC};
  engine.fail(tile, std::move(finding));
}

HB_EXPORT void hb_emul_tensor(const void* record, uint32_t element) {
  Tile& tile = tile_of("HBTensor", HB_PC);
  const fc::hb::Launch& launch = *tile.wave->launch;
  const uintptr_t offset = reinterpret_cast<uintptr_t>(record) - launch.argv;
  if (offset > launch.packet_bytes || launch.packet_bytes - offset < HB_EMUL_ELEMENT_OFFSET + sizeof(uint32_t)) return;
  uint32_t given;
  memcpy(&given, static_cast<const char*>(record) + HB_EMUL_ELEMENT_OFFSET, sizeof given);
  if (!given || given == element) return;
  tile.in_runtime = true;
  Finding finding;
  finding.kind = "element type";
  finding.text = format("opens a tensor of %s as one of %s at %%1", element_name(given), element_name(element));
  finding.pcs = {HB_PC};
  Emulator::get().fail(tile, std::move(finding));
}

HB_EXPORT int hb_emul_wide() {
#if defined(__x86_64__)
  static const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return wide;
#else
  return false;
#endif
}
HB_EXPORT void hb_emul_stat(int, int) {}  // the emulator has no cycles to count; a simulator does

HB_EXPORT void hb_emul_fail(const char* file, int line, const char* form, ...) {
  Tile& tile = tile_of("bsg_fail", HB_PC);
  tile.in_runtime = true;
  char text[512];
  va_list args;
  va_start(args, form);
  vsnprintf(text, sizeof text, form, args);
  va_end(args);
  size_t end = strlen(text);
  while (end && text[end - 1] == '\n') text[--end] = 0;
  Finding finding;
  finding.kind = "assertion";
  finding.text = text;
  finding.file = file;
  finding.line = line;
  Emulator::get().fail(tile, std::move(finding));
}

HB_EXPORT void hb_emul_finish(void) {
  Tile& tile = tile_of("bsg_finish", HB_PC);
  tile.in_runtime = true;
  Emulator& engine = Emulator::get();
  fc::hb::Group& group = *tile.group;
  if (engine.options().check) engine.checker()->ended(tile);
  tile.wave->progress.fetch_add(1, std::memory_order_relaxed);
  uint64_t before = group.state.fetch_add(1 << 16);
  uint32_t arrived = fc::hb::Group::arrived(before), ended = fc::hb::Group::ended(before) + 1;
  if (arrived && arrived + ended == group.size) {
    Finding finding;
    finding.kind = "divergent barrier";
    finding.x = tile.block->x;
    finding.y = tile.block->y;
    finding.group = group.id;
    finding.text = format("has ended while %u of the group's %u tiles wait at barrier %u, which it does not reach",
                          arrived, group.size, fc::hb::Group::passed(before) + 1) +
                   group.met_words();
    finding.pcs = {group.met[0]};
    finding.others = {group.met[1]};
    finding.who_waits = true;
    tile.state = TileState::Done;
    engine.report(*tile.wave, std::move(finding));
  }
  engine.leave(tile, TileState::Done);
  __builtin_unreachable();
}

HB_EXPORT int bsg_printf(const char* form, ...) {
  Tile& tile = tile_of("bsg_printf", HB_PC);
  InRuntime guard(tile);
  char text[1024];
  va_list args;
  va_start(args, form);
  int n = vsnprintf(text, sizeof text, form, args);
  va_end(args);
  if (n > 0 && tile.printed.size() < most_printed) {
    tile.printed += text;
    if (tile.printed.size() >= most_printed) tile.printed += "\n… (cut: a tile may print 64 KiB in a launch)\n";
  }
  return n;
}

HB_EXPORT int hb_emul_amo(int what, volatile int* word, int value, int order) {
  Tile& tile = tile_of("bsg_amoswap", HB_PC);
  Emulator& engine = Emulator::get();
  uintptr_t pc = HB_PC;
  tile.in_runtime = true;
  fc::hb::Checker& checker = *engine.checker();
  const bool watched = fc::hb::checked_window.watched;
  if (watched) tile.check->told.settle();
  uint64_t writes = tile.check->writes;
  checker.atomic_access(tile, reinterpret_cast<uintptr_t>(word), 4, pc);
  int old = *word;
  *word = what == 's'   ? value
          : what == '|' ? old | value
                        : static_cast<int>(static_cast<unsigned>(old) + static_cast<unsigned>(value));
  if (watched)
    tile.check->told.atomic(reinterpret_cast<uintptr_t>(word), 4, static_cast<uint32_t>(old), FACULA_HB_ATOMIC, pc);
  // A branch on the old value waits for it, so an amo without .aq acquires too; release needs .rl or a fence before.
  checker.synchronise(tile, reinterpret_cast<uintptr_t>(word), true, order & 2);
  if (what != '+' && old == *word) {  // somebody else's lock
    tile.check->writes = writes;
    tile.pc = pc;
    tile.word = nullptr;
    engine.leave(tile, TileState::Waiting);
  }
  tile.in_runtime = false;
  return old;
}

HB_EXPORT void hb_emul_fence(void) { Emulator::get().checker()->fence(tile_of("bsg_fence", HB_PC)); }
}
