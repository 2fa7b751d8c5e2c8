// SPDX-License-Identifier: Apache-2.0
// Signals while a library computes. oneDNN's dnnl_sgemm lets its kernels use memory from the heap as their stack, and a
// signal's frame, which the system writes below the stack pointer, then destroys what lies beside it in the heap. So
// signals wait until the library returns; those that a fault raises, which cannot wait, find a stack of their own where
// their handler asks for one, and so does SIGURG, by which our sampler interrupts.
#pragma once
#include <csignal>

namespace fc {

class HoldSignals {  // on the calling thread, while it lives
 public:
  HoldSignals() noexcept;
  ~HoldSignals();
  HoldSignals(const HoldSignals&) = delete;
  HoldSignals& operator=(const HoldSignals&) = delete;

 private:
  sigset_t before_;
};

// For good, on a thread that only computes: the program's own threads take the signals. Costs nothing a second time.
void hold_signals_on_worker() noexcept;

}  // namespace fc
