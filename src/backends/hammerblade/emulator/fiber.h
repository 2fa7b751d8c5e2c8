// SPDX-License-Identifier: Apache-2.0
// Stacks to switch between: a context is where one of them stopped. Own assembly on
// x86-64 and aarch64 (a switch costs a few nanoseconds and no system call), ucontext elsewhere. A context is resumed on
// the thread it was left on.
#pragma once

#include <cstddef>

namespace fc::hb {

struct Context {
  void* sp = nullptr;
  void* stack = nullptr;  // lower end and size, for the address sanitizer; null: a thread's own
  size_t size = 0;
  void* fake = nullptr;
};

// Makes `context` start with entry(argument) on [stack, top). entry does not return.
void prepare(Context* context, void* stack, void* top, void (*entry)(void*), void* argument);
void switch_to(Context* from, Context* to);
// First thing on a stack that was just started.
void arrived(Context* context, Context* from);

}  // namespace fc::hb
