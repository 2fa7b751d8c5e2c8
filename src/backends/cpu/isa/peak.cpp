// SPDX-License-Identifier: Apache-2.0
// What one core can do at most: fused multiply-adds on registers.
#include "backends/cpu/peak.h"

#include <algorithm>
#include <chrono>

#include "backends/cpu/isa/vec.h"

namespace fc::cpu::FC_ISA {

double core_peak(double seconds) {
  using Clock = std::chrono::steady_clock;
  constexpr int chains = 12, steps = 200000;  // chains: more than latency times width of any current core
  const Vec<float> factor = splat(0.999F), term = splat(0.001F);
  // Twelve names rather than an array: an array would live in memory, whose latency would be measured.
  Vec<float> a = term, b = term, c = term, d = term, e = term, f = term, g = term, h = term, i = term, j = term,
             k = term, l = term;
  auto step = [&](Vec<float>& v) {
    v = fma<float>(v, factor, term);
#if defined(__x86_64__)
    asm volatile("" : "+v"(v));  // keep the chain in a register and in the program
#else
    asm volatile("" : "+w"(v));
#endif
  };
  double best = 0;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (Clock::now() < end) {  // the best of many short blocks: what the core can do when left alone
    const auto start = Clock::now();
    for (int n = 0; n < steps; ++n) {
      step(a), step(b), step(c), step(d), step(e), step(f);
      step(g), step(h), step(i), step(j), step(k), step(l);
    }
    const double taken = std::chrono::duration<double>(Clock::now() - start).count();
    best = std::max(best, 2.0 * steps * chains * kWidth<float> / taken);
  }
  return best;
}

}  // namespace fc::cpu::FC_ISA
