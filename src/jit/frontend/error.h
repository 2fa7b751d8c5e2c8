// SPDX-License-Identifier: Apache-2.0
// Errors of a source: what is wrong, the marked lines, and which calls led there. Of this thread: while a function is
// compiled a Compiling stands on the stack; an error made meanwhile tells all of them.
//
//   'g' is being compiled since it was called from 'f'
//     File "f.py", line 3
#pragma once
#include <string>
#include <vector>

#include "core/error.h"
#include "jit/ir/range.h"

namespace fc::jit {

struct SourceError : Error {
  using Error::Error;
};

class Compiling {
 public:
  Compiling(std::string function, SourceRange where);
  ~Compiling();
  Compiling(const Compiling&) = delete;
  void leave();                              // before its end: of an object that lives longer than what it tells of
  static void at(const SourceRange& where);  // what the innermost function's compilation looks at now

 private:
  bool inside_ = true;
};

// "\nwhat:\n" and the marked lines, then the chain of calls.
std::string call_chain();  // of what is being compiled now, innermost first; "" at the outermost
std::string error_text(const SourceRange& where, const std::string& what);
template <class... Parts>
[[noreturn, gnu::cold, gnu::noinline]] void fail(const SourceRange& where, const Parts&... parts) {
  throw SourceError(error_text(where, str(parts...)));
}

}  // namespace fc::jit
