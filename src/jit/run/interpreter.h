// SPDX-License-Identifier: Apache-2.0
// Runs code. A run belongs to one thread at a time; one that waits for a future on a pool's thread lets go of the
// thread and goes on, on any, when the future is done. It is called without Python's lock and inside no use
// (core/use.h): it opens one for itself, and none is open while it waits.
#pragma once
#include <vector>

#include "core/future.h"
#include "jit/run/code.h"

namespace fc::jit {

class Function;

std::vector<fc::Value> run(const Code& code, std::vector<fc::Value> arguments);
// On another thread of the inter-op pool, with this thread's grad mode and layers. The future of the result.
Ref<Future> fork(const Function& f, std::vector<fc::Value> arguments);

void set_interop_threads(int n);  // throws on n < 1, and once the pool has begun
int interop_threads();

// Asked at every turn of a loop and while waiting: throws to stop the run, as Ctrl-C does. Null: nobody asks.
extern void (*check_interrupt)();

// While one lives, runs of this thread throw after as many times 4096 turns of loops.
class TurnLimit {
 public:
  explicit TurnLimit(int64_t checks);
  ~TurnLimit();
  TurnLimit(const TurnLimit&) = delete;

 private:
  int64_t before_;
};

// What a graph raises: the traceback and the last line's text and class.
struct ScriptError : Error {
  ScriptError(std::string text, std::string message, std::string python_class, bool raised)
      : Error(std::move(text)), last_line(std::move(message)), python_class(std::move(python_class)), raised(raised) {}
  std::string last_line, python_class;  // of prim::RaiseException; "": none was named
  bool raised;                          // by prim::RaiseException; false: an operator failed
};

}  // namespace fc::jit
