// SPDX-License-Identifier: Apache-2.0
// Where the thread pool tells that a caller waits for the other threads of its loop: a library event of that thread.
// Set at start-up by dispatch/observe.cpp, called only while library events are watched; begin's answer goes to end.
#pragma once

namespace fc {

extern void* (*begin_wait_hook)();
extern void (*end_wait_hook)(void*) noexcept;

}  // namespace fc
