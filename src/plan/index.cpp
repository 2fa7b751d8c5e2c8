// SPDX-License-Identifier: Apache-2.0
#include "plan/index.h"

#include "dispatch/family_table.h"

namespace fc {

Tensor int64_index(const char* op, const Tensor& index) {
  FC_CHECK(index.dtype() == DType::Int64 || index.dtype() == DType::Int32, op,
           "(): Expected dtype int32/int64 for index, but got ", index.dtype());
  return to_dtype(index, DType::Int64);
}

void gather_into(const Tensor& out, const Tensor& in, int64_t dim, const Tensor& index) {
  if (out.device().is_meta() || out.numel() == 0) return;
  ByteStrides o(out), i(in), x(index);
  fc_gather c{};
  c.size = sizeof c;
  c.ndim = static_cast<int32_t>(out.dim());
  c.shape = out.sizes().data();
  c.out = operand(out, o);
  c.in = operand(in, i);
  c.index = operand(index, x);
  c.dim = static_cast<int32_t>(dim);
  c.in_size = in.size(dim);
  run_family(out.device(), c);
}

void scatter_into(fc_scatter_opcode opcode, const Tensor& out, int64_t dim, const Tensor& index, const Tensor& src) {
  if (out.device().is_meta()) return;
  auto apart = [&](const Tensor& t) { return t.impl().storage().get() == out.impl().storage().get() ? clone(t) : t; };
  Tensor at = apart(index), from = apart(src);
  ByteStrides o(out), s(from), x(at);
  fc_scatter c{};
  c.size = sizeof c;
  c.opcode = opcode;
  c.ndim = static_cast<int32_t>(out.dim());
  c.dim = static_cast<int32_t>(dim);
  c.shape = at.sizes().data();
  c.out = operand(out, o);
  c.src = operand(from, s);
  c.index = operand(at, x);
  c.out_size = out.size(dim);
  run_family(out.device(), c);
}

Tensor at_least_1d(const Tensor& t) { return t.dim() ? t : make_view(t, Dims{1}, Dims{1}, t.offset()); }

Tensor repeated_number(const Scalar& v, const Tensor& like, IntSpan sizes) {
  Tensor one = full({}, v, like.dtype(), like.device());
  return make_view(one, sizes, Dims(sizes.size()), 0);
}

Tensor index_vector(const char* op, const Tensor& index, Device device) {
  FC_CHECK_AS(IndexError, index.dim() <= 1, op, "(): Index is supposed to be a vector, but got a tensor of sizes ",
              index.sizes());
  Tensor at = at_least_1d(int64_index(op, index));
  return at.device() == device ? at : call<"aten::to.device", Tensor>(at, device, DType::Int64, false, false, nullptr);
}

Tensor along(const Tensor& vector, int64_t dim, IntSpan sizes) {
  Dims strides(sizes.size());
  strides[static_cast<size_t>(dim)] = vector.strides()[0];
  return make_view(vector, sizes, strides, vector.offset());
}

void define_write(const WriteDef& def) {
  Operator& f = define(OpDef{.schema = def.schema,
                             .doc = def.doc,
                             .node = def.node,
                             .all = def.functional,
                             .saves = def.saves,
                             .grad = def.grad,
                             .out = true,
                             .devices = def.devices,
                             .writes = Writes::FromSelf});
  Operator& i = define(to_string(in_place_schema(f.schema())));
  i.set_all_devices(def.in_place);
  i.memory.partial = 1;
  i.memory.overwritten = def.replaces ? 1 : 0;
  i.functional = &f;
  i.devices = def.devices;
  i.writes = Writes::FromSelf;
  i.may_repeat = def.may_repeat;
  i.node = def.node;
  if (def.grad) i.grad = make_rule(i.schema(), def.saves, def.grad).release();
}

}  // namespace fc
