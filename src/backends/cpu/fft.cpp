// SPDX-License-Identifier: Apache-2.0
// Fourier transforms of any length. A length whose prime factors are small is transformed by self-sorting (Stockham)
// steps of radix 4, 2, 3, 5 and any other, which exchange two buffers. Other lengths become a cyclic convolution of a
// power of two (Bluestein). Several transforms run side by side in the lanes of one pass (fft.h), passes on all
// threads. Even real transforms are complex ones of half the length. An inverse transform is a forward one with real
// and imaginary parts exchanged.
#include "backends/cpu/fft.h"

#include <algorithm>
#include <cmath>
#include <list>
#include <memory>
#include <mutex>
#include <numbers>
#include <vector>

#include "backends/cpu/register.h"
#include "core/tensor.h"
#include "core/threads.h"
#include "define/calls.h"
#include "plan/fft.h"

namespace fc::cpu {
namespace {

// exp(-2 pi i k / n). The angle is brought into the first eighth of the circle by integers, so that no digit is lost.
struct Root {
  double re, im;
};
Root root_of_unity(uint64_t k, uint64_t n) {
  k %= n;
  const bool below = 2 * k > n;  // the lower half mirrors the upper one
  if (below) k = n - k;
  const bool left = 4 * k > n;
  const uint64_t a = left ? n - 2 * k : 2 * k;  // the angle is pi a / n, in the first quarter
  const bool steep = 4 * a > n;
  const double angle =
      std::numbers::pi * (steep ? static_cast<double>(n - 2 * a) / 2 : static_cast<double>(a)) / static_cast<double>(n);
  double c = std::cos(angle), s = std::sin(angle);
  if (steep) std::swap(c, s);
  return {left ? -c : c, below ? s : -s};
}

template <class R>
struct Plan {
  int64_t n = 1;
  struct Step {
    int64_t radix, rest;
    std::vector<R> twiddles, roots;
  };
  std::vector<Step> steps;
  std::vector<R> half_turns;  // exp(-pi i k / n), k = 0 … n: what a real transform of 2 n numbers needs
  // Bluestein: exp(-pi i k^2 / n), and the transform of its conjugate over the length of `inner`.
  std::vector<R> chirp, filter;
  std::shared_ptr<const Plan> inner;

  explicit Plan(int64_t length);
  R half_re(int64_t k) const { return half_turns[static_cast<size_t>(2 * k)]; }
  R half_im(int64_t k) const { return half_turns[static_cast<size_t>(2 * k + 1)]; }
};

// Buffers of the lanes of one pass: real and imaginary parts, and room for the next step's.
template <class R>
struct Lanes {
  int64_t count;
  std::vector<R> memory;
  R *re, *im, *next_re, *next_im;

  Lanes(int64_t lanes, int64_t length) : count(lanes), memory(static_cast<size_t>(4 * lanes * length)) {
    re = memory.data(), im = re + lanes * length, next_re = im + lanes * length, next_im = next_re + lanes * length;
  }
};

template <class R>
void run_steps(const Plan<R>& plan, Lanes<R>& x) {
  const auto& kernels = *FC_VARIANT(fft_kernels);
  int64_t stride = x.count;
  for (const auto& s : plan.steps) {
    const FftStep<R> f{s.radix, s.rest, stride, s.twiddles.data(), s.roots.data(), x.re, x.im, x.next_re, x.next_im};
    if constexpr (sizeof(R) == 4) kernels.float32(f);
    else kernels.float64(f);
    std::swap(x.re, x.next_re);
    std::swap(x.im, x.next_im);
    stride *= s.radix;
  }
}

// The forward transform of every lane. Bluestein's inner transforms need the longer buffers of buffer_length().
template <class R>
void transform(const Plan<R>& plan, Lanes<R>& x) {
  if (!plan.inner) return run_steps(plan, x);
  const int64_t n = plan.n, m = plan.inner->n, lanes = x.count;
  auto multiply = [&](int64_t j, R wr, R wi) {
    R *re = x.re + j * lanes, *im = x.im + j * lanes;
    for (int64_t b = 0; b < lanes; ++b) {
      const R ar = re[b], ai = im[b];
      re[b] = ar * wr - ai * wi;
      im[b] = ar * wi + ai * wr;
    }
  };
  auto at = [](const std::vector<R>& v, int64_t j) { return v.data() + 2 * j; };
  for (int64_t j = 0; j < n; ++j) multiply(j, at(plan.chirp, j)[0], at(plan.chirp, j)[1]);
  std::fill(x.re + n * lanes, x.re + m * lanes, R(0));
  std::fill(x.im + n * lanes, x.im + m * lanes, R(0));
  run_steps(*plan.inner, x);
  for (int64_t j = 0; j < m; ++j) multiply(j, at(plan.filter, j)[0], at(plan.filter, j)[1]);
  std::swap(x.re, x.im), std::swap(x.next_re, x.next_im);
  run_steps(*plan.inner, x);
  std::swap(x.re, x.im), std::swap(x.next_re, x.next_im);
  for (int64_t j = 0; j < n; ++j) multiply(j, at(plan.chirp, j)[0], at(plan.chirp, j)[1]);
}
template <class R>
int64_t buffer_length(const Plan<R>& plan) {
  return plan.inner ? plan.inner->n : std::max<int64_t>(plan.n, 1);
}

template <class R>
Plan<R>::Plan(int64_t length) : n(length) {
  constexpr int64_t largest = 31;  // prime factor whose definition is still cheaper than Bluestein's detour
  for (int64_t k = 0; k <= n; ++k) {
    const Root w = root_of_unity(static_cast<uint64_t>(k), 2 * static_cast<uint64_t>(n));
    half_turns.push_back(static_cast<R>(w.re)), half_turns.push_back(static_cast<R>(w.im));
  }
  int64_t left = n;
  std::vector<int64_t> factors;
  for (int64_t r : {4, 2, 3, 5})
    while (left % r == 0 && left > 1) factors.push_back(r), left /= r;
  for (int64_t r = 7; r <= largest; r += 2)
    while (left % r == 0) factors.push_back(r), left /= r;
  if (left > 1) {
    int64_t m = 1;
    while (m < 2 * n - 1) m *= 2;
    inner = std::make_shared<const Plan>(m);
    const auto size = static_cast<uint64_t>(n);
    chirp.resize(2 * size);
    filter.resize(2 * static_cast<size_t>(m));
    Lanes<R> spectrum(1, m);
    for (uint64_t k = 0; k < size; ++k) {
      const auto square = static_cast<uint64_t>(static_cast<unsigned __int128>(k) * k % (2 * size));
      const Root w = root_of_unity(square, 2 * size);
      chirp[2 * k] = static_cast<R>(w.re), chirp[2 * k + 1] = static_cast<R>(w.im);
      for (uint64_t index : {k, k == 0 ? 0 : static_cast<uint64_t>(m) - k})
        spectrum.re[index] = static_cast<R>(w.re / static_cast<double>(m)),
        spectrum.im[index] = static_cast<R>(-w.im / static_cast<double>(m));
    }
    run_steps(*inner, spectrum);
    for (size_t k = 0; k < static_cast<size_t>(m); ++k)
      filter[2 * k] = spectrum.re[k], filter[2 * k + 1] = spectrum.im[k];
    return;
  }
  int64_t rest = n;
  for (int64_t r : factors) {
    Step s{r, rest / r, {}, {}};
    const auto whole = static_cast<uint64_t>(rest), radix = static_cast<uint64_t>(r);
    for (uint64_t p = 0; p < whole / radix; ++p)
      for (uint64_t k = 1; k < radix; ++k) {
        const Root w = root_of_unity(p * k, whole);
        s.twiddles.push_back(static_cast<R>(w.re)), s.twiddles.push_back(static_cast<R>(w.im));
      }
    if (r > 5)
      for (uint64_t k = 0; k < radix; ++k) {
        const Root w = root_of_unity(k, radix);
        s.roots.push_back(static_cast<R>(w.re)), s.roots.push_back(static_cast<R>(w.im));
      }
    rest /= r;
    steps.push_back(std::move(s));
  }
}

// The last plans that were used. Programs use few lengths.
template <class R>
std::shared_ptr<const Plan<R>> plan_of(int64_t n) {
  static std::mutex lock;
  static std::list<std::shared_ptr<const Plan<R>>>& recent = *new std::list<std::shared_ptr<const Plan<R>>>;
  {
    std::lock_guard hold(lock);
    for (auto it = recent.begin(); it != recent.end(); ++it)
      if ((*it)->n == n) {
        recent.splice(recent.begin(), recent, it);
        return *recent.begin();
      }
  }
  auto made = std::make_shared<const Plan<R>>(n);
  std::lock_guard hold(lock);
  recent.push_front(made);
  if (recent.size() > 16) recent.pop_back();
  return made;
}

// --- passes along one dimension
// Lines of `length` elements along a dimension of a contiguous tensor, as [outer, length, inner]. A chunk is some lines
// whose elements lie side by side: of one outer index, or, if inner is 1, of consecutive ones.
struct Lines {
  int64_t outer, length, inner;
  Lines(const Tensor& t, int64_t dim) : outer(1), length(t.size(dim)), inner(1) {
    for (int64_t d = 0; d < dim; ++d) outer *= t.size(d);
    for (int64_t d = dim + 1; d < t.dim(); ++d) inner *= t.size(d);
  }
  int64_t step() const { return inner; }                      // from element to element of a line
  int64_t across() const { return inner == 1 ? length : 1; }  // from line to line of a chunk
};
struct Chunk {
  int64_t first, count;  // lines; counted by (outer, inner)
};
int64_t start(const Lines& l, const Chunk& c) {
  return l.inner == 1 ? c.first * l.length : c.first / l.inner * l.length * l.inner + c.first % l.inner;
}

// Calls body(chunk, lanes) for all lines, in parallel. `room`: elements of a lane's buffers.
template <class R, class F>
void each_chunk(const Lines& l, int64_t room, const F& body) {
  int64_t lanes = 64 / static_cast<int64_t>(sizeof(R));
  while (lanes > 1 && lanes * room * static_cast<int64_t>(4 * sizeof(R)) > int64_t{1} << 20) lanes /= 2;
  const int64_t group = l.inner == 1 ? l.outer : l.inner, per_group = (group + lanes - 1) / lanes;
  const int64_t chunks = l.inner == 1 ? per_group : l.outer * per_group;
  parallel_for(0, chunks, std::max<int64_t>(1, 4096 / (lanes * room)), [&](int64_t from, int64_t to) {
    std::unique_ptr<Lanes<R>> buffers;
    for (int64_t i = from; i < to; ++i) {
      const int64_t offset = i % per_group * lanes;
      const Chunk c{i / per_group * group + offset, std::min(lanes, group - offset)};
      if (!buffers || buffers->count != c.count) buffers = std::make_unique<Lanes<R>>(c.count, room);
      body(c, *buffers);
    }
  });
}

// put(element j of lane b, its value) and back. Lines that lie side by side are read row by row, others line by line.
template <class F>
void each_element(const Lines& l, const Chunk& c, int64_t length, const F& f) {
  const int64_t base = start(l, c), step = l.step(), across = l.across();
  if (step > 1 || c.count == 1)
    for (int64_t j = 0; j < length; ++j)
      for (int64_t b = 0; b < c.count; ++b) f(base + j * step + b * across, j * c.count + b);
  else
    for (int64_t b = 0; b < c.count; ++b)
      for (int64_t j = 0; j < length; ++j) f(base + j + b * across, j * c.count + b);
}

template <class R>
void complex_pass(const Tensor& t, int64_t dim, bool forward, R scale) {
  const Lines l(t, dim);
  auto plan = plan_of<R>(l.length);
  auto* data = static_cast<R*>(t.data());
  each_chunk<R>(l, buffer_length(*plan), [&](const Chunk& c, Lanes<R>& x) {
    auto exchange = [&] {
      if (!forward) std::swap(x.re, x.im), std::swap(x.next_re, x.next_im);
    };
    each_element(l, c, l.length, [&](int64_t at, int64_t k) { x.re[k] = data[2 * at], x.im[k] = data[2 * at + 1]; });
    exchange();
    transform(*plan, x);
    exchange();
    each_element(l, c, l.length,
                 [&](int64_t at, int64_t k) { data[2 * at] = scale * x.re[k], data[2 * at + 1] = scale * x.im[k]; });
  });
}

// Real numbers x_0, x_1, … of even number n as complex z_j = x_2j + i x_2j+1; with h = n / 2 and Z_h = Z_0
//   X_k = (Z_k + conj Z_h-k) / 2 - i/2 exp(-2 pi i k / n) (Z_k - conj Z_h-k).
template <class R>
void real_pass(const Tensor& in, const Tensor& out, int64_t dim, R scale) {
  const Lines from(in, dim), to(out, dim);
  const int64_t n = from.length, h = n / 2, length = n % 2 ? n : h;
  auto plan = plan_of<R>(length);
  const auto* x = static_cast<const R*>(in.data());
  auto* y = static_cast<R*>(out.data());
  each_chunk<R>(from, buffer_length(*plan), [&](const Chunk& c, Lanes<R>& z) {
    const int64_t lanes = c.count;
    if (n % 2) {
      each_element(from, c, n, [&](int64_t at, int64_t k) { z.re[k] = x[at], z.im[k] = 0; });
    } else {
      const int64_t step = from.step();
      const int64_t base = start(from, c), across = from.across();
      for (int64_t b = 0; b < lanes; ++b)
        for (int64_t j = 0; j < h; ++j) {
          const R* pair = x + base + b * across + 2 * j * step;
          z.re[j * lanes + b] = pair[0], z.im[j * lanes + b] = pair[step];
        }
    }
    transform(*plan, z);
    if (n % 2) {
      each_element(to, c, h + 1,
                   [&](int64_t at, int64_t k) { y[2 * at] = scale * z.re[k], y[2 * at + 1] = scale * z.im[k]; });
      return;
    }
    const R half = scale / 2;
    each_element(to, c, h + 1, [&](int64_t at, int64_t index) {
      const int64_t k = index / lanes, b = index % lanes, p = (k == h ? 0 : k) * lanes + b,
                    q = (k == 0 ? 0 : h - k) * lanes + b;
      const R sr = z.re[p] + z.re[q], si = z.im[p] - z.im[q], dr = z.re[p] - z.re[q], di = z.im[p] + z.im[q];
      const R wr = plan->half_re(k), wi = plan->half_im(k);
      // -i w (dr + i di)
      y[2 * at] = half * (sr + (wr * di + wi * dr));
      y[2 * at + 1] = half * (si - (wr * dr - wi * di));
    });
  });
}

// The way back: Z_k = (X_k + conj X_h-k) + i exp(2 pi i k / n) (X_k - conj X_h-k). What a real transform cannot have,
// an imaginary part of X_0 and of X_h, is left out.
template <class R>
void hermitian_pass(const Tensor& in, const Tensor& out, int64_t dim, R scale) {
  const Lines from(in, dim), to(out, dim);
  const int64_t n = to.length, h = n / 2, length = n % 2 ? n : h;
  auto plan = plan_of<R>(length);
  const auto* x = static_cast<const R*>(in.data());
  auto* y = static_cast<R*>(out.data());
  each_chunk<R>(to, buffer_length(*plan), [&](const Chunk& c, Lanes<R>& z) {
    const int64_t lanes = c.count, base = start(from, c), across = from.across(), step = from.step();
    for (int64_t b = 0; b < lanes; ++b) {
      auto re = [&](int64_t k) { return x[2 * (base + b * across + k * step)]; };
      auto im = [&](int64_t k) { return k == 0 || 2 * k == n ? R(0) : x[2 * (base + b * across + k * step) + 1]; };
      for (int64_t k = 0; k < length; ++k) {
        const int64_t index = k * lanes + b;
        if (n % 2) {
          const int64_t mirror = k > h ? n - k : k;
          z.re[index] = re(mirror), z.im[index] = k > h ? -im(mirror) : im(mirror);
          continue;
        }
        const R sr = re(k) + re(h - k), si = im(k) - im(h - k), dr = re(k) - re(h - k), di = im(k) + im(h - k);
        const R wr = plan->half_re(k), wi = -plan->half_im(k);
        z.re[index] = sr - (wr * di + wi * dr);
        z.im[index] = si + (wr * dr - wi * di);
      }
    }
    std::swap(z.re, z.im), std::swap(z.next_re, z.next_im);
    transform(*plan, z);
    std::swap(z.re, z.im), std::swap(z.next_re, z.next_im);
    if (n % 2) {
      each_element(to, c, n, [&](int64_t at, int64_t k) { y[at] = scale * z.re[k]; });
      return;
    }
    const int64_t first = start(to, c), gap = to.step();
    for (int64_t b = 0; b < lanes; ++b)
      for (int64_t j = 0; j < h; ++j) {
        R* pair = y + first + b * to.across() + 2 * j * gap;
        pair[0] = scale * z.re[j * lanes + b], pair[gap] = scale * z.im[j * lanes + b];
      }
  });
}

template <class F>
void with_real(DType type, const F& f) {
  if (real_of(type) == DType::Float64) f.template operator()<double>();
  else f.template operator()<float>();
}

Tensor c2c(const Tensor& self, IntSpan dim, int64_t normalization, bool forward) {
  check_fft("_fft_c2c", self, dim, true);
  Tensor out = fft_result(self, self.sizes(), self.dtype());
  copy_(out, self);
  if (out.numel() == 0) return out;
  const double scale = fft_scale(self.sizes(), dim, normalization);
  with_real(self.dtype(), [&]<class R>() {
    for (size_t i = 0; i < dim.size(); ++i)
      complex_pass<R>(out, wrap_dim(dim[i], out.dim()), forward, i + 1 == dim.size() ? static_cast<R>(scale) : R(1));
  });
  return out;
}

Tensor r2c(const Tensor& self, IntSpan dim, int64_t normalization, bool onesided) {
  check_fft("_fft_r2c", self, dim, false);
  if (!onesided) return c2c(to_dtype(self, complex_of(self.dtype())), dim, normalization, true);
  const int64_t last = wrap_dim(dim.back(), self.dim());
  Tensor out = fft_r2c_result(self, last), in = contiguous(self);
  if (out.numel() == 0) return out;
  const double scale = fft_scale(self.sizes(), dim, normalization);
  with_real(self.dtype(), [&]<class R>() {
    real_pass<R>(in, out, last, static_cast<R>(scale));
    for (int64_t d : dim.first(dim.size() - 1)) complex_pass<R>(out, wrap_dim(d, out.dim()), true, R(1));
  });
  return out;
}

Tensor c2r(const Tensor& self, IntSpan dim, int64_t normalization, int64_t size) {
  check_fft("_fft_c2r", self, dim, true);
  FC_CHECK(!dim.empty(), "_fft_c2r: no dimension to transform");
  const int64_t last = wrap_dim(dim.back(), self.dim());
  Tensor out = fft_c2r_result(self, last, size),
         in = dim.size() > 1 ? c2c(self, dim.first(dim.size() - 1), 0, false) : contiguous(self);
  if (out.numel() == 0) return out;
  const double scale = fft_scale(out.sizes(), dim, normalization);
  with_real(self.dtype(), [&]<class R>() { hermitian_pass<R>(in, out, last, static_cast<R>(scale)); });
  return out;
}

}  // namespace

void register_fft() {
  set_cpu_kernel("aten::_fft_c2c", kernel<&c2c>());
  set_cpu_kernel("aten::_fft_r2c", kernel<&r2c>());
  set_cpu_kernel("aten::_fft_c2r", kernel<&c2r>());
}

}  // namespace fc::cpu
