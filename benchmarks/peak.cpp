// SPDX-License-Identifier: Apache-2.0
// The machine's single-precision peak: fused multiply-adds on registers, in as many threads as the first argument
// says, for the seconds of the second. Prints GFLOP/s. Built and run by benchmarks/peak.py.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#ifdef __AVX512F__
constexpr int kLanes = 16;
#else
constexpr int kLanes = 8;
#endif
constexpr int kChains = 12;  // more than latency times width of any current core
typedef float Vector __attribute__((vector_size(kLanes * sizeof(float))));

static double work(double seconds) {
  using Clock = std::chrono::steady_clock;
  Vector factor, term;
  for (int lane = 0; lane < kLanes; ++lane) factor[lane] = 0.999F, term[lane] = 0.001F;
  // Twelve names rather than an array: an array would live in memory, whose latency would be measured.
  Vector a = term, b = term, c = term, d = term, e = term, f = term, g = term, h = term, i = term, j = term, k = term,
         l = term;
  auto step = [&](Vector& v) {
    v = v * factor + term;
#if defined(__x86_64__)
    asm volatile("" : "+v"(v));  // keep the chain in a register and in the program
#else
    asm volatile("" : "+w"(v));
#endif
  };
  double best = 0;
  auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (Clock::now() < end) {  // the best of many short blocks: what the core can do when left alone
    auto start = Clock::now();
    constexpr int kSteps = 200000;
    for (int n = 0; n < kSteps; ++n) {
      step(a), step(b), step(c), step(d), step(e), step(f);
      step(g), step(h), step(i), step(j), step(k), step(l);
    }
    double taken = std::chrono::duration<double>(Clock::now() - start).count();
    double rate = 2.0 * kSteps * kChains * kLanes / taken;
    if (rate > best) best = rate;
  }
  return best;
}

int main(int argc, char** argv) {
  int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  double seconds = argc > 2 ? std::atof(argv[2]) : 0.5;
  std::vector<double> rates(threads);
  std::vector<std::thread> pool;
  for (double& rate : rates) pool.emplace_back([&rate, seconds] { rate = work(seconds); });
  for (std::thread& thread : pool) thread.join();
  double total = 0;
  for (double rate : rates) total += rate;
  std::printf("%.2f\n", total / 1e9);
}
