// SPDX-License-Identifier: Apache-2.0
// Fourier transforms. Three operators compute: complex to complex, real to half of the complex numbers, and back;
// everything else prepares their input. Also the short-time transform and the windows it uses.
#include <cmath>
#include <numbers>

#include "define/calls.h"
#include "define/row.h"
#include "dispatch/warn_once.h"
#include "ops/register.h"
#include "plan/fft.h"
#include "plan/shape.h"

namespace fc {
namespace {

using OptInt = std::optional<int64_t>;
using OptDims = std::optional<IntSpan>;
using OptText = std::optional<std::string_view>;
using OptType = std::optional<DType>;
using OptLayout = std::optional<Layout>;
using OptDevice = std::optional<Device>;
using OptBool = std::optional<bool>;

// --- what computes
Tensor c2c(const Tensor& x, IntSpan dim, FftNorm norm, bool forward) {
  return dim.empty() ? clone(x) : call<"aten::_fft_c2c", Tensor>(x, dim, static_cast<int64_t>(norm), forward);
}
Tensor r2c(const Tensor& x, IntSpan dim, FftNorm norm, bool onesided) {
  return call<"aten::_fft_r2c", Tensor>(x, dim, static_cast<int64_t>(norm), onesided);
}
Tensor c2r(const Tensor& x, IntSpan dim, FftNorm norm, int64_t n) {
  return call<"aten::_fft_c2r", Tensor>(x, dim, static_cast<int64_t>(norm), n);
}

Tensor c2c_meta(const Tensor& x, IntSpan dim, int64_t, bool) {
  check_fft("_fft_c2c", x, dim, true);
  return fft_result(x, x.sizes(), x.dtype());
}
Tensor r2c_meta(const Tensor& x, IntSpan dim, int64_t, bool onesided) {
  check_fft("_fft_r2c", x, dim, false);
  return onesided ? fft_r2c_result(x, wrap_dim(dim.back(), x.dim())) : fft_result(x, x.sizes(), complex_of(x.dtype()));
}
Tensor c2r_meta(const Tensor& x, IntSpan dim, int64_t, int64_t n) {
  check_fft("_fft_c2r", x, dim, true);
  FC_CHECK(!dim.empty(), "_fft_c2r: no dimension to transform");
  return fft_c2r_result(x, wrap_dim(dim.back(), x.dim()), n);
}

FftNorm norm_of(Grad& g) { return static_cast<FftNorm>(g.arg(2).integer()); }
void r2c_grad(Grad& g) {
  const IntSpan dim = g.arg(1).ints();
  const int64_t last = wrap_dim(dim.back(), static_cast<int64_t>(g.sizes(0).size())),
                n = g.sizes(0)[static_cast<size_t>(last)];
  Tensor grad = g.out();
  if (g.arg(3).boolean() && grad.size(last) < n) {
    Dims sizes(grad.sizes());
    sizes[static_cast<size_t>(last)] = n - grad.size(last);
    grad = cat(std::array{grad, zeros(sizes, grad.dtype(), grad.device())}, last);
  }
  g.set(0, call<"aten::real", Tensor>(c2c(grad, dim, norm_of(g), false)));
}
// The numbers that stand for two, themselves and their mirror image, count twice.
void c2r_grad(Grad& g) {
  const IntSpan dim = g.arg(1).ints();
  Tensor grad = r2c(g.out(), dim, norm_of(g), true);
  const int64_t last = wrap_dim(dim.back(), grad.dim()), n = g.arg(3).integer(), half = grad.size(last);
  Tensor weight = full(Dims{half}, 2, real_of(grad.dtype()), grad.device());
  fill_(narrow(weight, 0, 0, 1), 1);
  if (n % 2 == 0) fill_(narrow(weight, 0, half - 1, 1), 1);
  Dims shape(static_cast<size_t>(grad.dim()), 1);
  shape[static_cast<size_t>(last)] = half;
  g.set(0, mul(grad, reshape(weight, shape)));
}

// --- preparation
Tensor as_float(const Tensor& x, bool complex) {
  DType type = x.dtype();
  if (is_integral(type, true)) type = default_dtype();
  FC_CHECK_AS(NotImplementedError, !is_reduced(type), "fft: Unsupported dtype ", info(type).legacy);
  if (complex) type = complex_of(type);
  return type == x.dtype() ? x : to_dtype(x, type);
}
Tensor as_real(const char* op, const Tensor& x) {
  FC_CHECK_AS(TypeError, !is_complex(x.dtype()), op, " expects a real input tensor, but got ", info(x.dtype()).legacy);
  return as_float(x, false);
}
FftNorm parse_norm(OptText norm, bool forward) {
  if (!norm || *norm == "backward") return forward ? FftNorm::None : FftNorm::ByCount;
  if (*norm == "forward") return forward ? FftNorm::ByCount : FftNorm::None;
  FC_CHECK(*norm == "ortho", "fft: Invalid normalization mode: \"", *norm, "\"");
  return FftNorm::ByRoot;
}
// Cut or padded with zeros to these sizes; -1 keeps one.
Tensor resized(Tensor x, IntSpan dims, IntSpan sizes) {
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t have = x.size(dims[i]), want = sizes[i];
    if (want == -1 || want == have) continue;
    FC_CHECK(want > 0, "fft: Invalid number of data points (", want, ") specified");
    if (want < have) {
      x = narrow(x, dims[i], 0, want);
      continue;
    }
    Dims more(x.sizes());
    more[static_cast<size_t>(dims[i])] = want - have;
    x = cat(std::array{x, zeros(more, x.dtype(), x.device())}, dims[i]);
  }
  return x;
}

// --- one dimension
struct OneDim {
  int64_t dim, n;
  IntSpan dims() const { return {&dim, 1}; }
};
OneDim one_dim(const char* op, const Tensor& x, OptInt n, int64_t dim) {
  FC_CHECK(!n || *n >= 1, op, ": Invalid number of data points (", n.value_or(0), ") specified");
  const int64_t d = wrap_dim(dim, x.dim(), op);
  FC_CHECK_AS(IndexError, x.dim() > 0, op, ": Dimension specified as -1 but tensor has no dimensions");
  const int64_t size = n.value_or(x.size(d));
  FC_CHECK(size >= 1, op, ": Invalid number of data points (", size, ") specified");
  return {d, size};
}
template <bool forward>
Tensor fft(const Tensor& self, OptInt n, int64_t dim, OptText norm) {
  const OneDim one = one_dim(forward ? "fft" : "ifft", self, n, dim);
  const FftNorm scale = parse_norm(norm, forward);
  Tensor x = resized(as_float(self, !forward), one.dims(), IntSpan(&one.n, 1));
  return is_complex(x.dtype()) ? c2c(x, one.dims(), scale, forward) : r2c(x, one.dims(), scale, false);
}
Tensor rfft(const Tensor& self, OptInt n, int64_t dim, OptText norm) {
  Tensor x = as_real("rfft", self);
  const OneDim one = one_dim("rfft", x, n, dim);
  return r2c(resized(x, one.dims(), IntSpan(&one.n, 1)), one.dims(), parse_norm(norm, true), true);
}
Tensor ihfft(const Tensor& self, OptInt n, int64_t dim, OptText norm) {
  Tensor x = as_real("ihfft", self);
  const OneDim one = one_dim("ihfft", x, n, dim);
  return conj(r2c(resized(x, one.dims(), IntSpan(&one.n, 1)), one.dims(), parse_norm(norm, false), true));
}
Tensor to_real(const char* op, const Tensor& self, OptInt n, int64_t dim, OptText norm, bool forward) {
  const int64_t d = wrap_dim(dim, self.dim(), op);
  FC_CHECK_AS(IndexError, self.dim() > 0, op, ": Dimension specified as -1 but tensor has no dimensions");
  const OneDim one = one_dim(op, self, n.value_or(2 * (self.size(d) - 1)), dim);
  const int64_t half = one.n / 2 + 1;
  Tensor x = resized(as_float(self, true), one.dims(), IntSpan(&half, 1));
  return c2r(forward ? conj(x) : x, one.dims(), parse_norm(norm, forward), one.n);
}
Tensor irfft(const Tensor& self, OptInt n, int64_t dim, OptText norm) {
  return to_real("irfft", self, n, dim, norm, false);
}
Tensor hfft(const Tensor& self, OptInt n, int64_t dim, OptText norm) {
  return to_real("hfft", self, n, dim, norm, true);
}

// --- several dimensions
struct ManyDims {
  Dims dims, sizes;
  IntSpan but_last() const { return IntSpan(dims).first(dims.size() - 1); }
  IntSpan last() const { return IntSpan(dims).last(1); }
};
ManyDims many_dims(const char* op, const Tensor& x, OptDims s, OptDims dim) {
  ManyDims out;
  if (dim) {
    out.dims = wrap_dims(op, *dim, x.dim());
    FC_CHECK(!s || s->size() == dim->size(), op, ": When given, dim and shape arguments must have the same length");
  } else {
    const int64_t count = s ? static_cast<int64_t>(s->size()) : x.dim();
    FC_CHECK(count <= x.dim(), op, ": Got shape with ", count, " values but input tensor only has ", x.dim(),
             " dimensions.");
    for (int64_t d = x.dim() - count; d < x.dim(); ++d) out.dims.push_back(d);
  }
  for (size_t i = 0; i < out.dims.size(); ++i) {
    const int64_t size = s && (*s)[i] != -1 ? (*s)[i] : x.size(out.dims[i]);
    FC_CHECK(size >= 1, op, ": Invalid number of data points (", size, ") specified");
    out.sizes.push_back(size);
  }
  return out;
}
template <bool forward>
Tensor fftn(const Tensor& self, OptDims s, OptDims dim, OptText norm) {
  const ManyDims many = many_dims(forward ? "fftn" : "ifftn", self, s, dim);
  const FftNorm scale = parse_norm(norm, forward);
  Tensor x = resized(as_float(self, true), many.dims, many.sizes);
  return c2c(x, many.dims, scale, forward);
}
Tensor rfftn(const Tensor& self, OptDims s, OptDims dim, OptText norm) {
  Tensor x = as_real("rfftn", self);
  const ManyDims many = many_dims("rfftn", x, s, dim);
  FC_CHECK(!many.dims.empty(), "rfftn must transform at least one axis");
  return r2c(resized(x, many.dims, many.sizes), many.dims, parse_norm(norm, true), true);
}
Tensor ihfftn(const Tensor& self, OptDims s, OptDims dim, OptText norm) {
  Tensor x = as_real("ihfftn", self);
  const ManyDims many = many_dims("ihfftn", x, s, dim);
  FC_CHECK(!many.dims.empty(), "ihfftn must transform at least one axis");
  const FftNorm scale = parse_norm(norm, false);
  Tensor y = conj(r2c(resized(x, many.dims, many.sizes), many.last(), scale, true));
  return many.dims.size() == 1 ? y : c2c(y, many.but_last(), scale, false);
}
// The last size is that of the real result.
ManyDims half_dims(const char* op, const Tensor& x, OptDims s, OptDims dim, int64_t& last) {
  Dims wanted;
  if (s) wanted = Dims(*s);
  ManyDims many = many_dims(op, x, s, dim);
  FC_CHECK(!many.dims.empty(), op, " must transform at least one axis");
  last = s && s->back() != -1 ? s->back() : 2 * (x.size(many.dims.back()) - 1);
  FC_CHECK(last >= 1, op, ": Invalid number of data points (", last, ") specified");
  many.sizes.back() = last / 2 + 1;
  return many;
}
Tensor irfftn(const Tensor& self, OptDims s, OptDims dim, OptText norm) {
  int64_t last;
  const ManyDims many = half_dims("irfftn", self, s, dim, last);
  return c2r(resized(as_float(self, true), many.dims, many.sizes), many.dims, parse_norm(norm, false), last);
}
Tensor hfftn(const Tensor& self, OptDims s, OptDims dim, OptText norm) {
  int64_t last;
  const ManyDims many = half_dims("hfftn", self, s, dim, last);
  const FftNorm scale = parse_norm(norm, true);
  Tensor x = resized(as_float(self, true), many.dims, many.sizes);
  if (many.dims.size() > 1) x = c2c(x, many.but_last(), scale, true);
  return c2r(conj(x), many.last(), scale, last);
}
// The forms of two dimensions are those of several, whose dimensions have a default.
template <Tensor (*f)(const Tensor&, OptDims, OptDims, OptText)>
Tensor two(const Tensor& self, OptDims s, IntSpan dim, OptText norm) {
  return f(self, s, dim, norm);
}

// --- helpers
template <bool inverse>
Tensor shift(const Tensor& x, OptDims dim) {
  Dims dims, by;
  if (dim) dims = wrap_dims(inverse ? "ifftshift" : "fftshift", *dim, x.dim());
  else
    for (int64_t d = 0; d < x.dim(); ++d) dims.push_back(d);
  for (int64_t d : dims) by.push_back((x.size(d) + (inverse ? 1 : 0)) / 2);
  return dims.empty() ? clone(x) : call<"aten::roll", Tensor>(x, IntSpan(by), IntSpan(dims));
}
Tensor range(int64_t start, int64_t end, OptType dtype, OptLayout layout, OptDevice device, OptBool pin) {
  return call<"aten::arange.start", Tensor>(Scalar(start), Scalar(end), dtype, layout, device, pin);
}
DType float_type(const char* op, OptType dtype) {
  const DType type = dtype.value_or(default_dtype());
  FC_CHECK(is_floating(type) || is_complex(type), op, " expects floating point dtypes, got: ", info(type).legacy);
  return type;
}
Tensor fftfreq(int64_t n, double d, OptType dtype, OptLayout layout, OptDevice device, OptBool pin) {
  const DType type = float_type("fftfreq", dtype);
  Tensor up = range(0, n - n / 2, type, layout, device, pin), down = range(-(n / 2), 0, type, layout, device, pin);
  return mul(cat(std::array{up, down}, 0), 1.0 / (static_cast<double>(n) * d));
}
Tensor rfftfreq(int64_t n, double d, OptType dtype, OptLayout layout, OptDevice device, OptBool pin) {
  return mul(range(0, n / 2 + 1, float_type("rfftfreq", dtype), layout, device, pin),
             1.0 / (static_cast<double>(n) * d));
}

// --- windows
// f(i, last): element i = 0 … last of a window, as operators. A periodic one is one longer, without its last element.
template <class F>
Tensor window(const char* op, int64_t length, bool periodic, OptType dtype, OptLayout layout, OptDevice device,
              OptBool pin, const F& f) {
  const DType type = dtype.value_or(default_dtype());
  FC_CHECK(is_floating(type), op, " expects floating point dtypes, got: ", info(type).legacy);
  FC_CHECK(length >= 0, op, " requires non-negative window_length, got window_length=", length);
  if (length <= 1) return call<"aten::ones", Tensor>(IntSpan(&length, 1), OptType(type), layout, device, pin);
  const int64_t last = periodic ? length : length - 1;
  return to_dtype(f(range(0, length, compute_type(type), layout, device, pin), static_cast<double>(last)), type);
}
constexpr double kTurn = 2 * std::numbers::pi;
Tensor bartlett(int64_t n, bool periodic, OptType dtype, OptLayout layout, OptDevice device, OptBool pin) {
  return window("bartlett_window", n, periodic, dtype, layout, device, pin,
                [](const Tensor& i, double last) { return rsub(abs(sub(mul(i, 2 / last), 1)), 1); });
}
Tensor blackman(int64_t n, bool periodic, OptType dtype, OptLayout layout, OptDevice device, OptBool pin) {
  return window("blackman_window", n, periodic, dtype, layout, device, pin, [](const Tensor& i, double last) {
    return add(add(mul(cos(mul(i, kTurn / last)), -0.5), mul(cos(mul(i, 2 * kTurn / last)), 0.08)), 0.42);
  });
}
Tensor hamming(int64_t n, bool periodic, double alpha, double beta, OptType dtype, OptLayout layout, OptDevice device,
               OptBool pin) {
  return window("hamming_window", n, periodic, dtype, layout, device, pin,
                [&](const Tensor& i, double last) { return add(mul(cos(mul(i, kTurn / last)), -beta), alpha); });
}
Tensor hamming_alpha(int64_t n, bool periodic, double alpha, OptType dtype, OptLayout layout, OptDevice device,
                     OptBool pin) {
  return hamming(n, periodic, alpha, 0.46, dtype, layout, device, pin);
}
Tensor hamming_plain(int64_t n, bool periodic, OptType dtype, OptLayout layout, OptDevice device, OptBool pin) {
  return hamming(n, periodic, 0.54, 0.46, dtype, layout, device, pin);
}
Tensor hann(int64_t n, bool periodic, OptType dtype, OptLayout layout, OptDevice device, OptBool pin) {
  return window("hann_window", n, periodic, dtype, layout, device, pin,
                [](const Tensor& i, double last) { return add(mul(cos(mul(i, kTurn / last)), -0.5), 0.5); });
}
Tensor kaiser(int64_t n, bool periodic, double beta, OptType dtype, OptLayout layout, OptDevice device, OptBool pin) {
  return window("kaiser_window", n, periodic, dtype, layout, device, pin, [&](const Tensor& i, double last) {
    Tensor x = sub(mul(i, 2 / last), 1), root = sqrt(call<"aten::clamp_min", Tensor>(rsub(square(x), 1), Scalar(0)));
    return div(call<"aten::i0", Tensor>(mul(root, beta)),
               call<"aten::i0", Tensor>(full(Dims{}, beta, x.dtype(), x.device())));
  });
}
Tensor kaiser_plain(int64_t n, bool periodic, OptType dtype, OptLayout layout, OptDevice device, OptBool pin) {
  return kaiser(n, periodic, 12, dtype, layout, device, pin);
}
// Without `periodic`, windows are.
template <Tensor (*f)(int64_t, bool, OptType, OptLayout, OptDevice, OptBool)>
Tensor periodic(int64_t n, OptType dtype, OptLayout layout, OptDevice device, OptBool pin) {
  return f(n, true, dtype, layout, device, pin);
}

// --- short-time transforms
// The window of a frame of n_fft elements, with zeros around it if it is shorter.
Tensor frame_window(const Tensor& window, int64_t length, int64_t n_fft, DType type, Device device) {
  Tensor w = window.defined() ? window : full(Dims{length}, 1, type, device);
  if (length == n_fft) return w;
  const int64_t left = (n_fft - length) / 2;
  return cat(std::array{zeros(Dims{left}, w.dtype(), device), w, zeros(Dims{n_fft - length - left}, w.dtype(), device)},
             0);
}

Tensor stft(const Tensor& self, int64_t n_fft, OptInt hop_length, OptInt win_length, const Tensor& window, bool center,
            std::string_view pad_mode, bool normalized, OptBool onesided, OptBool return_complex,
            OptBool align_to_window) {
  const char* op = "stft";
  FC_CHECK(!window.defined() || window.device() == self.device(), op,
           ": stft input and window must be on the same device but got self on ", self.device(), " and window on ",
           window.device());
  FC_CHECK(!center || !align_to_window, op, ": stft align_to_window should only be set when center = false");
  const int64_t hop = hop_length.value_or(n_fft / 4), length = win_length.value_or(n_fft);
  const bool complex_input = is_complex(self.dtype()) || (window.defined() && is_complex(window.dtype()));
  FC_CHECK(return_complex || complex_input, op,
           ": stft requires the return_complex parameter be given for real inputs, and will further require that "
           "return_complex=True in a future release.");
  FC_CHECK(is_floating(self.dtype()) || is_complex(self.dtype()), op,
           ": expected a tensor of floating point or complex values, got ", info(self.dtype()).legacy);
  FC_CHECK(self.dim() == 1 || self.dim() == 2, op, ": expected a 1D or 2D tensor, got ", self.dim(), "D");
  Tensor x = self.dim() == 1 ? unsqueeze(self, 0) : self;
  FC_CHECK(n_fft > 0, op, ": expected 0 < n_fft < ", x.size(1), ", but got n_fft=", n_fft);
  if (center) {
    const int64_t pad[] = {n_fft / 2, n_fft / 2};
    x = squeeze(call<"aten::pad", Tensor>(unsqueeze(x, 1), IntSpan(pad), pad_mode, std::optional<double>()), 1);
  }
  FC_CHECK(n_fft <= x.size(1), op, ": expected 0 < n_fft < ", x.size(1), ", but got n_fft=", n_fft);
  FC_CHECK(hop > 0, op, ": expected hop_length > 0, but got hop_length=", hop);
  FC_CHECK(length > 0 && length <= n_fft, op, ": expected 0 < win_length <= n_fft, but got win_length=", length);
  FC_CHECK(!window.defined() || (window.dim() == 1 && window.size(0) == length), op,
           ": expected a 1D window tensor of size equal to win_length=", length, ", but got window with size ",
           window.defined() ? window.sizes() : IntSpan());
  static std::atomic<bool> said;
  if (!window.defined())
    warn_once(
        said,
        "A window was not provided. A rectangular window will be applied, which is known to cause spectral leakage. "
        "Other windows such as torch.hann_window or torch.hamming_window are recommended to reduce spectral leakage. "
        "To suppress this warning and use a rectangular window, explicitly set "
        "`window=torch.ones(n_fft, device=<device>)`.");
  Tensor frames = call<"aten::unfold", Tensor>(x, int64_t{1}, n_fft, hop);
  if (window.defined() || length < n_fft)
    frames = mul(frames, frame_window(window, length, n_fft, real_of(self.dtype()), self.device()));
  const bool one = onesided.value_or(!complex_input);
  const FftNorm scale = normalized ? FftNorm::ByRoot : FftNorm::None;
  const int64_t last[] = {2};
  FC_CHECK(!one || !is_complex(frames.dtype()), op, ": Cannot have onesided output if window or input is complex");
  Tensor out =
      transpose(is_complex(frames.dtype()) ? c2c(frames, last, scale, true) : r2c(frames, last, scale, one), 1, 2);
  if (self.dim() == 1) out = squeeze(out, 0);
  return return_complex.value_or(complex_input) ? out : call<"aten::view_as_real", Tensor>(out);
}

Tensor istft(const Tensor& self, int64_t n_fft, OptInt hop_length, OptInt win_length, const Tensor& window, bool center,
             bool normalized, OptBool onesided, OptInt wanted, bool return_complex) {
  const char* op = "istft";
  FC_CHECK(is_complex(self.dtype()), op,
           " requires a complex-valued input tensor matching the output from stft with return_complex=True.");
  const int64_t hop = hop_length.value_or(n_fft / 4), length = win_length.value_or(n_fft);
  const bool one = onesided.value_or(n_fft != self.size(-2));
  FC_CHECK(self.numel() > 0, op, ": input tensor cannot be empty.");
  FC_CHECK(self.dim() == 2 || self.dim() == 3, op, ": expected a tensor with 2 or 3 dimensions, but got ", self.dim());
  FC_CHECK(self.size(-2) == (one ? n_fft / 2 + 1 : n_fft), op,
           ": expected the frequency dimension (3rd to the last) of the input tensor to match n_fft / 2 + 1 when ",
           "onesided=True or n_fft otherwise, but got ", self.size(-2));
  FC_CHECK(0 < hop && hop <= length, op, ": expected 0 < hop_length <= win_length");
  FC_CHECK(0 < length && length <= n_fft, op, ": expected 0 < win_length <= n_fft");
  FC_CHECK(!window.defined() || (window.dim() == 1 && window.size(0) == length), op,
           ": Invalid window shape. window has to be 1D and length of `win_length`");
  FC_CHECK(!return_complex || !one, op, ": cannot have onesided output if window or input is complex");
  static std::atomic<bool> said;
  if (!window.defined())
    warn_once(
        said,
        "A window was not provided. A rectangular window will be applied. Please provide the same window used by stft "
        "to make the inversion lossless. To suppress this warning and use a rectangular window, explicitly set "
        "`window=torch.ones(n_fft, device=<device>)`.");
  Tensor x = transpose(self.dim() == 2 ? unsqueeze(self, 0) : self, 1, 2);
  const int64_t count = x.size(1), total = n_fft + hop * (count - 1), last[] = {2};
  const FftNorm scale = normalized ? FftNorm::ByRoot : FftNorm::ByCount;
  Tensor frames;
  if (return_complex) frames = c2c(x, last, scale, false);
  else frames = c2r(one ? x : narrow(x, 2, 0, n_fft / 2 + 1), last, scale, n_fft);
  Tensor w = frame_window(window, length, n_fft, real_of(self.dtype()), self.device());
  // Overlapping frames are added: element j of frame t belongs to sample t * hop + j.
  Tensor sample = add(unsqueeze(mul(range(0, count, DType::Int64, {}, self.device(), {}), hop), 1),
                      range(0, n_fft, DType::Int64, {}, self.device(), {}));
  auto overlap = [&](const Tensor& f) {
    Tensor rows = reshape(f, Dims{f.size(0), count * n_fft});
    return call<"aten::index_add", Tensor>(zeros(Dims{f.size(0), total}, f.dtype(), f.device()), int64_t{1},
                                           reshape(sample, Dims{-1}), rows, Scalar(1));
  };
  Tensor y = overlap(mul(frames, w)),
         envelope = overlap(expand(reshape(square(w), Dims{1, 1, n_fft}), Dims{1, count, n_fft}));
  const int64_t start = center ? n_fft / 2 : 0;
  FC_CHECK(!wanted || (*wanted >= 0 && *wanted <= INT64_MAX - start), op, ": invalid length ", *wanted);
  const int64_t end = wanted ? start + *wanted : center ? total - n_fft / 2 : total;
  const int64_t stop = std::min(end, total);
  FC_CHECK(stop > start, op, ": nothing is left of ", total, " elements between ", start, " and ", end);
  y = narrow(y, 1, start, stop - start), envelope = narrow(envelope, 1, start, stop - start);
  if (!self.device().is_meta()) {
    const double least =
        call<"aten::_local_scalar_dense", Scalar>(call<"aten::min", Tensor>(abs(envelope))).to_double();
    FC_CHECK(least > 1e-11, op, ": window overlap add min: ", least,
             " is not larger than 1e-11: the frames leave gaps");
  }
  y = div(y, envelope);
  if (end > total) {
    warn(
        "The length of signal is shorter than the length parameter. Result is being padded with zeros in the tail. "
        "Please check your center and hop_length settings.");
    y = cat(std::array{y, zeros(Dims{y.size(0), end - total}, y.dtype(), y.device())}, 1);
  }
  return self.dim() == 2 ? squeeze(y, 0) : y;
}

#define ONE "(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor"
#define TWO "(Tensor self, SymInt[1]? s=None, int[1] dim=[-2,-1], str? norm=None) -> Tensor"
#define MANY "(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor"
#define OPTIONS "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
#define FFT_ROW_OF(name, args, what, f, ...)                                                                        \
  {                                                                                                                 \
    .schema = "fft_" name args, .doc = what, .composite = kernel<&f>(), .out = true, .out_type = OutType::Castable, \
    __VA_ARGS__                                                                                                     \
  }
#define FFT_ROW(name, args, what, f) FFT_ROW_OF(name, args, what, f, .cpu_autocast = Autocast::Float32)
#define WINDOW_ROWS(name, f, what)                                                                        \
  {.schema = name "(int window_length, *, " OPTIONS, .doc = what, .composite = kernel<&periodic<f>>()}, { \
    .schema = name ".periodic(int window_length, bool periodic, *, " OPTIONS, .composite = kernel<&f>()   \
  }

constexpr OpDef defs[] = {
    {.schema = "_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor",
     .meta = kernel<&c2c_meta>(),
     .saves = "dim normalization forward",
     .grad = [](Grad& g) { g.set(0, c2c(g.out(), g.arg(1).ints(), norm_of(g), !g.arg(3).boolean())); },
     .hidden = true},
    {.schema = "_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor",
     .meta = kernel<&r2c_meta>(),
     .saves = "dim normalization onesided",
     .grad = r2c_grad,
     .hidden = true},
    {.schema = "_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor",
     .meta = kernel<&c2r_meta>(),
     .saves = "dim normalization last_dim_size",
     .grad = c2r_grad,
     .hidden = true},
    FFT_ROW("fft", ONE, "The discrete Fourier transform along a dimension.", fft<true>),
    FFT_ROW("ifft", ONE, "The inverse of fft.", fft<false>),
    FFT_ROW("rfft", ONE, "The Fourier transform of real numbers, without the half that mirrors the other.", rfft),
    FFT_ROW("irfft", ONE, "The inverse of rfft: real numbers.", irfft),
    FFT_ROW("hfft", ONE, "The Fourier transform of a signal with Hermitian symmetry: real numbers.", hfft),
    FFT_ROW("ihfft", ONE, "The inverse of hfft.", ihfft),
    FFT_ROW("fft2", TWO, "The Fourier transform over two dimensions.", two<fftn<true>>),
    FFT_ROW("ifft2", TWO, "The inverse of fft2.", two<fftn<false>>),
    FFT_ROW("rfft2", TWO, "rfft over two dimensions.", two<rfftn>),
    FFT_ROW("irfft2", TWO, "The inverse of rfft2.", two<irfftn>),
    FFT_ROW_OF("hfft2", TWO, "hfft over two dimensions.", two<hfftn>),
    FFT_ROW_OF("ihfft2", TWO, "The inverse of hfft2.", two<ihfftn>),
    FFT_ROW("fftn", MANY, "The Fourier transform over several dimensions.", fftn<true>),
    FFT_ROW("ifftn", MANY, "The inverse of fftn.", fftn<false>),
    FFT_ROW("rfftn", MANY, "rfft over several dimensions.", rfftn),
    FFT_ROW("irfftn", MANY, "The inverse of rfftn.", irfftn),
    FFT_ROW_OF("hfftn", MANY, "hfft over several dimensions.", hfftn),
    FFT_ROW_OF("ihfftn", MANY, "The inverse of hfftn.", ihfftn),
    {.schema = "fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor",
     .doc = "Moves the zero frequency to the middle.",
     .composite = kernel<&shift<false>>()},
    {.schema = "fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor",
     .doc = "The inverse of fftshift.",
     .composite = kernel<&shift<true>>()},
    {.schema = "fft_fftfreq(int n, float d=1.0, *, " OPTIONS,
     .doc = "The frequencies that belong to fft's results.",
     .composite = kernel<&fftfreq>(),
     .out = true,
     .out_type = OutType::Chosen},
    {.schema = "fft_rfftfreq(int n, float d=1.0, *, " OPTIONS,
     .doc = "The frequencies that belong to rfft's results.",
     .composite = kernel<&rfftfreq>(),
     .out = true,
     .out_type = OutType::Chosen},
    {.schema =
         "stft.center(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool "
         "center=True, str pad_mode=\"reflect\", bool "
         "normalized=False, bool? onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor",
     .doc = "Fourier transforms of short overlapping frames of a signal.",
     .composite = kernel<&stft>(),
     .cpu_autocast = Autocast::Float32},
    {.schema = "istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool "
               "center=True, bool normalized=False, bool? "
               "onesided=None, int? length=None, bool return_complex=False) -> Tensor",
     .doc = "The signal whose short-time Fourier transform is given.",
     .composite = kernel<&istft>()},
    WINDOW_ROWS("bartlett_window", bartlett, "The Bartlett window: a triangle."),
    WINDOW_ROWS("blackman_window", blackman, "The Blackman window."),
    WINDOW_ROWS("hann_window", hann, "The Hann window: a raised cosine."),
    WINDOW_ROWS("hamming_window", hamming_plain, "The Hamming window."),
    {.schema = "hamming_window.periodic_alpha(int window_length, bool periodic, float alpha, *, " OPTIONS,
     .composite = kernel<&hamming_alpha>()},
    {.schema =
         "hamming_window.periodic_alpha_beta(int window_length, bool periodic, float alpha, float beta, *, " OPTIONS,
     .composite = kernel<&hamming>()},
    WINDOW_ROWS("kaiser_window", kaiser_plain, "The Kaiser window."),
    {.schema = "kaiser_window.beta(int window_length, bool periodic, float beta, *, " OPTIONS,
     .composite = kernel<&kaiser>()},
};

}  // namespace

void define_fft() { define_all(defs); }

}  // namespace fc
