// SPDX-License-Identifier: Apache-2.0
// Who reads tensors while others may change what they are made of. Under the interpreter's lock nobody needs this. A
// call that lets go of that lock, and every step of backward, reads sizes, storages and kernels inside of a UseScope.
// What puts others in their place (`.data = `, a kernel or a layer added at run time) does so holding the interpreter's
// lock between begin_change and end_change, when no use is under way and none begins. A use costs two atomic additions
// and no lock.
//
// A thread that asks for the interpreter's lock inside of a use pauses it first (PauseUse), so neither side waits for
// the other. C++ programs without an interpreter keep such order themselves.
#pragma once

namespace fc {

class UseScope {
 public:
  explicit UseScope(bool on = true) : opened_(on && open()) {}
  ~UseScope() {
    if (opened_) close();
  }
  UseScope(const UseScope&) = delete;
  UseScope& operator=(const UseScope&) = delete;

 private:
  static bool open();
  static void close();
  bool opened_;  // false: not asked for, or inside of another one of this thread
};

class PauseUse {
 public:
  PauseUse();
  ~PauseUse();
  PauseUse(const PauseUse&) = delete;
  PauseUse& operator=(const PauseUse&) = delete;

 private:
  bool paused_;
};

bool in_use();  // this thread is inside of a use that is not paused
// Hook of the Python front, called on a thread whose use has ended or paused: for what cannot be done inside, where
// asking for the interpreter's lock would let a change in between two reads.
extern void (*after_use)();

// One change at a time, and neither call waits. Where begin_change says no, the caller opens a WaitForUses, lets go of
// what others may need, waits, and tries again.
bool begin_change();
void end_change();
// Around a kernel that puts another geometry or storage in a tensor's place (Writes::Geometry). Inside of a use it
// opens nothing: what C++ changes there is its own. Uses that its thread opens inside of it do not wait.
class ChangeScope {
 public:
  ChangeScope();
  ~ChangeScope();
  ChangeScope(const ChangeScope&) = delete;
  ChangeScope& operator=(const ChangeScope&) = delete;

 private:
  bool opened_;
};
// Hook of the Python front: begins a change, and lets go of the interpreter's lock while it waits. Null: there is none.
extern void (*wait_to_change)();
class WaitForUses {  // while it is open, new uses stand back for a moment
 public:
  WaitForUses();
  ~WaitForUses();
  void wait() const;
  WaitForUses(const WaitForUses&) = delete;
  WaitForUses& operator=(const WaitForUses&) = delete;
};

void watch_forks();  // once, at start-up: a fork waits for uses, so that the child inherits no lock that somebody holds

}  // namespace fc
