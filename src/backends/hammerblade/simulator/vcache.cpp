// SPDX-License-Identifier: Apache-2.0
#include "backends/hammerblade/simulator/vcache.h"

#include <algorithm>
#include <bit>

namespace fc::hb::sim {

Vcache::Vcache(const Machine& m, uint32_t number, uint32_t node, uint32_t channel)
    : number_(number),
      node_(node),
      channel_(channel),
      sets_(static_cast<uint32_t>(m.vcache_sets)),
      ways_(static_cast<uint32_t>(m.vcache_ways)),
      line_bytes_(static_cast<uint32_t>(m.vcache_line_bytes)),
      banks_(static_cast<uint32_t>(m.vcache_banks)),
      stages_(static_cast<uint64_t>(m.vcache_stages)) {
  lines_.resize(size_t{sets_} * ways_);
  trees_.resize(sets_);
}

void Vcache::invalidate() {
  for (Line& line : lines_) line = {};
  for (uint64_t& tree : trees_) tree = 0;
  requests_.clear();
  answers_.clear();
  busy_ = 0;
}

uint64_t Vcache::next() const {
  uint64_t at = ~uint64_t{0};
  if (!answers_.empty()) at = answers_.front().ready;
  if (!requests_.empty() && answers_.size() < 4) at = std::min(at, busy_);
  return at;
}

// The tree has a node for each half of the ways; a bit says which half was used less recently. Ways that are no power
// of
// two share the tree of the next one, and what is beyond counts as used.
uint32_t Vcache::victim(uint32_t set) const {
  const uint32_t leaves = std::bit_ceil(ways_);
  uint32_t node = 1;
  while (node < leaves) {
    const bool right = trees_[set] >> node & 1;
    uint32_t child = node * 2 + right, first = child;
    while (first < leaves) first *= 2;
    if (first - leaves >= ways_) child = node * 2;
    node = child;
  }
  return node - leaves;
}

void Vcache::touch(uint32_t set, uint32_t way) {
  for (uint32_t node = std::bit_ceil(ways_) + way; node > 1; node /= 2) {
    const uint64_t bit = uint64_t{1} << (node / 2);
    if (node & 1) trees_[set] &= ~bit;  // the right half was used: the left one is next
    else trees_[set] |= bit;
  }
}

void Vcache::count(const Packet& p) {
  switch (p.message) {
    case Message::Store: ++stores; break;
    case Message::Atomic: ++(p.op == Op::Amoswap ? swaps : p.op == Op::Amoor ? ors : adds); break;
    default: ++loads; break;
  }
}

bool Vcache::lookup(const Packet& p, uint64_t now, Dram& dram) {
  const uint64_t line = p.address / line_bytes_ / banks_;
  const auto set = static_cast<uint32_t>(line % sets_);
  const uint64_t tag = line / sets_;
  Line* const of = &lines_[size_t{set} * ways_];
  const bool writes = p.message == Message::Store || p.message == Message::Atomic;
  for (uint32_t way = 0; way < ways_; ++way) {
    if (of[way].tag != tag) continue;
    of[way].dirty |= writes;
    touch(set, way);
    return true;
  }
  uint32_t way = victim(set);
  for (uint32_t w = 0; w < ways_; ++w)
    if (of[w].tag == ~uint64_t{0}) {
      way = w;
      break;
    }
  ++(p.message == Message::Store ? miss_stores : p.message == Message::Atomic ? miss_amos : miss_loads);
  const uint64_t words = line_bytes_ / 4;  // a word in a cycle between cache and channel
  uint64_t at = now + 1;
  if (of[way].dirty) {
    const uint64_t old = (of[way].tag * sets_ + set) * line_bytes_;
    at = std::max(at + words, dram.access(channel_, old, true, at + words) - words);
    ++dma_writes;
  }
  at = dram.access(channel_, line * line_bytes_, false, at) + words;
  ++dma_reads;
  stall_miss += at - now;
  busy_ = at;
  of[way] = {tag, false};
  return false;  // it is looked up again when the line is there
}

}  // namespace fc::hb::sim
