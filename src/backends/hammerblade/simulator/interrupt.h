// SPDX-License-Identifier: Apache-2.0
// Ctrl-C in the middle of a launch: noticed by whoever simulates, then handled by the program as it wants.
#pragma once

namespace fc::hb::sim {

// While it lives, SIGINT is remembered, and then goes to whoever handled it before. Nothing is done where it is ignored
// or ends the process anyway.
class NoticesInterrupts {
 public:
  NoticesInterrupts();
  ~NoticesInterrupts();
  NoticesInterrupts(const NoticesInterrupts&) = delete;
  NoticesInterrupts& operator=(const NoticesInterrupts&) = delete;

 private:
  bool installed_ = false;
};

bool take_interrupt();  // since it was asked last

}  // namespace fc::hb::sim
