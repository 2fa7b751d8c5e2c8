// SPDX-License-Identifier: Apache-2.0
#include "backends/hammerblade/simulator/network.h"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace fc::hb::sim {

Network::Network(Shape shape, bool answers, Sink& sink)
    : shape_(shape), each_(std::max(shape.fifo, shape.local_fifo)), answers_(answers), sink_(sink) {
  const uint32_t nodes = shape.columns * shape.rows;
  entries_.resize(std::size_t{nodes} * ports * each_);
  fifos_.resize(std::size_t{nodes} * ports);
  occupied_.resize(nodes);
  turns_.resize(std::size_t{nodes} * ports);
  active_.resize((nodes + 63) / 64);
}

void Network::clear() {
  for (Fifo& fifo : fifos_) fifo = {};
  for (uint8_t& ports_of : occupied_) ports_of = 0;
  for (uint64_t& word : active_) word = 0;
  packets_ = 0;
}

void Network::push(uint32_t fifo, const Packet& packet, uint64_t now) {
  Fifo& f = fifos_[fifo];
  uint32_t at = f.head + f.count;
  if (at >= places(fifo)) at -= places(fifo);
  entries_[fifo * each_ + at] = {packet, now,
                                 route(fifo / ports % shape_.columns, fifo / ports / shape_.columns, packet)};
  ++f.count;
  ++packets_;
  const uint32_t node = fifo / ports;
  occupied_[node] |= static_cast<uint8_t>(1u << (fifo % ports));
  active_[node / 64] |= uint64_t{1} << (node % 64);
}

Network::Port Network::along_x(uint32_t x, uint32_t row, uint32_t to) const {
  const bool tiles = row >= 2 && row + 1 < shape_.rows;
  if (to > x) return shape_.ruche && tiles && to - x >= shape_.ruche ? ruche_east : east;
  return shape_.ruche && tiles && x - to >= shape_.ruche ? ruche_west : west;
}

// Requests go along x first; answers along y, since the caches lie at the columns' ends.
Network::Port Network::route(uint32_t x, uint32_t row, const Packet& p) const {
  if (answers_ && p.row != row) return p.row > row ? south : north;
  if (p.x != x) return along_x(x, row, p.x);
  if (p.row != row) return p.row > row ? south : north;
  return local;
}

// Each output takes turns: whoever comes next after the input that it served last. Turns that went by the clock instead
// would fall in step with a bank that takes a packet every so many cycles, and some inputs would wait for ever.
void Network::step_router(uint32_t node, uint64_t now) {
  uint32_t wanted[ports] = {};  // inputs, by the output that they want
  uint32_t outputs = 0;
  for (uint32_t waiting = occupied_[node]; waiting; waiting &= waiting - 1) {
    const auto port = static_cast<uint32_t>(std::countr_zero(waiting));
    const uint32_t from = node * ports + port;
    const Entry& entry = entries_[from * each_ + fifos_[from].head];
    if (entry.arrived + shape_.hop > now) continue;
    wanted[entry.out] |= 1u << port;
    outputs |= 1u << entry.out;
  }
  for (; outputs; outputs &= outputs - 1) {
    const auto out = static_cast<Port>(std::countr_zero(outputs));
    uint8_t& next = turns_[node * ports + out];
    const uint32_t inputs = wanted[out], later = inputs >> next << next;
    const auto port = static_cast<uint32_t>(std::countr_zero(later ? later : inputs));
    const bool moved = move(node, port, out, now);
    if (moved) next = static_cast<uint8_t>(port + 1);
    stalls += static_cast<uint64_t>(std::popcount(inputs)) - moved;
  }
}

bool Network::move(uint32_t node, uint32_t port, Port out, uint64_t now) {
  const uint32_t columns = shape_.columns, from = node * ports + port;
  Fifo& fifo = fifos_[from];
  const Entry& entry = entries_[from * each_ + fifo.head];
  if (out == local) {
    if (!sink_.take(answers_, node, entry.packet, now)) return false;
  } else {
    uint32_t there = 0;
    switch (out) {
      case west: there = (node - 1) * ports + east; break;
      case east: there = (node + 1) * ports + west; break;
      case north: there = (node - columns) * ports + south; break;
      case south: there = (node + columns) * ports + north; break;
      case ruche_west: there = (node - shape_.ruche) * ports + ruche_east; break;
      default: there = (node + shape_.ruche) * ports + ruche_west; break;
    }
    if (!room(there, now)) return false;
    push(there, entry.packet, now);
  }
  ++hops;
  --packets_;
  fifo.head = static_cast<uint16_t>(fifo.head + 1u == places(from) ? 0 : fifo.head + 1);
  fifo.popped = now;
  if (--fifo.count == 0) occupied_[node] &= static_cast<uint8_t>(~(1u << port));
  return true;
}

void Network::step(uint64_t now) {
  if (!packets_) return;
  for (std::size_t w = 0; w < active_.size(); ++w) {
    for (uint64_t word = active_[w]; word; word &= word - 1) {
      const auto bit = static_cast<uint32_t>(std::countr_zero(word));
      const auto node = static_cast<uint32_t>(w * 64) + bit;
      step_router(node, now);
      if (!occupied_[node]) active_[w] &= ~(uint64_t{1} << bit);
    }
  }
}

}  // namespace fc::hb::sim
