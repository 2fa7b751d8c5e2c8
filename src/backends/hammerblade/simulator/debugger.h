// SPDX-License-Identifier: Apache-2.0
// Who may stop tiles to look at them: called by the engine on its thread, in the middle of a launch, and returns when
// the launch is to go on. All tiles stand still meanwhile.
#pragma once

#include <cstdint>
#include <string>

namespace fc::hb::sim {

class Mesh;
struct Tile;

class Debugger {
 public:
  virtual ~Debugger() = default;
  virtual void begins(Mesh&, const char* kernel) = 0;  // a launch: no tile has run
  virtual void ends() = 0;                             // the mesh may go
  // A tile is about to do the instruction at its pc; `done`: how many it has done. False: not now, another one first.
  virtual bool before(Tile&, uint64_t done) = 0;
  virtual void fault(const Tile&, const std::string& sentence) = 0;  // the launch ends with this
};

}  // namespace fc::hb::sim
