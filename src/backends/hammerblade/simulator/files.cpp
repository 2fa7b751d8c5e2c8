// SPDX-License-Identifier: Apache-2.0
#include "backends/hammerblade/simulator/files.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <map>

#include "backends/hammerblade/include/host/bsg_manycore_errno.h"

namespace fc::hb::sim {

namespace {

constexpr size_t most_segments = 1 << 20;
constexpr const char* vcache_columns =
    "time,vcache,global_ctr,tag,instr_ld,instr_st,instr_atomic,instr_amoswap,instr_amoor,instr_amoadd,miss_ld,miss_st,"
    "miss_amo,stall_miss,stall_idle,stall_rsp,dma_read_req,dma_write_req\n";

bool is_memory(size_t i) {
  const Kind kind = i < op_count ? kind_of(static_cast<Op>(i)) : Kind::Other;
  return kind == Kind::Load || kind == Kind::Store;
}

// Operations that a core issues, without loads and stores as such: those are named by where they go.
const std::vector<size_t>& columns() {
  static const std::vector<size_t> list = [] {
    std::vector<size_t> all;
    for (size_t i = 1; i < issue_count; ++i)
      if (!is_memory(i)) all.push_back(i);
    return all;
  }();
  return list;
}

std::string stats_header() {
  std::string text = "time,x,y,pc_r,pc_n,tag,global_ctr,cycle,instr_total";
  for (size_t i : columns()) text += std::string(",instr_") + issue_name(i);
  text += ",miss_icache,miss_beq,miss_bne,miss_blt,miss_bge,miss_bltu,miss_bgeu,miss_jalr";
  for (size_t i = 0; i < stall_count; ++i) text += std::string(",") + stall_name(i);
  return text + "\n";
}

std::string quoted(const std::string& text) {  // for JSON
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20) out += format("\\u%04x", c);
    else out += c;
  }
  return out + "\"";
}

std::string interval_text(double value) {
  return std::isfinite(value) ? std::to_string(static_cast<uint64_t>(value)) : "null";
}

const char* what_name(uint32_t what) { return what < issue_count ? issue_name(what) : stall_name(what - issue_count); }

}  // namespace

Files::File Files::open(const char* name) const {
  const std::string path = folder_ + "/" + name;
  File file{fopen(path.c_str(), "we")};
  if (!file) throw Error(HB_MC_FAIL, format("%s cannot be written: %s", path.c_str(), strerror(errno)));
  setvbuf(file.get(), nullptr, _IOFBF, 1 << 20);
  return file;
}

Files::Files(Kept kept, std::string folder, uint64_t limit) : kept_(kept), folder_(std::move(folder)), limit_(limit) {
  if (kept == Kept::Nothing) return;
  launches_ = open("launches.jsonl");
  stats_ = open("vanilla_stats.csv");
  caches_ = open("vcache_stats.csv");
  routers_ = open("router_stats.csv");
  write(stats_, stats_header());
  write(caches_, vcache_columns);
  write(routers_, "time,global_ctr,tag,hops,blocked\n");
  if (!traces()) return;
  trace_ = open("vanilla_operation_trace.csv");
  cache_trace_ = open("vcache_operation_trace.csv");
  log_ = open("vanilla.log");
  write(trace_, "cycle,x,y,pc,operation\n");
  write(cache_trace_, "cycle,vcache,operation\n");
  if (kept == Kept::Wave) wave_ = open("debug.vcd");
}

Files::~Files() = default;

void Files::write(const File& file, const std::string& text) {
  if (failed_ || !file) return;
  if (fwrite(text.data(), 1, text.size(), file.get()) == text.size()) return;
  failed_ = true;
  fprintf(stderr, "hammerblade: the files of this run in %s cannot be written further: %s\n", folder_.c_str(),
          strerror(errno));
}

void Files::begin(Mesh& mesh, Timed& timed) {
  mesh_ = &mesh;
  timed_ = &timed;
  const size_t n = mesh.tiles.size();
  if (segments_.size() != n) {
    segments_.assign(n, {});
    next_.assign(n, 0);
    waved_.assign(n, ~0u);
    toggles_.assign(n, 0);
    active_.assign(n, 0);
    wave_begun_ = false;
  }
  before_.clear();
  for (uint32_t i = 0; i < n; ++i) before_.push_back(timed.stats(i));
  flushed_ = began_ = timed.now();
  if (traces() && launch_ == 0)
    fprintf(stderr,
            "hammerblade: the trace has a row of about 34 bytes for each of %zu tiles and each cycle: %.0f MB for "
            "55 000 "
            "cycles%s\n",
            n, static_cast<double>(n) * 55000 * 34e-6,
            limit_ ? "" : " (--limit ROWS, or torch.hb_trace_enable() around what matters, bounds it)");
}

void Files::stat(const Tile& tile, uint32_t tag) {
  if (!timed_ || !stats_) return;
  timed_->account_all();
  const CoreStats& s = timed_->stats(tile.index);
  const uint64_t now = timed_->now();
  std::string row = format("%llu,%u,%u,%08x,%08x,%u,%llu,%llu,%llu", static_cast<unsigned long long>(now * 1000),
                           tile.x, tile.y, tile.s.pc, tile.s.pc + 4, tag, static_cast<unsigned long long>(now),
                           static_cast<unsigned long long>(now), static_cast<unsigned long long>(s.instructions));
  const auto add = [&row](uint64_t value) { row += "," + std::to_string(value); };
  for (size_t i : columns()) add(s.issued[i]);
  add(s.misses);
  for (uint64_t missed : s.missed_branches) add(missed);
  add(s.jalr_misses);
  for (uint64_t stalled : s.stalled) add(stalled);
  write(stats_, row + "\n");
  if (tile.x != tile.origin_x || tile.y != tile.origin_y) return;
  for (const auto& cache : timed_->caches())
    write(caches_,
          format("%llu,%u,%llu,%u,%llu,%llu,%llu,%llu,%llu,%llu,%llu,%llu,%llu,%llu,%llu,%llu,%llu,%llu\n",
                 static_cast<unsigned long long>(now * 1000), cache->number(), static_cast<unsigned long long>(now),
                 tag, static_cast<unsigned long long>(cache->loads), static_cast<unsigned long long>(cache->stores),
                 static_cast<unsigned long long>(cache->swaps + cache->ors + cache->adds),
                 static_cast<unsigned long long>(cache->swaps), static_cast<unsigned long long>(cache->ors),
                 static_cast<unsigned long long>(cache->adds), static_cast<unsigned long long>(cache->miss_loads),
                 static_cast<unsigned long long>(cache->miss_stores), static_cast<unsigned long long>(cache->miss_amos),
                 static_cast<unsigned long long>(cache->stall_miss),
                 static_cast<unsigned long long>(now - std::min(now, cache->stall_miss + cache->loads + cache->stores +
                                                                         cache->swaps + cache->ors + cache->adds)),
                 static_cast<unsigned long long>(cache->stall_rsp), static_cast<unsigned long long>(cache->dma_reads),
                 static_cast<unsigned long long>(cache->dma_writes)));
  write(routers_, format("%llu,%llu,%u,%llu,%llu\n", static_cast<unsigned long long>(now * 1000),
                         static_cast<unsigned long long>(now), tag, static_cast<unsigned long long>(timed_->hops()),
                         static_cast<unsigned long long>(timed_->blocked())));
}

void Files::spent(uint32_t tile, uint64_t from, uint64_t cycles, uint32_t pc, uint32_t what) {
  if (kept_ == Kept::Saif) {
    if (!switching_) return;
    if (what < issue_count) ++active_[tile], toggles_[tile] += what != waved_[tile];
    waved_[tile] = what;
    return;
  }
  if (!traces() || failed_ || (limit_ && rows_ >= limit_)) return;
  segments_[tile].push_back({from, static_cast<uint32_t>(cycles), pc, what});
  if (++kept_segments_ >= most_segments) {
    uint64_t until = ~uint64_t{0};
    for (const auto& list : segments_)
      until = std::min(until, list.empty() ? flushed_ : list.back().from + list.back().cycles);
    flush(until);
  }
}

void Files::cached(uint32_t bank, uint64_t cycle, const Packet& request) {
  if (!traces() || failed_ || (limit_ && rows_ >= limit_)) return;
  const char* what = request.message == Message::Store    ? "st"
                     : request.message == Message::Atomic ? name_of(request.op)
                                                          : "ld";
  write(cache_trace_, format("%llu,%u,%s\n", static_cast<unsigned long long>(cycle), bank, what));
}

void Files::flush(uint64_t until) {
  const uint32_t n = static_cast<uint32_t>(segments_.size());
  std::string text, log, wave;
  if (wave_ && !wave_begun_) {
    wave_begun_ = true;
    wave += "$timescale 1ns $end\n$scope module machine $end\n";
    for (uint32_t t = 0; t < n; ++t)
      wave += format(
          "$scope module tile_%u_%u $end\n$var wire 32 p%u pc $end\n$var wire 8 o%u does $end\n"
          "$var wire 1 s%u stalls $end\n$upscope $end\n",
          mesh_->tiles[t].x, mesh_->tiles[t].y, t, t, t);
    wave += "$upscope $end\n$comment does: ";
    for (size_t i = 0; i < issue_count + stall_count; ++i)
      wave += format("%zu %s%s", i, what_name(static_cast<uint32_t>(i)), i % 8 == 7 ? "\n" : " ");
    wave += " $end\n$enddefinitions $end\n";
  }
  char line[96];
  for (uint64_t cycle = flushed_; cycle < until && !failed_; ++cycle) {
    bool stamped = false;
    for (uint32_t t = 0; t < n; ++t) {
      auto& list = segments_[t];
      while (next_[t] < list.size() && list[next_[t]].from + list[next_[t]].cycles <= cycle) ++next_[t];
      if (next_[t] >= list.size() || list[next_[t]].from > cycle) continue;
      const Segment& s = list[next_[t]];
      const Tile& tile = mesh_->tiles[t];
      if (!limit_ || rows_ < limit_) {
        const int length = snprintf(line, sizeof line, "%llu,%u,%u,%08x,%s\n", static_cast<unsigned long long>(cycle),
                                    tile.x, tile.y, s.pc, what_name(s.what));
        text.append(line, static_cast<size_t>(length));
        ++rows_;
        if (s.what < issue_count && s.from == cycle)
          log += format("%llu (%u,%u) %08x %s %s\n", static_cast<unsigned long long>(cycle), tile.x, tile.y, s.pc,
                        what_name(s.what), mesh_->program()->name_at(s.pc).c_str());
      }
      if (wave_ && waved_[t] != (s.pc ^ s.what << 24)) {
        waved_[t] = s.pc ^ s.what << 24;
        if (!stamped) wave += format("#%llu\n", static_cast<unsigned long long>(cycle));
        stamped = true;
        const auto binary = [](uint32_t value, int width) {
          std::string digits;
          for (int bit = width; bit-- > 0;) digits += value >> bit & 1 ? '1' : '0';
          return digits;
        };
        wave += "b" + binary(s.pc, 32) + format(" p%u\n", t) + "b" + binary(s.what, 8) + format(" o%u\n", t) +
                format("%d", s.what >= issue_count) + format("s%u\n", t);
      }
    }
    if (text.size() > (1 << 20)) {
      write(trace_, text);
      write(log_, log);
      text.clear();
      log.clear();
    }
  }
  write(trace_, text);
  write(log_, log);
  write(wave_, wave);
  kept_segments_ = 0;
  for (uint32_t t = 0; t < n; ++t) {
    auto& list = segments_[t];
    list.erase(list.begin(), list.begin() + static_cast<long>(std::min(next_[t], list.size())));
    next_[t] = 0;
    kept_segments_ += list.size();
  }
  flushed_ = std::max(flushed_, until);
}

void Files::estimated(const Mesh& mesh, const char* kernel, uint64_t cycles, double interval) {
  if (!launches_) return;
  write(launches_, format("{\"launch\": %llu, \"kernel\": \"%s\", \"machine\": \"%s\", \"tiles\": [%u, %u], "
                          "\"estimated\": true, \"cycles\": %llu, \"interval\": %s}\n",
                          static_cast<unsigned long long>(launch_), kernel, mesh.machine().name.c_str(), mesh.size().x,
                          mesh.size().y, static_cast<unsigned long long>(cycles), interval_text(interval).c_str()));
  ++launch_;
  flush_all();
}

void Files::flush_all() {
  for (const File* file : {&launches_, &stats_, &caches_, &routers_, &trace_, &log_, &wave_})
    if (*file && fflush(file->get()) && !failed_) {
      failed_ = true;
      fprintf(stderr, "hammerblade: the files of this run in %s cannot be written further: %s\n", folder_.c_str(),
              strerror(errno));
    }
}

void Files::end(const char* kernel, uint64_t wall, double interval) {
  if (!timed_ || !launches_) return;
  if (traces()) flush(timed_->now());
  if (kept_ == Kept::Saif) write_saif();
  CoreStats sum;
  for (uint32_t i = 0; i < before_.size(); ++i) {
    const CoreStats &now = timed_->stats(i), &then = before_[i];
    for (size_t k = 0; k < issue_count; ++k) sum.issued[k] += now.issued[k] - then.issued[k];
    for (size_t k = 0; k < stall_count; ++k) sum.stalled[k] += now.stalled[k] - then.stalled[k];
    sum.instructions += now.instructions - then.instructions;
    sum.misses += now.misses - then.misses;
    sum.flops += now.flops - then.flops;
    sum.bytes += now.bytes - then.bytes;
  }
  std::string row = format(
      "{\"launch\": %llu, \"kernel\": \"%s\", \"machine\": \"%s\", \"tiles\": [%u, %u], "
      "\"from\": %llu, \"to\": %llu, \"program\": %s, \"cycles\": %llu, \"interval\": %s, \"launch_cycles\": %llu, "
      "\"wall_ns\": %llu, \"instructions\": %llu, "
      "\"flops\": %llu, \"bytes\": %llu, \"icache_misses\": %llu, \"stalls\": {",
      static_cast<unsigned long long>(launch_), kernel, mesh_->machine().name.c_str(), mesh_->size().x, mesh_->size().y,
      static_cast<unsigned long long>(began_), static_cast<unsigned long long>(timed_->now()),
      quoted(mesh_->program()->path()).c_str(), static_cast<unsigned long long>(timed_->kernel_cycles()),
      interval_text(interval).c_str(), static_cast<unsigned long long>(timed_->launch_cycles()),
      static_cast<unsigned long long>(wall), static_cast<unsigned long long>(sum.instructions),
      static_cast<unsigned long long>(sum.flops), static_cast<unsigned long long>(sum.bytes),
      static_cast<unsigned long long>(sum.misses));
  bool first = true;
  for (size_t k = 0; k < stall_count; ++k) {
    if (!sum.stalled[k]) continue;
    row += format("%s\"%s\": %llu", first ? "" : ", ", stall_name(k), static_cast<unsigned long long>(sum.stalled[k]));
    first = false;
  }
  write(launches_, row + "}}\n");
  ++launch_;
  flush_all();
  timed_ = nullptr;
}

void Files::write_saif() {
  const File file = open("run.saif");
  std::string text =
      "(SAIFILE\n(SAIFVERSION \"2.0\")\n(DIRECTION \"backward\")\n(DIVIDER /)\n(TIMESCALE 1 ns)\n"
      "(INSTANCE machine\n";
  for (size_t t = 0; t < active_.size(); ++t)
    text += format("  (INSTANCE tile_%u_%u\n    (NET (issues (T0 0) (T1 %llu) (TC %llu)))\n  )\n", mesh_->tiles[t].x,
                   mesh_->tiles[t].y, static_cast<unsigned long long>(active_[t]),
                   static_cast<unsigned long long>(toggles_[t]));
  write(file, text + ")\n)\n");
}

}  // namespace fc::hb::sim
