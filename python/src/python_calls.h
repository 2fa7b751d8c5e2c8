// SPDX-License-Identifier: Apache-2.0
// Calls of Python functions, for the traces of profiles with stacks: the interpreter tells each call and return of the
// threads that are watched. Under the interpreter's lock. Threads that have a profiler of the program's own are left
// alone; a forked child records nothing.
#pragma once
#include <nanobind/nanobind.h>

#include <memory>
#include <vector>

#include "observe/recorder.h"

namespace fc {

class PythonCalls {
 public:
  struct State;
  PythonCalls();
  ~PythonCalls();
  void start();                              // watches this thread; what is on its stack began now
  void watch();                              // this thread as well
  void stop();                               // what is open ends now
  uint64_t lost() const;                     // calls beyond what is kept of a thread
  std::vector<observe::Span> spans() const;  // in order of threads, then of calls; names live as long as this does

 private:
  std::shared_ptr<State> state_;
};

void bind_python_calls(nanobind::module_& m);

}  // namespace fc
