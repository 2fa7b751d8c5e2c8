// SPDX-License-Identifier: Apache-2.0
#include "plan/fft.h"

#include <cmath>

#include "core/error.h"

namespace fc {

void check_fft(const char* op, const Tensor& self, IntSpan dims, bool complex) {
  const DType t = self.dtype();
  FC_CHECK(complex ? t == DType::Complex64 || t == DType::Complex128 : t == DType::Float32 || t == DType::Float64, op,
           ": Unsupported dtype ", t);
  FC_CHECK(complex || !dims.empty(), op, ": no dimension to transform");
  for (int64_t d : dims) wrap_dim(d, self.dim());
}

double fft_scale(IntSpan sizes, IntSpan dims, int64_t normalization) {
  double count = 1;
  for (int64_t d : dims)
    count *= static_cast<double>(sizes[static_cast<size_t>(wrap_dim(d, static_cast<int64_t>(sizes.size())))]);
  switch (static_cast<FftNorm>(normalization)) {
    case FftNorm::ByRoot: return 1 / std::sqrt(count);
    case FftNorm::ByCount: return 1 / count;
    default: return 1;
  }
}

Tensor fft_r2c_result(const Tensor& self, int64_t last) {
  FC_CHECK(self.size(last) >= 1, "_fft_r2c: Invalid number of data points (0) specified");
  Dims sizes(self.sizes());
  sizes[static_cast<size_t>(last)] = sizes[static_cast<size_t>(last)] / 2 + 1;
  return fft_result(self, sizes, complex_of(self.dtype()));
}

Tensor fft_c2r_result(const Tensor& self, int64_t last, int64_t size) {
  FC_CHECK(size >= 1 && self.size(last) == size / 2 + 1, "_fft_c2r: ", size, " real numbers need ", size / 2 + 1,
           " complex ones, got ", self.size(last));
  Dims sizes(self.sizes());
  sizes[static_cast<size_t>(last)] = size;
  return fft_result(self, sizes, real_of(self.dtype()));
}

}  // namespace fc
