// SPDX-License-Identifier: Apache-2.0
// HBM2 behind the caches: channels with banks and open rows. Requests are served in the order in which they come.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "backends/hammerblade/runtime/machine.h"

namespace fc::hb::sim {

class Dram {
 public:
  explicit Dram(const Machine& m)
      : m_(m),
        channels_(static_cast<size_t>(m.dram_channels)),
        burst_(static_cast<uint64_t>((m.vcache_line_bytes + m.dram_bytes_per_cycle - 1) / m.dram_bytes_per_cycle)) {
    for (Channel& channel : channels_) channel.banks.resize(static_cast<size_t>(m.dram_banks));
  }

  // When the line is there (or taken): from `now` on, through the channel of a cache.
  uint64_t access(uint32_t channel_number, uint64_t address, bool write, uint64_t now) {
    Channel& channel = channels_[channel_number % channels_.size()];
    const uint64_t row = address / static_cast<uint64_t>(m_.dram_row_bytes) / channel.banks.size();
    Bank& bank = channel.banks[address / static_cast<uint64_t>(m_.dram_row_bytes) % channel.banks.size()];
    uint64_t start = std::max(now, bank.free);
    if (m_.dram_refresh_interval) {  // all banks at once
      const auto interval = static_cast<uint64_t>(m_.dram_refresh_interval),
                 lasts = static_cast<uint64_t>(m_.dram_refresh);
      if (start >= interval && start % interval < lasts) start += lasts - start % interval;
    }
    if (bank.row != row) {
      if (bank.row != no_row) start += static_cast<uint64_t>(m_.dram_precharge), ++conflicts;
      start += static_cast<uint64_t>(m_.dram_activate);
      bank.row = row;
    } else {
      ++row_hits;
    }
    const uint64_t data = std::max(start + static_cast<uint64_t>(m_.dram_column), channel.bus);
    channel.bus = data + burst_;
    bank.free = data - static_cast<uint64_t>(m_.dram_column) + burst_;
    ++(write ? writes : reads);
    return data + burst_;
  }
  uint64_t reads = 0, writes = 0, row_hits = 0, conflicts = 0;

 private:
  static constexpr uint64_t no_row = ~uint64_t{0};
  struct Bank {
    uint64_t row = no_row, free = 0;
  };
  struct Channel {
    std::vector<Bank> banks;
    uint64_t bus = 0;
  };
  const Machine& m_;
  std::vector<Channel> channels_;
  const uint64_t burst_;
};

}  // namespace fc::hb::sim
