// SPDX-License-Identifier: Apache-2.0
// What Fourier transforms of all devices share: the shapes of results and the factor in front.
#pragma once
#include "core/tensor.h"

namespace fc {

enum class FftNorm : int64_t { None = 0, ByRoot = 1, ByCount = 2 };  // no factor, 1 / sqrt(n), 1 / n

// Throws unless self has the type of a transform's input, and the dimensions exist.
void check_fft(const char* op, const Tensor& self, IntSpan dims, bool complex);
double fft_scale(IntSpan sizes, IntSpan dims, int64_t normalization);
inline Tensor fft_result(const Tensor& self, IntSpan sizes, DType type) {
  return empty_tensor(sizes, type, self.device());
}
Tensor fft_r2c_result(const Tensor& self, int64_t last);
Tensor fft_c2r_result(const Tensor& self, int64_t last, int64_t size);

}  // namespace fc
