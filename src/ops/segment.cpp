// SPDX-License-Identifier: Apache-2.0
// What works on runs of rows, or on elements behind a mask: segment_reduce, chunks side by side, indices that count
// only where a mask says so, and hashes. All of it is written in other operators, which have the derivatives.
#include "define/calls.h"
#include "define/row.h"
#include "ops/register.h"
#include "plan/index.h"
#include "plan/shape.h"

namespace fc {
namespace {

using OptScalar = std::optional<Scalar>;

Tensor arange(int64_t n, Device device) {
  return call<"aten::arange", Tensor>(Scalar(n), std::optional<DType>(DType::Int64), std::optional<Layout>(),
                                      std::optional<Device>(device), std::optional<bool>());
}
Tensor negated(const Tensor& mask) { return call<"aten::logical_not", Tensor>(mask); }

// --- segment_reduce
// Where each segment ends, [batch, segments], and the number of its rows.
struct Segments {
  Tensor ends, lengths;
  int64_t first = 0;  // row of the first segment, the same in each batch
};

Tensor counts(const char* what, const Tensor& t, const Tensor& data, int64_t axis, int64_t batch) {
  FC_CHECK_AS(NotImplementedError, t.dtype() == DType::Int64 || t.dtype() == DType::Int32,
              "\"segment_reduce\" not implemented for ", what, " of type '", info(t.dtype()).legacy, "'");
  FC_CHECK(t.dim() == axis + 1 && data.dim() > axis, "segment_reduce(): Expected axis to be the last dimension of ",
           what, " but got ", axis, ".");
  for (int64_t d = 0; d < axis; ++d)
    FC_CHECK(t.size(d) == data.size(d), "segment_reduce(): ", what, " of size ", t.sizes(), " and data of size ",
             data.sizes(), " must agree in all dimensions before the axis");
  return reshape(to_dtype(t, DType::Int64), Dims{batch, t.size(-1)});
}

bool all_of(const Tensor& t) {
  return call<"aten::_local_scalar_dense", Scalar>(call<"aten::all", Tensor>(t)).to_bool();
}

Segments find_segments(const Tensor& data, const Tensor& lengths, const Tensor& offsets, int64_t axis, bool unsafe) {
  int64_t batch = 1;
  for (int64_t d = 0; d < std::min(axis, data.dim()); ++d) batch *= data.size(d);
  Segments s;
  if (offsets.defined()) {  // they count where both are given
    const Tensor at = counts("offsets", offsets, data, axis, batch);
    const int64_t n = at.size(1);
    FC_CHECK(n > 0, "segment_reduce(): offsets must have at least one element along the axis");
    const Tensor begins = narrow(at, 1, 0, n - 1);
    s.ends = narrow(at, 1, 1, n - 1);
    s.lengths = sub(s.ends, begins);
    FC_CHECK(all_of(ge(s.lengths, 0)) && all_of(ge(at, 0)) && all_of(le(at, Scalar(data.size(axis)))),
             "segment_reduce(): offsets must not decrease, and lie in the data");
    if (at.numel() > 0) s.first = call<"aten::_local_scalar_dense", Scalar>(call<"aten::min", Tensor>(at)).to_int();
    FC_CHECK(at.numel() == 0 || all_of(eq(select(at, 1, 0), Scalar(s.first))),
             "segment_reduce(): all rows of offsets must begin with the same number");
    return s;
  }
  s.lengths = counts("lengths", lengths, data, axis, batch);
  s.ends = call<"aten::cumsum", Tensor>(s.lengths, 1, std::optional<DType>());
  FC_CHECK(all_of(ge(s.lengths, 0)), "lengths contains negative value!");
  const Tensor total =
      s.ends.size(1) > 0 ? select(s.ends, 1, s.ends.size(1) - 1) : zeros(Dims{batch}, DType::Int64, s.ends.device());
  FC_CHECK(all_of(unsafe ? le(total, Scalar(data.size(axis))) : eq(total, Scalar(data.size(axis)))),
           "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when "
           "!unsafe.");
  return s;
}

Tensor segment_reduce(const Tensor& data, std::string_view reduce, const Tensor& lengths, const Tensor& indices,
                      const Tensor& offsets, int64_t axis, bool unsafe, const OptScalar& initial) {
  const bool mean = reduce == "mean", most = reduce == "max" || reduce == "amax",
             least = reduce == "min" || reduce == "amin", product = reduce == "prod";
  FC_CHECK(mean || most || least || product || reduce == "sum",
           "reduce argument must be either sum, prod, mean, amax or amin, got ", reduce);
  FC_CHECK(!indices.defined(), "segment_reduce(): indices based reduction is not supported yet.");
  FC_CHECK(lengths.defined() || offsets.defined(), "segment_reduce(): Either lengths or offsets must be defined.");
  FC_CHECK_AS(NotImplementedError, is_floating(data.dtype()), "\"_segment_reduce_cpu\" not implemented for '",
              info(data.dtype()).legacy, "'");
  axis = wrap_dim(axis, data.dim(), "segment_reduce");
  const Segments s = find_segments(data, lengths, offsets, axis, unsafe);
  const int64_t batch = s.ends.size(0), segments = s.ends.size(1), rows = data.size(axis), none = segments;
  Dims shape(data.sizes().first(static_cast<size_t>(axis)));
  shape.push_back(segments);
  int64_t inner = 1;
  for (int64_t d = axis + 1; d < data.dim(); ++d) {
    shape.push_back(data.size(d));
    inner *= data.size(d);
  }
  // Each row belongs to the first segment that ends behind it; those before and after all segments to one more.
  const Tensor row = expand(arange(rows, data.device()), Dims{batch, rows});
  Tensor which = call<"aten::searchsorted.Tensor", Tensor>(contiguous(s.ends), contiguous(row), false, true,
                                                           std::optional<std::string_view>(), Tensor());
  which = where(lt(row, Scalar(s.first)), Scalar(none), which);
  const double inf = __builtin_inf();
  const Scalar start = initial ? *initial : Scalar(most ? -inf : least ? inf : product ? 1.0 : 0.0);
  const bool sums = mean || reduce == "sum";
  const Tensor flat = reshape(data, Dims{batch, rows, inner}),
               to = expand(unsqueeze(which, 2), Dims{batch, rows, inner}),
               begin = full(Dims{batch, segments + 1, inner}, product ? Scalar(1.0) : Scalar(0.0), data.dtype(),
                            data.device());
  Tensor out = call<"aten::scatter_reduce.two", Tensor>(begin, 1, to, flat,
                                                        std::string_view(sums    ? "sum"
                                                                         : most  ? "amax"
                                                                         : least ? "amin"
                                                                                 : "prod"),
                                                        false);
  out = narrow(out, 1, 0, segments);
  const Tensor many = unsqueeze(s.lengths, 2), empty = eq(many, 0);
  if (sums && !start.is_zero()) out = add(out, start);
  if (mean) {
    out = div(out, to_dtype(where(empty, Scalar(int64_t{1}), many), data.dtype()));
    if (!initial) out = where(empty, Scalar(__builtin_nan("")), out);
  }
  if (most || least) {  // the first is no element, and has no share of the gradient
    if (initial) out = where(most ? lt(out, start) : gt(out, start), start, out);
    out = where(empty, start, out);
  }
  if (initial && product) out = mul(out, start);
  return reshape(out, shape);
}

// --- chunks of several tensors side by side
Tensor chunk_cat(TensorSpan tensors, int64_t dim, int64_t chunks) {
  FC_CHECK(!tensors.empty(), "_chunk_cat expects a non-empty input tensor list");
  FC_CHECK(chunks > 0, "_chunk_cat expects positive num_chunks");
  const Tensor& first = tensors[0];
  dim = wrap_dim(dim, first.dim(), "_chunk_cat");
  std::vector<Tensor> parts;
  for (const Tensor& t : tensors) {
    FC_CHECK(t.numel() > 0, "_chunk_cat expects non-empty tensor");
    FC_CHECK(t.dtype() == first.dtype(), "_chunk_cat expects all input tensors with the same dtype");
    FC_CHECK(t.device() == first.device(), "_chunk_cat expects all input tensors on the same device");
    FC_CHECK(t.dim() > dim, "_chunk_cat expects tensors of more than ", dim, " dimensions, got ", t.sizes());
    for (int64_t d = 0; d < dim; ++d)
      FC_CHECK(t.size(d) == first.size(d), "_chunk_cat expects same sizes of 0,...,dim-1 dimensions for all tensors");
    const int64_t each = (t.size(dim) - 1) / chunks + 1;
    int64_t whole = 0;
    FC_CHECK(!__builtin_mul_overflow(each, chunks, &whole), "_chunk_cat: ", chunks, " chunks are too many");
    Dims pad;
    for (int64_t d = t.dim() - 1; d > dim; --d) pad.push_back(0), pad.push_back(0);
    pad.push_back(0);
    pad.push_back(whole - t.size(dim));
    const Tensor padded = call<"aten::constant_pad_nd", Tensor>(t, pad, Scalar(0));
    Dims shape(t.sizes().first(static_cast<size_t>(dim)));
    shape.push_back(chunks);
    shape.push_back(-1);
    parts.push_back(reshape(padded, shape));
  }
  return cat(parts, dim + 1);
}

// --- indices that count where the mask is true
std::vector<Tensor> masked_indices(const Tensor& mask, TensorSpan indices) {
  std::vector<Tensor> out;
  for (const Tensor& i : indices) out.push_back(i.defined() ? where(mask, i, Scalar(int64_t{0})) : i);
  return out;
}
Tensor masked_index(const Tensor& self, const Tensor& mask, TensorSpan indices, const Scalar& fill) {
  const std::vector<Tensor> at = masked_indices(mask, indices);
  if (self.numel() == 0) {  // there is nothing that index 0 could name
    Dims ones(self.sizes());
    for (size_t d = 0; d < at.size() && d < ones.size(); ++d)
      if (at[d].defined()) ones[d] = 1;
    const Tensor like = call<"aten::index.Tensor", Tensor>(zeros(ones, self.dtype(), self.device()), TensorSpan(at));
    return full(like.sizes(), fill, self.dtype(), self.device());
  }
  return masked_fill(call<"aten::index.Tensor", Tensor>(self, TensorSpan(at)), negated(mask), fill);
}
Tensor masked_index_put(const Tensor& self, const Tensor& mask, TensorSpan indices, const Tensor& values) {
  if (self.numel() == 0) return clone(self);
  return call<"aten::index_put", Tensor>(self, TensorSpan(masked_indices(mask, indices)),
                                         masked_fill(values, negated(mask), Scalar(0)), true);
}

// --- exclusive or of all elements' bits
Tensor hash_tensor(const Tensor& self, IntSpan dim, bool keepdim, int64_t mode) {
  FC_CHECK(mode == 0, "Unknown hash_tensor mode: ", mode);
  const DType type = self.dtype();
  FC_CHECK_AS(NotImplementedError, !is_complex(type) && !is_barebones(type), "\"xor_sum_cpu\" not implemented for '",
              info(type).legacy, "'");
  const int64_t rank = self.dim();
  Dims dims = wrap_dims("hash_tensor", dim, rank);
  FC_CHECK(!dim.empty() || self.numel() > 0,
           "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with "
           "the 'dim' argument.");
  if (dim.empty())
    for (int64_t d = 0; d < rank; ++d) dims.push_back(d);
  Tensor bits = is_floating(type)
                    ? call<"aten::view.dtype", Tensor>(contiguous(to_dtype(self, DType::Float64)), DType::Int64)
                    : to_dtype(self, DType::Int64);
  Dims kept, order, shape;  // the others first, then those that go
  for (int64_t d = 0; d < rank; ++d) {
    const bool goes = std::ranges::find(dims, d) != dims.end() && rank > 0;
    FC_CHECK_AS(IndexError, !goes || self.size(d) > 0, "hash_tensor: Expected reduction dim ", d,
                " to have non-zero size.");
    if (!goes) order.push_back(d), kept.push_back(self.size(d));
    if (!goes || keepdim) shape.push_back(goes ? 1 : self.size(d));
  }
  for (int64_t d = 0; d < rank; ++d)
    if (std::ranges::find(order, d) == order.end()) order.push_back(d);
  int64_t outside = 1;
  for (const int64_t size : kept) outside *= size;
  bits = reshape(permute(bits, order), Dims{outside, outside ? self.numel() / outside : 1});
  while (bits.size(1) > 1) {  // the second half onto the first; of an odd number the middle one stays
    const int64_t n = bits.size(1), half = n / 2;
    const Tensor folded =
        call<"aten::bitwise_xor.Tensor", Tensor>(narrow(bits, 1, 0, half), narrow(bits, 1, n - half, half));
    const Tensor both[] = {folded, narrow(bits, 1, half, n - 2 * half)};
    bits = n % 2 ? cat(both, 1) : folded;
  }
  return call<"aten::view.dtype", Tensor>(contiguous(reshape(bits, shape)), DType::UInt64);
}

constexpr OpDef defs[] = {
    {.schema = "segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, Tensor? "
               "offsets=None, int axis=0, bool unsafe=False, Scalar? initial=None) -> Tensor",
     .doc = "Sums, products, means or extremes of runs of rows, whose lengths or limits are given.",
     .composite = kernel<&segment_reduce>(),
     .out = true},
    {.schema = "_chunk_cat(Tensor[] tensors, int dim, int num_chunks) -> Tensor",
     .doc = "Each tensor in chunks of one size, padded with zeros, and the chunks of all of them side by side.",
     .composite = kernel<&chunk_cat>(),
     .out = true},
    {.schema = "_unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill) -> Tensor",
     .doc = "Elements at indices where the mask is true, and fill elsewhere, whatever the indices are there.",
     .composite = kernel<&masked_index>()},
    {.schema =
         "_unsafe_masked_index_put_accumulate(Tensor self, Tensor mask, Tensor?[] indices, Tensor values) -> Tensor",
     .doc = "Adds values at indices where the mask is true.",
     .composite = kernel<&masked_index_put>()},
    {.schema = "hash_tensor(Tensor self, int[1] dim=[], *, bool keepdim=False, int mode=0) -> Tensor",
     .doc = "The exclusive or of all elements' bits, or along dimensions, as uint64: of float64 for floats, else of "
            "int64.",
     .composite = kernel<&hash_tensor>(),
     .differentiable = false,
     .out = true},
};

}  // namespace

void define_segment() { define_all(defs); }

}  // namespace fc
