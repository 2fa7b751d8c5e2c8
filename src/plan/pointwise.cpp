// SPDX-License-Identifier: Apache-2.0
#include "plan/pointwise.h"

#include <algorithm>

#include "core/half.h"
#include "define/calls.h"
#include "define/row.h"
#include "dispatch/observe.h"
#include "facula/opcodes/base.h"

namespace fc {
namespace {

// PyTorch's three ranks: tensors with dimensions, 0-d tensors, scalars. A lower rank matters only if its category
// (bool < integer < floating < complex) is higher than that of the ranks above.
struct Ranks {
  DType dims = DType::Undefined, zero = DType::Undefined, scalar = DType::Undefined;
};

int category(DType t) {
  if (is_complex(t)) return 3;
  if (is_floating(t)) return 2;
  return t == DType::Bool ? 0 : 1;
}

DType combine(DType higher, DType lower) {
  if (lower == DType::Undefined) return higher;
  if (higher == DType::Undefined) return lower;
  if (category(lower) <= category(higher)) return higher;
  if (is_floating(higher)) return complex_of(higher);  // a complex number does not widen the floats beside it
  if (is_complex(lower)) return lower;
  return promote(higher, lower);
}

// Numbers that came as tensors, and nothing else: arithmetic on them (in a derivative: 1 - weight) stays one of
// numbers.
bool scalars_only(std::span<const MapInput> inputs) {
  bool tensors = false;
  for (const MapInput& in : inputs) {
    if (!in.tensor) continue;
    if (!in.tensor->impl().is_wrapped_number()) return false;
    tensors = true;
  }
  return tensors;
}

DType scalar_type(const Scalar& s) {
  switch (s.kind()) {
    case Scalar::Kind::Bool: return DType::Bool;
    case Scalar::Kind::Int:
    case Scalar::Kind::UInt: return DType::Int64;
    case Scalar::Kind::Double: return default_dtype();
    default: return complex_of(default_dtype());
  }
}

[[noreturn, gnu::cold]] void not_broadcastable(const char* op, IntSpan a, IntSpan b, size_t from_end) {
  size_t n = std::max(a.size(), b.size());
  raise<Error>(op, ": The size of tensor a (", a[a.size() - 1 - from_end], ") must match the size of tensor b (",
               b[b.size() - 1 - from_end], ") at non-singleton dimension ", n - 1 - from_end, ": a is ", a, ", b is ",
               b);
}

// In bytes, 0 where t is repeated.
void broadcast_strides(const Tensor& t, IntSpan shape, int64_t* out) {
  const size_t lead = shape.size() - static_cast<size_t>(t.dim());
  const int64_t item = static_cast<int64_t>(item_size(t.dtype()));
  for (size_t d = 0; d < shape.size(); ++d)
    out[d] = d < lead || (t.sizes()[d - lead] == 1 && shape[d] != 1) ? 0 : t.strides()[d - lead] * item;
}

Tensor allocate(IntSpan shape, std::span<const MapInput> inputs, DType dtype, Device device) {
  bool all_contiguous = true;
  for (const MapInput& in : inputs)
    if (in.tensor && in.tensor->dim() != 0)
      all_contiguous &= in.tensor->is_contiguous() && Dims::same(in.tensor->sizes(), shape);
  if (all_contiguous) return empty_tensor(shape, dtype, device);
  return empty_strided_tensor(shape, result_strides(shape, inputs), dtype, device);
}

}  // namespace

DType result_type(std::span<const MapInput> inputs) {
  if (inputs.size() == 2 && inputs[0].tensor && inputs[1].tensor) {  // most calls: two tensors of one type
    const TensorImpl &a = inputs[0].tensor->impl(), &b = inputs[1].tensor->impl();
    if (a.dtype() == b.dtype() && !a.is_wrapped_number() && !b.is_wrapped_number()) return a.dtype();
  }
  if (scalars_only(inputs)) {
    DType t = DType::Undefined;
    for (const MapInput& in : inputs) t = promote(t, in.tensor ? in.tensor->dtype() : in.scalar.dtype());
    return t;
  }
  Ranks r;
  for (const MapInput& in : inputs) {
    if (!in.tensor) r.scalar = promote(r.scalar, scalar_type(in.scalar));
    else if (in.tensor->impl().is_wrapped_number()) {
      DType t = in.tensor->dtype();
      if (is_complex(t)) t = complex_of(default_dtype());
      else if (is_floating(t)) t = default_dtype();
      r.scalar = promote(r.scalar, t);
    } else if (in.tensor->dim() == 0) r.zero = promote(r.zero, in.tensor->dtype());
    else r.dims = promote(r.dims, in.tensor->dtype());
  }
  return combine(combine(r.dims, r.zero), r.scalar);
}

Dims broadcast_shapes(const char* op, IntSpan a, IntSpan b) {
  if (Dims::same(a, b)) return a;
  Dims out(a.size() >= b.size() ? a : b);
  size_t shorter = std::min(a.size(), b.size());
  for (size_t i = 0; i < shorter; ++i) {
    int64_t x = a[a.size() - 1 - i], y = b[b.size() - 1 - i];
    if (x != y && x != 1 && y != 1) not_broadcastable(op, a, b, i);
    out[out.size() - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

Dims result_strides(IntSpan shape, std::span<const MapInput> inputs) {
  size_t n = shape.size();
  // Same shape and same dense layout everywhere: keep it.
  const Tensor* first = nullptr;
  bool same = true;
  for (const MapInput& in : inputs) {
    if (!in.tensor || in.tensor->dim() == 0) continue;
    if (!Dims::same(in.tensor->sizes(), shape)) same = false;
    else if (!first) first = in.tensor;
    else same &= Dims::same(first->strides(), in.tensor->strides());
  }
  if (same && first && first->impl().is_dense()) return first->strides();
  // Otherwise order the dimensions by the inputs' strides, first input first; ties keep the order of dimensions.
  auto stride_of = [&](const Tensor& t, size_t d) -> int64_t {
    size_t lead = n - static_cast<size_t>(t.dim());
    if (d < lead || (t.sizes()[d - lead] == 1 && shape[d] != 1)) return 0;
    return t.strides()[d - lead];
  };
  Dims order(n);  // innermost first
  for (size_t i = 0; i < n; ++i) order[i] = static_cast<int64_t>(n - 1 - i);
  auto compare = [&](int64_t a, int64_t b) {  // 1: a is further out than b
    for (const MapInput& in : inputs) {
      if (!in.tensor || in.tensor->dim() == 0) continue;
      int64_t sa = stride_of(*in.tensor, static_cast<size_t>(a)), sb = stride_of(*in.tensor, static_cast<size_t>(b));
      if (sa == 0 || sb == 0) continue;
      if (sa != sb) return sa < sb ? -1 : 1;
      if (shape[static_cast<size_t>(a)] > shape[static_cast<size_t>(b)]) return 1;
    }
    return 0;
  };
  for (size_t i = 1; i < n; ++i) {
    size_t at = i;
    for (size_t j = i; j-- > 0;) {
      int c = compare(order[j], order[at]);
      if (c > 0) {
        std::swap(order[j], order[at]);
        at = j;
      } else if (c < 0) {
        break;
      }
    }
  }
  Dims out(n);
  int64_t step = 1;
  for (size_t i = 0; i < n; ++i) {
    size_t d = static_cast<size_t>(order[i]);
    out[d] = step;
    step *= std::max<int64_t>(shape[d], 1);
  }
  return out;
}

MapTypes map_types(const MapRequest& r) {
  DType common = r.compute != DType::Undefined ? r.compute : result_type(r.inputs);
  DType compute = common, natural = common;
  switch (r.promote) {
    case Promote::Same: break;
    case Promote::Float:
    case Promote::RealFloat:
      if (is_integral(common, true)) compute = scalars_only(r.inputs) ? DType::Float64 : default_dtype();
      natural = r.promote == Promote::Float ? compute : real_of(compute);
      break;
    case Promote::Compare:
    case Promote::Predicate: natural = DType::Bool; break;
    case Promote::Real: natural = real_of(common); break;
  }
  return {compute, natural};
}

// The device of the target or of any tensor that is not a CPU scalar; others must be CPU scalars.
static Device device_of(const MapRequest& r, const Tensor& first, bool& one_device) {
  one_device = !r.out || r.out->device() == first.device();
  for (const MapInput& in : r.inputs) one_device &= !in.tensor || in.tensor->device() == first.device();
  if (one_device) [[likely]]
    return first.device();
  const Tensor* anchor = r.out;
  for (const MapInput& in : r.inputs)
    if (in.tensor && (!anchor || (!r.out && anchor->device().is_cpu() && anchor->dim() == 0))) anchor = in.tensor;
  const Device device = anchor->device();
  for (const MapInput& in : r.inputs)
    FC_CHECK(!in.tensor || in.tensor->device() == device || (in.tensor->device().is_cpu() && in.tensor->dim() == 0),
             r.op, ": Expected all tensors to be on the same device, but found at least two devices, ", device, " and ",
             in.tensor->device(), "!");
  return device;
}

Scalar rounded_to(DType t, const Scalar& v) {
  if (t == DType::Float16) return static_cast<double>(half_to_float(float_to_half(static_cast<float>(v.to_double()))));
  if (t == DType::BFloat16)
    return static_cast<double>(bfloat_to_float(float_to_bfloat(static_cast<float>(v.to_double()))));
  return v;
}

namespace {

bool is_half(DType t) { return t == DType::Float16 || t == DType::BFloat16; }

// Whether numbers of `from` may have digits that a half type has not.
bool loses_digits(DType from, DType to) { return from != to && item_size(from) > 1; }

// A map in a half type whose inputs are to be rounded to it before, or its result before it is written as a wider type.
// False: neither is the case.
bool rounds(const MapRequest& r, DType common, DType natural) {
  if (!is_half(common)) return false;
  if (r.out && is_half(natural) && r.out->dtype() != natural) return true;
  for (size_t i = 0; i < r.inputs.size(); ++i) {
    const MapInput& in = r.inputs[i];
    if (static_cast<int>(i) == r.exact_input && (!in.tensor || in.tensor->dim() == 0)) continue;
    if (in.tensor ? loses_digits(in.tensor->dtype(), common)
                  : in.scalar.to_double() != rounded_to(common, in.scalar).to_double())
      return true;
  }
  return false;
}
bool map_as_given(const MapRequest& r, MapTypes types, Tensor& result);
bool map_rounded(const MapRequest& r, DType common, Tensor& result) {
  MapRequest whole = r;
  MapInput inputs[FC_MAX_INPUTS];
  Tensor kept[FC_MAX_INPUTS];
  for (size_t i = 0; i < r.inputs.size(); ++i) {
    inputs[i] = r.inputs[i];
    if (static_cast<int>(i) == r.exact_input && (!inputs[i].tensor || inputs[i].tensor->dim() == 0)) continue;
    if (!inputs[i].tensor) {
      inputs[i].scalar = rounded_to(common, inputs[i].scalar);
    } else if (loses_digits(inputs[i].tensor->dtype(), common)) {
      kept[i] = to_dtype(*inputs[i].tensor, common);
      inputs[i].tensor = &kept[i];
    }
  }
  whole.inputs = {inputs, r.inputs.size()};
  whole.compute = common;
  const MapTypes types = map_types(whole);
  if (!r.out || r.out->dtype() == types.natural || !is_half(types.natural)) return map_as_given(whole, types, result);
  check_out_type(r.op, *r.out, types.natural, r.out_type);
  whole.out = nullptr;
  whole.in_place = false;
  if (!map_as_given(whole, types, result)) return false;
  const bool keeps_shape = r.in_place || std::ranges::any_of(r.inputs, [&](const MapInput& in) {
                             return in.tensor && in.tensor->same(*r.out);
                           });
  FC_CHECK(!keeps_shape || Dims::same(result.sizes(), r.out->sizes()), r.op, "_: output with shape ", r.out->sizes(),
           " doesn't match the broadcast shape ", result.sizes());
  write_out(r.op, *r.out, result);
  result = *r.out;
  return true;
}

}  // namespace

bool try_map(const MapRequest& r, Tensor& result) {
  const MapTypes types = map_types(r);
  if (is_reduced(types.compute) && rounds(r, types.compute, types.natural)) [[unlikely]]
    return map_rounded(r, types.compute, result);
  return map_as_given(r, types, result);
}

namespace {

bool map_as_given(const MapRequest& r, MapTypes types, Tensor& result) {
  const DType compute = types.compute, natural = types.natural;

  // --- shape and device
  const Tensor* lead = nullptr;
  bool one_shape = true, contiguous = true;
  for (const MapInput& in : r.inputs) {
    if (!in.tensor) continue;
    contiguous &= in.tensor->is_contiguous();
    if (!lead) lead = in.tensor;
    else one_shape &= Dims::same(lead->sizes(), in.tensor->sizes());
  }
  bool one_device = true;
  const Device device = device_of(r, *lead, one_device);
  IntSpan shape = lead->sizes();
  Dims broadcast;
  if (!one_shape) {
    broadcast = shape;
    for (const MapInput& in : r.inputs)
      if (in.tensor) broadcast = broadcast_shapes(r.op, broadcast, in.tensor->sizes());
    shape = broadcast;
  }
  // Before any address is taken: what grows moves, and inputs may lie in the same storage.
  const bool resized = r.out && !Dims::same(r.out->sizes(), shape);
  if (r.out) {
    const Tensor& out = *r.out;
    check_out_type(r.op, out, natural, r.out_type);
    const bool keeps_shape = r.in_place || std::ranges::any_of(r.inputs, [&](const MapInput& in) {
                               return in.tensor && in.tensor->same(out);
                             });
    FC_CHECK(!resized || !keeps_shape, r.op, "_: output with shape ", out.sizes(),
             " doesn't match the broadcast shape ", shape);
  }
  if (resized) {
    broadcast = shape;
    shape = broadcast;
    prepare_out(r.op, *r.out, shape);
    if (!contiguous && r.out->numel() > 0)  // it lies as a new result would
      r.out->impl().set_geometry(shape, result_strides(shape, r.inputs), r.out->offset());
    check_written_once(r.op, *r.out);
    for (const MapInput& in : r.inputs)
      if (in.tensor) check_overlap(r.op, *r.out, *in.tensor);
  }
  const Families& f = families(device.type);
  const bool flat = f.flattens && one_shape && one_device && contiguous && (!r.out || r.out->is_contiguous());
  const int64_t numel = lead->numel();

  // --- the call, first without memory, so that an unsupported one costs nothing. Only what it uses is set: clearing
  // all of it takes longer than a small call.
  fc_map c;
  c.size = sizeof c;
  c.opcode = r.opcode;
  c.n_in = static_cast<int32_t>(r.inputs.size());
  c.n_params = static_cast<int32_t>(r.params.size());
  c.ndim = flat ? 1 : static_cast<int32_t>(shape.size());
  c.shape = flat ? &numel : shape.data();
  // where only moves its values, so it needs no wider type; a device may have no other.
  const DType working = r.opcode == FC_MAP_where ? compute : compute_type(compute);
  c.compute = static_cast<int32_t>(working);
  for (size_t i = 0; i < r.params.size(); ++i) c.params[i] = to_number(r.params[i]);
  int64_t strides[FC_MAX_INPUTS + 1][kMaxRank];  // in bytes
  auto bind = [&](fc_operand& o, const Tensor& t, int64_t* s) {
    o.data = t.data();
    o.strides = s;
    o.dtype = static_cast<int32_t>(t.dtype());
    o.reserved = 0;
    s[0] = static_cast<int64_t>(item_size(t.dtype()));
    if (!flat) broadcast_strides(t, shape, s);
  };
  for (size_t i = 0; i < r.inputs.size(); ++i) {
    const MapInput& in = r.inputs[i];
    if (in.tensor && in.tensor->device().type == device.type) {
      bind(c.in[i], *in.tensor, strides[i]);
    } else {
      Scalar v = in.scalar;
      if (in.tensor) {  // a CPU scalar beside tensors of another device
        Value item[1];
        const Arg args[] = {*in.tensor};
        get_operator("aten::_local_scalar_dense").run_kernel(args, item);
        v = item[0].arg().scalar();
      }
      c.in[i] = {nullptr, nullptr, c.compute, 0, to_number(v)};
    }
  }
  c.out.data = nullptr;
  c.out.strides = nullptr;
  c.out.reserved = 0;
  c.out.dtype = static_cast<int32_t>(r.out ? r.out->dtype() : natural);
  bool nothing = device.is_meta();
  auto supported = [&] { return device_supports(f, FC_FAMILY_MAP, &c); };
  auto supported_wider = [&] {
    if (working == compute_type(compute)) return false;
    c.compute = static_cast<int32_t>(compute_type(compute));
    for (int i = 0; i < c.n_in; ++i)
      if (!c.in[i].strides) c.in[i].dtype = c.compute;  // a scalar
    return supported();
  };
  if (!nothing && !supported() && !supported_wider()) return false;

  // --- the result
  if (r.out) {
    result = *r.out;
  } else {
    result = flat ? empty_tensor(shape, natural, device) : allocate(shape, r.inputs, natural, device);
    if (scalars_only(r.inputs)) [[unlikely]]
      result.impl().set_wrapped_number(true);
  }
  if (nothing || result.numel() == 0) return true;
  bind(c.out, result, strides[FC_MAX_INPUTS]);
  launch(device, FC_FAMILY_MAP, f.map, f.context, c);
  return true;
}

}  // namespace

Tensor run_pointwise(const MapRequest& r) {
  Tensor result;
  if (try_map(r, result)) return result;
  if (!decompose_map(r, result)) throw Unsupported{};
  thread_state().path = Path::Decomposition;
  return result;
}

static bool is_refused(const char* refuses, DType t) {
  char kind = info(t).kind == 'u' ? 'i' : info(t).kind;
  while (*refuses && *refuses != kind) ++refuses;
  return *refuses || is_barebones(t);
}
[[noreturn]] static void refuse(const char* op, DType t) {
  raise<NotImplementedError>("\"", op, "\" not implemented for '", info(t).legacy, "'");
}
void check_kind(const char* op, const char* refuses, DType t) {
  if (is_refused(refuses, t)) [[unlikely]]
    refuse(op, t);
}
void check_kind(const MapRequest& r, const char* refuses, DType t) {
  if (!is_refused(refuses, t)) [[likely]]
    return;
  if (r.out) check_out_type(r.op, *r.out, map_types(r).natural, r.out_type);
  refuse(r.op, t);
}

void set_target(MapRequest& r, const Operator& op, const Arg* args) {
  r.in_place = op.is_in_place;
  if (op.is_in_place) r.out = &args[0].tensor();
  else if (op.is_out) r.out = &args[op.num_args() - 1].tensor();
  r.out_type = op.out_type;
}

void run_map(const char* name, int opcode, std::span<const MapInput> in, std::span<const Scalar> params,
             Promote promote, const char* refuses, const Operator& op, const Arg* args, Value* results) {
  DType common = result_type(in);
  MapRequest r{.op = name, .opcode = opcode, .promote = promote, .inputs = in, .params = params, .compute = common};
  set_target(r, op, args);
  check_kind(r, refuses, common);
  results[0] = Value(run_pointwise(r));
}

namespace {

void run_map_row(void* context, const Operator& op, const Arg* args, Value* results) {
  const auto& row = *static_cast<const MapRow*>(context);
  const char* name = map_opcode(row.opcode).name;
  MapInput in[FC_MAX_INPUTS];
  Scalar params[FC_MAX_PARAMS];
  size_t n_in = static_cast<size_t>(row.inputs), n_params = map_opcode(row.opcode).params;
  for (size_t i = 0; i < n_in; ++i) in[i] = map_input(args[i]);
  for (size_t i = 0; i < n_params; ++i) {
    params[i] = args[n_in + i].scalar();
    if (row.rounds) params[i] = rounded_to(in[0].tensor->dtype(), params[i]);
  }
  run_map(name, row.opcode, {in, n_in}, {params, n_params}, row.promote, row.refuses, op, args, results);
}

}  // namespace

void define_map_rows(std::span<const MapRow> rows) {
  for (const MapRow& row : rows)
    define({.schema = row.schema,
            .doc = row.doc,
            .all = {run_map_row, const_cast<MapRow*>(&row)},
            .saves = row.saves,
            .grad = row.grad,
            .differentiable = row.grad != nullptr,
            .in_place = row.in_place,
            .out = row.out,
            .own_forms = true,
            .out_type = row.out_type,
            .devices = Devices::Numbers,
            .may_repeat = row.may_repeat,
            .hidden = row.hidden,
            .map = {static_cast<int16_t>(row.opcode), static_cast<uint8_t>(row.inputs), map_opcode(row.opcode).params,
                    row.promote}});
}

}  // namespace fc
