// SPDX-License-Identifier: Apache-2.0
// Our own matrix product: for tiny matrices, integers, half types, and where no library is there. Panels of a and b are
// packed (which takes any strides and converts half types), a tile of c lives in registers while k runs. Small products
// skip the packing and read full panels where they lie.
#include <algorithm>
#include <complex>
#include <type_traits>

#include "backends/cpu/isa/product_tile.h"
#include "backends/cpu/product.h"
#include "core/half.h"
#include "core/threads.h"

namespace fc::cpu::FC_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kComplexRows = 4;
#else
constexpr int kComplexRows = 2;
#endif
constexpr int kRows = kTileRows, kVectors = kTileVectors;

// --- element types: how they are stored, what they are summed in
template <class T, class N = T>
struct Plain {
  using Stored = T;
  using Number = N;
  static constexpr bool direct = std::is_same_v<T, N>;  // memory can be read as numbers
  static N read(const T& v) { return static_cast<N>(v); }
  static T write(N v) { return static_cast<T>(v); }
};
struct Half {
  using Stored = uint16_t;
  using Number = float;
  static constexpr bool direct = false;
  static float read(uint16_t v) { return half_to_float(v); }
  static uint16_t write(float v) { return float_to_half(v); }
};
struct BFloat {
  using Stored = uint16_t;
  using Number = float;
  static constexpr bool direct = false;
  static float read(uint16_t v) { return bfloat_to_float(v); }
  static uint16_t write(float v) { return float_to_bfloat(v); }
};

template <class N>
int64_t round_up(int64_t v, N unit) {
  return (v + unit - 1) / unit * unit;
}

// How much of k, n and m is packed at a time: b's part sits in the outer cache, a's panels in the inner one.
struct Blocks {
  int64_t k, n, m;
  Blocks(const Product& p, bool whole_k, int rows, int width, int64_t item) {
    k = whole_k ? p.k : std::min<int64_t>(p.k, 256);
    int64_t depth = std::max<int64_t>(k, 1);
    n = std::min(round_up(p.n, width), std::max<int64_t>(width, (int64_t{1} << 19) / item / depth / width * width));
    m = std::min(round_up(p.m, rows), std::max<int64_t>(rows, (int64_t{1} << 15) / depth / rows * rows));
  }
};

template <class S>
void product(const Product& p) {
  using T = typename S::Stored;
  using N = typename S::Number;
  constexpr int64_t item = sizeof(T);
  constexpr int width = kVectors * kWidth<N>;
  // A half type must not be rounded between two parts of k.
  const Blocks block(p, !S::direct && !std::is_integral_v<N>, kRows, width, sizeof(N));
  auto* packed_b = static_cast<N*>(
      product_workspace(static_cast<size_t>((block.n + block.m) * std::max<int64_t>(block.k, 1)) * sizeof(N)));
  N* packed_a = packed_b + block.n * block.k;
  const bool direct_a = S::direct && p.n <= 4 * width && p.a_row % item == 0 && p.a_col % item == 0;
  const bool direct_b = S::direct && p.m <= 4 * kRows && p.b_col == item && p.b_row % item == 0;
  const N alpha = static_cast<N>(static_cast<std::conditional_t<std::is_integral_v<N>, int64_t, N>>(p.alpha));
  const N beta = static_cast<N>(static_cast<std::conditional_t<std::is_integral_v<N>, int64_t, N>>(p.beta));

  // A panel is packed as [depth][kUnit]: `count` of its kUnit lines exist, `line` apart, elements of a line are `step`
  // bytes apart; the rest is zeros.
  auto pack = [&]<int kUnit>(std::integral_constant<int, kUnit>, N* to, const char* from, int64_t count, int64_t line,
                             int64_t step, int64_t depth) {
    auto scalar = [&](int64_t first) {
      for (int64_t i = first; i < kUnit; ++i)
        for (int64_t q = 0; q < depth; ++q)
          to[q * kUnit + i] = i < count ? S::read(*reinterpret_cast<const T*>(from + i * line + q * step)) : N(0);
    };
    if (line == item && count == kUnit) {
      for (int64_t q = 0; q < depth; ++q)
        for (int64_t i = 0; i < kUnit; ++i) to[q * kUnit + i] = S::read(reinterpret_cast<const T*>(from + q * step)[i]);
    } else if (S::direct && step == item) {
      int64_t i = 0;
      if constexpr (S::direct)
        for (; i + 4 <= count; i += 4) interleave(to + i, kUnit, from + i * line, line, depth);
      scalar(i);
    } else {
      scalar(0);
    }
  };
  auto finish = [&](const N* sum, char* c, int64_t rows, int64_t columns, bool first) {
    const N keep = first ? beta : N(1);
    for (int64_t i = 0; i < rows; ++i, sum += width, c += p.c_row) {
      if (p.c_col == item && columns == width) {
        T* out = reinterpret_cast<T*>(c);
        if (keep == N(0))
          for (int64_t j = 0; j < width; ++j) out[j] = S::write(alpha * sum[j]);
        else
          for (int64_t j = 0; j < width; ++j) out[j] = S::write(alpha * sum[j] + keep * S::read(out[j]));
      } else {
        for (int64_t j = 0; j < columns; ++j) {
          T& out = *reinterpret_cast<T*>(c + j * p.c_col);
          out = S::write(keep == N(0) ? alpha * sum[j] : alpha * sum[j] + keep * S::read(out));
        }
      }
    }
  };

  N sum[kRows * width];
  for (int64_t j0 = 0; j0 < p.n; j0 += block.n) {
    const int64_t n = std::min(block.n, p.n - j0);
    int64_t q0 = 0;
    do {  // once even when k is 0
      const int64_t depth = std::min(block.k, p.k - q0);
      const char* b0 = p.b + q0 * p.b_row + j0 * p.b_col;
      for (int64_t j = 0; j < n; j += width)
        if (!direct_b || n - j < width)
          pack(std::integral_constant<int, width>(), packed_b + j * depth, b0 + j * p.b_col,
               std::min<int64_t>(width, n - j), p.b_col, p.b_row, depth);
      for (int64_t i0 = 0; i0 < p.m; i0 += block.m) {
        const int64_t m = std::min(block.m, p.m - i0);
        const char* a0 = p.a + i0 * p.a_row + q0 * p.a_col;
        for (int64_t i = 0; i < m; i += kRows)
          if (!direct_a || m - i < kRows)
            pack(std::integral_constant<int, kRows>(), packed_a + i * depth, a0 + i * p.a_row,
                 std::min<int64_t>(kRows, m - i), p.a_row, p.a_col, depth);
        for (int64_t i = 0; i < m; i += kRows) {
          const int64_t rows = std::min<int64_t>(kRows, m - i);
          const bool lies_a = direct_a && rows == kRows;
          for (int64_t j = 0; j < n; j += width) {
            const int64_t columns = std::min<int64_t>(width, n - j);
            const bool lies_b = direct_b && columns == width;
            const N* b = lies_b ? reinterpret_cast<const N*>(b0 + j * p.b_col) : packed_b + j * depth;
            const int64_t b_k = lies_b ? p.b_row / item : width;
            if (lies_a)
              tile<N, kRows, false>(depth, reinterpret_cast<const N*>(a0 + i * p.a_row), p.a_row / item, p.a_col / item,
                                    b, b_k, sum);
            else tile<N, kRows, true>(depth, packed_a + i * depth, 1, kRows, b, b_k, sum);
            finish(sum, p.c + (i0 + i) * p.c_row + (j0 + j) * p.c_col, rows, columns, q0 == 0);
          }
        }
      }
      q0 += std::max<int64_t>(block.k, 1);
    } while (q0 < p.k);
  }
}

// Complex numbers: real and imaginary parts are packed apart, so that the tile's loop has no shuffles.
template <class N>
[[gnu::noinline]] void complex_tile(int64_t k, const N* a, const N* b, N* out) {
  constexpr int lanes = kWidth<N>;
  Vec<N> re[kComplexRows][kVectors] = {}, im[kComplexRows][kVectors] = {};
  for (int64_t p = 0; p < k; ++p, a += 2 * kComplexRows, b += 2 * kVectors * lanes) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) {
      Vec<N> y_re = load(b + j * lanes), y_im = load(b + (kVectors + j) * lanes);
#pragma GCC unroll 8
      for (int i = 0; i < kComplexRows; ++i) {
        Vec<N> x_re = splat<N>(a[2 * i]), x_im = splat<N>(a[2 * i + 1]);
        re[i][j] = fma<N>(x_re, y_re, fma<N>(-x_im, y_im, re[i][j]));
        im[i][j] = fma<N>(x_re, y_im, fma<N>(x_im, y_re, im[i][j]));
      }
    }
  }
  for (int i = 0; i < kComplexRows; ++i)
    for (int j = 0; j < kVectors; ++j) {
      store(out + (2 * i * kVectors + j) * lanes, re[i][j]);
      store(out + ((2 * i + 1) * kVectors + j) * lanes, im[i][j]);
    }
}

template <class N>
void complex_product(const Product& p) {
  using T = std::complex<N>;
  constexpr int width = kVectors * kWidth<N>;
  const Blocks block(p, false, kComplexRows, width, sizeof(T));
  auto* packed_b = static_cast<N*>(
      product_workspace(static_cast<size_t>((block.n + block.m) * std::max<int64_t>(block.k, 1)) * sizeof(T)));
  N* packed_a = packed_b + 2 * block.n * block.k;
  const N alpha = static_cast<N>(p.alpha), beta = static_cast<N>(p.beta);
  auto at = [](const char* base, int64_t offset) { return *reinterpret_cast<const T*>(base + offset); };

  N sum[2 * kComplexRows * width];
  for (int64_t j0 = 0; j0 < p.n; j0 += block.n) {
    const int64_t n = std::min(block.n, p.n - j0);
    int64_t q0 = 0;
    do {
      const int64_t depth = std::min(block.k, p.k - q0);
      const char* b0 = p.b + q0 * p.b_row + j0 * p.b_col;
      for (int64_t j = 0; j < n; j += width)
        for (int64_t q = 0; q < depth; ++q)
          for (int64_t l = 0; l < width; ++l) {
            T v = j + l < n ? at(b0, q * p.b_row + (j + l) * p.b_col) : T(0);
            N* to = packed_b + 2 * (j * depth + q * width);
            to[l] = v.real();
            to[width + l] = v.imag();
          }
      for (int64_t i0 = 0; i0 < p.m; i0 += block.m) {
        const int64_t m = std::min(block.m, p.m - i0);
        const char* a0 = p.a + i0 * p.a_row + q0 * p.a_col;
        for (int64_t i = 0; i < m; i += kComplexRows)
          for (int64_t q = 0; q < depth; ++q)
            for (int64_t l = 0; l < kComplexRows; ++l) {
              T v = i + l < m ? at(a0, (i + l) * p.a_row + q * p.a_col) : T(0);
              N* to = packed_a + 2 * (i * depth + q * kComplexRows + l);
              to[0] = v.real();
              to[1] = v.imag();
            }
        for (int64_t j = 0; j < n; j += width)
          for (int64_t i = 0; i < m; i += kComplexRows) {
            complex_tile<N>(depth, packed_a + 2 * i * depth, packed_b + 2 * j * depth, sum);
            for (int64_t r = 0; r < kComplexRows && i + r < m; ++r)
              for (int64_t l = 0; l < width && j + l < n; ++l) {
                T& out = *reinterpret_cast<T*>(p.c + (i0 + i + r) * p.c_row + (j0 + j + l) * p.c_col);
                T v(alpha * sum[2 * r * width + l], alpha * sum[(2 * r + 1) * width + l]);
                const N keep = q0 == 0 ? beta : N(1);
                out = keep == N(0) ? v : T(v.real() + keep * out.real(), v.imag() + keep * out.imag());
              }
          }
      }
      q0 += std::max<int64_t>(block.k, 1);
    } while (q0 < p.k);
  }
}

// --- rows times columns one by one, for products with a vector
template <class N>
N multiply(N x, N y) {
  return x * y;
}
template <class N>  // without the library's check for infinities
std::complex<N> multiply(std::complex<N> x, std::complex<N> y) {
  return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
}

constexpr int64_t kDotPart = 1 << 15;  // elements summed by one thread at a time: fixes the order of sums

template <class S>
typename S::Number dot_part(const char* a, int64_t a_step, const char* b, int64_t b_step, int64_t k) {
  using T = typename S::Stored;
  using N = typename S::Number;
  N sum[32] = {};
  int64_t q = 0;
  if (a_step == sizeof(T) && b_step == sizeof(T)) {
    const T* x = reinterpret_cast<const T*>(a);
    const T* y = reinterpret_cast<const T*>(b);
    if constexpr (S::direct && std::is_floating_point_v<N>) {
      constexpr int lanes = kWidth<N>, step = 4 * lanes;
      Vec<N> v[4] = {};
      for (; q + step <= k; q += step)
#pragma GCC unroll 4
        for (int l = 0; l < 4; ++l) v[l] = fma<N>(load(x + q + l * lanes), load(y + q + l * lanes), v[l]);
      Vec<N> all = (v[0] + v[1]) + (v[2] + v[3]);
      for (int l = 0; l < lanes; ++l) sum[l] = all[l];
    } else {
      for (; q + 32 <= k; q += 32)
        for (int l = 0; l < 32; ++l) sum[l] += multiply(S::read(x[q + l]), S::read(y[q + l]));
    }
  }
  for (; q < k; ++q)
    sum[q % 32] += multiply(S::read(*reinterpret_cast<const T*>(a + q * a_step)),
                            S::read(*reinterpret_cast<const T*>(b + q * b_step)));
  for (int half = 16; half > 0; half /= 2)
    for (int l = 0; l < half; ++l) sum[l] += sum[l + half];
  return sum[0];
}

template <class S>
void dots(const Product& p) {
  using T = typename S::Stored;
  using N = typename S::Number;
  const int64_t parts = std::max<int64_t>(1, (p.k + kDotPart - 1) / kDotPart), results = p.m * p.n;
  auto* partial = static_cast<N*>(product_workspace(static_cast<size_t>(parts * results) * sizeof(N)));
  parallel_for(0, parts * results, std::max<int64_t>(1, kDotPart / std::max<int64_t>(1, std::min(p.k, kDotPart))),
               [&](int64_t from, int64_t to) {
                 for (int64_t t = from; t < to; ++t) {
                   int64_t r = t / parts, q = t % parts * kDotPart;
                   partial[t] =
                       dot_part<S>(p.a + r / p.n * p.a_row + q * p.a_col, p.a_col,
                                   p.b + r % p.n * p.b_col + q * p.b_row, p.b_row, std::min(kDotPart, p.k - q));
                 }
               });
  for (int64_t r = 0; r < results; ++r) {
    N sum = partial[r * parts];
    for (int64_t q = 1; q < parts; ++q) sum += partial[r * parts + q];
    T& out = *reinterpret_cast<T*>(p.c + r / p.n * p.c_row + r % p.n * p.c_col);
    if constexpr (std::is_integral_v<N>) {
      sum *= static_cast<N>(static_cast<int64_t>(p.alpha));
      if (p.beta != 0) sum += static_cast<N>(static_cast<int64_t>(p.beta)) * S::read(out);
    } else {
      using R = decltype(std::abs(sum));
      sum *= static_cast<R>(p.alpha);
      if (p.beta != 0) sum += static_cast<R>(p.beta) * S::read(out);
    }
    out = S::write(sum);
  }
}

}  // namespace

void fill_product(ProductTable& t) {
  auto set = [&](DType type, ProductFn product, ProductFn dots) { t[static_cast<int>(type)] = {product, dots}; };
  auto both = [&]<class S>(DType type, S) { set(type, product<S>, dots<S>); };
  both(DType::Float32, Plain<float>());
  both(DType::Float64, Plain<double>());
  both(DType::Float16, Half());
  both(DType::BFloat16, BFloat());
  // Unsigned sums: overflow wraps, and the low bits are those of the signed product.
  both(DType::UInt8, Plain<uint8_t, uint32_t>());
  both(DType::Int8, Plain<int8_t, uint32_t>());
  both(DType::Int16, Plain<int16_t, uint32_t>());
  both(DType::Int32, Plain<uint32_t>());
  both(DType::Int64, Plain<uint64_t>());
  set(DType::Complex64, complex_product<float>, dots<Plain<std::complex<float>>>);
  set(DType::Complex128, complex_product<double>, dots<Plain<std::complex<double>>>);
}

}  // namespace fc::cpu::FC_ISA
