// SPDX-License-Identifier: Apache-2.0
#include "plan/compact.h"

#include "dispatch/family_table.h"
#include "plan/pointwise.h"

namespace fc {
namespace {

Tensor running_sum(const Tensor& counts) {  // int64 [n], n > 0
  Tensor out = empty_tensor(counts.sizes(), DType::Int64, counts.device());
  const ByteStrides in(counts), to(out);
  fc_scan c{};
  c.size = sizeof c;
  c.opcode = FC_SCAN_SUM;
  c.ndim = 1;
  c.shape = counts.sizes().data();
  c.in = operand(counts, in);
  c.out = operand(out, to);
  run_family(counts.device(), c);
  return out;
}
int64_t number(const Tensor& t) { return call<"aten::_local_scalar_dense", Scalar>(t).to_int(); }
int64_t last(const Tensor& t) { return number(select(t, 0, -1)); }
Tensor whole_numbers(int64_t from, int64_t end, Device device) {
  return call<"aten::arange.start", Tensor>(Scalar(from), Scalar(end), std::optional(DType::Int64),
                                            std::optional<Layout>(), std::optional(device), std::optional<bool>());
}
Tensor search(const Tensor& sorted, const Tensor& values, bool right) {
  return call<"aten::searchsorted.Tensor", Tensor>(contiguous(sorted), contiguous(values), false, right,
                                                   std::optional<std::string_view>(), Tensor());
}

// Of a mask, flat: where it is set.
Tensor places(const Tensor& mask) {
  if (mask.numel() == 0) return empty_tensor(Dims{0}, DType::Int64, mask.device());
  const Tensor upto = running_sum(to_dtype(reshape(mask, Dims{-1}), DType::Int64));
  const int64_t n = last(upto);
  FC_CHECK(n >= 0 && n <= mask.numel(), "a device's running sum of ", mask.numel(), " elements came to ", n);
  return search(upto, whole_numbers(1, n + 1, mask.device()), false);
}

Tensor checked_mask(const char* op, const Tensor& mask) {
  FC_CHECK(mask.dtype() == DType::Bool, op, ": expected BoolTensor for mask, got ", info(mask.dtype()).legacy);
  return mask;
}

}  // namespace

Tensor nonzero_by_scan(const Tensor& self) {
  Tensor at = places(is_floating(self.dtype()) ? ne(self, 0) : to_dtype(self, DType::Bool));
  const int64_t total = at.size(0), ndim = self.dim();
  // Coordinates of one dimension lie together, as PyTorch lays them.
  Tensor out = empty_tensor(Dims{ndim, total}, DType::Int64, self.device());
  for (int64_t d = ndim; d-- > 0 && total > 0;) {
    const Scalar size(self.size(d));
    copy_(select(out, 0, d), d == 0 ? at : call<"aten::remainder.Scalar", Tensor>(at, size));
    if (d > 0) at = call<"aten::div.Scalar_mode", Tensor>(at, size, std::string_view("floor"));
  }
  return make_view(out, Dims{total, ndim}, Dims{1, total}, 0);
}

Tensor masked_select_by_scan(const Tensor& self, const Tensor& mask) {
  const Dims shape = broadcast_shapes("masked_select", self.sizes(), checked_mask("masked_select", mask).sizes());
  return call<"aten::index_select", Tensor>(reshape(expand(self, shape), Dims{-1}), 0, places(expand(mask, shape)));
}

Tensor masked_scatter_by_scan(const Tensor& self, const Tensor& mask, const Tensor& source) {
  if (self.numel() == 0) return self;
  const Tensor upto = running_sum(to_dtype(reshape(expand(mask, self.sizes()), Dims{-1}), DType::Int64));
  const int64_t n = last(upto);
  FC_CHECK(n <= source.numel(),
           "masked_scatter: expected at least as many elements in source as ones in mask: source has ", source.numel(),
           ", mask has ", n);
  if (n == 0) return self;
  const Tensor rank = call<"aten::clamp_min", Tensor>(sub(upto, 1), Scalar(0));
  const Tensor taken = call<"aten::index_select", Tensor>(reshape(source, Dims{-1}), 0, rank);
  return copy_(self, where(mask, view(taken, self.sizes()), self));
}

Tensor repeat_interleave_by_scan(const Tensor& repeats, std::optional<int64_t> output_size) {
  FC_CHECK(repeats.dim() <= 1, "repeat_interleave: repeats must be 0-dim or 1-dim tensor, got ", repeats.dim(),
           " dims");
  FC_CHECK(repeats.dtype() == DType::Int64 || repeats.dtype() == DType::Int32,
           "repeat_interleave: repeats has to be Long or Int tensor, got ", info(repeats.dtype()).legacy);
  int64_t total = 0;
  Tensor upto;
  if (repeats.numel() > 0) {
    const Tensor counts = contiguous(to_dtype(reshape(repeats, Dims{-1}), DType::Int64));
    upto = running_sum(counts);
    const int64_t least = number(amin(counts, Dims{})), most = number(amax(counts, Dims{}));
    FC_CHECK(least >= 0, "repeat_interleave: repeats can not be negative, got ", least);
    FC_CHECK(!__builtin_mul_overflow(most, repeats.numel(), &total), "repeat_interleave: the result is too large");
    total = last(upto);
  }
  FC_CHECK(!output_size || *output_size == total,
           "repeat_interleave: allocated size does not match required size: output_size is ", output_size.value_or(0),
           ", the repeats sum to ", total);
  if (total == 0) return empty_tensor(Dims{0}, DType::Int64, repeats.device());
  return search(upto, whole_numbers(0, total, repeats.device()), true);
}

}  // namespace fc
