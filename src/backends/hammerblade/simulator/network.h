// SPDX-License-Identifier: Apache-2.0
// One of the two networks, for requests and for answers: single-flit packets, dimension-ordered, a mesh with express
// ("ruche") links in x along the rows of tiles, an input FIFO for each port, arbitration in turn.
//
//   row 0: the host's, at x = 0; row 1: caches; rows 2 to Y + 1: tiles; row Y + 2: caches
//
// Every router decides by what was there when the cycle began, so the order in which they are looked at does not
// matter:
// a packet that arrived in this cycle is not seen yet, and the place of one that left is not free yet.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/hammerblade/simulator/isa.h"

namespace fc::hb::sim {

enum class Message : uint8_t { Load, Store, Atomic, Fetch, Credit, Value, Fetched };

struct Packet {
  uint32_t address = 0, value = 0, pc = 0;  // pc: of the instruction that asks
  uint16_t from = 0, to = 0;                // nodes
  uint8_t x = 0, row = 0;                   // of `to`
  Message message = Message::Load;
  Op op = Op::Illegal;
  uint8_t reg = 0, bytes = 4;
  bool is_float = false;
  uint8_t target = 0;  // Target
};

// Who takes packets out of the network. False: there is no room, try again.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual bool take(bool answers, uint32_t node, const Packet&, uint64_t now) = 0;
};

class Network {
 public:
  struct Shape {
    uint32_t columns, rows, ruche, fifo, local_fifo, hop;
  };
  Network(Shape, bool answers, Sink&);

  bool can_send(uint32_t node, uint64_t now) const { return room(node * ports, now); }
  void send(uint32_t node, const Packet& packet, uint64_t now) { push(node * ports, packet, now); }
  void step(uint64_t now);
  bool idle() const { return packets_ == 0; }
  void clear();
  uint64_t hops = 0, stalls = 0;  // moves of packets, and packets that could not move for a cycle

 private:
  static constexpr uint32_t ports = 7;
  enum Port : uint8_t { local, west, east, north, south, ruche_west, ruche_east };
  struct Entry {
    Packet packet;
    uint64_t arrived = 0;
    Port out = local;  // where it goes from here
  };
  struct Fifo {
    uint16_t head = 0, count = 0;
    uint64_t popped = ~uint64_t{0};  // when the last packet left
  };
  bool room(uint32_t fifo, uint64_t now) const {
    return fifos_[fifo].count + (fifos_[fifo].popped == now ? 1u : 0u) < places(fifo);
  }
  uint32_t places(uint32_t fifo) const { return fifo % ports == local ? shape_.local_fifo : shape_.fifo; }
  void push(uint32_t fifo, const Packet&, uint64_t now);
  void step_router(uint32_t node, uint64_t now);
  bool move(uint32_t node, uint32_t port, Port out, uint64_t now);
  Port route(uint32_t x, uint32_t row, const Packet&) const;
  Port along_x(uint32_t x, uint32_t row, uint32_t to) const;

  Shape shape_;
  std::size_t each_;  // entries for each FIFO
  bool answers_;
  Sink& sink_;
  std::vector<Entry> entries_;
  std::vector<Fifo> fifos_;
  std::vector<uint8_t> occupied_;  // of each router: its ports that hold packets
  std::vector<uint8_t> turns_;     // of each router's outputs: the input whose turn it is
  std::vector<uint64_t> active_;   // routers with packets
  uint64_t packets_ = 0;
};

}  // namespace fc::hb::sim
