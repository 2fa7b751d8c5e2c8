// SPDX-License-Identifier: Apache-2.0
// Operators that make tensors out of nothing.
#include <algorithm>
#include <cmath>
#include <complex>

#include "core/threads.h"
#include "define/calls.h"
#include "define/row.h"
#include "facula/opcodes/shared.h"
#include "ops/register.h"
#include "plan/pointwise.h"

namespace fc {
namespace {

using OptType = std::optional<DType>;
using OptLayout = std::optional<Layout>;
using OptDevice = std::optional<Device>;
using OptBool = std::optional<bool>;
using OptFormat = std::optional<MemoryFormat>;

// Fresh memory; what is wrong with the sizes is said in the operator's name.
Tensor fresh(const char* op, IntSpan size, OptType dtype, OptDevice device, OptFormat format = {}) {
  try {
    return empty_tensor(size, dtype.value_or(default_dtype()), device.value_or(default_device()),
                        format.value_or(MemoryFormat::Contiguous));
  } catch (Error& e) {
    e.add_context(op);
    throw;
  }
}

Tensor empty_kernel(IntSpan size, OptType dtype, OptLayout, OptDevice device, OptBool, OptFormat format) {
  return fresh("empty", size, dtype, device, format);
}

Tensor empty_strided_kernel(IntSpan size, IntSpan stride, OptType dtype, OptLayout, OptDevice device, OptBool) {
  try {
    return empty_strided_tensor(size, stride, dtype.value_or(default_dtype()), device.value_or(default_device()));
  } catch (Error& e) {
    e.add_context("empty_strided");
    throw;
  }
}

Tensor full_kernel(IntSpan size, const Scalar& value, OptType dtype, OptLayout, OptDevice device, OptBool) {
  DType t = dtype.value_or(value.is_bool()            ? DType::Bool
                           : value.is_integral(false) ? DType::Int64
                           : value.is_complex()       ? complex_of(default_dtype())
                                                      : default_dtype());
  return fill_(fresh("full", size, t, device), value);
}

Tensor zeros_kernel(IntSpan size, OptType dtype, OptLayout, OptDevice device, OptBool) {
  return zero_(fresh("zeros", size, dtype, device));
}

Tensor ones_kernel(IntSpan size, OptType dtype, OptLayout, OptDevice device, OptBool) {
  return fill_(fresh("ones", size, dtype, device), 1);
}

Tensor like(const Tensor& self, OptType dtype, OptDevice device, OptFormat format) {
  MemoryFormat f = format.value_or(MemoryFormat::Preserve);
  DType t = dtype.value_or(self.dtype());
  Device d = device.value_or(self.device());
  if (f != MemoryFormat::Preserve) return empty_tensor(self.sizes(), t, d, f);
  if (self.impl().is_dense()) return empty_strided_tensor(self.sizes(), self.strides(), t, d);
  const MapInput in[] = {{&self, {}}};  // with gaps or repetitions: the order of dimensions in memory is kept
  return empty_strided_tensor(self.sizes(), result_strides(self.sizes(), in), t, d);
}

Tensor empty_like_kernel(const Tensor& self, OptType dtype, OptLayout, OptDevice device, OptBool, OptFormat format) {
  return like(self, dtype, device, format);
}
Tensor full_like_kernel(const Tensor& self, const Scalar& value, OptType dtype, OptLayout, OptDevice device, OptBool,
                        OptFormat format) {
  return fill_(like(self, dtype, device, format), value);
}
Tensor zeros_like_kernel(const Tensor& self, OptType dtype, OptLayout, OptDevice device, OptBool, OptFormat format) {
  return zero_(like(self, dtype, device, format));
}
Tensor ones_like_kernel(const Tensor& self, OptType dtype, OptLayout, OptDevice device, OptBool, OptFormat format) {
  return fill_(like(self, dtype, device, format), 1);
}

// --- out= forms: the memory is the caller's

Tensor resized(const Tensor& out, IntSpan size, const char* op) {
  prepare_out(op, out, size);
  return out;
}
// Of as many elements, in whatever shape: ranges are written into what has room for them, row by row.
Tensor of_length(const Tensor& out, int64_t length, const char* op) {
  return out.numel() == length ? out : resized(out, Dims{length}, op);
}
Tensor empty_out(IntSpan size, OptFormat, const Tensor& out) { return resized(out, size, "empty"); }
Tensor full_out(IntSpan size, const Scalar& value, const Tensor& out) {
  return fill_(resized(out, size, "full"), value);
}
Tensor zeros_out(IntSpan size, const Tensor& out) { return zero_(resized(out, size, "zeros")); }
Tensor ones_out(IntSpan size, const Tensor& out) { return fill_(resized(out, size, "ones"), 1); }

// --- like another tensor, of another size

Tensor new_empty(const Tensor& self, IntSpan size, OptType dtype, OptLayout, OptDevice device, OptBool) {
  return empty_tensor(size, dtype.value_or(self.dtype()), device.value_or(self.device()));
}
Tensor new_empty_strided(const Tensor& self, IntSpan size, IntSpan stride, OptType dtype, OptLayout, OptDevice device,
                         OptBool) {
  return empty_strided_tensor(size, stride, dtype.value_or(self.dtype()), device.value_or(self.device()));
}
Tensor new_full(const Tensor& self, IntSpan size, const Scalar& value, OptType dtype, OptLayout, OptDevice device,
                OptBool) {
  return fill_(new_empty(self, size, dtype, {}, device, {}), value);
}
Tensor new_zeros(const Tensor& self, IntSpan size, OptType dtype, OptLayout, OptDevice device, OptBool) {
  return zero_(new_empty(self, size, dtype, {}, device, {}));
}
Tensor new_ones(const Tensor& self, IntSpan size, OptType dtype, OptLayout, OptDevice device, OptBool) {
  return fill_(new_empty(self, size, dtype, {}, device, {}), 1);
}
Tensor scalar_tensor(const Scalar& s, OptType dtype, OptLayout, OptDevice device, OptBool) {
  return fill_(empty_tensor({}, dtype.value_or(default_dtype()), device.value_or(default_device())), s);
}

// --- ranges

// Fills out by part(T* to, first index, last + 1), on the host; converted if out is of another type or device.
template <class T, class Part>
Tensor fill_parts(const Tensor& out, DType type, const Part& part) {
  if (out.device().is_meta() || out.numel() == 0) return out;
  bool direct = out.dtype() == type && out.device().is_cpu() && out.is_contiguous();
  Tensor host = direct ? out : empty_tensor(out.sizes(), type, Device{});
  auto* to = host.data_as<T>();
  parallel_for(0, host.numel(), 32768, [&](int64_t from, int64_t end) { part(to + from, from, end); });
  return direct ? out : copy_(out, host);
}

// The same with f(i).
template <class T, class F>
Tensor fill_by(const Tensor& out, DType type, const F& f) {
  return fill_parts<T>(out, type, [&](T* to, int64_t from, int64_t end) {
    for (int64_t i = from; i < end; ++i) *to++ = f(i);
  });
}

// How many numbers a range has. Integers are counted exactly.
int64_t range_size(const Scalar& start, const Scalar& end, const Scalar& step, DType dtype) {
  double from = start.to_double(), to = end.to_double(), by = step.to_double();
  FC_CHECK(by > 0 || by < 0, "arange: step must be nonzero");
  FC_CHECK(std::isfinite(from) && std::isfinite(to), "arange: unsupported range: ", from, " -> ", to);
  FC_CHECK(by > 0 ? to >= from : to <= from, "arange: upper bound and larger bound inconsistent with step sign: from ",
           start, " to ", end, " by ", step);
  const bool whole = start.is_integral(true) && end.is_integral(true) && step.is_integral(true);
  if (dtype == DType::Int64 && whole) {
    __int128 a = start.to_int(), b = end.to_int(), s = step.to_int();
    FC_CHECK(s != 0, "arange: step must be nonzero");
    __int128 n = (b - a + s - (s > 0 ? 1 : -1)) / s;
    FC_CHECK(n <= INT64_MAX, "arange: invalid size, possible overflow?");
    return n < 0 ? 0 : static_cast<int64_t>(n);
  }
  double n = std::ceil((to - from) / by);
  FC_CHECK(n >= 0 && n < 0x1p63, "arange: invalid size, possible overflow?");
  return static_cast<int64_t>(n);
}

// Both loops become vector code: integers are counted in their own width, as they wrap around; indices are converted to
// floating point from 32 bits.
template <class U>
Tensor fill_integers(const Tensor& out, DType type, int64_t start, int64_t step) {
  return fill_parts<U>(out, type, [=](U* to, int64_t from, int64_t end) {
    const auto by = static_cast<uint64_t>(step);
    U value = static_cast<U>(static_cast<uint64_t>(start) + by * static_cast<uint64_t>(from));
    for (int64_t n = end - from, j = 0; j < n; ++j, value = static_cast<U>(value + static_cast<U>(by))) to[j] = value;
  });
}
template <class T>
Tensor fill_floats(const Tensor& out, DType type, double start, double step) {
  return fill_parts<T>(out, type, [=](T* to, int64_t from, int64_t end) {
    constexpr int64_t chunk = 4096;
    for (; from < end; from += chunk, to += chunk) {
      const double position = static_cast<double>(from);
      const int n = static_cast<int>(std::min(chunk, end - from));
      for (int j = 0; j < n; ++j) to[j] = static_cast<T>(start + step * (position + j));
    }
  });
}
void check_countable(const char* op, DType t) {
  FC_CHECK_AS(NotImplementedError, t != DType::Bool && !is_barebones(t), "\"", op, "_cpu\" not implemented for '",
              info(t).legacy, "'");
}

Tensor fill_range(const Tensor& out, const Scalar& start, const Scalar& step) {
  const DType t = out.dtype();
  if (is_integral(t, false)) {
    const int64_t a = start.to_int(), s = step.to_int();
    switch (item_size(t)) {
      case 1: return fill_integers<uint8_t>(out, t, a, s);
      case 2: return fill_integers<uint16_t>(out, t, a, s);
      case 4: return fill_integers<uint32_t>(out, t, a, s);
      default: return fill_integers<uint64_t>(out, t, a, s);
    }
  }
  if (t == DType::Bool) return fill_integers<uint64_t>(out, DType::Int64, start.to_int(), step.to_int());
  if (t == DType::Float32) return fill_floats<float>(out, t, start.to_double(), step.to_double());
  return fill_floats<double>(out, DType::Float64, start.to_double(), step.to_double());
}

Tensor arange_step(const Scalar& start, const Scalar& end, const Scalar& step, OptType dtype, OptLayout,
                   OptDevice device, OptBool) {
  bool whole = start.is_integral(true) && end.is_integral(true) && step.is_integral(true);
  DType t = dtype.value_or(whole ? DType::Int64 : default_dtype());
  return fill_range(empty_tensor(Dims{range_size(start, end, step, t)}, t, device.value_or(default_device())), start,
                    step);
}
Tensor arange_start(const Scalar& start, const Scalar& end, OptType dtype, OptLayout, OptDevice device, OptBool) {
  return arange_step(start, end, 1, dtype, {}, device, {});
}
Tensor arange_end(const Scalar& end, OptType dtype, OptLayout, OptDevice device, OptBool) {
  return arange_step(0, end, 1, dtype, {}, device, {});
}
Tensor arange_step_out(const Scalar& start, const Scalar& end, const Scalar& step, const Tensor& out) {
  return fill_range(of_length(out, range_size(start, end, step, out.dtype()), "arange"), start, step);
}
// With the end, unlike arange.
Tensor fill_closed_range(const Tensor& out, const Scalar& start, const Scalar& end, const Scalar& step) {
  const double from = start.to_double(), to = end.to_double(), by = step.to_double();
  FC_CHECK(by > 0 || by < 0, "range: step must be nonzero");
  warn(
      "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with "
      "Python's range builtin. Instead, use torch.arange, which produces values in [start, end).");
  FC_CHECK(std::isfinite(from) && std::isfinite(to), "range: unsupported range: ", from, " -> ", to);
  FC_CHECK(by > 0 ? to >= from : to <= from, "range: upper bound and lower bound inconsistent with step sign: from ",
           start, " to ", end, " by ", step);
  const double n = std::floor((to - from) / by) + 1;
  FC_CHECK(n < 0x1p63, "range: invalid size, possible overflow?");
  return fill_range(of_length(out, static_cast<int64_t>(n), "range"), start, step);
}
Tensor range_step(const Scalar& start, const Scalar& end, const Scalar& step, OptType dtype, OptLayout,
                  OptDevice device, OptBool) {
  return fill_closed_range(empty_tensor(Dims{0}, dtype.value_or(default_dtype()), device.value_or(default_device())),
                           start, end, step);
}
Tensor range_start(const Scalar& start, const Scalar& end, OptType dtype, OptLayout, OptDevice device, OptBool) {
  return range_step(start, end, 1, dtype, {}, device, {});
}
Tensor range_out(const Scalar& start, const Scalar& end, const Scalar& step, const Tensor& out) {
  return fill_closed_range(out, start, end, step);
}
Tensor arange_out(const Scalar& end, const Tensor& out) { return arange_step_out(0, end, 1, out); }

// Evenly spaced numbers are counted from the nearer end, so that both ends come out exactly.
template <class T>
struct Spaced {
  T start, end, step;
  int64_t steps;
  Spaced(T a, T b, int64_t n) : start(a), end(b), step(n > 1 ? (b - a) / static_cast<T>(n - 1) : T(0)), steps(n) {}
  T operator()(int64_t i) const {
    return i < steps / 2 || steps == 1 ? start + step * static_cast<T>(i) : end - step * static_cast<T>(steps - 1 - i);
  }
};

Tensor fill_linspace(const Tensor& out, const Scalar& start, const Scalar& end) {
  check_countable("linspace", out.dtype());
  int64_t n = out.numel();
  if (is_complex(out.dtype())) {
    ComplexDouble a = start.to_complex(), b = end.to_complex();
    Spaced<double> re(a.re, b.re, n), im(a.im, b.im, n);
    return fill_by<ComplexDouble>(out, DType::Complex128, [=](int64_t i) { return ComplexDouble{re(i), im(i)}; });
  }
  if (is_integral(out.dtype(), true)) {
    Spaced<double> f(static_cast<double>(start.to_int()), static_cast<double>(end.to_int()), n);
    return fill_by<double>(out, DType::Float64, f);
  }
  if (out.dtype() == DType::Float64)
    return fill_by<double>(out, DType::Float64, Spaced<double>(start.to_double(), end.to_double(), n));
  return fill_by<float>(out, DType::Float32,
                        Spaced<float>(static_cast<float>(start.to_double()), static_cast<float>(end.to_double()), n));
}

Tensor fill_logspace(const Tensor& out, const Scalar& start, const Scalar& end, double base) {
  check_countable("logspace", out.dtype());
  if (is_complex(out.dtype())) {
    ComplexDouble a = start.to_complex(), b = end.to_complex();
    Spaced<double> re(a.re, b.re, out.numel()), im(a.im, b.im, out.numel());
    return fill_by<ComplexDouble>(out, DType::Complex128, [=](int64_t i) {
      const std::complex<double> z = std::pow(std::complex<double>(base), std::complex<double>(re(i), im(i)));
      return ComplexDouble{z.real(), z.imag()};
    });
  }
  Spaced<double> f(start.to_double(), end.to_double(), out.numel());
  return fill_by<double>(out, DType::Float64, [=](int64_t i) { return std::pow(base, f(i)); });
}

DType spaced_type(const Scalar& start, const Scalar& end, OptType dtype) {
  return dtype.value_or(start.is_complex() || end.is_complex() ? complex_of(default_dtype()) : default_dtype());
}
Dims steps_size(const char* op, int64_t steps) {
  FC_CHECK(steps >= 0, op, ": number of steps must be non-negative, got ", steps);
  return {steps};
}
Tensor linspace(const Scalar& start, const Scalar& end, int64_t steps, OptType dtype, OptLayout, OptDevice device,
                OptBool) {
  return fill_linspace(
      empty_tensor(steps_size("linspace", steps), spaced_type(start, end, dtype), device.value_or(default_device())),
      start, end);
}
Tensor linspace_out(const Scalar& start, const Scalar& end, int64_t steps, const Tensor& out) {
  return fill_linspace(of_length(out, steps_size("linspace", steps)[0], "linspace"), start, end);
}
Tensor logspace(const Scalar& start, const Scalar& end, int64_t steps, double base, OptType dtype, OptLayout,
                OptDevice device, OptBool) {
  DType t = spaced_type(start, end, dtype);
  return fill_logspace(empty_tensor(steps_size("logspace", steps), t, device.value_or(default_device())), start, end,
                       base);
}
Tensor logspace_out(const Scalar& start, const Scalar& end, int64_t steps, double base, const Tensor& out) {
  return fill_logspace(of_length(out, steps_size("logspace", steps)[0], "logspace"), start, end, base);
}

// Bounds that are tensors are read as numbers: no gradient flows to them.
Scalar bound(const char* op, const char* name, const Arg& a) {
  if (!a.is_tensor()) return a.scalar();
  FC_CHECK(a.tensor().dim() == 0, op, " only supports 0-dimensional start and end tensors, but got ", name, " with ",
           a.tensor().dim(), " dimension(s).");
  return call<"aten::_local_scalar_dense", Scalar>(a.tensor());
}
// linspace and logspace with tensors for start, end or both: the same call with numbers.
void with_tensor_bounds(void*, const Operator& op, const Arg* args, Value* results) {
  const char* name = op.schema().name.c_str();
  const Scalar start = bound(name, "start", args[0]), end = bound(name, "end", args[1]);
  std::vector<Arg> numbers(args, args + op.num_args());
  numbers[0] = start;
  numbers[1] = end;
  get_operator(str("aten::", name, op.is_out ? ".out" : "")).call(numbers.data(), results);
}

// --- matrices

// Powers of each number, side by side.
Tensor powers(const Tensor& x, int64_t n) {
  Dims sizes(x.sizes());
  sizes.push_back(n);
  Tensor out = full(sizes, 1, x.dtype() == DType::Bool ? DType::Int64 : x.dtype(), x.device());
  if (n < 2) return out;
  Tensor rest = mul(narrow(out, -1, 1, n - 1), unsqueeze(x, -1));
  return cat(std::vector<Tensor>{narrow(out, -1, 0, 1), call<"aten::cumprod", Tensor>(rest, -1, OptType())}, -1);
}
Tensor vander(const Tensor& x, std::optional<int64_t> n, bool increasing) {
  FC_CHECK(x.dim() == 1, "vander: x must be a one-dimensional tensor, but is ", x.sizes());
  FC_CHECK(!n || *n >= 0, "vander: N must be non-negative, got ", n.value_or(0));
  Tensor out = powers(x, n.value_or(x.size(0)));
  return increasing ? out : call<"aten::flip", Tensor>(out, Dims{1});
}
Tensor linalg_vander(const Tensor& x, std::optional<int64_t> n) {
  FC_CHECK(!n || *n > 1, "linalg.vander: N must be greater than 1, got ", n.value_or(0));
  Tensor v = x.dim() ? x : unsqueeze(x, 0);
  return powers(v, n.value_or(v.size(-1)));
}

Dims eye_size(int64_t n, int64_t m) {
  FC_CHECK(n >= 0, "eye: n must be greater or equal to 0, got ", n);
  FC_CHECK(m >= 0, "eye: m must be greater or equal to 0, got ", m);
  return {n, m};
}
Tensor fill_eye(const Tensor& out) {
  fill_(call<"aten::diagonal", Tensor>(zero_(out), 0, 0, 1), 1);
  return out;
}
Tensor eye_m(int64_t n, int64_t m, OptType dtype, OptLayout, OptDevice device, OptBool) {
  return fill_eye(empty_tensor(eye_size(n, m), dtype.value_or(default_dtype()), device.value_or(default_device())));
}
Tensor eye(int64_t n, OptType dtype, OptLayout, OptDevice device, OptBool) {
  return eye_m(n, n, dtype, {}, device, {});
}
Tensor eye_m_out(int64_t n, int64_t m, const Tensor& out) { return fill_eye(resized(out, eye_size(n, m), "eye")); }
Tensor eye_out(int64_t n, const Tensor& out) { return eye_m_out(n, n, out); }

// Row and column numbers of a triangle, row by row.
template <bool lower>
Tensor triangle_indices(int64_t rows, int64_t columns, int64_t offset, OptType dtype, OptLayout, OptDevice device,
                        OptBool) {
  const char* op = lower ? "tril_indices" : "triu_indices";
  FC_CHECK(rows >= 0, op, ": row must be non-negative, got ", rows);
  FC_CHECK(columns >= 0, op, ": col must be non-negative, got ", columns);
  offset = std::clamp(offset, -rows, columns);
  // Columns of a row: tril has [0, split), triu [split, columns).
  using Wide = __int128;
  auto split = [&](int64_t r) {
    return static_cast<int64_t>(std::clamp<Wide>(Wide(r) + offset + (lower ? 1 : 0), 0, columns));
  };
  // Rows are empty before `first`, whole from `last` on, and grow by one between (seen from tril).
  const int64_t first = std::clamp<int64_t>(-offset, 0, rows),
                last = static_cast<int64_t>(std::clamp<Wide>(Wide(columns) - offset, first, rows));
  Wide below = Wide(rows - last) * columns;
  below += Wide(last - first) * (Wide(split(first)) + (last > first ? split(last - 1) : 0)) / 2;
  const Wide count = lower ? below : Wide(rows) * columns - below;
  FC_CHECK(count <= INT64_MAX / 16, op, ": the triangle has too many elements");
  int64_t n = static_cast<int64_t>(count);
  const Device there = device.value_or(default_device());
  if (n == 0 || there.is_meta()) return empty_tensor(Dims{2, n}, dtype.value_or(DType::Int64), there);
  Tensor out = empty_tensor(Dims{2, n}, DType::Int64, Device{});
  auto* to = out.data_as<int64_t>();
  int64_t k = 0;
  for (int64_t r = lower ? first : 0, stop = lower ? rows : last; r < stop; ++r)  // none of these rows is empty
    for (int64_t c = lower ? 0 : split(r), end = lower ? split(r) : columns; c < end; ++c, ++k) {
      to[k] = r;
      to[n + k] = c;
    }
  return call<"aten::to.dtype_layout", Tensor>(out, dtype.value_or(DType::Int64), nullptr, there, nullptr, false, false,
                                               nullptr);
}

// --- complex numbers from their parts

Tensor complex_kernel(const Tensor& real, const Tensor& imag) {
  auto known = [](const Tensor& t) {
    return t.dtype() == DType::Float16 || t.dtype() == DType::Float32 || t.dtype() == DType::Float64;
  };
  FC_CHECK_AS(NotImplementedError, known(real) && known(imag),
              "complex: Expected both inputs to be Half, Float or Double tensors but got ", info(real.dtype()).legacy,
              " and ", info(imag.dtype()).legacy);
  FC_CHECK(real.dtype() == imag.dtype(), "complex: Expected object of scalar type ", info(real.dtype()).legacy,
           " but got scalar type ", info(imag.dtype()).legacy, " for second argument");
  if (real.dtype() == DType::Float16)
    return to_dtype(complex_kernel(to_dtype(real, DType::Float32), to_dtype(imag, DType::Float32)), DType::Complex32);
  const MapInput in[] = {{&real, {}}, {&imag, {}}};
  Dims shape = broadcast_shapes("complex", real.sizes(), imag.sizes());
  Tensor out = empty_strided_tensor(shape, result_strides(shape, in), complex_of(real.dtype()), real.device()), result;
  MapRequest r{.op = "complex", .opcode = FC_MAP_complex, .inputs = in, .out = &out};
  if (!try_map(r, result)) {
    Tensor parts = call<"aten::view_as_real", Tensor>(out);
    copy_(select(parts, -1, 0), real);
    copy_(select(parts, -1, 1), imag);
  }
  return out;
}
Tensor polar(const Tensor& abs, const Tensor& angle) {
  return call<"aten::complex", Tensor>(mul(abs, cos(angle)), mul(abs, sin(angle)));
}

#define OPTIONS_OF(dtype) "ScalarType? dtype=" dtype ", Layout? layout=None, Device? device=None, bool? pin_memory=None"
#define OPTIONS OPTIONS_OF("None")
#define FACTORY(schema_text, function, ...) \
  { .schema = schema_text, __VA_OPT__(.doc = __VA_ARGS__, ).all = kernel<&function>(), .differentiable = false }
#define FILLS(schema_text, function) \
  { .schema = schema_text, .all = kernel<&function>(), .differentiable = false, .writes = Writes::OneValue }
constexpr OpDef UNWRITTEN(OpDef def) {
  def.unwritten = true;
  return def;
}
constexpr OpDef LIKE(OpDef def) {
  def.looks_at = "self";
  return def;
}

constexpr OpDef defs[] = {
    UNWRITTEN(FACTORY("empty.memory_format(SymInt[] size, *, " OPTIONS ", MemoryFormat? memory_format=None) -> Tensor",
                      empty_kernel, "A tensor of the given sizes, its memory not set.")),
    UNWRITTEN(FILLS("empty.out(SymInt[] size, *, MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!)",
                    empty_out)),
    UNWRITTEN(FACTORY("empty_strided(SymInt[] size, SymInt[] stride, *, " OPTIONS ") -> Tensor", empty_strided_kernel,
                      "A tensor of the given sizes and strides, its memory not set.")),
    FACTORY("full(SymInt[] size, Scalar fill_value, *, " OPTIONS ") -> Tensor", full_kernel,
            "A tensor of the given sizes in which every element is the value."),
    FILLS("full.out(SymInt[] size, Scalar fill_value, *, Tensor(a!) out) -> Tensor(a!)", full_out),
    FACTORY("zeros(SymInt[] size, *, " OPTIONS ") -> Tensor", zeros_kernel, "A tensor of zeros."),
    FILLS("zeros.out(SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)", zeros_out),
    FACTORY("ones(SymInt[] size, *, " OPTIONS ") -> Tensor", ones_kernel, "A tensor of ones."),
    FILLS("ones.out(SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)", ones_out),
    FACTORY("scalar_tensor(Scalar s, *, " OPTIONS ") -> Tensor", scalar_tensor,
            "A tensor without dimensions that holds a number."),

    UNWRITTEN(LIKE(FACTORY("empty_like(Tensor self, *, " OPTIONS ", MemoryFormat? memory_format=None) -> Tensor",
                           empty_like_kernel, "A tensor of the same sizes, its memory not set."))),
    LIKE(FACTORY("full_like(Tensor self, Scalar fill_value, *, " OPTIONS
                 ", MemoryFormat? memory_format=None) -> Tensor",
                 full_like_kernel, "A tensor of the same sizes in which every element is the value.")),
    LIKE(FACTORY("zeros_like(Tensor self, *, " OPTIONS ", MemoryFormat? memory_format=None) -> Tensor",
                 zeros_like_kernel, "A tensor of zeros with the same sizes.")),
    LIKE(FACTORY("ones_like(Tensor self, *, " OPTIONS ", MemoryFormat? memory_format=None) -> Tensor", ones_like_kernel,
                 "A tensor of ones with the same sizes.")),
    UNWRITTEN(LIKE(FACTORY("new_empty(Tensor self, SymInt[] size, *, " OPTIONS ") -> Tensor", new_empty,
                           "A tensor of the given sizes and this tensor's type and device, its memory not set."))),
    UNWRITTEN(LIKE(FACTORY("new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, *, " OPTIONS ") -> Tensor",
                           new_empty_strided, "new_empty with strides."))),
    LIKE(FACTORY("new_full(Tensor self, SymInt[] size, Scalar fill_value, *, " OPTIONS ") -> Tensor", new_full,
                 "A tensor of the given sizes and this tensor's type and device, filled with the value.")),
    LIKE(FACTORY("new_zeros(Tensor self, SymInt[] size, *, " OPTIONS ") -> Tensor", new_zeros,
                 "A tensor of zeros, of this tensor's type and device.")),
    LIKE(FACTORY("new_ones(Tensor self, SymInt[] size, *, " OPTIONS ") -> Tensor", new_ones,
                 "A tensor of ones, of this tensor's type and device.")),

    FACTORY("arange(Scalar end, *, " OPTIONS ") -> Tensor", arange_end,
            "Numbers from start (inclusive) to end (exclusive) in steps of step."),
    FACTORY("arange.start(Scalar start, Scalar end, *, " OPTIONS ") -> Tensor", arange_start),
    FACTORY("arange.start_step(Scalar start, Scalar end, Scalar step=1, *, " OPTIONS ") -> Tensor", arange_step),
    FACTORY("arange.out(Scalar end, *, Tensor(a!) out) -> Tensor(a!)", arange_out),
    FACTORY("arange.start_out(Scalar start, Scalar end, Scalar step=1, *, Tensor(a!) out) -> Tensor(a!)",
            arange_step_out),
    FACTORY("range.step(Scalar start, Scalar end, Scalar step=1, *, " OPTIONS ") -> Tensor", range_step,
            "Numbers from start to end, both inclusive, in steps of step; PyTorch advises to use arange."),
    FACTORY("range(Scalar start, Scalar end, *, " OPTIONS ") -> Tensor", range_start),
    FACTORY("range.out(Scalar start, Scalar end, Scalar step=1, *, Tensor(a!) out) -> Tensor(a!)", range_out),
    FACTORY("linspace(Scalar start, Scalar end, int steps, *, " OPTIONS ") -> Tensor", linspace,
            "The given number of evenly spaced points from start to end, both included."),
    FACTORY("linspace.out(Scalar start, Scalar end, int steps, *, Tensor(a!) out) -> Tensor(a!)", linspace_out),
    FACTORY("logspace(Scalar start, Scalar end, int steps, float base=10., *, " OPTIONS ") -> Tensor", logspace,
            "Powers of base whose exponents are evenly spaced from start to end."),
    FACTORY("logspace.out(Scalar start, Scalar end, int steps, float base=10., *, Tensor(a!) out) -> Tensor(a!)",
            logspace_out),
#define TENSOR_BOUNDS(op, start, end, base)                                                                            \
  {.schema = op "." start "_" end "(" start " start, " end " end, int steps" base ", *, " OPTIONS ") -> Tensor",       \
   .composite = {with_tensor_bounds}},                                                                                 \
  {                                                                                                                    \
    .schema =                                                                                                          \
        op "." start "_" end "_out(" start " start, " end " end, int steps" base ", *, Tensor(a!) out) -> Tensor(a!)", \
    .composite = {                                                                                                     \
      with_tensor_bounds                                                                                               \
    }                                                                                                                  \
  }
    TENSOR_BOUNDS("linspace", "Tensor", "Tensor", ""),
    TENSOR_BOUNDS("linspace", "Tensor", "Scalar", ""),
    TENSOR_BOUNDS("linspace", "Scalar", "Tensor", ""),
    TENSOR_BOUNDS("logspace", "Tensor", "Tensor", ", float base=10."),
    TENSOR_BOUNDS("logspace", "Tensor", "Scalar", ", float base=10."),
    TENSOR_BOUNDS("logspace", "Scalar", "Tensor", ", float base=10."),
#undef TENSOR_BOUNDS
    {.schema = "vander(Tensor x, int? N=None, bool increasing=False) -> Tensor",
     .doc = "The matrix of the powers of a vector's elements, falling unless increasing.",
     .composite = kernel<&vander>()},
    {.schema = "linalg_vander(Tensor x, *, SymInt? N=None) -> Tensor",
     .doc = "The rising powers of each element, in a new last dimension.",
     .composite = kernel<&linalg_vander>()},
    FACTORY("eye(SymInt n, *, " OPTIONS ") -> Tensor", eye, "A matrix with ones on the diagonal and zeros elsewhere."),
    FACTORY("eye.m(SymInt n, SymInt m, *, " OPTIONS ") -> Tensor", eye_m),
    FACTORY("eye.out(SymInt n, *, Tensor(a!) out) -> Tensor(a!)", eye_out),
    FACTORY("eye.m_out(SymInt n, SymInt m, *, Tensor(a!) out) -> Tensor(a!)", eye_m_out),
    FACTORY("tril_indices(int row, int col, int offset=0, *, " OPTIONS_OF("long") ") -> Tensor", triangle_indices<true>,
            "The row and column indices of a lower triangle."),
    FACTORY("triu_indices(int row, int col, int offset=0, *, " OPTIONS_OF("long") ") -> Tensor",
            triangle_indices<false>, "The row and column indices of an upper triangle."),

    {.schema = "complex(Tensor real, Tensor imag) -> Tensor",
     .doc = "Complex numbers from real and imaginary parts.",
     .all = kernel<&complex_kernel>(),
     .grad =
         [](Grad& g) {
           if (g.needs(0)) g.set(0, call<"aten::real", Tensor>(g.out()));
           if (g.needs(1)) g.set(1, call<"aten::imag", Tensor>(g.out()));
         },
     .out = true},
    {.schema = "polar(Tensor abs, Tensor angle) -> Tensor",
     .doc = "Complex numbers from magnitude and angle.",
     .composite = kernel<&polar>(),
     .out = true,
     .cpu_autocast = Autocast::Float32},
};
#undef FACTORY
#undef OPTIONS

}  // namespace

// Filling what is fresh is no change that a version would count.
Tensor zeros(IntSpan sizes, DType dtype, Device device) {
  ExcludeLayers fresh(layer::ViewInPlace);
  return zero_(empty_tensor(sizes, dtype, device));
}
Tensor full(IntSpan sizes, const Scalar& value, DType dtype, Device device) {
  ExcludeLayers fresh(layer::ViewInPlace);
  return fill_(empty_tensor(sizes, dtype, device), value);
}
Tensor wrapped_number(const Scalar& v, Device device) {
  Tensor t = full({}, v, v.dtype(), device);
  t.impl().set_wrapped_number(true);
  return t;
}

void define_creation() { define_all(defs); }

}  // namespace fc
