// SPDX-License-Identifier: Apache-2.0
// Operators that rearrange, join, repeat and pad: new memory, no arithmetic. They are written as copies into parts of
// the result, so they run on every device.
#include <algorithm>

#include "define/calls.h"
#include "define/row.h"
#include "dispatch/family_table.h"
#include "ops/register.h"
#include "plan/compact.h"
#include "plan/edges.h"
#include "plan/pointwise.h"
#include "plan/shape.h"

namespace fc {
namespace {

#define G (g.out())

// --- joins

// A vector without elements joins anything: PyTorch kept it for old programs that started with torch.Tensor().
bool counts_for_nothing(const Tensor& t) { return t.dim() == 1 && t.numel() == 0; }

MemoryFormat common_format(TensorSpan tensors) {
  std::optional<MemoryFormat> format;
  for (const Tensor& t : tensors) {
    if (counts_for_nothing(t)) continue;
    MemoryFormat f = suggest_memory_format(t);
    if (format && *format != f) return MemoryFormat::Contiguous;
    format = f;
  }
  return format.value_or(MemoryFormat::Contiguous);
}

Tensor join(const char* op, TensorSpan tensors, int64_t dim) {
  const Tensor* lead = nullptr;
  DType dtype = DType::Undefined;
  for (size_t i = 0; i < tensors.size(); ++i) {
    FC_CHECK(tensors[i].dim() > 0, op, ": zero-dimensional tensor (at position ", i, ") cannot be concatenated");
    dtype = promote(dtype, tensors[i].dtype());
    if (!lead && !counts_for_nothing(tensors[i])) lead = &tensors[i];
  }
  if (!lead) lead = &tensors[0];
  size_t d = static_cast<size_t>(wrap_dim(dim, lead->dim(), op));
  Dims shape(lead->sizes());
  shape[d] = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    FC_CHECK(t.device() == lead->device(), op, ": all input tensors must be on the same device. Received ",
             lead->device(), " and ", t.device());
    if (counts_for_nothing(t)) continue;
    FC_CHECK(t.dim() == lead->dim(), op, ": Tensors must have same number of dimensions: got ", lead->dim(), " and ",
             t.dim());
    for (size_t k = 0; k < shape.size(); ++k)
      FC_CHECK(k == d || t.sizes()[k] == shape[k], op, ": Sizes of tensors must match except in dimension ", d,
               ". Expected size ", shape[k], " but got size ", t.sizes()[k], " for tensor number ", i, " in the list.");
    FC_CHECK(!__builtin_add_overflow(shape[d], t.sizes()[d], &shape[d]), op, ": the joined dimension ", d,
             " is too large");
  }
  Tensor out = empty_tensor(shape, dtype, lead->device(), common_format(tensors));
  if (out.numel() == 0 || out.device().is_meta()) return out;
  int64_t at = 0;
  Dims sizes(shape);
  for (const Tensor& t : tensors) {
    if (t.numel() == 0) continue;
    sizes[d] = t.sizes()[d];
    copy_(make_view(out, sizes, out.strides(), out.offset() + at * out.strides()[d]), t);
    at += sizes[d];
  }
  return out;
}

Tensor cat_kernel(TensorSpan tensors, int64_t dim) {
  FC_CHECK_AS(ValueError, !tensors.empty(), "torch.cat(): expected a non-empty list of Tensors");
  return join("cat", tensors, dim);
}

void cat_grad(Grad& g) {
  int n = g.list_size(0);
  int64_t ndim = G.dim(), dim = wrap_dim(g.arg(1).integer(), ndim), at = 0;
  for (int i = 0; i < n; ++i) {
    IntSpan sizes = g.sizes(0, i);
    if (sizes.size() == 1 && sizes[0] == 0) {
      g.set(0, zeros(sizes, G.dtype(), G.device()), i);
      continue;
    }
    int64_t length = sizes[static_cast<size_t>(dim)];
    g.set(0, narrow(G, dim, at, length), i);
    at += length;
  }
}

Tensor stack_kernel(TensorSpan tensors, int64_t dim) {
  FC_CHECK(!tensors.empty(), "stack expects a non-empty TensorList");
  const Tensor& first = tensors[0];
  size_t d = static_cast<size_t>(wrap_dim(dim, first.dim() + 1, "stack"));
  std::vector<Tensor> wide;
  wide.reserve(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    FC_CHECK(Dims::same(t.sizes(), first.sizes()), "stack expects each tensor to be equal size, but got ",
             first.sizes(), " at entry 0 and ", t.sizes(), " at entry ", i);
    Dims sizes(t.sizes()), strides(t.strides());
    sizes.insert(d, 1);
    strides.insert(d, d < t.sizes().size() ? scale_stride(t.strides()[d], t.sizes()[d]) : 1);
    wide.push_back(make_view(t, sizes, strides, t.offset()));
  }
  return call<"aten::cat", Tensor>(wide, static_cast<int64_t>(d));
}

Tensor concat(TensorSpan tensors, int64_t dim) { return cat(tensors, dim); }
template <int64_t ndim>
Tensor join_at_least(TensorSpan tensors) {
  FC_CHECK(!tensors.empty(), ndim == 1 ? "hstack" : ndim == 2 ? "vstack" : "dstack", " expects a non-empty TensorList");
  std::vector<Tensor> wide;
  if constexpr (ndim == 1) wide = call<"aten::atleast_1d.Sequence", std::vector<Tensor>>(tensors);
  else if constexpr (ndim == 2) wide = call<"aten::atleast_2d.Sequence", std::vector<Tensor>>(tensors);
  else wide = call<"aten::atleast_3d.Sequence", std::vector<Tensor>>(tensors);
  return cat(wide, ndim == 1 ? (wide[0].dim() == 1 ? 0 : 1) : ndim == 2 ? 0 : 2);
}
Tensor column_stack(TensorSpan tensors) {
  FC_CHECK(!tensors.empty(), "column_stack expects a non-empty TensorList");
  std::vector<Tensor> wide;
  for (const Tensor& t : tensors) wide.push_back(t.dim() <= 1 ? reshape(t, Dims{t.numel(), 1}) : t);
  return cat(wide, 1);
}

// --- other orders

// Negative strides are for the copy only: tensors never have them.
Tensor flip_kernel(const Tensor& self, IntSpan dims) {
  uint64_t flipped = dim_bits("flip", dims, self.dim());
  Tensor out = call<"aten::empty_like", Tensor>(self, nullptr, nullptr, nullptr, nullptr, nullptr);
  if (out.numel() == 0 || out.device().is_meta()) return out;
  ByteStrides to(out), from(self);
  char* start = static_cast<char*>(self.data());
  for (size_t d = 0; d < self.sizes().size(); ++d) {
    if (!(flipped >> d & 1)) continue;
    start += (self.sizes()[d] - 1) * from.dims()[d];
    from.dims()[d] *= -1;
  }
  fc_copy c{};
  c.size = sizeof c;
  c.ndim = static_cast<int32_t>(self.dim());
  c.shape = self.sizes().data();
  c.dst = operand(out, to);
  c.src = operand(self, from);
  c.src.data = start;
  const Families& f = families(Device::CPU);
  f.copy(f.context, Device{}, c);
  return out;
}
Tensor flip_decomposition(const Tensor& self, IntSpan dims) {
  uint64_t flipped = dim_bits("flip", dims, self.dim());
  Tensor x = self;
  for (int64_t d = 0; d < self.dim(); ++d)
    if (flipped >> d & 1)
      x = call<"aten::index_select", Tensor>(
          x, d,
          rsub(call<"aten::arange", Tensor>(Scalar(self.size(d)), DType::Int64, nullptr, self.device(), nullptr),
               Scalar(self.size(d) - 1)));
  return copy_(call<"aten::empty_like", Tensor>(self, nullptr, nullptr, nullptr, nullptr, nullptr), x);
}
Tensor fliplr(const Tensor& self) {
  FC_CHECK(self.dim() >= 2, "fliplr: Input must be >= 2-d.");
  return flip(self, Dims{1});
}
Tensor flipud(const Tensor& self) {
  FC_CHECK(self.dim() >= 1, "flipud: Input must be >= 1-d.");
  return flip(self, Dims{0});
}

Tensor roll_kernel(const Tensor& self, IntSpan shifts, IntSpan dims) {
  FC_CHECK(!shifts.empty(), "roll: `shifts` required");
  if (dims.empty() && shifts.size() == 1) {
    Tensor flat = roll_kernel(reshape(self, Dims{-1}), shifts, Dims{0});
    return view(contiguous(flat), self.sizes());
  }
  FC_CHECK(shifts.size() == dims.size(), "roll: shifts and dimensions must align. shifts: ", shifts.size(),
           ", dims:", dims.size());
  FC_CHECK_AS(IndexError, self.dim() > 0, "roll: Dimension specified as ", dims[0], " but tensor has no dimensions");
  Tensor out = self;
  for (size_t i = 0; i < dims.size(); ++i) {
    int64_t dim = wrap_dim(dims[i], self.dim(), "roll"), size = self.size(dim);
    if (size <= 1) continue;
    int64_t start = (size - shifts[i] % size) % size;
    if (start == 0) continue;
    Tensor parts[] = {slice(out, dim, start, size), slice(out, dim, 0, start)};
    out = cat(parts, dim);
  }
  return out.same(self) ? clone(self) : out;
}

Tensor rot90(const Tensor& self, int64_t k, IntSpan dims) {
  FC_CHECK(dims.size() == 2, "rot90: expected total rotation dims == 2, but got dims = ", dims.size());
  FC_CHECK(self.dim() >= 2, "rot90: expected total dims >= 2, but got total dims = ", self.dim());
  Dims d = wrap_dims("rot90", dims, self.dim());
  switch ((k % 4 + 4) % 4) {
    case 1: return transpose(flip(self, Dims{d[1]}), d[0], d[1]);
    case 2: return flip(self, d);
    case 3: return transpose(flip(self, Dims{d[0]}), d[0], d[1]);
    default: return clone(self, MemoryFormat::Contiguous);
  }
}

// --- repetition

// The sizes of a tensor that is repeated, and the same with each repetition as a dimension of its own before the
// dimension it repeats.
struct Repeated {
  Dims sizes, apart;
  Dims copies;  // dimensions of `apart` that are repetitions
};
Repeated repeated(IntSpan sizes, IntSpan repeats) {
  FC_CHECK(
      repeats.size() >= sizes.size(),
      "repeat: Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor: repeats ",
      repeats, ", sizes ", sizes);
  Repeated r;
  size_t lead = repeats.size() - sizes.size();
  for (size_t d = 0; d < repeats.size(); ++d) {
    int64_t size = d < lead ? 1 : sizes[d - lead], all;
    FC_CHECK(!__builtin_mul_overflow(size, repeats[d], &all), "repeat: dimension ", d, " of size ", size,
             " is too large to repeat ", repeats[d], " times");
    r.sizes.push_back(all);
    if (repeats[d] != 1) {
      r.copies.push_back(static_cast<int64_t>(r.apart.size()));
      r.apart.push_back(repeats[d]);
    }
    r.apart.push_back(size);
  }
  return r;
}

Tensor repeat_kernel(const Tensor& self, IntSpan repeats) {
  Repeated r = repeated(self.sizes(), repeats);
  Tensor out = empty_tensor(r.sizes, self.dtype(), self.device());
  if (out.numel() == 0 || out.device().is_meta()) return out;
  Dims once;  // self beside `apart`, one where it repeats
  size_t lead = repeats.size() - self.sizes().size();
  for (size_t d = 0; d < repeats.size(); ++d) {
    if (repeats[d] != 1) once.push_back(1);
    once.push_back(d < lead ? 1 : self.sizes()[d - lead]);
  }
  std::optional<Dims> strides = view_strides(self.sizes(), self.strides(), once);  // only ones are added: always exists
  copy_(make_view(out, r.apart, contiguous_strides(r.apart), 0), make_view(self, once, *strides, self.offset()));
  return out;
}

Tensor tile(const Tensor& self, IntSpan repeats) {
  Dims all(repeats);
  while (all.size() < self.sizes().size()) all.insert(0, 1);
  return call<"aten::repeat", Tensor>(self, all);
}

Tensor repeat_interleave_int(const Tensor& self, int64_t repeats, std::optional<int64_t> dim,
                             std::optional<int64_t> output_size) {
  FC_CHECK(repeats >= 0, "repeat_interleave: Repeats must be non-negative, got ", repeats);
  Tensor x = dim ? self : reshape(self, Dims{-1});
  if (x.dim() == 0) x = reshape(x, Dims{1});
  int64_t d = wrap_dim(dim.value_or(0), x.dim(), "repeat_interleave");
  Dims shape(x.sizes());
  shape.insert(static_cast<size_t>(d) + 1, repeats);
  Dims flat(x.sizes());
  int64_t& length = flat[static_cast<size_t>(d)];
  FC_CHECK(!__builtin_mul_overflow(length, repeats, &length), "repeat_interleave: dimension ", d,
           " is too large to repeat ", repeats, " times");
  FC_CHECK(!output_size || *output_size == length,
           "repeat_interleave: allocated size does not match required size: output_size is ", output_size.value_or(0),
           ", the result has ", length);
  return view(clone(expand(unsqueeze(x, d + 1), shape), MemoryFormat::Contiguous), flat);
}

Tensor repeat_interleave_each(const Tensor& self, const Tensor& repeats, std::optional<int64_t> dim,
                              std::optional<int64_t> output_size) {
  Tensor x = dim ? self : reshape(self, Dims{-1});
  if (x.dim() == 0) x = reshape(x, Dims{1});
  int64_t d = wrap_dim(dim.value_or(0), x.dim(), "repeat_interleave");
  Tensor each = repeats;
  if (each.dim() == 0 || (each.dim() == 1 && each.size(0) == 1)) each = expand(reshape(each, Dims{1}), Dims{x.size(d)});
  else
    FC_CHECK(each.dim() == 1 && each.size(0) == x.size(d),
             "repeat_interleave: repeats must have the same size as input along dim, but got repeats of size ",
             each.sizes(), " and input.size(", d, ") = ", x.size(d));
  return call<"aten::index_select", Tensor>(x, d, call<"aten::repeat_interleave.Tensor", Tensor>(each, output_size));
}

std::vector<Tensor> meshgrid_indexing(TensorSpan tensors, std::string_view indexing) {
  FC_CHECK(!tensors.empty(), "meshgrid expects a non-empty TensorList");
  FC_CHECK(indexing == "ij" || indexing == "xy",
           "torch.meshgrid: indexing must be one of \"xy\" or \"ij\", but received: ", indexing);
  std::vector<Tensor> axes(tensors.begin(), tensors.end()), out;
  bool swap = indexing == "xy" && axes.size() > 1;
  if (swap) std::swap(axes[0], axes[1]);
  Dims shape;
  for (const Tensor& t : axes) {
    FC_CHECK(t.dim() <= 1, "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got a tensor of sizes ",
             t.sizes());
    FC_CHECK(t.dtype() == axes[0].dtype() && t.device() == axes[0].device(),
             "torch.meshgrid expects all tensors to have the same dtype and device");
    shape.push_back(t.numel());
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    Dims line(axes.size(), 1);
    line[i] = axes[i].numel();
    out.push_back(expand(view(axes[i], line), shape));
  }
  if (swap) std::swap(out[0], out[1]);
  return out;
}
std::vector<Tensor> meshgrid(TensorSpan tensors) { return meshgrid_indexing(tensors, "ij"); }

Tensor cartesian_prod(TensorSpan tensors) {
  for (const Tensor& t : tensors)
    FC_CHECK(t.dim() == 1, "cartesian_prod: Expect a 1D vector, but got shape ", t.sizes());
  if (tensors.size() == 1) return tensors[0];
  std::vector<Tensor> grid = meshgrid(tensors);
  for (Tensor& t : grid) t = reshape(t, Dims{-1});
  return stack(grid, 1);
}

// --- diagonals and triangles

Tensor diag_embed(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  FC_CHECK_AS(IndexError, self.dim() > 0, "diag_embed: Dimension out of range: input must have at least one dimension");
  int64_t a = wrap_dim(dim1, self.dim() + 1, "diag_embed"), b = wrap_dim(dim2, self.dim() + 1, "diag_embed");
  FC_CHECK(a != b, "diag_embed: diagonal dimensions cannot be identical ", dim1, ", ", dim2);
  Dims shape(self.sizes());
  int64_t side = shape.back();
  FC_CHECK(offset > -(int64_t{1} << 62) && offset < int64_t{1} << 62, "diag_embed: offset ", offset, " is too large");
  side += offset < 0 ? -offset : offset;
  shape.erase(shape.size() - 1);
  shape.insert(static_cast<size_t>(std::min(a, b)), side);
  shape.insert(static_cast<size_t>(std::max(a, b)), side);
  Tensor out = zeros(shape, self.dtype(), self.device());
  copy_(call<"aten::diagonal", Tensor>(out, offset, a, b), self);
  return out;
}

Tensor diag(const Tensor& self, int64_t offset) {
  FC_CHECK(self.dim() == 1 || self.dim() == 2, "diag(): Supports 1D or 2D tensors. Got ", self.dim(), "D");
  if (self.dim() == 1) return call<"aten::diag_embed", Tensor>(self, offset, 0, 1);
  return clone(call<"aten::diagonal", Tensor>(self, offset, 0, 1), MemoryFormat::Contiguous);
}

template <bool lower>
Tensor triangle_shape(const Tensor& self, int64_t) {
  FC_CHECK(self.dim() >= 2, lower ? "tril" : "triu", ": input tensor must have at least 2 dimensions");
  return empty_tensor(self.sizes(), self.dtype(), self.device());
}

template <bool lower>
Tensor triangle_decomposition(const Tensor& self, int64_t diagonal) {
  Tensor out = triangle_shape<lower>(self, diagonal);
  if (out.numel() == 0) return out;
  auto numbers = [&](int64_t n) {
    return call<"aten::arange", Tensor>(Scalar(n), DType::Int64, nullptr, self.device(), nullptr);
  };
  Tensor beyond = sub(numbers(self.size(-1)), unsqueeze(numbers(self.size(-2)), 1));  // positions right of the diagonal
  return copy_(out, masked_fill(self, lower ? gt(beyond, diagonal) : lt(beyond, diagonal), 0));
}

// --- padding

Tensor part(const Tensor& t, size_t dim, int64_t first, int64_t n) {  // within the range
  Dims sizes(t.sizes());
  sizes[dim] = n;
  return make_view(t, sizes, t.strides(), t.offset() + first * t.strides()[dim]);
}

Tensor constant_pad_kernel(const Tensor& self, IntSpan pad, const Scalar& value) {
  size_t n = self.sizes().size(), padded = pad.size() / 2;
  FC_CHECK(pad.size() % 2 == 0, "constant_pad_nd: Length of pad must be even but instead it equals ", pad.size());
  FC_CHECK(padded <= n,
           "constant_pad_nd: Length of pad should be no more than twice the number of dimensions of the input. Pad "
           "length is ",
           pad.size(), " while the input has ", n, " dimensions.");
  Dims shape(self.sizes()), from(n), to(n), length(self.sizes());
  for (size_t i = 0; i < padded; ++i) {
    size_t d = n - 1 - i;
    int64_t before = pad[2 * i], after = pad[2 * i + 1];
    bool overflow = __builtin_add_overflow(shape[d], before, &shape[d]);
    overflow |= __builtin_add_overflow(shape[d], after, &shape[d]);
    FC_CHECK(!overflow && shape[d] >= 0 && before >= -self.sizes()[d] && after >= -self.sizes()[d],
             "constant_pad_nd: The input size ", self.sizes()[d], ", plus negative padding ", before, " and ", after,
             ", resulted in a negative output size, which is invalid. Check dimension ", d, " of your input.");
    from[d] = std::max<int64_t>(-before, 0);
    to[d] = std::max<int64_t>(before, 0);
    length[d] = std::max<int64_t>(self.sizes()[d] + std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0), 0);
  }
  Tensor out = empty_tensor(shape, self.dtype(), self.device(), suggest_memory_format(self));
  // What is copied over is not filled, unless it is little: then one fill is quicker than many.
  const bool is_small = out.numel() < 4096 || checked_numel(length) < out.numel() / 2;
  if (is_small) fill_(out, value);
  Tensor inside = out, kept = self;
  for (size_t d = 0; d < n; ++d) {
    const int64_t end = to[d] + length[d];
    if (!is_small && to[d] > 0) fill_(part(inside, d, 0, to[d]), value);
    if (!is_small && end < shape[d]) fill_(part(inside, d, end, shape[d] - end), value);
    inside = part(inside, d, to[d], length[d]);
    kept = part(kept, d, from[d], length[d]);
  }
  copy_(inside, kept);
  return out;
}

// Non-constant padding by copies: the input into the middle of the result, then along one dimension after the other
// what lies beyond the edges, from what is there already. A negative width takes away: of a circle before it is closed,
// else after all else.
struct Padding {
  using Line = EdgeLine;
  PadMode mode;
  std::vector<Line> lines;  // the last dimension first

  Padding(const char* op, IntSpan sizes, IntSpan pad, PadMode how)
      : mode(how), lines(plan_edges(op, sizes, pad, how)) {}

  bool cuts_first() const { return mode == kCircular; }
  Tensor cut(Tensor t) const {
    for (const Line& l : lines) t = part(t, l.dim, l.cut_before, t.sizes()[l.dim] - l.cut_before - l.cut_after);
    return t;
  }
  Tensor uncut(const Tensor& t) const {  // zeros where something was taken away
    Dims pad(t.sizes().size() * 2);
    for (const Line& l : lines) {
      pad[2 * (t.sizes().size() - 1 - l.dim)] = l.cut_before;
      pad[2 * (t.sizes().size() - 1 - l.dim) + 1] = l.cut_after;
    }
    return call<"aten::constant_pad_nd", Tensor>(t, pad, Scalar(0));
  }
  Tensor middle(Tensor t) const {
    for (const Line& l : lines) t = part(t, l.dim, l.before, l.size);
    return t;
  }
  // What is copied along one dimension, in order: n elements, of replication one.
  struct Piece {
    int64_t to, from, n;
  };
  std::vector<Piece> pieces(const Line& l) const {
    const int64_t end = l.before + l.size, last = end + l.after;
    std::vector<Piece> all;
    if (mode == kCircular) {  // around as often as needed
      for (int64_t at = end, n; at < last; at += n) {
        n = std::min(l.size, last - at);
        all.push_back({at, at - l.size, n});
      }
      for (int64_t at = l.before, n; at > 0; at -= n) {
        n = std::min(l.size, at);
        all.push_back({at - n, at - n + l.size, n});
      }
      return all;
    }
    const bool mirrored = mode == kReflect;
    if (l.before > 0) all.push_back({0, mirrored ? l.before + 1 : l.before, l.before});
    if (l.after > 0) all.push_back({end, mirrored ? end - 1 - l.after : end - 1, l.after});
    return all;
  }
  Tensor source(const Tensor& region, const Line& l, const Piece& p) const {
    return part(region, l.dim, p.from, mode == kReplicate ? 1 : p.n);
  }
  Tensor turned(const Tensor& t, size_t dim) const {
    return mode == kReflect ? call<"aten::flip", Tensor>(t, Dims{static_cast<int64_t>(dim)}) : t;
  }

  Tensor forward(const Tensor& self) const {
    const Tensor from = cuts_first() ? cut(self) : self;
    Dims shape(from.sizes());
    for (const Line& l : lines) {
      const bool overflow = __builtin_add_overflow(shape[l.dim], l.before + l.after, &shape[l.dim]);
      FC_CHECK(!overflow, "pad: sizes overflow");
    }
    Tensor out = empty_tensor(shape, self.dtype(), self.device(), suggest_memory_format(self)), region = middle(out);
    copy_(region, from);
    for (const Line& l : lines) {
      region = widened(region, out, l);
      for (const Piece& p : pieces(l)) {
        const Tensor to = part(region, l.dim, p.to, p.n);
        copy_(to, expand(turned(source(region, l, p), l.dim), to.sizes()));
      }
    }
    return cuts_first() || !has_cut() ? out : contiguous(cut(out));
  }
  // What flows into copies is added to what they were made of, the last copies first.
  Tensor backward(const Tensor& grad) const {
    Tensor region = has_cut() && !cuts_first() ? uncut(grad) : clone(grad);
    for (size_t i = lines.size(); i-- > 0;) {
      const Line& l = lines[i];
      const std::vector<Piece> all = pieces(l);
      for (size_t k = all.size(); k-- > 0;) {
        const Tensor to = part(region, l.dim, all[k].to, all[k].n);
        add_(source(region, l, all[k]),
             mode == kReplicate ? sum(to, Dims{static_cast<int64_t>(l.dim)}, true) : turned(to, l.dim));
      }
      region = part(region, l.dim, l.before, l.size);
    }
    return has_cut() && cuts_first() ? uncut(region) : contiguous(region);
  }
  bool has_cut() const {
    return std::ranges::any_of(lines, [](const Line& l) { return l.cut_before + l.cut_after > 0; });
  }
  static Tensor widened(const Tensor& region, const Tensor& out, const Line& l) {
    Dims sizes(region.sizes());
    sizes[l.dim] = out.sizes()[l.dim];
    return make_view(out, sizes, out.strides(), region.offset() - l.before * out.strides()[l.dim]);
  }
};

Tensor pad_edges(const Tensor& self, IntSpan pad, int64_t mode) {
  return Padding(pad_names[checked_mode(mode)], self.sizes(), pad, checked_mode(mode)).forward(self);
}
Tensor pad_edges_backward(const Tensor& grad, IntSpan sizes, IntSpan pad, int64_t mode) {
  const Padding padding(pad_names[checked_mode(mode)], sizes, pad, checked_mode(mode));
  check_edges_backward(grad, sizes, pad, padding.mode);
  return padding.backward(grad);
}
template <PadMode mode>
Tensor pad_kernel(const Tensor& self, IntSpan pad) {
  check_padded(self, pad, mode);
  return pad_edges(self, pad, mode);
}
template <PadMode mode>
void pad_grad(Grad& g) {
  g.set(0,
        call<"facula::pad_edges_backward", Tensor>(g.out(), g.sizes(0), g.arg(1).ints(), static_cast<int64_t>(mode)));
}

Tensor pad_any(const Tensor& self, IntSpan pad, std::string_view mode, std::optional<double> value) {
  if (mode == "constant") return call<"aten::constant_pad_nd", Tensor>(self, pad, Scalar(value.value_or(0)));
  FC_CHECK(!value || *value == 0, "pad: Padding mode \"", mode, "\" doesn't take in value argument");
  bool known = mode == "reflect" || mode == "replicate" || mode == "circular";
  FC_CHECK_AS(NotImplementedError, known, "pad: Unrecognised padding mode ", mode);
  int64_t more = self.dim() - static_cast<int64_t>(pad.size() / 2);
  FC_CHECK_AS(NotImplementedError, (pad.size() == 2 || pad.size() == 4 || pad.size() == 6) && (more == 1 || more == 2),
              "pad: Padding size ", pad.size(), " is not supported for ", self.dim(),
              "D input tensor. Non-constant padding pads the last 1, 2 or 3 "
              "dimensions, before which the input has one or two more.");
  if (mode == "circular") return call<"aten::_pad_circular", Tensor>(self, pad);
  if (mode == "reflect")
    return pad.size() == 2   ? call<"aten::reflection_pad1d", Tensor>(self, pad)
           : pad.size() == 4 ? call<"aten::reflection_pad2d", Tensor>(self, pad)
                             : call<"aten::reflection_pad3d", Tensor>(self, pad);
  return pad.size() == 2   ? call<"aten::replication_pad1d", Tensor>(self, pad)
         : pad.size() == 4 ? call<"aten::replication_pad2d", Tensor>(self, pad)
                           : call<"aten::replication_pad3d", Tensor>(self, pad);
}

constexpr OpDef defs[] = {
    {.schema = "cat(Tensor[] tensors, int dim=0) -> Tensor",
     .doc = "The tensors joined along an existing dimension.",
     .all = kernel<&cat_kernel>(),
     .saves = "dim",
     .grad = cat_grad,
     .out = true,
     .out_type = OutType::Castable,
     .autocast = Autocast::Promote,
     .writes = Writes::Apart},
    {.schema = "concat(Tensor[] tensors, int dim=0) -> Tensor",
     .composite = kernel<&concat>(),
     .out = true,
     .out_type = OutType::Castable,
     .writes = Writes::Apart},
    {.schema = "concatenate(Tensor[] tensors, int dim=0) -> Tensor",
     .composite = kernel<&concat>(),
     .out = true,
     .out_type = OutType::Castable,
     .writes = Writes::Apart},
    {.schema = "stack(Tensor[] tensors, int dim=0) -> Tensor",
     .doc = "The tensors joined along a new dimension.",
     .all = kernel<&stack_kernel>(),
     .saves = "dim",
     .grad =
         [](Grad& g) {
           for (int i = 0; i < g.list_size(0); ++i) g.set(0, select(G, g.arg(1).integer(), i), i);
         },
     .out = true,
     .out_type = OutType::Castable,
     .autocast = Autocast::Promote,
     .writes = Writes::Apart},
    {.schema = "hstack(Tensor[] tensors) -> Tensor",
     .doc = "The tensors joined side by side.",
     .composite = kernel<&join_at_least<1>>(),
     .out = true,
     .out_type = OutType::Castable,
     .writes = Writes::Apart},
    {.schema = "vstack(Tensor[] tensors) -> Tensor",
     .doc = "The tensors joined above each other.",
     .composite = kernel<&join_at_least<2>>(),
     .out = true,
     .out_type = OutType::Castable,
     .writes = Writes::Apart},
    {.schema = "row_stack(Tensor[] tensors) -> Tensor",
     .composite = kernel<&join_at_least<2>>(),
     .out = true,
     .out_type = OutType::Castable,
     .writes = Writes::Apart},
    {.schema = "dstack(Tensor[] tensors) -> Tensor",
     .doc = "The tensors joined along the third dimension.",
     .composite = kernel<&join_at_least<3>>(),
     .out = true,
     .out_type = OutType::Castable,
     .writes = Writes::Apart},
    {.schema = "column_stack(Tensor[] tensors) -> Tensor",
     .doc = "The tensors put side by side as columns.",
     .composite = kernel<&column_stack>(),
     .out = true,
     .out_type = OutType::Castable,
     .writes = Writes::Apart},

    {.schema = "flip(Tensor self, int[] dims) -> Tensor",
     .doc = "The tensor with the order along dimensions reversed.",
     .cpu = kernel<&flip_kernel>(),
     .meta = kernel<&flip_kernel>(),
     .decomposition = kernel<&flip_decomposition>(),
     .saves = "dims",
     .grad = [](Grad& g) { g.set(0, flip(G, g.arg(1).ints())); },
     .out = true},
    {.schema = "fliplr(Tensor self) -> Tensor",
     .doc = "The tensor with the order of columns reversed.",
     .composite = kernel<&fliplr>()},
    {.schema = "flipud(Tensor self) -> Tensor",
     .doc = "The tensor with the order of rows reversed.",
     .composite = kernel<&flipud>()},
    {.schema = "roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor",
     .doc = "The tensor shifted along dimensions; what leaves at the end enters at the start.",
     .all = kernel<&roll_kernel>(),
     .saves = "shifts dims",
     .grad =
         [](Grad& g) {
           Dims back(g.arg(1).ints());
           IntSpan dims = g.arg(2).ints();
           for (size_t i = 0; i < back.size(); ++i) {
             int64_t size = dims.empty() ? G.numel() : G.dim() ? G.size(dims[i]) : 1;
             back[i] = size ? -(back[i] % size) : 0;
           }
           g.set(0, call<"aten::roll", Tensor>(G, back, dims));
         },
     .out = true},
    {.schema = "rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor",
     .doc = "The tensor turned by 90 degrees in the plane of two dimensions, k times.",
     .composite = kernel<&rot90>(),
     .out = true},

    {.schema = "repeat(Tensor self, SymInt[] repeats) -> Tensor",
     .doc = "The tensor copied several times along each dimension.",
     .all = kernel<&repeat_kernel>(),
     .saves = "repeats",
     .grad =
         [](Grad& g) {
           Repeated r = repeated(g.sizes(0), g.arg(1).ints());
           Tensor t = reshape(G, r.apart);
           g.set(0, reshape(r.copies.empty() ? t : sum(t, r.copies), g.sizes(0)));
         },
     .out = true},
    {.schema = "tile(Tensor self, SymInt[] dims) -> Tensor",
     .doc = "The tensor repeated along each dimension.",
     .composite = kernel<&tile>()},
    {.schema = "repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? output_size=None) "
               "-> Tensor",
     .doc = "Each element repeated in place.",
     .composite = kernel<&repeat_interleave_each>()},
    {.schema = "repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size=None) -> "
               "Tensor",
     .composite = kernel<&repeat_interleave_int>()},
    {.schema = "repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor",
     .decomposition = kernel<&repeat_interleave_by_scan>(),
     .differentiable = false},
    {.schema = "meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]",
     .doc = "Coordinate grids from vectors of coordinates.",
     .composite = kernel<&meshgrid_indexing>()},
    {.schema = "meshgrid(Tensor[] tensors) -> Tensor[]", .composite = kernel<&meshgrid>()},
    {.schema = "cartesian_prod(Tensor[] tensors) -> Tensor",
     .doc = "All combinations of the elements of vectors, one row each.",
     .composite = kernel<&cartesian_prod>()},

    {.schema = "diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor",
     .doc = "Matrices with the last dimension on their diagonal.",
     .all = kernel<&diag_embed>(),
     .saves = "offset dim1 dim2",
     .grad =
         [](Grad& g) {
           g.set(0, call<"aten::diagonal", Tensor>(G, g.arg(1).integer(), g.arg(2).integer(), g.arg(3).integer()));
         },
     .out = true},
    {.schema = "diag(Tensor self, int diagonal=0) -> Tensor",
     .doc = "The diagonal of a matrix, or a matrix with a vector on its diagonal.",
     .composite = kernel<&diag>(),
     .out = true},
    {.schema = "tril(Tensor self, SymInt diagonal=0) -> Tensor",
     .doc = "The lower triangle of matrices, zeros above.",
     .meta = kernel<&triangle_shape<true>>(),
     .decomposition = kernel<&triangle_decomposition<true>>(),
     .saves = "diagonal",
     .grad = [](Grad& g) { g.set(0, call<"aten::tril", Tensor>(G, g.arg(1).integer())); },
     .in_place = true,
     .out = true,
     .partial = "self"},
    {.schema = "triu(Tensor self, SymInt diagonal=0) -> Tensor",
     .doc = "The upper triangle of matrices, zeros below.",
     .meta = kernel<&triangle_shape<false>>(),
     .decomposition = kernel<&triangle_decomposition<false>>(),
     .saves = "diagonal",
     .grad = [](Grad& g) { g.set(0, call<"aten::triu", Tensor>(G, g.arg(1).integer())); },
     .in_place = true,
     .out = true,
     .partial = "self"},

    {.schema = "constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor",
     .doc = "The tensor with a border of one value.",
     .all = kernel<&constant_pad_kernel>(),
     .saves = "pad",
     .grad =
         [](Grad& g) {
           Dims back(g.arg(1).ints());
           for (int64_t& p : back) p = -p;
           g.set(0, call<"aten::constant_pad_nd", Tensor>(G, back, Scalar(0)));
         },
     .out = true},
    {.schema = "reflection_pad1d(Tensor self, SymInt[2] padding) -> Tensor",
     .doc = "Sequences with a border mirrored from inside.",
     .all = kernel<&pad_kernel<kReflect>>(),
     .saves = "padding",
     .grad = pad_grad<kReflect>,
     .out = true,
     .cpu_autocast = Autocast::Float32},
    {.schema = "reflection_pad2d(Tensor self, SymInt[4] padding) -> Tensor",
     .doc = "Images with a border mirrored from inside.",
     .all = kernel<&pad_kernel<kReflect>>(),
     .saves = "padding",
     .grad = pad_grad<kReflect>,
     .out = true,
     .cpu_autocast = Autocast::Float32},
    {.schema = "reflection_pad3d(Tensor self, SymInt[6] padding) -> Tensor",
     .doc = "Volumes with a border mirrored from inside.",
     .all = kernel<&pad_kernel<kReflect>>(),
     .saves = "padding",
     .grad = pad_grad<kReflect>,
     .out = true},
    {.schema = "replication_pad1d(Tensor self, SymInt[2] padding) -> Tensor",
     .doc = "Sequences with a border that repeats the edge.",
     .all = kernel<&pad_kernel<kReplicate>>(),
     .saves = "padding",
     .grad = pad_grad<kReplicate>,
     .out = true,
     .cpu_autocast = Autocast::Float32},
    {.schema = "replication_pad2d(Tensor self, SymInt[4] padding) -> Tensor",
     .doc = "Images with a border that repeats the edge.",
     .all = kernel<&pad_kernel<kReplicate>>(),
     .saves = "padding",
     .grad = pad_grad<kReplicate>,
     .out = true,
     .cpu_autocast = Autocast::Float32},
    {.schema = "replication_pad3d(Tensor self, SymInt[6] padding) -> Tensor",
     .doc = "Volumes with a border that repeats the edge.",
     .all = kernel<&pad_kernel<kReplicate>>(),
     .saves = "padding",
     .grad = pad_grad<kReplicate>,
     .out = true,
     .cpu_autocast = Autocast::Float32},
    {.schema = "_pad_circular(Tensor self, SymInt[] pad) -> Tensor",
     .all = kernel<&pad_kernel<kCircular>>(),
     .saves = "pad",
     .grad = pad_grad<kCircular>,
     .hidden = true},
    {.schema = "facula::pad_edges(Tensor self, int[] pad, int mode) -> Tensor",
     .all = kernel<&pad_edges>(),
     .saves = "pad mode",
     .grad =
         [](Grad& g) {
           g.set(0, call<"facula::pad_edges_backward", Tensor>(G, g.sizes(0), g.arg(1).ints(), g.arg(2).integer()));
         },
     .hidden = true},
    {.schema = "facula::pad_edges_backward(Tensor grad_output, int[] sizes, int[] pad, int mode) -> Tensor",
     .all = kernel<&pad_edges_backward>(),
     .saves = "pad mode",
     .grad = [](Grad& g) { g.set(0, call<"facula::pad_edges", Tensor>(G, g.arg(2).ints(), g.arg(3).integer())); },
     .hidden = true},
    {.schema = "pad(Tensor self, SymInt[] pad, str mode=\"constant\", float? value=None) -> Tensor",
     .doc = "The tensor with a border: of a value, or reflected, replicated or wrapped from inside.",
     .composite = kernel<&pad_any>()},
};
#undef G

}  // namespace

void define_shape() { define_all(defs); }

}  // namespace fc
