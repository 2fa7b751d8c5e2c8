// SPDX-License-Identifier: Apache-2.0
// What a call's results look like, without its data: by the operator's shape rule, which runs on the meta device.
// Plugins, the meta device and graphs ask here and nowhere else. Any thread may call.
#pragma once
#include "dispatch/operator.h"

namespace fc {

// Fills `results` with meta tensors (lists of them, numbers where the rule knows them); written arguments that the rule
// gives another size are told to `resized` by position, with that size. The arguments may live on any device, and no
// element of theirs is read or written. False: the operator has no rule. Throws what the rule throws: wrong shapes.
struct Resized {
  virtual void argument(size_t i, IntSpan sizes) = 0;

 protected:
  ~Resized() = default;
};
// While a rule runs on this thread: the device of the call's first tensor that is not on the CPU; else the CPU. For
// rules whose results' types a device has a say in.
Device inferred_device();
bool infer_results(const Operator& op, const Arg* args, Value* results, Resized* resized = nullptr);

}  // namespace fc
