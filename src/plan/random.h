// SPDX-License-Identifier: Apache-2.0
// What a random operator asks of the CPU: fill a contiguous tensor, in the order of its elements, with draws from a
// generator (docs/random.md). Other devices draw by the family `random`.
#pragma once
#include "core/generator.h"
#include "core/tensor.h"

namespace fc {

struct RandomFill {
  enum Kind : uint8_t {
    Uniform,      // [a, b)
    Normal,       // mean a, standard deviation b, in blocks of 16
    NormalPairs,  // the same, one pair after the other
    LogNormal,
    Exponential,  // rate a
    Cauchy,       // median a, scale b
    Geometric,    // probability a
    Bernoulli,    // probability a, or the tensor `p`
    Integer,      // low + word % range
    Integer64,    // low + word64 % range; range 0: all 2^64
  } kind;
  double a = 0, b = 1;
  int64_t low = 0;
  uint64_t range = 0;
  const Tensor* p = nullptr;  // contiguous, as many elements as the target
};

using RandomFillFn = void (*)(const Tensor& target, const RandomFill& what, CpuGenerator& generator);
void set_random_fill(RandomFillFn fn);  // the CPU backend's, at start-up

}  // namespace fc
