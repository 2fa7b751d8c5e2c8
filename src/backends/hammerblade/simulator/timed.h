// SPDX-License-Identifier: Apache-2.0
// Kernels with their time: cores that issue in order and stall, the two networks, caches, DRAM, the host's link.
//
// A cycle is: the host's link, answers, requests, caches, cores by index. Values move with their packets: a load reads,
// and a store writes, when it arrives. What sleeps or waits costs nothing until something comes; cycles in which nobody
// acts are passed over. One thread; the same input takes the same cycles.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "backends/hammerblade/simulator/dram.h"
#include "backends/hammerblade/simulator/mesh.h"
#include "backends/hammerblade/simulator/network.h"
#include "backends/hammerblade/simulator/vcache.h"

namespace fc::hb::sim {

// Why a core issued nothing in a cycle: the columns of vanilla_stats.csv.
// clang-format off
#define HB_SIM_STALLS(X)                                                                                              \
  X(branch_miss, "bubble_branch_miss") X(jalr_miss, "bubble_jalr_miss") X(icache_miss, "bubble_icache_miss")           \
  X(depend_dram_load, "stall_depend_dram_load") X(depend_dram_seq_load, "stall_depend_dram_seq_load")                  \
  X(depend_dram_amo, "stall_depend_dram_amo") X(depend_group_load, "stall_depend_group_load")                          \
  X(depend_global_load, "stall_depend_global_load") X(depend_idiv, "stall_depend_idiv")                                \
  X(depend_fdiv, "stall_depend_fdiv") X(depend_local_load, "stall_depend_local_load")                                  \
  X(depend_imul, "stall_depend_imul") X(amo_aq, "stall_amo_aq") X(amo_rl, "stall_amo_rl") X(bypass, "stall_bypass")    \
  X(lr_aq, "stall_lr_aq") X(fence, "stall_fence") X(remote_req, "stall_remote_req")                                    \
  X(remote_credit, "stall_remote_credit") X(fdiv_busy, "stall_fdiv_busy") X(idiv_busy, "stall_idiv_busy")              \
  X(fcsr, "stall_fcsr") X(barrier, "stall_barrier") X(remote_ld_wb, "stall_remote_ld_wb")                              \
  X(ifetch_wait, "stall_ifetch_wait") X(remote_flw_wb, "stall_remote_flw_wb")
// What a core issued: loads and stores by where they go; else the operation.
#define HB_SIM_ACCESSES(X)                                                                                            \
  X(local_ld) X(local_st) X(remote_ld_dram) X(remote_ld_global) X(remote_ld_group) X(remote_st_dram)                   \
  X(remote_st_global) X(remote_st_group) X(local_flw) X(local_fsw) X(remote_flw_dram) X(remote_flw_global)             \
  X(remote_flw_group) X(remote_fsw_dram) X(remote_fsw_global) X(remote_fsw_group)
// clang-format on

enum class Stall : uint8_t {
#define X(name, text) name,
  HB_SIM_STALLS(X)
#undef X
      count
};
enum class Access : uint8_t {
#define X(name) name,
  HB_SIM_ACCESSES(X)
#undef X
      count
};
inline constexpr size_t stall_count = static_cast<size_t>(Stall::count);
inline constexpr size_t access_count = static_cast<size_t>(Access::count);
// One number for both: what a core did in a cycle.
inline constexpr size_t issue_count = op_count + access_count;
const char* stall_name(size_t);
const char* issue_name(size_t);

struct CoreStats {
  std::array<uint64_t, issue_count> issued{};
  std::array<uint64_t, stall_count> stalled{};
  uint64_t instructions = 0, misses = 0, branch_misses = 0, jalr_misses = 0, flops = 0, bytes = 0;
  std::array<uint64_t, 6> missed_branches{};  // beq to bgeu
};

// Who writes down what happens; told on the simulating thread.
class Watcher {
 public:
  virtual ~Watcher() = default;
  // A tile did one thing for some cycles: `what` is an issue, or issue_count + a stall.
  virtual void spent(uint32_t tile, uint64_t from, uint64_t cycles, uint32_t pc, uint32_t what) = 0;
  virtual void cached(uint32_t bank, uint64_t cycle, const Packet& request) = 0;  // a bank did a request
};

class Timed final : private Sink {
 public:
  explicit Timed(Mesh&);
  ~Timed() override;

  // The launch that the mesh has begun, to its end. Returns false when nobody can go on.
  bool run(double watchdog_seconds);
  uint64_t now() const { return now_; }
  uint64_t kernel_cycles() const { return finished_at_ > started_at_ ? finished_at_ - started_at_ : 0; }
  uint64_t launch_cycles() const { return started_at_ - began_at_; }
  void set_watcher(Watcher* watcher) { watcher_ = watcher; }
  void forget_text();  // another program's text lies in DRAM

  const CoreStats& stats(uint32_t tile) const { return cores_[tile].stats; }
  uint64_t instructions() const;  // of all tiles, since it was made
  void account_all();             // everybody's stalls up to now are in the statistics
  const std::vector<std::unique_ptr<Vcache>>& caches() const { return caches_; }
  const Dram& dram() const { return dram_; }
  uint64_t hops() const { return requests_.hops + answers_.hops; }
  uint64_t blocked() const { return requests_.stalls + answers_.stalls; }

 private:
  struct Core {
    std::array<uint64_t, 32> ready_x{}, ready_f{};
    std::array<Stall, 32> why_x{}, why_f{};
    uint32_t pending_x = 0, pending_f = 0;
    uint32_t waits_x = 0, waits_f = 0;  // parked until one of these has come
    uint64_t accounted = 0, scheduled = 0, divider_free = 0, float_divider_free = 0, barrier_open = 0;
    uint32_t outstanding = 0, predicted = 0, last_load = 0, fetching = 0;
    Stall reason = Stall::lr_aq;
    bool parked = true, for_room = false, acquiring = false, bubbles = false;
    std::vector<uint32_t> icache;
    CoreStats stats;
  };

  bool take(bool answers, uint32_t node, const Packet&, uint64_t now) override;
  void perform(const Packet& request, Packet& answer);
  void tell(const Packet& request, const Place&, uint32_t before) const;
  void arrived(Tile&, const Packet& answer);
  void tick(Tile&, Core&);
  bool operands_ready(Core&, const Instruction&);
  void issue(Tile&, Core&, const Instruction&);
  bool memory_access(Tile&, Core&, const Instruction&);
  bool remote(Tile&, Core&, const Instruction&, const Place&, uint32_t address, uint32_t value);
  bool reserve(Tile&, Core&, const Instruction&);
  bool barrier(Tile&, Core&, const Instruction&);
  bool fetched(Tile&, Core&, uint32_t pc);
  void finish_branch(Tile&, Core&, const Instruction&, uint32_t pc);
  void address(Packet&, const Place&) const;
  bool can_send(const Tile& tile) const { return requests_.can_send(node_of(tile), now_); }
  void spend(Tile&, Core&, uint32_t pc, uint32_t issued);
  void account(Tile&, Core&);
  void wait(Core&, Stall);                               // until something comes
  void again(uint32_t tile, Core&, uint64_t at, Stall);  // looks again then
  void schedule(uint32_t tile, uint64_t at);
  uint64_t next_cycle();
  void step_host();
  uint32_t node_of(const Tile& tile) const { return (tile.y + 2) * columns_ + tile.x; }

  Mesh& mesh_;
  const Machine& m_;
  const uint32_t columns_, rows_;
  Dram dram_;
  Network requests_, answers_;
  std::vector<std::unique_ptr<Vcache>> caches_;
  std::vector<Core> cores_;
  uint64_t now_ = 0, began_at_ = 0, started_at_ = 0, finished_at_ = 0;
  Watcher* watcher_ = nullptr;

  static constexpr uint32_t horizon = 256;
  std::vector<uint64_t> buckets_;  // of horizon cycles: which tiles look then
  std::array<uint32_t, horizon> in_bucket_{};
  std::vector<std::pair<uint64_t, uint32_t>> later_;  // a heap of what is beyond
  size_t words_ = 0;

  std::vector<HostWord> words_to_write_;
  size_t next_word_ = 0;
  uint64_t next_word_at_ = 0;
  uint32_t host_outstanding_ = 0;
  std::vector<Packet> host_answers_;
  struct Reply {
    uint64_t at;
    uint32_t node;
    Packet packet;
  };
  std::vector<Reply> replies_;  // of scratchpads and host, in the order in which they were made
};

}  // namespace fc::hb::sim
