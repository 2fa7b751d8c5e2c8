// SPDX-License-Identifier: Apache-2.0
// What a recorder kept, added up by who called whom, and the calls that the program itself makes, in order.
#pragma once
#include "observe/recorder.h"

namespace fc::observe {

// All rows of one kind with the same callers. Ranges are looked through, unless their name begins with '@'.
struct TreeNode {
  const Operator* op = nullptr;
  const std::string* name = nullptr;  // where there is no operator
  EventKind kind{};
  Device where{};
  size_t parent = 0;    // in CallTree::nodes
  uint64_t time = 0;    // nanoseconds, with its children
  uint64_t inside = 0;  // of its children
  uint64_t device_ns = 0;
  int64_t count = 0, told = 0;  // rows, and those of which the device told its time
};

// A call that no kernel makes: a composite is one, and so are its parts.
struct OwnCall {
  const Operator* op;
  uint64_t start;
  Path path;
  Device where;
  uint32_t families = 0;  // bits of CallTree::families: what the CPU computed it by
};

struct CallTree {
  std::vector<TreeNode> nodes;  // parents before children; the first is the whole recording
  std::vector<OwnCall> calls;   // by start
  std::vector<std::string> families;
};
CallTree add_up(const Recorder& r);

}  // namespace fc::observe
