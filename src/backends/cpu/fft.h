// SPDX-License-Identifier: Apache-2.0
// One step of a Fourier transform over several transforms ("lanes") at once. Real and imaginary parts lie in arrays of
// their own, element j of lane b at [j * lanes + b], so every loop runs over lanes and is vectorised whatever the
// radix. See fft.cpp for how steps make a transform.
#pragma once
#include <cstdint>

#include "backends/cpu/variants.h"

namespace fc::cpu {

template <class R>
struct FftStep {
  int64_t radix, rest, stride;  // the length so far is radix * rest; stride = lanes * what was done before
  const R* twiddles;            // (radix - 1) complex numbers for each of `rest`
  const R* roots;               // the radix's own roots of unity, for radices without code of their own
  const R *xr, *xi;
  R *yr, *yi;
};
struct FftKernels {
  void (*float32)(const FftStep<float>&);
  void (*float64)(const FftStep<double>&);
};
FC_VARIANTS(extern const FftKernels fft_kernels;)

}  // namespace fc::cpu
