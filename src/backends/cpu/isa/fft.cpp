// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/isa.h"
#include "backends/cpu/fft.h"

namespace fc::cpu::FC_ISA {
namespace {

// The transform of r numbers, in place: re[k] + i im[k] = sum over j of (re[j] + i im[j]) exp(-2 pi i j k / r).
template <int r, class R>
[[gnu::always_inline]] inline void dft(R* re, R* im) {
  if constexpr (r == 2) {
    const R ar = re[0], ai = im[0];
    re[0] = ar + re[1], im[0] = ai + im[1];
    re[1] = ar - re[1], im[1] = ai - im[1];
  } else if constexpr (r == 3) {
    const R half = R(0.5), root = R(0.86602540378443864676);
    const R tr = re[1] + re[2], ti = im[1] + im[2], dr = root * (re[1] - re[2]), di = root * (im[1] - im[2]);
    const R ur = re[0] - half * tr, ui = im[0] - half * ti;
    re[0] += tr, im[0] += ti;
    re[1] = ur + di, im[1] = ui - dr;
    re[2] = ur - di, im[2] = ui + dr;
  } else if constexpr (r == 4) {
    const R ar = re[0] + re[2], ai = im[0] + im[2], br = re[0] - re[2], bi = im[0] - im[2];
    const R cr = re[1] + re[3], ci = im[1] + im[3], dr = re[1] - re[3], di = im[1] - im[3];
    re[0] = ar + cr, im[0] = ai + ci;
    re[2] = ar - cr, im[2] = ai - ci;
    re[1] = br + di, im[1] = bi - dr;
    re[3] = br - di, im[3] = bi + dr;
  } else {
    static_assert(r == 5);
    const R c1 = R(0.30901699437494742410), c2 = R(-0.80901699437494742410), s1 = R(0.95105651629515357212),
            s2 = R(0.58778525229247312917);
    const R ar = re[1] + re[4], ai = im[1] + im[4], br = re[2] + re[3], bi = im[2] + im[3];
    const R cr = re[1] - re[4], ci = im[1] - im[4], dr = re[2] - re[3], di = im[2] - im[3];
    const R pr = re[0] + c1 * ar + c2 * br, pi = im[0] + c1 * ai + c2 * bi;
    const R qr = re[0] + c2 * ar + c1 * br, qi = im[0] + c2 * ai + c1 * bi;
    const R ur = s1 * cr + s2 * dr, ui = s1 * ci + s2 * di, vr = s2 * cr - s1 * dr, vi = s2 * ci - s1 * di;
    re[0] += ar + br, im[0] += ai + bi;
    re[1] = pr + ui, im[1] = pi - ur;
    re[4] = pr - ui, im[4] = pi + ur;
    re[2] = qr + vi, im[2] = qi - vr;
    re[3] = qr - vi, im[3] = qi + vr;
  }
}

template <int r, class R>
void butterflies(const FftStep<R>& f) {
  const int64_t m = f.rest, s = f.stride;
  for (int64_t p = 0; p < m; ++p) {
    const R* w = f.twiddles + 2 * (r - 1) * p;
    const R *xr = f.xr + s * p, *xi = f.xi + s * p;
    R *yr = f.yr + s * r * p, *yi = f.yi + s * r * p;
    FC_IVDEP
    for (int64_t q = 0; q < s; ++q) {
      R re[r], im[r];
      for (int j = 0; j < r; ++j) re[j] = xr[q + s * m * j], im[j] = xi[q + s * m * j];
      dft<r>(re, im);
      yr[q] = re[0], yi[q] = im[0];
      for (int k = 1; k < r; ++k) {
        const R wr = w[2 * k - 2], wi = w[2 * k - 1];
        yr[q + s * k] = re[k] * wr - im[k] * wi;
        yi[q + s * k] = re[k] * wi + im[k] * wr;
      }
    }
  }
}

// Any radix, by its definition.
template <class R>
void any_radix(const FftStep<R>& f) {
  const int64_t r = f.radix, m = f.rest, s = f.stride;
  for (int64_t p = 0; p < m; ++p)
    for (int64_t k = 0; k < r; ++k) {
      const R wr = k ? f.twiddles[2 * ((r - 1) * p + k - 1)] : R(1),
              wi = k ? f.twiddles[2 * ((r - 1) * p + k - 1) + 1] : R(0);
      R *yr = f.yr + s * (r * p + k), *yi = f.yi + s * (r * p + k);
      for (int64_t q = 0; q < s; ++q) yr[q] = yi[q] = 0;
      for (int64_t j = 0, at = 0; j < r; ++j) {
        const R cr = f.roots[2 * at], ci = f.roots[2 * at + 1], gr = cr * wr - ci * wi, gi = cr * wi + ci * wr;
        const R *xr = f.xr + s * (p + m * j), *xi = f.xi + s * (p + m * j);
        FC_IVDEP
        for (int64_t q = 0; q < s; ++q) {
          yr[q] += xr[q] * gr - xi[q] * gi;
          yi[q] += xr[q] * gi + xi[q] * gr;
        }
        at += k;
        if (at >= r) at -= r;
      }
    }
}

template <class R>
void step(const FftStep<R>& f) {
  switch (f.radix) {
    case 2: return butterflies<2>(f);
    case 3: return butterflies<3>(f);
    case 4: return butterflies<4>(f);
    case 5: return butterflies<5>(f);
    default: return any_radix(f);
  }
}

}  // namespace

extern const FftKernels fft_kernels;
constinit const FftKernels fft_kernels{&step<float>, &step<double>};

}  // namespace fc::cpu::FC_ISA
