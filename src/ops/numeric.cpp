// SPDX-License-Identifier: Apache-2.0
// Quantiles, histograms, integrals, correlations and small constructions, written in other operators.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "define/calls.h"
#include "define/row.h"
#include "ops/register.h"
#include "plan/shape.h"

namespace fc {
namespace {

using Pair = std::tuple<Tensor, Tensor>;
using OptInt = std::optional<int64_t>;
using OptReals = std::optional<std::span<const double>>;

double number(const Tensor& t) { return call<"aten::_local_scalar_dense", Scalar>(t).to_double(); }

// --- quantiles
Tensor sorted_values(const Tensor& x) { return std::get<0>(call<"aten::sort", Pair>(x, int64_t{-1}, false)); }

// Ranks between sorted neighbours. NaNs sort last: a line that has one takes its last element, unless they are to be
// ignored, when ranks count the others only.
Tensor quantiles(const char* op, const Tensor& self, const Tensor& q, OptInt dim, bool keepdim,
                 std::string_view interpolation, bool ignore_nan) {
  FC_CHECK(self.numel() > 0, op, "() input tensor must be non-empty");
  FC_CHECK(q.dim() <= 1, op, "() q must be a scalar or 1D tensor");
  FC_CHECK(self.dtype() == DType::Float32 || self.dtype() == DType::Float64, op,
           "() input tensor must be either float or double dtype");
  FC_CHECK(q.dtype() == self.dtype(), op, "() q tensor must be same dtype as the input tensor");
  FC_CHECK(interpolation == "linear" || interpolation == "lower" || interpolation == "higher" ||
               interpolation == "midpoint" || interpolation == "nearest",
           op, "() interpolation must be one of linear, lower, higher, midpoint or nearest, but got ", interpolation);
  if (!q.device().is_meta())
    FC_CHECK(all_true(logical_and(ge(q, 0), le(q, 1))), op, "() q values must be in the range [0, 1]");
  const int64_t d = dim ? wrap_dim(*dim, self.dim(), op) : 0, last[] = {-1};
  Tensor x = dim && self.dim() > 0 ? call<"aten::movedim.int", Tensor>(self, d, int64_t{-1}) : reshape(self, Dims{-1});
  x = sorted_values(x);
  Tensor nan = isnan(x), list = reshape(q, Dims{q.numel()}), ranks;
  if (ignore_nan) {
    Tensor count = to_dtype(sum(logical_not(nan), last, true), x.dtype());
    ranks = call<"aten::clamp_min", Tensor>(mul(sub(count, 1), list), Scalar(0));
  } else {
    const auto top = static_cast<double>(x.size(-1) - 1);
    ranks = masked_fill(mul(list, top), call<"aten::any.dim", Tensor>(nan, int64_t{-1}, true), top);
  }
  if (interpolation == "lower") ranks = call<"aten::floor", Tensor>(ranks);
  if (interpolation == "higher") ranks = call<"aten::ceil", Tensor>(ranks);
  if (interpolation == "nearest") ranks = call<"aten::round", Tensor>(ranks);
  Tensor below = to_dtype(ranks, DType::Int64), result = gather(x, -1, below);
  if (interpolation == "linear" || interpolation == "midpoint") {
    Tensor weight = interpolation == "midpoint" ? full_like(ranks, 0.5) : sub(ranks, to_dtype(below, ranks.dtype()));
    Tensor above = to_dtype(call<"aten::ceil", Tensor>(ranks), DType::Int64);
    result = call<"aten::lerp.Tensor", Tensor>(result, gather(x, -1, above), weight);
  }
  result = call<"aten::movedim.int", Tensor>(result, int64_t{-1}, int64_t{0});  // one result for each q
  if (keepdim && dim && self.dim() > 0) result = unsqueeze(result, d + 1);
  if (keepdim && !dim) {
    Dims ones(static_cast<size_t>(self.dim()) + 1, 1);
    ones[0] = q.numel();
    result = reshape(result, ones);
  }
  return q.dim() == 0 ? select(result, 0, 0) : result;
}
template <bool ignore_nan>
struct Quantile {
  static constexpr const char* op = ignore_nan ? "nanquantile" : "quantile";
  static Tensor tensor(const Tensor& self, const Tensor& q, OptInt dim, bool keepdim, std::string_view interpolation) {
    return quantiles(op, self, q, dim, keepdim, interpolation, ignore_nan);
  }
  static Tensor scalar(const Tensor& self, double q, OptInt dim, bool keepdim, std::string_view interpolation) {
    FC_CHECK(q >= 0 && q <= 1, op, "() q must be in the range [0, 1] but got ", q);
    return quantiles(op, self, full(Dims{}, q, self.dtype(), self.device()), dim, keepdim, interpolation, ignore_nan);
  }
};

struct Sides {
  Tensor left, right;
};
Sides neighbours(const Tensor& y, int64_t dim) {
  return {narrow(y, dim, 0, y.size(dim) - 1), narrow(y, dim, 1, y.size(dim) - 1)};
}

// --- histograms
// Which bin each element lies in; the last one has both its ends. `inside` loses those that lie in none.
Tensor bins_of(const Tensor& flat, const Tensor& edges, Tensor& inside) {
  const int64_t bins = edges.numel() - 1;
  Tensor bin = sub(call<"aten::searchsorted.Tensor", Tensor>(contiguous(edges), contiguous(flat), false, true,
                                                             std::optional<std::string_view>(), Tensor()),
                   1);
  bin = where(eq(flat, select(edges, 0, bins)), bins - 1, bin);
  Tensor here = logical_and(logical_and(ge(bin, 0), lt(bin, bins)), logical_not(isnan(flat)));
  inside = inside.defined() ? logical_and(inside, here) : here;
  return bin;
}
Tensor add_up(const Tensor& bin, const Tensor& inside, int64_t bins, const Tensor& weight, DType type) {
  Tensor w = weight.defined() ? reshape(weight, Dims{-1}) : full(bin.sizes(), 1, type, bin.device());
  Tensor outside = logical_not(inside);
  return call<"aten::index_add", Tensor>(zeros(Dims{bins}, type, bin.device()), int64_t{0},
                                         masked_fill(bin, outside, 0), masked_fill(w, outside, 0), Scalar(1));
}
// How many elements (or how much weight) lie between edges.
Tensor count_between(const Tensor& x, const Tensor& edges, const Tensor& weight) {
  Tensor inside, bin = bins_of(reshape(x, Dims{-1}), edges, inside);
  return add_up(bin, inside, edges.numel() - 1, weight, x.dtype());
}
// The range of the data unless one is given; a range without width becomes one of width 1 around its value, or 2.
std::pair<double, double> data_range(const char* op, const Tensor& x, double low, double high, bool given,
                                     double half) {
  if (!given && x.numel() > 0) {
    auto [least, most] = call<"aten::aminmax", Pair>(x, OptInt(), false);
    low = number(least), high = number(most);
  }
  FC_CHECK(std::isfinite(low) && std::isfinite(high), op, ": range of [", low, ", ", high, "] is not finite");
  if (low == high) low -= half, high += half;
  return {low, high};
}
Tensor linspace(double low, double high, int64_t count, const Tensor& like) {
  return call<"aten::linspace", Tensor>(Scalar(low), Scalar(high), count, std::optional<DType>(like.dtype()),
                                        std::optional<Layout>(), std::optional<Device>(like.device()),
                                        std::optional<bool>());
}
void check_histogram(const char* op, const Tensor& x, int64_t bins) {
  FC_CHECK_AS(NotImplementedError, x.dtype() == DType::Float32 || x.dtype() == DType::Float64, op,
              ": \"histogram_cpu\" not implemented for '", info(x.dtype()).legacy, "'");
  FC_CHECK(bins > 0 && bins < int64_t{1} << 40, op, ": bins must be > 0, but got ", bins);
}
Tensor histc(const Tensor& self, int64_t bins, const Scalar& min, const Scalar& max) {
  const char* op = "torch.histc";
  if (item_size(self.dtype()) == 2 && is_floating(self.dtype()))
    return to_dtype(histc(to_dtype(self, DType::Float32), bins, min, max), self.dtype());
  check_histogram(op, self, bins);
  const double a = min.to_double(), b = max.to_double();
  FC_CHECK(a <= b, op, ": max must be larger than min");
  auto [low, high] = data_range(op, self, a, b, a != b, 1);
  return count_between(self, linspace(low, high, bins + 1, self), Tensor());
}
Pair histogram_of(const Tensor& self, const Tensor& edges, const Tensor& weight, bool density) {
  if (weight.defined())
    FC_CHECK(std::ranges::equal(weight.sizes(), self.sizes()) && weight.dtype() == self.dtype(),
             "torch.histogram: weight must have the sizes and the type of the input, got ", weight.sizes(), " for ",
             self.sizes());
  Tensor count = count_between(self, edges, weight);
  if (density)
    count = div(div(count, sum(count)), sub(narrow(edges, 0, 1, count.numel()), narrow(edges, 0, 0, count.numel())));
  return {count, edges};
}
Pair histogram_edges(const Tensor& self, const Tensor& bins, const Tensor& weight, bool density) {
  FC_CHECK(bins.dim() == 1 && bins.numel() > 1,
           "torch.histogram: bins tensor should have one dimension and at least two edges, got sizes ", bins.sizes());
  check_histogram("torch.histogram", self, bins.numel() - 1);
  FC_CHECK(bins.dtype() == self.dtype(),
           "torch.histogram: input tensor and bins tensors should have the same dtype, but got input with dtype ",
           info(self.dtype()).legacy, " and bins with dtype ", info(bins.dtype()).legacy);
  return histogram_of(self, clone(bins), weight, density);
}
Pair histogram_count(const Tensor& self, int64_t bins, OptReals range, const Tensor& weight, bool density) {
  const char* op = "torch.histogram";
  check_histogram(op, self, bins);
  FC_CHECK(!range || range->size() == 2, op, ": range should have 2 elements");
  if (range)
    FC_CHECK((*range)[0] <= (*range)[1], op, ": min should not exceed max, but got min ", (*range)[0], " max ",
             (*range)[1]);
  auto [low, high] = data_range(op, self, range ? (*range)[0] : 0, range ? (*range)[1] : 0, range.has_value(), 0.5);
  return histogram_of(self, linspace(low, high, bins + 1, self), weight, density);
}

// Of points, whose coordinates are the innermost dimension.
using Bins = std::tuple<Tensor, std::vector<Tensor>>;
int64_t check_points(const Tensor& self, size_t bins) {
  FC_CHECK(self.dim() >= 2, "torch.histogramdd: input tensor should have at least 2 dimensions, got ", self.sizes());
  FC_CHECK(static_cast<int64_t>(bins) == self.size(-1),
           "histogramdd: The size of bins must be equal to the innermost dimension of the input.");
  return self.size(-1);
}
Bins histogramdd_of(const Tensor& self, std::vector<Tensor> edges, const Tensor& weight, bool density) {
  FC_CHECK(!edges.empty(), "torch.histogramdd: expected points of one coordinate or more, got an input of size ",
           self.sizes());
  if (weight.defined()) {
    FC_CHECK(Dims::same(weight.sizes(), self.sizes().first(self.sizes().size() - 1)),
             "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor "
             "excluding its innermost dimension, but got input with shape ",
             self.sizes(), " and weight with shape ", weight.sizes());
    FC_CHECK(weight.dtype() == self.dtype(),
             "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the same "
             "dtype, but got input(",
             info(self.dtype()).legacy, "), and weight(", info(weight.dtype()).legacy, ")");
  }
  Dims counts;
  for (const Tensor& e : edges) counts.push_back(e.numel() - 1);
  const int64_t all = checked_numel(counts);
  Tensor points = reshape(self, Dims{checked_numel(self.sizes().first(self.sizes().size() - 1)), self.size(-1)}),
         inside, bin;
  for (size_t d = 0; d < edges.size(); ++d) {
    Tensor here = bins_of(contiguous(select(points, 1, static_cast<int64_t>(d))), edges[d], inside);
    bin = bin.defined() ? add(mul(bin, counts[d]), here) : here;
  }
  Tensor hist = reshape(add_up(bin, inside, all, weight, self.dtype()), counts);
  if (density) {
    hist = div(hist, sum(hist));
    for (size_t d = 0; d < edges.size(); ++d) {
      Dims along(edges.size(), 1);
      along[d] = counts[d];
      Sides s = neighbours(edges[d], 0);
      hist = div(hist, reshape(sub(s.right, s.left), along));
    }
  }
  return {hist, std::move(edges)};
}
Bins histogramdd_counts(const Tensor& self, IntSpan bins, OptReals range, const Tensor& weight, bool density) {
  const char* op = "torch.histogramdd";
  const int64_t n = check_points(self, bins.size());
  FC_CHECK(!range || range->size() == 2 * static_cast<size_t>(n), op, ": for a ", n,
           "-dimensional histogram range should have ", 2 * n, " elements, but got ", range ? range->size() : 0);
  std::vector<Tensor> edges;
  for (int64_t d = 0; d < n; ++d) {
    const auto i = static_cast<size_t>(d);
    check_histogram(op, self, bins[i]);
    const double from = range ? (*range)[2 * i] : 0, to = range ? (*range)[2 * i + 1] : 0;
    FC_CHECK(from <= to, op, ": min should not exceed max, but got min ", from, " max ", to, " for dimension ", d);
    auto [low, high] = data_range(op, select(self, -1, d), from, to, range.has_value(), 0.5);
    edges.push_back(linspace(low, high, bins[i] + 1, self));
  }
  return histogramdd_of(self, std::move(edges), weight, density);
}
Bins histogramdd_count(const Tensor& self, int64_t bins, OptReals range, const Tensor& weight, bool density) {
  FC_CHECK(self.dim() >= 2, "torch.histogramdd: input tensor should have at least 2 dimensions, got ", self.sizes());
  return histogramdd_counts(self, Dims(static_cast<size_t>(self.size(-1)), bins), range, weight, density);
}
Bins histogramdd_edges(const Tensor& self, TensorSpan bins, OptReals, const Tensor& weight, bool density) {
  check_points(self, bins.size());
  std::vector<Tensor> edges;
  for (const Tensor& e : bins) {
    FC_CHECK(e.dim() == 1 && e.numel() > 1 && e.dtype() == self.dtype(),
             "torch.histogramdd: bins tensors should have one dimension, at least two edges and the type of the input, "
             "got ",
             e.dtype(), " ", e.sizes());
    check_histogram("torch.histogramdd", self, e.numel() - 1);
    edges.push_back(clone(e));
  }
  return histogramdd_of(self, std::move(edges), weight, density);
}

// --- fraction and exponent
Pair frexp(const Tensor& self) {
  FC_CHECK(is_floating(self.dtype()) && !is_barebones(self.dtype()),
           "torch.frexp() only supports floating-point dtypes, got ", self.dtype());
  const bool is_double = self.dtype() == DType::Float64;
  const DType type = is_double ? DType::Float64 : DType::Float32, bits_type = is_double ? DType::Int64 : DType::Int32;
  const int64_t digits = is_double ? 52 : 23, mask = is_double ? 0x7ff : 0xff, bias = mask / 2 - 1;
  Tensor x = to_dtype(self, type);
  // Numbers without a leading one are scaled first; 0, infinities and NaN are left as they are.
  Tensor plain = logical_or(eq(x, 0), logical_not(isfinite(x))), tiny = lt(abs(x), is_double ? 0x1p-1022 : 0x1p-126);
  const double up = is_double ? 0x1p54 : 0x1p25;
  Tensor bits = call<"aten::view.dtype", Tensor>(where(tiny, mul(x, up), x), bits_type);
  auto both = [](const Tensor& t, int64_t m) { return call<"aten::bitwise_and.Scalar", Tensor>(t, Scalar(m)); };
  Tensor exponent =
      sub(both(call<"aten::bitwise_right_shift.Tensor_Scalar", Tensor>(bits, Scalar(digits)), mask), bias);
  Tensor fraction = call<"aten::bitwise_or.Scalar", Tensor>(both(bits, ~(mask << digits)), Scalar(bias << digits));
  exponent = where(tiny, sub(exponent, digits + 2), exponent);
  return {to_dtype(where(plain, x, call<"aten::view.dtype", Tensor>(fraction, type)), self.dtype()),
          to_dtype(masked_fill(exponent, plain, 0), DType::Int32)};
}

// The norm over all dimensions but one, which keeps its place.
Tensor norm_except_dim(const Tensor& v, int64_t power, int64_t dim) {
  Dims others;
  const int64_t kept = dim == -1 ? -1 : wrap_dim(dim, v.dim(), "norm_except_dim");
  for (int64_t d = 0; d < v.dim(); ++d)
    if (d != kept) others.push_back(d);
  return call<"aten::linalg_vector_norm", Tensor>(v, Scalar(power), others, kept >= 0, std::optional<DType>());
}

// --- integrals by the trapezoid rule
// The areas between neighbours. x may be one vector for all lines.
Tensor areas(const char* op, const Tensor& y, const Tensor& x, double dx, int64_t& dim) {
  dim = wrap_dim(dim, y.dim(), op);
  FC_CHECK(y.dim() > 0, op, ": y must have at least one dimension");
  FC_CHECK(y.dtype() != DType::Bool && (!x.defined() || x.dtype() != DType::Bool), op,
           ": received a bool input for `x` or `y`, but bool is not supported");
  if (y.size(dim) == 0) return narrow(y, dim, 0, 0);
  Sides s = neighbours(y, dim);
  Tensor sums = add(s.left, s.right);
  if (!x.defined()) return mul(sums, dx / 2);
  Tensor at = x;
  if (x.dim() == 1 && y.dim() > 1) {
    FC_CHECK(x.size(0) == y.size(dim), op, ": There must be one `x` value for each sample point");
    Dims shape(static_cast<size_t>(y.dim()), 1);
    shape[static_cast<size_t>(dim)] = x.size(0);
    at = reshape(x, shape);
  } else {
    FC_CHECK(x.dim() > 0 && x.size(x.dim() == y.dim() ? dim : std::min(dim, x.dim() - 1)) == y.size(dim), op,
             ": There must be one `x` value for each sample point");
    while (at.dim() < y.dim()) at = unsqueeze(at, 0);
  }
  Sides steps = neighbours(at, dim);
  return div(mul(sub(steps.right, steps.left), sums), 2);
}
Tensor trapezoid_x(const Tensor& y, const Tensor& x, int64_t dim) {
  Tensor a = areas("trapezoid", y, x, 1, dim);
  return sum(a, IntSpan(&dim, 1));
}
Tensor trapezoid_dx(const Tensor& y, const Scalar& dx, int64_t dim) {
  Tensor a = areas("trapezoid", y, Tensor(), dx.to_double(), dim);
  return sum(a, IntSpan(&dim, 1));
}
Tensor trapz_dx(const Tensor& y, double dx, int64_t dim) { return trapezoid_dx(y, dx, dim); }
Tensor scan(const Tensor& a, int64_t dim) { return call<"aten::cumsum", Tensor>(a, dim, std::optional<DType>()); }
Tensor cumulative_x(const Tensor& y, const Tensor& x, int64_t dim) {
  Tensor a = areas("cumulative_trapezoid", y, x, 1, dim);
  return scan(a, dim);
}
Tensor cumulative_dx(const Tensor& y, const Scalar& dx, int64_t dim) {
  Tensor a = areas("cumulative_trapezoid", y, Tensor(), dx.to_double(), dim);
  return scan(a, dim);
}

// --- correlations
Tensor cov(const Tensor& self, int64_t correction, const Tensor& fweights, const Tensor& aweights) {
  const char* op = "cov()";
  FC_CHECK(self.dim() <= 2, op, ": expected input to have two or fewer dimensions but got an input with ", self.dim(),
           " dimensions");
  FC_CHECK(self.dtype() != DType::Bool, op, ": bool dtype is not supported for input");
  Tensor x = self.dim() < 2 ? reshape(self, Dims{1, self.numel()}) : self;
  const int64_t n = x.size(1), last[] = {1};
  auto check = [&](const Tensor& w, const char* name) {
    if (!w.defined()) return;
    FC_CHECK(w.dim() <= 1, op, ": expected ", name, " to have one or fewer dimensions but got ", name, " with ",
             w.dim(), " dimensions");
    FC_CHECK(w.numel() == n, op, ": expected ", name,
             " to have the same numel as there are observations in the input but got ", w.numel(), " != ", n);
    if (!w.device().is_meta() && w.numel() > 0) FC_CHECK(all_true(ge(w, 0)), op, ": ", name, " cannot be negative");
  };
  if (fweights.defined())
    FC_CHECK(is_integral(fweights.dtype(), false), op,
             ": expected fweights to have integral dtype but got fweights with ", info(fweights.dtype()).legacy,
             " dtype");
  if (aweights.defined())
    FC_CHECK(is_floating(aweights.dtype()), op,
             ": expected aweights to have floating point dtype but got aweights with ", info(aweights.dtype()).legacy,
             " dtype");
  check(fweights, "fweights");
  check(aweights, "aweights");
  if (is_integral(x.dtype(), true)) x = to_dtype(x, default_dtype());
  Tensor w = !fweights.defined() ? aweights : !aweights.defined() ? fweights : mul(fweights, aweights), total, freedom;
  const DType real_type = real_of(x.dtype());
  if (w.defined()) w = to_dtype(reshape(w, Dims{n}), real_type);
  total = w.defined() ? sum(w) : full(Dims{}, static_cast<double>(n), real_type, x.device());
  if (w.defined() && aweights.defined() && correction != 0)
    freedom = sub(total, mul(div(sum(mul(w, to_dtype(reshape(aweights, Dims{n}), real_type))), total),
                             static_cast<double>(correction)));
  else freedom = sub(total, static_cast<double>(correction));
  if (!freedom.device().is_meta() && number(freedom) <= 0)
    warn("cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations.");
  freedom = call<"aten::clamp_min", Tensor>(freedom, Scalar(0));
  Tensor mean = div(sum(w.defined() ? mul(x, w) : x, last, true), total), centred = sub(x, mean);
  Tensor c = div(matmul(w.defined() ? mul(centred, w) : centred, conj(t(centred))), freedom);
  return c.numel() == 1 ? reshape(c, Dims{}) : c;
}
Tensor corrcoef(const Tensor& self) {
  FC_CHECK(self.dim() <= 2, "corrcoef(): expected input to have two or fewer dimensions but got an input with ",
           self.dim(), " dimensions");
  Tensor c = call<"aten::cov", Tensor>(self, int64_t{1}, Tensor(), Tensor());
  if (c.dim() == 0) return div(c, c);
  Tensor d = call<"aten::diagonal", Tensor>(c, int64_t{0}, int64_t{0}, int64_t{1});
  Tensor deviation = sqrt(is_complex(d.dtype()) ? call<"aten::real", Tensor>(d) : d);
  Tensor r = div(div(c, unsqueeze(deviation, 1)), unsqueeze(deviation, 0));
  if (is_complex(r.dtype()))
    return call<"aten::complex", Tensor>(
        call<"aten::clamp", Tensor>(call<"aten::real", Tensor>(r), std::optional<Scalar>(-1), std::optional<Scalar>(1)),
        call<"aten::clamp", Tensor>(call<"aten::imag", Tensor>(r), std::optional<Scalar>(-1),
                                    std::optional<Scalar>(1)));
  return call<"aten::clamp", Tensor>(r, std::optional<Scalar>(-1), std::optional<Scalar>(1));
}

// --- small constructions
Tensor combinations(const Tensor& self, int64_t r, bool with_replacement) {
  FC_CHECK(self.dim() == 1, "combinations: Expect a 1D vector, but got shape ", self.sizes());
  FC_CHECK(r >= 0, "combinations: Expect a non-negative number, but got ", r);
  if (r == 0) return empty_tensor(Dims{0}, self.dtype(), self.device());
  const int64_t n = self.size(0);
  if (n < (with_replacement ? 1 : r)) return reshape(narrow(self, 0, 0, 0), Dims{0, r});  // with its derivative
  FC_CHECK(r <= 64, "combinations: Expect at most 64 elements in a combination, but got ", r);
  Tensor positions = call<"aten::arange.start", Tensor>(Scalar(0), Scalar(n), std::optional<DType>(DType::Int64),
                                                        std::optional<Layout>(), std::optional<Device>(self.device()),
                                                        std::optional<bool>());
  std::vector<Tensor> lists(static_cast<size_t>(r), positions);
  auto grids = call<"aten::meshgrid.indexing", std::vector<Tensor>>(TensorSpan(lists), std::string_view("ij"));
  Tensor keep = full(grids[0].sizes(), true, DType::Bool, self.device());
  for (size_t i = 1; i < grids.size(); ++i)
    keep = logical_and(keep, with_replacement ? le(grids[i - 1], grids[i]) : lt(grids[i - 1], grids[i]));
  std::vector<Tensor> columns;
  for (const Tensor& g : grids)
    columns.push_back(
        call<"aten::index_select", Tensor>(self, int64_t{0}, call<"aten::masked_select", Tensor>(g, keep)));
  return stack(columns, 1);
}
Tensor block_diag(TensorSpan tensors) {
  int64_t columns = 0;
  DType type = DType::Undefined;
  std::vector<Tensor> blocks;
  for (const Tensor& x : tensors) {
    FC_CHECK(x.dim() <= 2, "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input ", blocks.size(),
             " has ", x.dim(), " dimensions");
    blocks.push_back(x.dim() == 2 ? x : reshape(x, Dims{1, x.numel()}));
    columns += blocks.back().size(1);
    type = promote(type, x.dtype());
  }
  if (blocks.empty()) return zeros(Dims{1, 0}, default_dtype(), Device());
  std::vector<Tensor> bands;  // each block with zeros at its sides
  int64_t before = 0;
  for (const Tensor& b : blocks) {
    auto gap = [&](int64_t n) { return zeros(Dims{b.size(0), n}, type, b.device()); };
    bands.push_back(cat(std::array{gap(before), to_dtype(b, type), gap(columns - before - b.size(1))}, 1));
    before += b.size(1);
  }
  return cat(bands, 0);
}
Tensor diagflat(const Tensor& self, int64_t offset) {
  return call<"aten::diag_embed", Tensor>(reshape(self, Dims{self.numel()}), offset, int64_t{0}, int64_t{1});
}
Tensor renorm(const Tensor& self, const Scalar& p, int64_t dim, const Scalar& maxnorm) {
  FC_CHECK(p.to_double() > 0, "renorm: non-positive-norm not supported");
  FC_CHECK(maxnorm.to_double() >= 0, "renorm: expected maxnorm to be >= 0 but got ", maxnorm);
  FC_CHECK(self.dim() > 1, "renorm: input needs at least 2 dimensions, got ", self.dim(), " dimensions");
  const int64_t d = wrap_dim(dim, self.dim(), "renorm");
  Dims others;
  for (int64_t i = 0; i < self.dim(); ++i)
    if (i != d) others.push_back(i);
  Tensor norm =
      call<"aten::linalg_vector_norm", Tensor>(self, p, std::optional<IntSpan>(others), true, std::optional<DType>());
  Tensor factor = where(gt(norm, maxnorm), mul(reciprocal(add(norm, 1e-7)), maxnorm), ones_like(norm));
  return mul(self, to_dtype(factor, real_of(self.dtype())));
}
Tensor mvlgamma(const Tensor& self, int64_t p) {
  FC_CHECK(p >= 1, "mvlgamma: p has to be greater than or equal to 1");
  Tensor x = is_integral(self.dtype(), true) ? to_dtype(self, default_dtype()) : self;
  Tensor halves = mul(call<"aten::arange.start", Tensor>(
                          Scalar(0), Scalar(p), std::optional<DType>(compute_type(x.dtype())), std::optional<Layout>(),
                          std::optional<Device>(x.device()), std::optional<bool>()),
                      -0.5);
  const int64_t last[] = {-1};
  const auto count = static_cast<double>(p);
  return add(sum(call<"aten::lgamma", Tensor>(add(unsqueeze(x, -1), to_dtype(halves, x.dtype()))), last),
             count * (count - 1) / 4 * std::log(std::numbers::pi));
}
Tensor nonzero_static(const Tensor& self, int64_t size, int64_t fill) {
  FC_CHECK(size >= 0, "nonzero_static: 'size' must be an non-negative integer");
  Tensor found = call<"aten::nonzero", Tensor>(self);
  if (found.size(0) >= size) return narrow(found, 0, 0, size);
  return cat(std::array{found, full(Dims{size - found.size(0), found.size(1)}, fill, DType::Int64, self.device())}, 0);
}
bool is_same_size(const Tensor& a, const Tensor& b) { return std::ranges::equal(a.sizes(), b.sizes()); }

#define QUANTILE_ROWS(name, nan, what)                                                                                 \
  {.schema =                                                                                                           \
       name "(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation=\"linear\") -> Tensor",   \
   .doc = what,                                                                                                        \
   .composite = kernel<&Quantile<nan>::tensor>(),                                                                      \
   .out = true,                                                                                                        \
   .cpu_autocast = Autocast::Float32},                                                                                 \
  {                                                                                                                    \
    .schema = name                                                                                                     \
        ".scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation=\"linear\") -> Tensor", \
    .composite = kernel<&Quantile<nan>::scalar>(), .out = true, .cpu_autocast = Autocast::Float32                      \
  }

constexpr OpDef defs[] = {
    QUANTILE_ROWS("quantile", false, "The value below which the given part of the elements lies."),
    QUANTILE_ROWS("nanquantile", true, "quantile without regard to NaNs."),
    {.schema = "histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor",
     .doc = "How many elements fall into bins of equal width between min and max.",
     .all = kernel<&histc>(),
     .out = true},
    {.schema = "histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False) -> (Tensor "
               "hist, Tensor bin_edges)",
     .doc = "How many elements, or how much weight, falls into bins; and the bins' edges.",
     .all = kernel<&histogram_edges>(),
     .out = true},
    {.schema = "histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, bool "
               "density=False) -> (Tensor hist, Tensor bin_edges)",
     .all = kernel<&histogram_count>(),
     .out = true},
    {.schema = "histogramdd(Tensor self, int[] bins, float[]? range=None, Tensor? weight=None, bool density=False) -> "
               "(Tensor hist, Tensor[] bin_edges)",
     .doc = "How many points, or how much weight, falls into the boxes between edges along each coordinate.",
     .all = kernel<&histogramdd_counts>()},
    {.schema = "histogramdd.int_bins(Tensor self, int bins, float[]? range=None, Tensor? weight=None, bool "
               "density=False) -> (Tensor hist, Tensor[] bin_edges)",
     .all = kernel<&histogramdd_count>()},
    {.schema = "histogramdd.TensorList_bins(Tensor self, Tensor[] bins, float[]? range=None, Tensor? weight=None, bool "
               "density=False) -> (Tensor hist, Tensor[] bin_edges)",
     .all = kernel<&histogramdd_edges>()},
    {.schema = "frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)",
     .doc = "Each element as a fraction between 0.5 and 1 and a power of two.",
     .all = kernel<&frexp>(),
     .saves = "result1",
     .grad = [](Grad& g) { g.set(0, div(g.out(0), call<"aten::exp2", Tensor>(g.result(1)))); },
     .differentiable_results = 1,
     .out = true},
    {.schema = "norm_except_dim(Tensor v, int pow=2, int dim=0) -> Tensor",
     .doc = "The norm over all dimensions but one.",
     .composite = kernel<&norm_except_dim>()},
    {.schema = "trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
     .doc = "The integral by the trapezoid rule.",
     .composite = kernel<&trapezoid_x>()},
    {.schema = "trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor", .composite = kernel<&trapezoid_dx>()},
    {.schema = "trapz.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
     .doc = "Another name for trapezoid. The integral by the trapezoid rule.",
     .composite = kernel<&trapezoid_x>()},
    {.schema = "trapz.dx(Tensor y, *, float dx=1.0, int dim=-1) -> Tensor", .composite = kernel<&trapz_dx>()},
    {.schema = "cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
     .doc = "The integral so far, by the trapezoid rule.",
     .composite = kernel<&cumulative_x>()},
    {.schema = "cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
     .composite = kernel<&cumulative_dx>()},
    {.schema = "cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor",
     .doc = "The covariances of the rows.",
     .composite = kernel<&cov>()},
    {.schema = "corrcoef(Tensor self) -> Tensor",
     .doc = "The correlation coefficients of the rows.",
     .composite = kernel<&corrcoef>()},
    {.schema = "combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor",
     .doc = "All combinations of r elements, one row each.",
     .composite = kernel<&combinations>()},
    {.schema = "block_diag(Tensor[] tensors) -> Tensor",
     .doc = "A matrix with the tensors as blocks on its diagonal.",
     .composite = kernel<&block_diag>()},
    {.schema = "diagflat(Tensor self, int offset=0) -> Tensor",
     .doc = "A matrix with the flattened tensor on a diagonal.",
     .composite = kernel<&diagflat>()},
    {.schema = "renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor",
     .doc = "The tensor with each slice along dim scaled down to the norm maxnorm, where its own is larger.",
     .composite = kernel<&renorm>(),
     .in_place = true,
     .out = true},
    {.schema = "mvlgamma(Tensor self, int p) -> Tensor",
     .doc = "The logarithm of the multivariate gamma function.",
     .composite = kernel<&mvlgamma>(),
     .in_place = true,
     .out = true},
    {.schema = "special_multigammaln(Tensor self, int p) -> Tensor",
     .doc = "The logarithm of the multivariate gamma function.",
     .composite = kernel<&mvlgamma>(),
     .out = true},
    {.schema = "nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor",
     .doc = "The first `size` rows of nonzero, filled up with fill_value.",
     .composite = kernel<&nonzero_static>(),
     .differentiable = false},
    {.schema = "is_same_size(Tensor self, Tensor other) -> bool",
     .doc = "Whether two tensors have the same sizes.",
     .composite = kernel<&is_same_size>()},
};

}  // namespace

void define_numeric() { define_all(defs); }

}  // namespace fc
