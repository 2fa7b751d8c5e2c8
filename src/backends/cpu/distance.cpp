// SPDX-License-Identifier: Apache-2.0
// Distances between rows in the p-norms that have a formula of their own (0, 1, 2, infinity) and in any other.
#include "plan/distance.h"

#include <cmath>

#include "backends/cpu/register.h"
#include "core/threads.h"

namespace fc::cpu {
namespace {

constexpr int64_t kWork = 1 << 14;  // elements worth a thread

// Each norm: what one difference adds (`add`), how sums become a distance (`finish`), and the slope of the distance in
// that difference (`slope`), which is 0 where the distance is.
template <class T>
struct Zero {
  explicit Zero(double) {}
  T add(T sum, T d) const { return sum + T(d != 0); }
  T finish(T sum) const { return sum; }
  T slope(T, T) const { return 0; }
};
template <class T>
T sign(T d) {
  return T(d > 0) - T(d < 0);
}
template <class T>
struct One {
  explicit One(double) {}
  T add(T sum, T d) const { return sum + std::abs(d); }
  T finish(T sum) const { return sum; }
  T slope(T d, T) const { return sign(d); }
};
template <class T>
struct Two {
  explicit Two(double) {}
  T add(T sum, T d) const { return sum + d * d; }
  T finish(T sum) const { return std::sqrt(sum); }
  T slope(T d, T distance) const { return distance == 0 ? T(0) : d / distance; }
};
template <class T>
struct Largest {
  explicit Largest(double) {}
  T add(T sum, T d) const { return std::abs(d) > sum || d != d ? std::abs(d) : sum; }
  T finish(T sum) const { return sum; }
  T slope(T d, T distance) const { return std::abs(d) == distance ? sign(d) : T(0); }
};
template <class T>
struct Any {
  T p;
  explicit Any(double power) : p(static_cast<T>(power)) {}
  T add(T sum, T d) const { return sum + std::pow(std::abs(d), p); }
  T finish(T sum) const { return std::pow(sum, 1 / p); }
  T slope(T d, T distance) const {
    if (distance == 0 || (d == 0 && p < 1)) return 0;
    return sign(d) * std::pow(std::abs(d) / distance, p - 1);
  }
};

template <class T, class F>
void with_norm(double p, const F& f) {
  if (p == 0) f(Zero<T>(p));
  else if (p == 1) f(One<T>(p));
  else if (p == 2) f(Two<T>(p));
  else if (std::isinf(p)) f(Largest<T>(p));
  else f(Any<T>(p));
}
template <class F>
void with_type(const char* op, DType t, double p, const F& f) {
  if (t == DType::Float32) with_norm<float>(p, [&](auto norm) { f(norm, float()); });
  else if (t == DType::Float64) with_norm<double>(p, [&](auto norm) { f(norm, double()); });
  else raise<NotImplementedError>("\"", op, "\" not implemented for '", info(t).legacy, "'");
}

template <class T, class Norm>
T distance(const Norm& norm, const T* a, const T* b, int64_t n) {
  T sum = 0;
  for (int64_t i = 0; i < n; ++i) sum = norm.add(sum, a[i] - b[i]);
  return norm.finish(sum);
}
// out += g * slope
template <class T, class Norm>
void pull(const Norm& norm, T* out, const T* a, const T* b, T g, T distance, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] += g * norm.slope(a[i] - b[i], distance);
}

Tensor cdist(const Tensor& x1, const Tensor& x2, double p, std::optional<int64_t>) {
  const Distances d = plan_distances(x1, x2, p);
  Tensor out = empty_tensor(d.output, x1.dtype(), Device{});
  with_type("cdist", x1.dtype(), p, [&]<class T>(const auto& norm, T) {
    const T *a = d.x1.data_as<T>(), *b = d.x2.data_as<T>();
    T* to = out.data_as<T>();
    parallel_for(0, out.numel(), std::max<int64_t>(1, kWork / std::max<int64_t>(d.size, 1)),
                 [&](int64_t from, int64_t end) {
                   for (int64_t i = from; i < end; ++i) {
                     const int64_t row = i / d.m, batch = row / d.n;
                     to[i] = distance(norm, a + row * d.size, b + (batch * d.m + i % d.m) * d.size, d.size);
                   }
                 });
  });
  return out;
}

Tensor cdist_backward(const Tensor& grad, const Tensor& x1, const Tensor& x2, double p, const Tensor& cdist) {
  const Distances d = plan_distances(x1, x2, p);
  for (const Tensor& t : {grad, cdist})
    FC_CHECK(Dims::same(t.sizes(), d.output) && t.dtype() == x1.dtype(), "_cdist_backward: expected ", x1.dtype(), " ",
             IntSpan(d.output), ", got ", t.dtype(), " ", t.sizes());
  Dims shape(d.output);
  shape.back() = d.size;
  Tensor out = zeros(shape, x1.dtype(), Device{}), g = contiguous(grad), distances = contiguous(cdist);
  with_type("cdist_backward", x1.dtype(), p, [&]<class T>(const auto& norm, T) {
    const T *a = d.x1.data_as<T>(), *b = d.x2.data_as<T>(), *go = g.data_as<T>(), *r = distances.data_as<T>();
    T* to = out.data_as<T>();
    const int64_t row_work = std::max<int64_t>(d.size * d.m, 1);
    parallel_for(0, d.batch * d.n, std::max<int64_t>(1, kWork / row_work), [&](int64_t from, int64_t end) {
      for (int64_t row = from; row < end; ++row)
        for (int64_t j = 0; j < d.m; ++j)
          pull(norm, to + row * d.size, a + row * d.size, b + (row / d.n * d.m + j) * d.size, go[row * d.m + j],
               r[row * d.m + j], d.size);
    });
  });
  return out;
}

// Where the pair (i, j), i < j, of n rows stands.
int64_t pair(int64_t i, int64_t j, int64_t n) { return i * n - i * (i + 1) / 2 + j - i - 1; }

Tensor pdist(const Tensor& self, double p) {
  Tensor out = empty_tensor(Dims{check_pdist(self, p)}, self.dtype(), Device{}), x = contiguous(self);
  const int64_t n = self.size(0), size = self.size(1);
  with_type("pdist", self.dtype(), p, [&]<class T>(const auto& norm, T) {
    const T* a = x.data_as<T>();
    T* to = out.data_as<T>();
    parallel_for(0, n - 1, std::max<int64_t>(1, kWork / std::max<int64_t>(n * size, 1)),
                 [&](int64_t from, int64_t end) {
                   for (int64_t i = from; i < end; ++i)
                     for (int64_t j = i + 1; j < n; ++j)
                       to[pair(i, j, n)] = distance(norm, a + i * size, a + j * size, size);
                 });
  });
  return out;
}

Tensor pdist_backward(const Tensor& grad, const Tensor& self, double p, const Tensor& pdist) {
  const int64_t pairs = check_pdist(self, p), n = self.size(0), size = self.size(1);
  for (const Tensor& t : {grad, pdist})
    FC_CHECK(t.dim() == 1 && t.numel() == pairs && t.dtype() == self.dtype(), "_pdist_backward: expected ", pairs,
             " elements of ", self.dtype(), ", got ", t.dtype(), " ", t.sizes());
  Tensor x = contiguous(self), g = contiguous(grad), distances = contiguous(pdist),
         out = zeros(self.sizes(), self.dtype(), Device{});
  with_type("pdist_backward", self.dtype(), p, [&]<class T>(const auto& norm, T) {
    const T *a = x.data_as<T>(), *go = g.data_as<T>(), *r = distances.data_as<T>();
    T* to = out.data_as<T>();
    parallel_for(0, n, std::max<int64_t>(1, kWork / std::max<int64_t>(n * size, 1)), [&](int64_t from, int64_t end) {
      for (int64_t i = from; i < end; ++i)
        for (int64_t j = 0; j < n; ++j) {
          if (i == j) continue;
          const int64_t at = pair(std::min(i, j), std::max(i, j), n);
          pull(norm, to + i * size, a + i * size, a + j * size, go[at], r[at], size);
        }
    });
  });
  return out;
}

}  // namespace

void register_distance() {
  set_cpu_kernel("aten::_cdist_forward", kernel<&cdist>());
  set_cpu_kernel("aten::_cdist_backward", kernel<&cdist_backward>());
  set_cpu_kernel("aten::_pdist_forward", kernel<&pdist>());
  set_cpu_kernel("aten::_pdist_backward", kernel<&pdist_backward>());
}

}  // namespace fc::cpu
