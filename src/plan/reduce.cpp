// SPDX-License-Identifier: Apache-2.0
#include "plan/reduce.h"

#include "define/calls.h"
#include "dispatch/observe.h"

namespace fc {

DimSet reduced_dims(const char* op, const Arg& dim, int64_t ndim) {
  DimSet all = ndim == 64 ? ~DimSet{0} : (DimSet{1} << ndim) - 1;
  if (dim.is_none()) return all;
  DimSet bits = 0;
  auto add = [&](int64_t d) {
    int64_t w = wrap_dim(d, ndim, op);
    FC_CHECK(!(bits >> w & 1), op, ": dim ", w, " appears multiple times in the list of dims");
    bits |= DimSet{1} << w;
  };
  if (dim.tag() != Tag::IntList) add(dim.integer());
  else if (dim.ints().empty()) return all;
  else
    for (int64_t d : dim.ints()) add(d);
  return bits & all;
}

Dims reduced_list(DimSet dims, int64_t ndim) {
  Dims out;
  for (int64_t d = 0; d < ndim; ++d)
    if (dims >> d & 1) out.push_back(d);
  return out;
}

Dims reduced_sizes(IntSpan sizes, DimSet dims, bool keepdim) {
  Dims out;
  for (size_t d = 0; d < sizes.size(); ++d) {
    bool gone = dims >> d & 1;
    if (!gone || keepdim) out.push_back(gone ? 1 : sizes[d]);
  }
  return out;
}

int64_t reduced_numel(IntSpan sizes, DimSet dims) {
  int64_t n = 1;
  for (size_t d = 0; d < sizes.size(); ++d)
    if (dims >> d & 1) n *= sizes[d];
  return n;
}

Tensor restore_dims(const Tensor& g, const Arg& dim, bool keepdim, int64_t ndim) {
  if (keepdim || ndim == 0) return g;
  DimSet dims = reduced_dims("reduction", dim, ndim);
  Tensor out = g;
  for (int64_t d = 0; d < ndim; ++d)
    if (dims >> d & 1) out = unsqueeze(out, d);
  return out;
}

namespace {

// Strides of a result in the input's dimensions: 0 where it was reduced.
Dims operand_strides(const Tensor& out, IntSpan in_sizes, DimSet dims, bool keepdim) {
  Dims s(in_sizes.size());
  size_t at = 0;
  int64_t item = static_cast<int64_t>(item_size(out.dtype()));
  for (size_t d = 0; d < in_sizes.size(); ++d) {
    bool gone = dims >> d & 1;
    s[d] = gone ? 0 : out.strides()[at] * item;
    if (!gone || keepdim) ++at;
  }
  return s;
}

}  // namespace

bool try_reduce(const ReduceRequest& r, Tensor& result) {
  const Device device = r.in.device();
  IntSpan shape = r.in.sizes();
  ByteStrides in_strides(r.in);
  fc_reduce c{};
  c.size = sizeof c;
  c.opcode = r.opcode;
  c.ndim = static_cast<int32_t>(shape.size());
  c.shape = shape.data();
  c.compute = static_cast<int32_t>(r.compute);
  c.in = operand(r.in, in_strides);
  c.dim = -1;
  if (r.indices && !(r.dims & (r.dims - 1)))
    for (int d = 0; d < c.ndim; ++d)
      if (r.dims >> d & 1) c.dim = d;
  c.out.dtype = static_cast<int32_t>(r.result);
  const Families& f = families(device.type);
  if (!device.is_meta() && !device_supports(f, FC_FAMILY_REDUCE, &c)) {
    if (!decompose_reduce(r, result)) return false;
    thread_state().path = Path::Decomposition;
    return true;
  }

  Dims sizes = reduced_sizes(shape, r.dims, r.keepdim);
  if (r.values) result = empty_tensor(sizes, r.result, device);
  if (r.indices) *r.indices = empty_tensor(sizes, DType::Int64, device);
  const Tensor& any_result = r.values ? result : *r.indices;
  if (device.is_meta() || any_result.numel() == 0) return true;
  if (r.in.numel() == 0) {
    fill_(result, reduce_opcode(r.opcode).identity);
    return true;
  }
  Dims out_strides, index_strides, shift_strides;
  auto bind = [&](fc_operand& o, const Tensor& t, Dims& strides, bool keepdim) {
    strides = operand_strides(t, shape, r.dims, keepdim);
    o = {t.data(), strides.data(), static_cast<int32_t>(t.dtype()), 0, {}};
  };
  if (r.values) bind(c.out, result, out_strides, r.keepdim);
  if (r.indices) bind(c.indices, *r.indices, index_strides, r.keepdim);
  if (r.shift) bind(c.shift, *r.shift, shift_strides, true);
  launch(device, FC_FAMILY_REDUCE, f.reduce, f.context, c);
  return true;
}

}  // namespace fc
