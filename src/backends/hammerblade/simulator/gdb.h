// SPDX-License-Identifier: Apache-2.0
// GDB's remote protocol over a socket of this machine: a tile is a thread, the program on the device a library. Stops
// at breakpoints, after a step, at what ends a launch (before it ends), and when GDB asks; between launches the host's
// program runs and nobody answers. Registers and memory are a tile's, by its own addresses, and can be written.
//
// Whoever connects may leave and come again; while nobody is there, launches run as they would without. Only the
// process that made it serves; a child of a fork leaves the socket alone.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <string>

#include "backends/hammerblade/simulator/debugger.h"
#include "backends/hammerblade/simulator/mesh.h"

namespace fc::hb::sim {

class Gdb final : public Debugger {
 public:
  // `where`: a port of 127.0.0.1 (0: a free one), or a path with a slash for a socket. Throws Error: it cannot listen.
  explicit Gdb(const std::string& where);
  ~Gdb() override;

  void begins(Mesh&, const char* kernel) override;
  void ends() override;
  bool before(Tile&, uint64_t done) override;
  void fault(const Tile&, const std::string& sentence) override;
  void exits();  // the process

 private:
  bool own_process() const;
  bool connect(bool wait);
  void leave(const char* how);
  bool interrupted();
  bool may_go(const Tile&) const;              // after a stop
  void stop(const Tile*, const char* reason);  // tells GDB, and serves it until the launch goes on
  bool answer(const std::string& packet);      // true: the launch goes on
  bool resume(const std::string& actions);
  void send(const std::string& payload);
  bool receive(std::string* payload);
  int byte();
  void say(const std::string& text);  // on GDB's console
  void mark(uint32_t address, bool set);
  Tile* selected(uint32_t thread);
  std::string registers(const Tile&) const;
  std::string one_register(const Tile&, uint32_t number) const;
  bool write_register(Tile&, uint32_t number, uint32_t value);
  std::string read_memory(const std::string& arguments);
  std::string write_memory(const std::string& arguments);
  std::string document(const std::string& query);
  std::string threads() const;
  std::string describe(const Tile&) const;

  std::string path_;  // of a socket with a name, removed at the end
  const pid_t process_;
  int listener_ = -1, peer_ = -1;
  char buffer_[4096];
  size_t have_ = 0, next_ = 0;
  bool acknowledges_ = true, waited_ = false, killed_ = false, running_ = false;
  Mesh* mesh_ = nullptr;
  Program* shown_ = nullptr;  // the program that GDB was told of
  std::string kernel_, last_stop_;
  std::set<uint32_t> breakpoints_;
  uint32_t general_ = 1, polls_ = 0;
  // What the launch goes on with: a tile that does one instruction, and whether the others stand still for it.
  const Tile* stepping_ = nullptr;
  bool alone_ = false, stepped_ = false;
  // Where it stopped last: that instruction is done before its breakpoint counts again.
  const Tile* stopped_at_ = nullptr;
  uint64_t stopped_after_ = ~uint64_t{0};
};

}  // namespace fc::hb::sim
