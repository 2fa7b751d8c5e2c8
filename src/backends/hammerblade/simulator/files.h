// SPDX-License-Identifier: Apache-2.0
// The files of a simulated run, under the names and with the columns of BSG's tools: vanilla_stats.csv,
// vcache_stats.csv,
// router_stats.csv, vanilla_operation_trace.csv, vcache_operation_trace.csv, vanilla.log, a wave as VCD, switching
// counts as SAIF; and launches.jsonl, one line for each launch, which `facula hb report` reads.
//
// A trace has a row for each tile and cycle; rows come out in order of cycles, so what tiles did is kept until all of
// them
// have come so far. A file that cannot be written ends the run's writing with one sentence; the simulation goes on.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "backends/hammerblade/simulator/timed.h"

namespace fc::hb::sim {

enum class Kept : uint8_t { Nothing, Profile, Trace, Wave, Saif };

class Files final : public Watcher {
 public:
  // In `folder`; `limit`: rows of the trace, 0: all. Throws Error where no file can be made there.
  Files(Kept, std::string folder, uint64_t limit);
  ~Files() override;

  void begin(Mesh&, Timed&);  // a launch
  // Of it; `interval`: half of the one for the cycles of all of the kernel's launches, where some are not timed.
  void end(const char* kernel, uint64_t wall_nanoseconds, double interval);
  void estimated(const Mesh&, const char* kernel, uint64_t cycles, double interval);  // a launch that was not timed
  void stat(const Tile&, uint32_t tag);                                               // a tile prints statistics
  void saif(bool start) { switching_ = start; }
  void spent(uint32_t tile, uint64_t from, uint64_t cycles, uint32_t pc, uint32_t what) override;
  void cached(uint32_t bank, uint64_t cycle, const Packet& request) override;

 private:
  struct Closes {
    void operator()(FILE* f) const { fclose(f); }
  };
  using File = std::unique_ptr<FILE, Closes>;
  struct Segment {
    uint64_t from;
    uint32_t cycles, pc, what;
  };
  File open(const char* name) const;
  void write(const File&, const std::string&);
  void flush(uint64_t until);
  void write_saif();
  void flush_all();
  bool traces() const { return kept_ == Kept::Trace || kept_ == Kept::Wave; }

  const Kept kept_;
  const std::string folder_;
  const uint64_t limit_;
  Mesh* mesh_ = nullptr;
  Timed* timed_ = nullptr;
  File stats_, caches_, routers_, trace_, cache_trace_, log_, wave_, launches_;
  std::vector<std::vector<Segment>> segments_;  // of each tile, until they are written
  std::vector<size_t> next_;
  size_t kept_segments_ = 0;
  uint64_t began_ = 0, flushed_ = 0, rows_ = 0, launch_ = 0, switched_cycles_ = 0;
  std::vector<CoreStats> before_;
  std::vector<uint32_t> waved_;  // what the wave says of each tile
  std::vector<uint64_t> toggles_, active_;
  bool failed_ = false, switching_ = true, wave_begun_ = false;
};

}  // namespace fc::hb::sim
