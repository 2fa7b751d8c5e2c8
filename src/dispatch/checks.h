// SPDX-License-Identifier: Apache-2.0
// What holds for the tensors of every call, looked at once for all operators: they are on one device, and what a call
// writes may be written. A kernel relies on it; what an operator allows beyond is a field of its row
// (Operator::devices, Operator::writes).
#pragma once
#include "dispatch/operator.h"

namespace fc {

// Every tensor among the arguments `which`, with the argument's position.
template <class F>
void for_each_tensor(const Arg* args, std::span<const uint8_t> which, F&& f) {
  for (uint8_t i : which) {
    if (args[i].is_tensor()) {
      if (const Tensor& t = args[i].tensor(); t.defined()) f(t, i);
    } else if (args[i].is_tensor_list()) {
      for (const Tensor& t : args[i].tensors())
        if (t.defined()) f(t, i);
    }
  }
}

// Throws unless all tensors are on one device. Runs as layer::Devices, which tensors of the CPU do not set: calls of
// these alone pay nothing.
void check_devices(const Operator& op, const Arg* args);
void install_device_layer();

// Throws if an argument that is written is an inference tensor outside of inference mode, lies in read-only memory, has
// several elements in one place, or lies partly where an input does (or wholly, of operators that say so). Called by
// the view/in-place layer, so once per call from outside: what a kernel hands on was looked at. An out= that must be
// resized is looked at again where that is done.
void check_writes(const Operator& op, const Arg* args);
// Not in read-only memory. Those who keep its bytes get a copy.
void check_writable(const char* op, const Tensor& t);
// Whether several elements of `out` are one place in memory; throws if so.
bool repeats(const Tensor& out);
void check_written_once(const char* op, const Tensor& out);
// Throws if writing `out` disturbs reading `in`. Exactly the same elements in the same order is fine unless `apart`.
void check_overlap(const char* op, const Tensor& out, const Tensor& in, bool apart = false);

}  // namespace fc
