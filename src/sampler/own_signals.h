// SPDX-License-Identifier: Apache-2.0
// The signals by which the sampler interrupts, beside what the program does with the same ones: its calls of sigaction
// and signal are answered as if the sampler were not there, and what is not of the sampler's making is handed on to
// the program's handler. Without that, a program that sets a signal back to its default would die of the next sample.
#pragma once
#include <signal.h>

namespace fc::sampler {

using Handler = void (*)(int, siginfo_t*, void*);

// At the start, for each signal. Each holds the other ones off while its handler runs.
void take_signal(int number, Handler handler, const sigset_t& all);
// Whether the system still calls our handler: a program may go past the C library.
bool have_signal(int number);
// In a handler, for a signal that is the program's.
void hand_on(int number, siginfo_t* info, void* context);
// In the child of a fork, whose handlers are its own from now on.
void signals_of_child();

}  // namespace fc::sampler
