// SPDX-License-Identifier: Apache-2.0
// Operators that draw random numbers. The recipes are docs/random.md's: for the same seed they give PyTorch's numbers.
#include "plan/random.h"

#include <algorithm>
#include <cmath>

#include "define/calls.h"
#include "define/row.h"
#include "ops/register.h"
#include "plan/pointwise.h"

namespace fc {
namespace {

constinit RandomFillFn cpu_fill = nullptr;

using OptType = std::optional<DType>;
using OptLayout = std::optional<Layout>;
using OptDevice = std::optional<Device>;
using OptBool = std::optional<bool>;
using OptFormat = std::optional<MemoryFormat>;

fc_random_opcode opcode_of(RandomFill::Kind kind) {
  switch (kind) {
    case RandomFill::Uniform: return FC_RANDOM_UNIFORM;
    case RandomFill::Normal:
    case RandomFill::NormalPairs: return FC_RANDOM_NORMAL;
    case RandomFill::LogNormal: return FC_RANDOM_LOG_NORMAL;
    case RandomFill::Exponential: return FC_RANDOM_EXPONENTIAL;
    case RandomFill::Cauchy: return FC_RANDOM_CAUCHY;
    case RandomFill::Geometric: return FC_RANDOM_GEOMETRIC;
    case RandomFill::Bernoulli: return FC_RANDOM_BERNOULLI;
    case RandomFill::Integer:
    case RandomFill::Integer64: break;
  }
  return FC_RANDOM_INTEGER;
}

// Section 9: a device draws by itself; for one that does not, the CPU draws the same numbers, as a counted fallback.
void fill_on_device(const char* op, const Tensor& target, const RandomFill& what, Generator* given) {
  const Device device = target.device();
  Ref<Generator> generator = generator_for(op, device, given);
  auto& g = static_cast<PhiloxGenerator&>(*generator);
  fc_random c{};
  c.size = sizeof c;
  c.opcode = opcode_of(what.kind);
  c.ndim = static_cast<int32_t>(target.dim());
  c.shape = target.sizes().data();
  c.a = what.a, c.b = what.b;
  c.low = what.low, c.range = what.range;
  c.seed = g.initial_seed();
  {
    std::lock_guard lock(g.mutex);
    c.offset = g.take(static_cast<uint64_t>(target.numel()));
  }
  ByteStrides strides(target), p_strides;
  c.out = operand(target, strides);
  if (what.p) {
    p_strides = ByteStrides(*what.p);
    c.p = operand(*what.p, p_strides);
  }
  if (device_supports(families(device.type), FC_FAMILY_RANDOM, &c)) {
    run_family(device, c);
    return;
  }
  count_fallback(*thread_state().op, device.type);
  Tensor here = empty_tensor(target.sizes(), target.dtype(), Device{}), p;
  ByteStrides here_strides(here);
  c.out = operand(here, here_strides);
  if (what.p) {
    p = call<"aten::to.device", Tensor>(*what.p, Device{}, what.p->dtype(), false, false, OptFormat());
    p_strides = ByteStrides(p);
    c.p = operand(p, p_strides);
  }
  run_family(Device{}, c);
  copy_(target, here);
}

// Fills self in the order of its memory (section 3).
const Tensor& fill(const char* op, const Tensor& self, RandomFill what, Generator* generator) {
  if (self.device().is_meta()) return self;
  Ref<Generator> source = generator_for(op, self.device(), generator);
  if (self.numel() == 0) return self;
  // The dimensions, furthest apart in memory first.
  const size_t n = self.sizes().size();
  Dims order(n), sizes(n), strides(n);
  for (size_t i = 0; i < n; ++i) order[i] = static_cast<int64_t>(i);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return self.strides()[static_cast<size_t>(a)] > self.strides()[static_cast<size_t>(b)];
  });
  for (size_t i = 0; i < n; ++i) {
    sizes[i] = self.sizes()[static_cast<size_t>(order[i])];
    strides[i] = self.strides()[static_cast<size_t>(order[i])];
  }
  Tensor ordered = make_view(self, sizes, strides, self.offset());
  Tensor p;
  if (what.p) {
    p = call<"aten::contiguous", Tensor>(permute(expand(*what.p, self.sizes()), order), MemoryFormat::Contiguous);
    if (p.device().type != self.device().type)
      p = call<"aten::to.device", Tensor>(p, self.device(), p.dtype(), false, false, OptFormat());
    what.p = &p;
  }
  if (!self.device().is_cpu()) {
    if (is_complex(self.dtype())) {  // section 2: as real numbers, twice as many
      for (int64_t& s : strides) s *= 2;
      sizes.push_back(2);
      strides.push_back(1);
      ordered = make_view(self, sizes, strides, 2 * self.offset(), real_of(self.dtype()));
    }
    fill_on_device(op, ordered, what, generator);
    return self;
  }
  Tensor target = ordered.is_contiguous() ? ordered : empty_tensor(sizes, self.dtype(), Device{});
  Tensor flat = target;
  if (is_complex(self.dtype())) {
    Dims pairs{2 * target.numel()}, one{1};
    flat = make_view(target, pairs, one, 2 * target.offset(), real_of(self.dtype()));
  }
  cpu_fill(flat, what, static_cast<CpuGenerator&>(*source));
  if (!target.same(ordered)) copy_(ordered, target);
  return self;
}

void need_floating(const char* op, DType t, bool complex_too = false) { check_kind(op, complex_too ? "bi" : "bic", t); }

// --- uniform and normal
bool is_double(DType t) { return t == DType::Float64 || t == DType::Complex128; }
double largest(DType t) {
  return t == DType::Float16    ? 65504
         : t == DType::BFloat16 ? 0x1.FEp127
         : is_double(t)         ? std::numeric_limits<double>::max()
                                : static_cast<double>(std::numeric_limits<float>::max());
}
void check_bound(const char* what, double value, DType t, double most) {
  FC_CHECK(std::fabs(value) <= most, what, " is out of bounds for ",
           t == DType::Float16    ? "c10::Half"
           : t == DType::BFloat16 ? "c10::BFloat16"
           : is_double(t)         ? "double"
                                  : "float");
}
Tensor uniform_(const Tensor& self, double from, double to, Generator* g) {
  need_floating("uniform_", self.dtype(), true);
  const double most = largest(self.dtype());
  check_bound("from", from, self.dtype(), most);
  check_bound("to", to, self.dtype(), most);
  FC_CHECK(from <= to, "uniform_ expects to return a [from, to) range, but found from=", from, " > to=", to);
  FC_CHECK(to - from <= most, "uniform_ expects to-from <= std::numeric_limits<", info(self.dtype()).legacy,
           ">::max(), but found to=", to, " and from=", from, " which result in to-from to exceed the limit");
  return fill("uniform_", self, {RandomFill::Uniform, from, to}, g);
}

Tensor normal_(const Tensor& self, double mean, double std, Generator* g) {
  FC_CHECK(std >= 0, "normal expects std >= 0.0, but found std ", std);
  need_floating("normal_", self.dtype(), true);
  const bool complex = is_complex(self.dtype());
  const int64_t n = complex ? 2 * self.numel() : self.numel();
  if (complex) std *= std::sqrt(0.5);
  return fill("normal_", self,
              {n >= 16 && self.is_contiguous() ? RandomFill::Normal : RandomFill::NormalPairs, mean, std}, g);
}

// --- integers (section 5)
int digits(DType t) { return t == DType::BFloat16 ? 8 : t == DType::Float16 ? 11 : t == DType::Float32 ? 24 : 53; }
// v rounded to a float format of that many digits.
int64_t round_to_digits(int64_t v, DType t) {
  int exponent;
  double m = std::frexp(static_cast<double>(v), &exponent);
  double r = std::ldexp(std::nearbyint(std::ldexp(m, digits(t))), exponent - digits(t));
  return r >= 0x1p63 ? INT64_MAX : static_cast<int64_t>(r);
}
int64_t step_at(int64_t v, DType t) {
  int exponent;
  std::frexp(static_cast<double>(v), &exponent);
  return exponent > digits(t) ? int64_t{1} << (exponent - digits(t)) : 1;
}

void check_in_range(int64_t v, const char* what, DType t) {
  int64_t lo = INT64_MIN, hi = INT64_MAX;
  if (t == DType::Bool) lo = 0, hi = 1;
  else if (is_integral(t, false) && item_size(t) < 8) {
    const int bits = static_cast<int>(8 * item_size(t)) - (is_signed(t) ? 1 : 0);
    hi = (int64_t{1} << bits) - 1;
    lo = is_signed(t) ? -hi - 1 : 0;
  } else if (t == DType::Float16) hi = 65504, lo = -hi;
  FC_CHECK(v >= lo && v <= hi, "random_: ", what, " is out of bounds for ", t, ": ", v, " is not in [", lo, ", ", hi,
           "]");
}

Tensor random_between(const Tensor& self, int64_t from, std::optional<int64_t> to, Generator* g) {
  const DType t = self.dtype();
  check_kind("random_", "c", t);
  RandomFill what{RandomFill::Integer64};
  what.low = from;
  if (to) {
    int64_t low = from, high = *to;
    FC_CHECK(low < high, "random_ expects 'from' to be less than 'to', but got from=", low, " >= to=", high);
    if (is_floating(t)) {  // bounds that the type cannot hold move inwards
      if (low + 1 > 0 || low < -1) {
        if (int64_t r = round_to_digits(low + 1, t); r < low) low = r + step_at(low + 1, t);
      }
      if (int64_t r = round_to_digits(high - 1, t); r >= high) high = r - step_at(high - 1, t);
      FC_CHECK(low < high,
               "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, but got from=", low,
               " >= to=", high);
    }
    check_in_range(low, "from", t);
    check_in_range(high - 1, "to - 1", t);
    what.low = low;
    what.range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
    if (what.range < (uint64_t{1} << 28)) what.kind = RandomFill::Integer;
  } else if (from != INT64_MIN) {
    check_in_range(from, "from", t);
    const uint64_t top = t == DType::Bool    ? 1
                         : is_floating(t)    ? uint64_t{1} << digits(t)
                         : item_size(t) == 8 ? INT64_MAX
                                             : (uint64_t{1} << (8 * item_size(t) - (is_signed(t) ? 1 : 0))) - 1;
    what.range = top - static_cast<uint64_t>(from) + 1;
    if (what.range < (uint64_t{1} << 28)) what.kind = RandomFill::Integer;
  } else {
    what.low = 0;  // all 64 bits as they are drawn
  }
  return fill("random_", self, what, g);
}
Tensor random_from(const Tensor& self, int64_t from, std::optional<int64_t> to, Generator* g) {
  return random_between(self, from, to, g);
}
Tensor random_to(const Tensor& self, int64_t to, Generator* g) { return random_between(self, 0, to, g); }
Tensor random_all(const Tensor& self, Generator* g) {
  const DType t = self.dtype();
  check_kind("random_", "c", t);
  RandomFill what{RandomFill::Integer};
  if (t == DType::Int64 || t == DType::Float64) what.kind = RandomFill::Integer64;
  if (t == DType::Int64) what.range = uint64_t{1} << 63;
  else if (is_floating(t)) what.range = (uint64_t{1} << digits(t)) + 1;
  else what.range = t == DType::Bool ? 2 : uint64_t{1} << (8 * item_size(t) - (is_signed(t) ? 1 : 0));
  return fill("random_", self, what, g);
}

// --- other distributions
Tensor bernoulli_number(const Tensor& self, double p, Generator* g) {
  FC_CHECK(p >= 0 && p <= 1, "bernoulli_ expects p to be in [0, 1], but got p=", p);
  check_kind("bernoulli_", "c", self.dtype());
  RandomFill what{RandomFill::Bernoulli};
  what.a = p;
  return fill("bernoulli_", self, what, g);
}
Tensor bernoulli_tensor(const Tensor& self, const Tensor& p, Generator* g) {
  check_kind("bernoulli_", "c", self.dtype());
  FC_CHECK(is_floating(p.dtype()), "bernoulli_: expected probabilities tensor to have floating type, got ", p.dtype());
  if (p.numel() != 0 && !p.device().is_meta()) {
    Tensor valid = logical_and(ge(p, 0), le(p, 1));
    FC_CHECK(all_true(valid),
             "bernoulli_: Expected p_in >= 0 && p_in <= 1 to be true for every probability, but got a value outside of "
             "[0, 1]");
  }
  Tensor wide = is_reduced(p.dtype()) ? to_dtype(p, DType::Float32) : p;
  RandomFill what{RandomFill::Bernoulli};
  what.p = &wide;
  return fill("bernoulli_", self, what, g);
}
Tensor exponential_(const Tensor& self, double rate, Generator* g) {
  FC_CHECK(rate > 0, "exponential_ expects lambda > 0.0, but found lambda=", rate);
  need_floating("exponential_", self.dtype());
  return fill("exponential_", self, {RandomFill::Exponential, rate}, g);
}
Tensor cauchy_(const Tensor& self, double median, double sigma, Generator* g) {
  FC_CHECK(sigma > 0, "cauchy_ expects sigma > 0.0, but found sigma=", sigma);
  need_floating("cauchy_", self.dtype());
  return fill("cauchy_", self, {RandomFill::Cauchy, median, sigma}, g);
}
Tensor log_normal_(const Tensor& self, double mean, double std, Generator* g) {
  FC_CHECK(std > 0, "log_normal_ expects std > 0.0, but found std=", std);
  need_floating("log_normal_", self.dtype());
  return fill("log_normal_", self, {RandomFill::LogNormal, mean, std}, g);
}
Tensor geometric_(const Tensor& self, double p, Generator* g) {
  FC_CHECK(p > 0 && p < 1, "geometric_ expects p to be in (0, 1), but got p=", p);
  check_kind("geometric_", "bc", self.dtype());
  return fill("geometric_", self, {RandomFill::Geometric, p}, g);
}

// --- new tensors
Tensor fresh(IntSpan size, OptType dtype, DType otherwise, OptDevice device) {
  return empty_tensor(size, dtype.value_or(otherwise), device.value_or(default_device()));
}
Tensor fresh_like(const Tensor& self, OptType dtype, OptLayout layout, OptDevice device, OptBool pin,
                  OptFormat format) {
  return call<"aten::empty_like", Tensor>(self, dtype, layout, device, pin, format);
}

Tensor rand_with(IntSpan size, Generator* g, OptType dtype, OptLayout, OptDevice device, OptBool) {
  return uniform_(fresh(size, dtype, default_dtype(), device), 0, 1, g);
}
Tensor rand(IntSpan size, OptType dtype, OptLayout layout, OptDevice device, OptBool pin) {
  return rand_with(size, nullptr, dtype, layout, device, pin);
}
Tensor rand_like(const Tensor& self, OptType dtype, OptLayout layout, OptDevice device, OptBool pin, OptFormat format) {
  return uniform_(fresh_like(self, dtype, layout, device, pin, format), 0, 1, nullptr);
}
Tensor randn_with(IntSpan size, Generator* g, OptType dtype, OptLayout, OptDevice device, OptBool) {
  return normal_(fresh(size, dtype, default_dtype(), device), 0, 1, g);
}
Tensor randn(IntSpan size, OptType dtype, OptLayout layout, OptDevice device, OptBool pin) {
  return randn_with(size, nullptr, dtype, layout, device, pin);
}
Tensor randn_like(const Tensor& self, OptType dtype, OptLayout layout, OptDevice device, OptBool pin,
                  OptFormat format) {
  return normal_(fresh_like(self, dtype, layout, device, pin, format), 0, 1, nullptr);
}
Tensor randint_low_with(int64_t low, int64_t high, IntSpan size, Generator* g, OptType dtype, OptLayout,
                        OptDevice device, OptBool) {
  return random_between(fresh(size, dtype, DType::Int64, device), low, high, g);
}
Tensor randint_low(int64_t low, int64_t high, IntSpan size, OptType dtype, OptLayout layout, OptDevice device,
                   OptBool pin) {
  return randint_low_with(low, high, size, nullptr, dtype, layout, device, pin);
}
Tensor randint_with(int64_t high, IntSpan size, Generator* g, OptType dtype, OptLayout layout, OptDevice device,
                    OptBool pin) {
  return randint_low_with(0, high, size, g, dtype, layout, device, pin);
}
Tensor randint(int64_t high, IntSpan size, OptType dtype, OptLayout layout, OptDevice device, OptBool pin) {
  return randint_low_with(0, high, size, nullptr, dtype, layout, device, pin);
}
Tensor randint_like_low(const Tensor& self, int64_t low, int64_t high, OptType dtype, OptLayout layout,
                        OptDevice device, OptBool pin, OptFormat format) {
  return random_between(fresh_like(self, dtype, layout, device, pin, format), low, high, nullptr);
}
Tensor randint_like(const Tensor& self, int64_t high, OptType dtype, OptLayout layout, OptDevice device, OptBool pin,
                    OptFormat format) {
  return randint_like_low(self, 0, high, dtype, layout, device, pin, format);
}

Tensor randperm_with(int64_t n, Generator* generator, OptType dtype, OptLayout, OptDevice device, OptBool) {
  FC_CHECK(n >= 0, "n must be non-negative, got ", n);
  const DType t = dtype.value_or(DType::Int64);
  const Device d = device.value_or(default_device());
  check_kind("randperm", "bc", t);
  const uint64_t top = is_floating(t)      ? uint64_t{1} << digits(t)
                       : item_size(t) == 8 ? INT64_MAX
                                           : (uint64_t{1} << (8 * item_size(t) - (is_signed(t) ? 1 : 0))) - 1;
  FC_CHECK(static_cast<uint64_t>(n) <= top + (is_floating(t) ? 0 : 1), "n is too large for result tensor type: '", t,
           "': n is ", n);
  Dims shape{n};
  if (d.is_meta()) return empty_tensor(shape, t, d);
  if (!d.is_cpu()) {  // section 9
    const Tensor keys = random_between(empty_tensor(shape, DType::Int64, d), INT64_MIN, std::nullopt, generator);
    const auto [sorted, order] =
        call<"aten::sort.stable", std::tuple<Tensor, Tensor>>(keys, std::optional<bool>(true), 0, false);
    return to_dtype(order, t);
  }
  Tensor out = empty_tensor(shape, DType::Int64, Device{});
  auto* r = out.data_as<int64_t>();
  for (int64_t i = 0; i < n; ++i) r[i] = i;
  const Ref<CpuGenerator> source = host_generator("randperm", d, generator);
  CpuGenerator& g = *source;
  {
    std::lock_guard lock(g.mutex);
    if (n < 214748364) {
      for (int64_t i = 0; i + 1 < n; ++i)
        std::swap(r[i], r[i + static_cast<int64_t>(g.random() % static_cast<uint64_t>(n - i))]);
    } else {
      for (int64_t i = 0; i < n; ++i) {
        const auto z = static_cast<int64_t>(g.random64() % static_cast<uint64_t>(i + 1));
        r[i] = r[z];
        r[z] = i;
      }
    }
  }
  return call<"aten::to.device", Tensor>(out, d, t, false, false, OptFormat());
}
Tensor randperm(int64_t n, OptType dtype, OptLayout layout, OptDevice device, OptBool pin) {
  return randperm_with(n, nullptr, dtype, layout, device, pin);
}

// A factory's numbers in a caller's tensor, whose type and device say which: drawn as the factory draws them.
void draw_into(void* factory, const Operator& op, const Arg* args, Value* results) {
  const Operator& make = get_operator(static_cast<const char*>(factory));
  const size_t given = op.num_args() - 1;
  const Tensor& out = args[given].tensor();
  std::vector<Arg> all(args, args + given);
  all.resize(make.num_args());  // without layout and pinning
  all[given] = out.dtype();
  all[given + 2] = out.device();
  Value drawn[1];
  make.call(all.data(), drawn);
  write_out(op.schema().name.c_str(), out, drawn[0].tensor());
  results[0] = Value(Tensor(out));
}

Tensor bernoulli_out(const Tensor& self, Generator* g, const Tensor& out) {
  prepare_out("bernoulli", out, self.sizes());
  return bernoulli_tensor(out, self, g);
}
Tensor bernoulli(const Tensor& self, Generator* g) {
  return bernoulli_tensor(fresh_like(self, {}, {}, {}, {}, MemoryFormat::Contiguous), self, g);
}
Tensor bernoulli_p(const Tensor& self, double p, Generator* g) {
  return bernoulli_number(fresh_like(self, {}, {}, {}, {}, {}), p, g);
}

// Section 6.3.
Tensor scaled_normal(IntSpan sizes, DType t, Device device, Generator* g) {
  return normal_(empty_tensor(sizes, t, device), 0, 1, g);
}
void check_std(const Tensor& std) {
  FC_CHECK(!is_complex(std.dtype()), "normal expects standard deviation to be non-complex");
  if (std.numel() == 0 || std.device().is_meta()) return;
  FC_CHECK(all_true(ge(std, 0)), "normal expects all elements of std >= 0.0");
}
Tensor normal_tensors(const Tensor& mean, const Tensor& std, Generator* g) {
  check_std(std);
  Dims shape = broadcast_shapes("normal", mean.sizes(), std.sizes());
  return add(mul(scaled_normal(shape, mean.dtype(), mean.device(), g), std), mean);
}
Tensor normal_mean(const Tensor& mean, double std, Generator* g) {
  FC_CHECK(std >= 0, "normal expects std >= 0.0, but found std ", std);
  return add(mul(scaled_normal(mean.sizes(), mean.dtype(), mean.device(), g), std), mean);
}
Tensor normal_std(double mean, const Tensor& std, Generator* g) {
  check_std(std);
  return add(mul(scaled_normal(std.sizes(), std.dtype(), std.device(), g), std), mean);
}
Tensor normal_numbers(double mean, double std, IntSpan size, Generator* g, OptType dtype, OptLayout, OptDevice device,
                      OptBool) {
  return normal_(fresh(size, dtype, default_dtype(), device), mean, std, g);
}

// --- multinomial
template <class Real>
void draw_with_replacement(const Tensor& weights, Tensor& out, int64_t samples, CpuGenerator& g) {
  const int64_t categories = weights.size(-1), rows = weights.numel() / categories;
  std::vector<Real> sums(static_cast<size_t>(categories));
  std::lock_guard lock(g.mutex);
  for (int64_t row = 0; row < rows; ++row) {
    const Real* w = weights.data_as<Real>() + row * categories;
    Real sum = 0;
    for (int64_t i = 0; i < categories; ++i) sums[static_cast<size_t>(i)] = sum += w[i];
    for (Real& s : sums) s /= sum;
    for (int64_t i = 0; i < samples; ++i) {
      const double u = static_cast<double>(g.random64() & ((uint64_t{1} << 53) - 1)) * 0x1p-53;
      auto at =
          std::lower_bound(sums.begin(), sums.end(), u, [](Real s, double v) { return static_cast<double>(s) < v; });
      out.data_as<int64_t>()[row * samples + i] = std::min<int64_t>(at - sums.begin(), categories - 1);
    }
  }
}

// The largest of weight / exponential number, in falling order: a race that each category wins by its weight.
void draw_by_race(const Tensor& weights, Tensor& out, int64_t samples, CpuGenerator* g) {
  const int64_t categories = weights.size(-1), rows = weights.numel() / categories;
  Tensor race = to_dtype(div(weights, exponential_(fresh_like(weights, {}, {}, {}, {}, {}), 1, g)), DType::Float64);
  std::vector<int64_t> order(static_cast<size_t>(categories));
  for (int64_t row = 0; row < rows; ++row) {
    const double* x = race.data_as<double>() + row * categories;
    for (int64_t i = 0; i < categories; ++i) order[static_cast<size_t>(i)] = i;
    std::partial_sort(order.begin(), order.begin() + samples, order.end(),
                      [&](int64_t a, int64_t b) { return x[a] != x[b] ? x[a] > x[b] : a < b; });
    std::copy_n(order.begin(), samples, out.data_as<int64_t>() + row * samples);
  }
}

// Section 9: the same race, or a search among running sums, in operators of the device.
Tensor multinomial_on_device(const Tensor& self, int64_t samples, bool replacement, Generator* g) {
  FC_CHECK(self.size(-1) > 0, "multinomial: there are no categories to sample from");
  FC_CHECK(all_true(logical_and(ge(self, 0), isfinite(self))),
           "probability tensor contains either `inf`, `nan` or element < 0");
  const Tensor most = amax(self, Dims{-1}, true);
  FC_CHECK(all_true(gt(most, 0)), "invalid multinomial distribution (sum of probabilities <= 0)");
  const Tensor weights = div(self, most);  // so that sums are finite
  Dims shape(self.sizes());
  if (!replacement || samples == 1) {
    const Tensor time = exponential_(empty_tensor(shape, self.dtype(), self.device()), 1, g);
    const Tensor race = masked_fill(div(weights, time), eq(weights, 0), -1);  // a time may be 0 as well
    return std::get<1>(call<"aten::topk", std::tuple<Tensor, Tensor>>(race, samples, -1, true, true));
  }
  shape.back() = samples;
  const Tensor u = uniform_(empty_tensor(shape, self.dtype(), self.device()), 0, 1, g);
  const Tensor sums = call<"aten::cumsum", Tensor>(weights, -1, OptType());
  const Tensor parts = div(sums, narrow(sums, -1, self.size(-1) - 1, 1));
  return call<"aten::searchsorted.Tensor", Tensor>(contiguous(parts), u, false, true, std::optional<std::string_view>(),
                                                   Tensor());
}

Tensor multinomial(const Tensor& self, int64_t samples, bool replacement, Generator* g) {
  FC_CHECK(self.dim() == 1 || self.dim() == 2, "prob_dist must be 1 or 2 dim, got a tensor of shape ", self.sizes());
  FC_CHECK(is_floating(self.dtype()),
           "multinomial only supports floating-point dtypes for input, got: ", info(self.dtype()).legacy);
  FC_CHECK(samples > 0, "cannot sample n_sample <= 0 samples: num_samples is ", samples);
  FC_CHECK(replacement || samples <= self.size(-1),
           "cannot sample n_sample > prob_dist.size(-1) samples without replacement: num_samples is ", samples,
           ", categories are ", self.size(-1));
  Dims shape(self.sizes());
  shape.back() = samples;
  if (self.device().is_meta() || checked_numel(shape) == 0) return empty_tensor(shape, DType::Int64, self.device());
  if (!self.device().is_cpu())
    return multinomial_on_device(to_dtype(self, compute_type(self.dtype())), samples, replacement, g);
  Tensor out = empty_tensor(shape, DType::Int64, Device{});
  Tensor weights = contiguous(self);
  Tensor wide = to_dtype(weights, DType::Float64);
  const int64_t categories = self.size(-1);
  FC_CHECK(categories > 0, "multinomial: there are no categories to sample from");
  for (int64_t row = 0; row < wide.numel() / categories; ++row) {
    double sum = 0;
    for (int64_t i = 0; i < categories; ++i) {
      const double w = wide.data_as<double>()[row * categories + i];
      FC_CHECK(w >= 0 && w <= 0x1.FFFFFFFFFFFFFp1023,
               "probability tensor contains either `inf`, `nan` or element < 0: ", w, " at row ", row, ", category ",
               i);
      sum += w;
    }
    FC_CHECK(sum > 0, "invalid multinomial distribution (sum of probabilities <= 0) in row ", row);
  }
  const Ref<CpuGenerator> source = host_generator("multinomial", self.device(), g);
  if (!replacement || samples == 1) draw_by_race(weights, out, samples, source.get());
  else if (self.dtype() == DType::Float64) draw_with_replacement<double>(weights, out, samples, *source);
  else draw_with_replacement<float>(to_dtype(weights, DType::Float32), out, samples, *source);
  return out;
}

// --- dropout
void check_dropout(double p) {
  FC_CHECK(p >= 0 && p <= 1, "dropout probability has to be between 0 and 1, but got ", p);
}

Tensor dropout_noise(const Tensor& like, IntSpan sizes, double p) {
  const DType type = real_of(like.dtype());
  Tensor noise = Dims::same(like.sizes(), sizes) ? fresh_like(like, type, {}, {}, {}, {})
                                                 : empty_tensor(sizes, type, like.device());
  return call<"aten::bernoulli_.float", Tensor>(noise, 1 - p, static_cast<Generator*>(nullptr));
}
Tensor dropout(const Tensor& input, double p, bool train) {
  check_dropout(p);
  if (p == 0 || !train || input.numel() == 0) return input;
  if (p == 1) return mul(input, 0);
  return mul(input, mul_(dropout_noise(input, input.sizes(), p), 1 / (1 - p)));
}
Dims channel_noise(const char* op, const Tensor& input) {  // one number per channel
  FC_CHECK(input.dim() >= 2, op, ": Feature dropout requires at least 2 dimensions in the input, got ", input.dim());
  Dims sizes(static_cast<size_t>(input.dim()), 1);
  sizes[0] = input.size(0);
  sizes[1] = input.size(1);
  return sizes;
}
Tensor feature_dropout(const Tensor& input, double p, bool train) {
  check_dropout(p);
  if (p == 0 || !train || input.numel() == 0) return input;
  if (p == 1) return mul(input, 0);
  return mul(input, mul_(dropout_noise(input, channel_noise("feature_dropout", input), p), 1 / (1 - p)));
}
// Keeps mean and variance of self-normalising networks: dropped values become the negative saturation of selu.
Tensor alpha_noise(const Tensor& input, IntSpan sizes, double p) {
  constexpr double alpha = 1.7580993408473766;
  const double a = 1 / std::sqrt((alpha * alpha * p + 1) * (1 - p));
  Tensor noise = dropout_noise(input, sizes, p);
  Tensor b = add(mul(sub(noise, 1), alpha * a), alpha * a * p);
  return add(mul(input, mul(noise, a)), b);
}
Tensor alpha_dropout(const Tensor& input, double p, bool train) {
  check_dropout(p);
  if (p == 0 || !train || input.numel() == 0) return input;
  return p == 1 ? mul(input, 0) : alpha_noise(input, input.sizes(), p);
}
Tensor feature_alpha_dropout(const Tensor& input, double p, bool train) {
  check_dropout(p);
  if (p == 0 || !train || input.numel() == 0) return input;
  return p == 1 ? mul(input, 0) : alpha_noise(input, channel_noise("feature_alpha_dropout", input), p);
}

// The slope that rrelu gives each element: drawn for those that are not positive, 1 for the others.
Tensor rrelu_slopes(const Tensor& self, double lower, double upper, Generator* generator) {
  check_kind("rrelu_with_noise_out_cpu", "bic", self.dtype());
  Tensor x = contiguous(call<"aten::to.device", Tensor>(self, Device{}, DType::Float64, false, false, OptFormat()));
  Tensor out = empty_tensor(self.sizes(), DType::Float64, Device{});
  const auto* from = x.data_as<double>();
  auto* to = out.data_as<double>();
  const Ref<CpuGenerator> source = host_generator("rrelu", self.device(), generator);
  CpuGenerator& g = *source;
  std::lock_guard lock(g.mutex);
  for (int64_t i = 0; i < out.numel(); ++i)
    to[i] = from[i] > 0
                ? 1
                : static_cast<double>(g.random64() & ((uint64_t{1} << 53) - 1)) * 0x1p-53 * (upper - lower) + lower;
  return call<"aten::to.device", Tensor>(out, self.device(), self.dtype(), false, false, OptFormat());
}
Tensor rrelu_slopes_on_device(const Tensor& self, double lower, double upper, Generator* generator) {  // section 9
  check_kind("rrelu_with_noise", "bic", self.dtype());
  const Tensor slopes = uniform_(empty_tensor(self.sizes(), self.dtype(), self.device()), lower, upper, generator);
  return masked_fill(slopes, gt(self, 0), 1);
}
Tensor rrelu_slopes_meta(const Tensor& self, double, double, Generator*) {
  return empty_tensor(self.sizes(), self.dtype(), self.device());
}
Tensor rrelu(const Tensor& self, const Scalar& lower, const Scalar& upper, bool training, Generator* generator) {
  const double low = lower.to_double(), high = upper.to_double();
  FC_CHECK(std::isfinite(low) && std::isfinite(high) && low <= high,
           "rrelu: Lower bound should be less than or equal to the upper bound, got ", low, " and ", high);
  if (!training) return call<"aten::leaky_relu", Tensor>(self, Scalar((low + high) / 2));
  return mul(self, call<"facula::rrelu_slopes", Tensor>(self, low, high, generator));
}

std::tuple<Tensor, Tensor> native_dropout(const Tensor& input, double p, std::optional<bool> train) {
  check_dropout(p);
  Tensor mask = fresh_like(input, DType::Bool, {}, {}, {}, {});
  if (!train.value_or(true)) return {clone(input), fill_(mask, true)};
  bernoulli_number(mask, 1 - p, nullptr);
  return {mul(mul(input, mask), p == 1 ? 0 : 1 / (1 - p)), mask};
}
Tensor native_dropout_backward(const Tensor& grad, const Tensor& mask, double scale) {
  return mul(mul(grad, mask), scale);
}

#define OPTIONS "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
#define LONG_OPTIONS "ScalarType? dtype=long, Layout? layout=None, Device? device=None, bool? pin_memory=None"
#define FORMAT "MemoryFormat? memory_format=None"
#define GENERATOR "Generator? generator"

constexpr auto forget = [](Grad& g) { g.set(0, zeros_like(g.out())); };  // what was there before has no influence

constexpr OpDef OVERWRITES(const char* schema, Kernel k, const char* doc = nullptr) {
  return {.schema = schema, .doc = doc, .all = k, .grad = forget, .overwrites = "self", .random = true};
}
constexpr OpDef INTO(const char* schema, const char* factory) {
  return {.schema = schema, .all = {draw_into, const_cast<char*>(factory)}, .differentiable = false, .random = true};
}
constexpr OpDef MAKES(const char* schema, Kernel k, const char* doc = nullptr) {
  return {.schema = schema, .doc = doc, .all = k, .differentiable = false, .random = true};
}

constexpr OpDef LIKE(OpDef def) {
  def.looks_at = "self";
  return def;
}

constexpr OpDef defs[] = {
    OVERWRITES("uniform_(Tensor(a!) self, float from=0, float to=1, *, " GENERATOR "=None) -> Tensor(a!)",
               kernel<&uniform_>(), "Fills the tensor with uniform random numbers between two bounds."),
    OVERWRITES("normal_(Tensor(a!) self, float mean=0, float std=1, *, " GENERATOR "=None) -> Tensor(a!)",
               kernel<&normal_>()),
    OVERWRITES("random_.from(Tensor(a!) self, int from, int? to, *, " GENERATOR "=None) -> Tensor(a!)",
               kernel<&random_from>(), "Fills the tensor with random integers."),
    OVERWRITES("random_.to(Tensor(a!) self, int to, *, " GENERATOR "=None) -> Tensor(a!)", kernel<&random_to>()),
    OVERWRITES("random_(Tensor(a!) self, *, " GENERATOR "=None) -> Tensor(a!)", kernel<&random_all>()),
    OVERWRITES("bernoulli_.Tensor(Tensor(a!) self, Tensor p, *, " GENERATOR "=None) -> Tensor(a!)",
               kernel<&bernoulli_tensor>()),
    OVERWRITES("bernoulli_.float(Tensor(a!) self, float p=0.5, *, " GENERATOR "=None) -> Tensor(a!)",
               kernel<&bernoulli_number>()),
    OVERWRITES("exponential_(Tensor(a!) self, float lambd=1, *, " GENERATOR "=None) -> Tensor(a!)",
               kernel<&exponential_>(), "Fills the tensor with draws from an exponential distribution."),
    OVERWRITES("cauchy_(Tensor(a!) self, float median=0, float sigma=1, *, " GENERATOR "=None) -> Tensor(a!)",
               kernel<&cauchy_>(), "Fills the tensor with draws from a Cauchy distribution."),
    OVERWRITES("log_normal_(Tensor(a!) self, float mean=1, float std=2, *, " GENERATOR "=None) -> Tensor(a!)",
               kernel<&log_normal_>(), "Fills the tensor with draws whose logarithm is normal."),
    OVERWRITES("geometric_(Tensor(a!) self, float p, *, " GENERATOR "=None) -> Tensor(a!)", kernel<&geometric_>(),
               "Fills the tensor with draws from a geometric distribution."),
    MAKES("rand(SymInt[] size, *, " OPTIONS ") -> Tensor", kernel<&rand>(),
          "Uniform random numbers from 0 (inclusive) to 1 (exclusive)."),
    MAKES("rand.generator(SymInt[] size, *, " GENERATOR ", " OPTIONS ") -> Tensor", kernel<&rand_with>()),
    LIKE(MAKES("rand_like(Tensor self, *, " OPTIONS ", " FORMAT ") -> Tensor", kernel<&rand_like>(),
               "Uniform random numbers with the same sizes.")),
    MAKES("randn(SymInt[] size, *, " OPTIONS ") -> Tensor", kernel<&randn>(), "Standard normal random numbers."),
    MAKES("randn.generator(SymInt[] size, *, " GENERATOR ", " OPTIONS ") -> Tensor", kernel<&randn_with>()),
    LIKE(MAKES("randn_like(Tensor self, *, " OPTIONS ", " FORMAT ") -> Tensor", kernel<&randn_like>(),
               "Standard normal random numbers with the same sizes.")),
    MAKES("randint(SymInt high, SymInt[] size, *, " LONG_OPTIONS ") -> Tensor", kernel<&randint>(),
          "Random integers from low (inclusive) to high (exclusive)."),
    MAKES("randint.generator(SymInt high, SymInt[] size, *, " GENERATOR ", " LONG_OPTIONS ") -> Tensor",
          kernel<&randint_with>()),
    MAKES("randint.low(SymInt low, SymInt high, SymInt[] size, *, " LONG_OPTIONS ") -> Tensor", kernel<&randint_low>()),
    MAKES("randint.low_generator(SymInt low, SymInt high, SymInt[] size, *, " GENERATOR ", " LONG_OPTIONS ") -> Tensor",
          kernel<&randint_low_with>()),
    LIKE(MAKES("randint_like(Tensor self, SymInt high, *, " OPTIONS ", " FORMAT ") -> Tensor", kernel<&randint_like>(),
               "Random integers with the same sizes.")),
    LIKE(MAKES("randint_like.low_dtype(Tensor self, SymInt low, SymInt high, *, " OPTIONS ", " FORMAT ") -> Tensor",
               kernel<&randint_like_low>())),
    INTO("rand.out(SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)", "aten::rand"),
    INTO("rand.generator_out(SymInt[] size, *, " GENERATOR ", Tensor(a!) out) -> Tensor(a!)", "aten::rand.generator"),
    INTO("randn.out(SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)", "aten::randn"),
    INTO("randn.generator_out(SymInt[] size, *, " GENERATOR ", Tensor(a!) out) -> Tensor(a!)", "aten::randn.generator"),
    INTO("randint.out(SymInt high, SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)", "aten::randint"),
    INTO("randint.generator_out(SymInt high, SymInt[] size, *, " GENERATOR ", Tensor(a!) out) -> Tensor(a!)",
         "aten::randint.generator"),
    INTO("randint.low_out(SymInt low, SymInt high, SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)",
         "aten::randint.low"),
    INTO("randint.low_generator_out(SymInt low, SymInt high, SymInt[] size, *, " GENERATOR
         ", Tensor(a!) out) -> Tensor(a!)",
         "aten::randint.low_generator"),
    INTO("randperm.out(SymInt n, *, Tensor(a!) out) -> Tensor(a!)", "aten::randperm"),
    INTO("randperm.generator_out(SymInt n, *, " GENERATOR ", Tensor(a!) out) -> Tensor(a!)",
         "aten::randperm.generator"),
    INTO("normal.float_float_out(float mean, float std, SymInt[] size, *, " GENERATOR
         "=None, Tensor(a!) out) -> Tensor(a!)",
         "aten::normal.float_float"),
    MAKES("randperm(SymInt n, *, " LONG_OPTIONS ") -> Tensor", kernel<&randperm>(),
          "The integers from 0 to n - 1 in random order."),
    MAKES("randperm.generator(SymInt n, *, " GENERATOR ", " LONG_OPTIONS ") -> Tensor", kernel<&randperm_with>()),
    {.schema = "bernoulli(Tensor self, *, " GENERATOR "=None) -> Tensor",
     .doc = "0 or 1 for each element, drawn with the element (or p) as probability of 1.",
     .all = kernel<&bernoulli>(),
     .grad = forget,
     .random = true},
    {.schema = "bernoulli.out(Tensor self, *, " GENERATOR "=None, Tensor(a!) out) -> Tensor(a!)",
     .all = kernel<&bernoulli_out>(),
     .differentiable = false,
     .random = true},
    {.schema = "bernoulli.p(Tensor self, float p, *, " GENERATOR "=None) -> Tensor",
     .all = kernel<&bernoulli_p>(),
     .grad = forget,
     .looks_at = "self",
     .random = true},
    {.schema = "normal.Tensor_Tensor(Tensor mean, Tensor std, *, " GENERATOR "=None) -> Tensor",
     .doc = "Draws from normal distributions with the given means and deviations.",
     .all = kernel<&normal_tensors>(),
     .grad =
         [](Grad& g) {
           if (g.needs(0)) g.set(0, zeros_like(g.out()));
           if (g.needs(1)) g.set(1, zeros_like(g.out()));
         },
     .out = true,
     .out_type = OutType::Castable,
     .random = true},
    {.schema = "normal.Tensor_float(Tensor mean, float std=1, *, " GENERATOR "=None) -> Tensor",
     .all = kernel<&normal_mean>(),
     .grad = forget,
     .out = true,
     .out_type = OutType::Castable,
     .random = true},
    {.schema = "normal.float_Tensor(float mean, Tensor std, *, " GENERATOR "=None) -> Tensor",
     .all = kernel<&normal_std>(),
     .grad = [](Grad& g) { g.set(1, zeros_like(g.out())); },
     .out = true,
     .out_type = OutType::Castable,
     .random = true},
    MAKES("normal.float_float(float mean, float std, SymInt[] size, *, " GENERATOR "=None, " OPTIONS ") -> Tensor",
          kernel<&normal_numbers>()),
    {.schema = "multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, " GENERATOR "=None) -> Tensor",
     .doc = "Indices drawn by the weights in each row.",
     .all = kernel<&multinomial>(),
     .differentiable = false,
     .out = true,
     .random = true},
    {.schema = "dropout(Tensor input, float p, bool train) -> Tensor",
     .doc = "Zeroes elements with probability p while training and scales the others up.",
     .composite = kernel<&dropout>(),
     .in_place = true,
     .random = true},
    {.schema = "feature_dropout(Tensor input, float p, bool train) -> Tensor",
     .doc = "Dropout of whole channels.",
     .composite = kernel<&feature_dropout>(),
     .in_place = true,
     .random = true},
    {.schema = "alpha_dropout(Tensor input, float p, bool train) -> Tensor",
     .doc = "Dropout that keeps mean and variance of a SELU network's activations.",
     .composite = kernel<&alpha_dropout>(),
     .in_place = true,
     .random = true},
    {.schema = "feature_alpha_dropout(Tensor input, float p, bool train) -> Tensor",
     .doc = "alpha_dropout of whole channels.",
     .composite = kernel<&feature_alpha_dropout>(),
     .in_place = true,
     .random = true},
    {.schema = "facula::rrelu_slopes(Tensor self, float lower, float upper, Generator? generator) -> Tensor",
     .cpu = kernel<&rrelu_slopes>(),
     .meta = kernel<&rrelu_slopes_meta>(),
     .decomposition = kernel<&rrelu_slopes_on_device>(),
     .differentiable = false,
     .random = true,
     .hidden = true},
    {.schema =
         "rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, Generator? "
         "generator=None) -> Tensor",
     .doc = "x where it is positive, elsewhere x times a slope drawn between lower and upper, or their mean.",
     .composite = kernel<&rrelu>(),
     .in_place = true,
     .random = true},
    {.schema = "native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)",
     .doc = "dropout that also returns which elements were kept.",
     .all = kernel<&native_dropout>(),
     .saves = "p train result1",
     .grad =
         [](Grad& g) {
           const double p = g.arg(1).real();
           const bool train = g.arg(2).is_none() || g.arg(2).boolean();
           g.set(0, call<"aten::native_dropout_backward", Tensor>(g.out(), g.result(1),
                                                                  !train   ? 1.0
                                                                  : p == 1 ? 0.0
                                                                           : 1 / (1 - p)));
         },
     .random = true},
    {.schema = "native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor",
     .composite = kernel<&native_dropout_backward>(),
     .hidden = true},
};
#undef OPTIONS
#undef LONG_OPTIONS
#undef FORMAT
#undef GENERATOR

}  // namespace

void set_random_fill(RandomFillFn fn) { cpu_fill = fn; }

void define_random() { define_all(defs); }

}  // namespace fc
