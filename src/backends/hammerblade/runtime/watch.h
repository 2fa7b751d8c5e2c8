// SPDX-License-Identifier: Apache-2.0
// Who looks at the device from outside (facula_hb.h: facula_hb_watcher_t), and how the runtime and engines tell.
//
// The runtime tells memory and launches, one at a time (`telling`). An engine that can tell accesses asks
// `accesses_wanted()` at the begin of a launch and hands each to `tell()` as it happens, a store when its value is
// known; `tell` only appends, so it may be called on a tile's stack. `flush()` hands on what has gathered: wherever the
// engine is on a stack of the host's. At the launch's end the runtime flushes.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "backends/hammerblade/include/host/facula_hb.h"
#include "backends/hammerblade/runtime/error.h"

namespace fc::hb {

// Sites of simulated programs have this bit; the others are addresses in this process.
inline constexpr uint64_t kSimulatedSite = uint64_t{1} << 63;

class FC_HB_API Watchers {
 public:
  static Watchers& get();

  long add(const facula_hb_watcher_t&);
  void remove(long number);
  void load_from_environment();  // FACULA_HB_WATCH; throws Error

  bool any() const { return any_.load(std::memory_order_relaxed); }
  // Holds whoever wants to come or go, and others that tell; what follows needs it.
  std::unique_lock<std::recursive_mutex> telling() { return std::unique_lock(mutex_); }
  bool accesses_wanted() const { return accesses_; }
  void memory(const facula_hb_memory_t&);
  void launch_begins(const facula_hb_launch_t&, uint32_t packet, uint32_t packet_bytes);
  void launch_ended(facula_hb_launch_t);

  void tell(const facula_hb_access_t& a) noexcept {
    if (a.address - packet_ < packet_bytes_) return;
    if (gathered_.size() < gathered_.capacity()) [[likely]]
      gathered_.push_back(a);
    else grow(a);
  }
  void flush();
  void lost(uint64_t accesses) noexcept { lost_ += accesses; }  // there was no memory to tell them

 private:
  void grow(const facula_hb_access_t&) noexcept;
  void refresh();

  struct Row {
    long number;
    facula_hb_watcher_t watcher;
  };
  std::recursive_mutex mutex_;
  std::vector<Row> rows_;
  long last_ = 0;
  std::atomic<bool> any_ = false;
  bool accesses_ = false;
  std::vector<facula_hb_access_t> gathered_;
  uint32_t packet_ = 0, packet_bytes_ = 0;
  uint64_t lost_ = 0;
};

}  // namespace fc::hb
