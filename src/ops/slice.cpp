// SPDX-License-Identifier: Apache-2.0
// Views of a part: one index, a range, a diagonal, windows, pieces. What a part leaves out gets no gradient: the
// *_backward operators put a part back into zeros.
#include <algorithm>

#include "define/calls.h"
#include "define/row.h"
#include "ops/register.h"
#include "plan/pointwise.h"
#include "plan/shape.h"

namespace fc {
namespace {

#define G (g.out())

// --- one index, a range

Tensor select_kernel(const Tensor& self, int64_t dim, int64_t index) {
  FC_CHECK_AS(IndexError, self.dim() > 0, "select() cannot be applied to a 0-dim tensor.");
  size_t d = static_cast<size_t>(wrap_dim(dim, self.dim(), "select"));
  int64_t size = self.sizes()[d];
  FC_CHECK_AS(IndexError, index >= -size && index < size, "select(): index ", index,
              " out of range for tensor of size ", self.sizes(), ": it is out of bounds for dimension ", d,
              " with size ", size);
  if (index < 0) index += size;
  Dims sizes(self.sizes()), strides(self.strides());
  sizes.erase(d);
  strides.erase(d);
  return make_view(self, sizes, strides, self.offset() + index * self.strides()[d]);
}

Tensor slice_kernel(const Tensor& self, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end,
                    int64_t step) {
  FC_CHECK(self.dim() > 0, "slice() cannot be applied to a 0-dim tensor.");
  FC_CHECK(step > 0, "slice step must be positive, got ", step);
  size_t d = static_cast<size_t>(wrap_dim(dim, self.dim(), "slice"));
  SliceRange r = slice_range(self.sizes()[d], start, end, step);
  Dims sizes(self.sizes()), strides(self.strides());
  sizes[d] = r.length;
  strides[d] = scale_stride(strides[d], step);
  return make_view(self, sizes, strides, self.offset() + r.start * self.strides()[d]);
}

Tensor narrow_kernel(const Tensor& self, int64_t dim, int64_t start, int64_t length) {
  FC_CHECK(self.dim() > 0, "narrow() cannot be applied to a 0-dim tensor.");
  FC_CHECK(length >= 0, "narrow(): length must be non-negative, got ", length);
  dim = wrap_dim(dim, self.dim(), "narrow");
  int64_t size = self.size(dim);
  FC_CHECK_AS(IndexError, start >= -size && start <= size, "narrow: start out of range (expected to be in range of [",
              -size, ", ", size, "], but got ", start, ")");
  if (start < 0) start += size;
  FC_CHECK(length <= size - start, "narrow: start (", start, ") + length (", length, ") exceeds dimension size (", size,
           ").");
  return slice(self, dim, start, start + length);
}
Tensor narrow_at(const Tensor& self, int64_t dim, const Tensor& start, int64_t length) {
  FC_CHECK(start.dim() == 0 && is_integral(start.dtype(), false), "narrow: start must be an 0-dim integral Tensor.");
  return narrow_kernel(self, dim, call<"aten::_local_scalar_dense", Scalar>(start).to_int(), length);
}

Tensor zeros_with(const Tensor& gradient, IntSpan sizes) {
  return zero_(empty_tensor(sizes, gradient.dtype(), gradient.device()));
}

Tensor select_backward(const Tensor& grad, IntSpan sizes, int64_t dim, int64_t index) {
  Tensor all = zeros_with(grad, sizes);
  copy_(select_kernel(all, dim, index), grad);
  return all;
}
Tensor slice_backward(const Tensor& grad, IntSpan sizes, int64_t dim, int64_t start, int64_t end, int64_t step) {
  Tensor all = zeros_with(grad, sizes);
  copy_(slice_kernel(all, dim, start, end, step), grad);
  return all;
}

// --- diagonals

Tensor diagonal_kernel(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  FC_CHECK_AS(IndexError, self.dim() >= 2,
              "diagonal: Dimension out of range: expected a tensor with at least 2 dimensions, got ", self.dim());
  size_t a = static_cast<size_t>(wrap_dim(dim1, self.dim(), "diagonal")),
         b = static_cast<size_t>(wrap_dim(dim2, self.dim(), "diagonal"));
  FC_CHECK(a != b, "diagonal dimensions cannot be identical ", dim1, ", ", dim2);
  int64_t rows = self.sizes()[a], columns = self.sizes()[b];
  int64_t length =
      std::max<int64_t>(offset >= 0 ? std::min(rows, columns - offset) : std::min(rows + offset, columns), 0);
  int64_t start = self.offset();
  if (length > 0) start += offset >= 0 ? offset * self.strides()[b] : -offset * self.strides()[a];
  Dims sizes(self.sizes()), strides(self.strides());
  int64_t step = strides[a] + strides[b];
  for (size_t d : {std::max(a, b), std::min(a, b)}) {
    sizes.erase(d);
    strides.erase(d);
  }
  sizes.push_back(length);
  strides.push_back(step);
  return make_view(self, sizes, strides, start);
}

// The main diagonal of a matrix, which with `wrap` starts again below a tall one's end; of more dimensions if all are
// of one size.
Tensor fill_diagonal(const Tensor& self, const Scalar& value, bool wrap) {
  FC_CHECK(self.dim() >= 2, "fill_diagonal_: dimensions must be larger than 1, but got ", self.sizes());
  int64_t step = 0, length = self.size(0);
  for (size_t d = 0; d < self.sizes().size(); ++d) {
    FC_CHECK(self.dim() == 2 || self.sizes()[d] == length,
             "fill_diagonal_: all dimensions of input must be of equal length, but got ", self.sizes());
    step += self.strides()[d];
    length = std::min(length, self.sizes()[d]);
  }
  auto line = [&](int64_t n, int64_t from) {
    return call<"aten::as_strided", Tensor>(self, Dims{n}, Dims{step}, std::optional(self.offset() + from));
  };
  fill_(line(length, 0), value);
  const int64_t rows = self.size(0), columns = self.size(1);
  if (wrap && self.dim() == 2 && columns > 0 && rows > columns + 1)
    for (int64_t row = columns + 1; row < rows; row += columns + 1)
      fill_(line(std::min(columns, rows - row), row * self.stride(0)), value);
  return self;
}

Tensor diagonal_backward(const Tensor& grad, IntSpan sizes, int64_t offset, int64_t dim1, int64_t dim2) {
  Tensor all = zeros_with(grad, sizes);
  copy_(diagonal_kernel(all, offset, dim1, dim2), grad);
  return all;
}

// --- windows

Tensor unfold_kernel(const Tensor& self, int64_t dim, int64_t size, int64_t step) {
  size_t d = static_cast<size_t>(wrap_dim(dim, self.dim(), "unfold"));
  int64_t length = self.dim() ? self.sizes()[d] : 1;
  FC_CHECK(size >= 0, "unfold: size is ", size, " but must be >= 0");
  FC_CHECK(size <= length, "unfold: maximum size for tensor at dimension ", d, " is ", length, " but size is ", size);
  FC_CHECK(step > 0, "unfold: step is ", step, " but must be > 0");
  Dims sizes(self.sizes()), strides(self.strides());
  int64_t stride = self.dim() ? strides[d] : 1;
  if (self.dim()) {
    sizes[d] = (length - size) / step + 1;
    strides[d] = scale_stride(stride, step);
  }
  sizes.push_back(size);
  strides.push_back(stride);
  return make_view(self, sizes, strides, self.offset());
}

// Windows may overlap: their gradients are added one position of the window at a time, always in the same order.
Tensor unfold_backward(const Tensor& grad, IntSpan sizes, int64_t dim, int64_t size, int64_t step) {
  Tensor all = zeros_with(grad, sizes);
  const Tensor seen = unfold_kernel(all, dim, size, step);
  FC_CHECK(Dims::same(grad.sizes(), seen.sizes()), "unfold_backward: expected a gradient of size ", seen.sizes(),
           ", but got ", grad.sizes());
  if (sizes.empty()) return size == 0 ? all : copy_(all, select(grad, -1, 0));
  if (grad.numel() == 0 || grad.device().is_meta()) return all;  // windows may have any number of positions
  dim = wrap_dim(dim, static_cast<int64_t>(sizes.size()), "unfold_backward");
  int64_t windows = grad.size(dim);
  for (int64_t i = 0; i < size; ++i) add_(slice(all, dim, i, i + (windows - 1) * step + 1, step), select(grad, -1, i));
  return all;
}

// --- any strides

Tensor as_strided_kernel(const Tensor& self, IntSpan size, IntSpan stride, std::optional<int64_t> offset,
                         IntSpan self_stride, int64_t self_offset) {
  int64_t start = offset.value_or(self.offset());
  FC_CHECK(Dims::same(self_stride, self.strides()) && self_offset == self.offset(), "_as_strided: self_stride ",
           self_stride, " and self_offset ", self_offset, " are not those of self: ", self.strides(), " and ",
           self.offset());
  check_in_storage("as_strided", size, stride, start, self.dtype(), self.impl().storage()->bytes());
  return make_view(self, size, stride, start);
}

// The derivative needs to know how self itself lies in memory, so the recorded operator is told.
Tensor as_strided_public(const Tensor& self, IntSpan size, IntSpan stride, std::optional<int64_t> offset) {
  return call<"aten::_as_strided", Tensor>(self, size, stride, offset.value_or(self.offset()), self.strides(),
                                           self.offset());
}

Tensor as_strided_in_place(const Tensor& self, IntSpan size, IntSpan stride, std::optional<int64_t> offset) {
  int64_t start = offset.value_or(self.offset());
  check_in_storage("as_strided_", size, stride, start, self.dtype(), self.impl().storage()->bytes());
  self.impl().set_geometry(size, stride, start);
  return self;
}

// Which element of a range of memory each element of a geometry is, flattened.
Tensor positions(int64_t span, IntSpan size, IntSpan stride, int64_t offset, Device device) {
  Tensor all = call<"aten::arange", Tensor>(Scalar(span), DType::Int64, nullptr, device, nullptr);
  return reshape(make_view(all, size, stride, offset), Dims{-1});
}

// Gradients gather in a stretch of memory, where several elements of the view may meet; from there each element of
// self takes what lies in its place. Positions that several elements of self share are divided among them.
void as_strided_grad(Grad& g) {
  IntSpan size = g.arg(1).ints(), stride = g.arg(2).ints(), self_stride = g.arg(4).ints(), self_size = g.sizes(0);
  int64_t offset = g.arg(3).integer(), self_offset = g.arg(5).integer();
  int64_t first = std::min(offset, self_offset);
  auto end = [first](IntSpan n, IntSpan s, int64_t o) {
    return static_cast<int64_t>(storage_bytes_needed(n, s, o - first, DType::UInt8));
  };
  int64_t span = std::max(end(size, stride, offset), end(self_size, self_stride, self_offset));
  Tensor memory = zeros(Dims{span}, G.dtype(), G.device());
  auto index_add = [](const Tensor& to, const Tensor& index, const Tensor& what) {
    return call<"aten::index_add", Tensor>(to, 0, index, what, Scalar(1));
  };
  if (G.numel() > 0)
    memory = index_add(memory, positions(span, size, stride, offset - first, G.device()), reshape(G, Dims{-1}));
  Tensor mine = positions(span, self_size, self_stride, self_offset - first, G.device());
  Tensor one = full(Dims{1}, 1, G.dtype(), G.device());
  Tensor shares = index_add(zeros(Dims{span}, G.dtype(), G.device()), mine, expand(one, mine.sizes()));
  Tensor taken = call<"aten::index_select", Tensor>(div(memory, masked_fill(shares, eq(shares, 0), 1)), 0, mine);
  g.set(0, reshape(taken, self_size));
}

// --- pieces

std::vector<Tensor> pieces(const Tensor& self, IntSpan sizes, int64_t dim) {
  std::vector<Tensor> out;
  out.reserve(sizes.size());
  int64_t at = 0;
  for (int64_t n : sizes) {
    out.push_back(slice_kernel(self, dim, at, at + n, 1));
    at += n;
  }
  return out;
}

// Pieces are tensors of their own. Where they are many, the allocator is asked for as much memory before any is made:
// it refuses with a text.
void check_pieces(const char* op, int64_t count) {
  FC_CHECK(count <= INT32_MAX, op, ": ", count, " pieces are more than memory can hold");
  if (count > 1 << 20) empty_tensor(Dims{count, 2 * static_cast<int64_t>(sizeof(TensorImpl))}, DType::UInt8, Device{});
}

// How split(size) cuts a dimension of n elements.
Dims equal_pieces(int64_t n, int64_t size) {
  int64_t count = size == 0 ? 1 : std::max<int64_t>(n / size + (n % size != 0), 1);
  check_pieces("split", count);
  Dims sizes(static_cast<size_t>(count), size);
  sizes.back() = n - size * (count - 1);
  return sizes;
}

std::vector<Tensor> split_kernel(const Tensor& self, int64_t size, int64_t dim) {
  FC_CHECK(self.dim() > 0, "split expects at least a 1-dimensional tensor");
  FC_CHECK(size >= 0, "split expects split_size be non-negative, but got split_size=", size);
  dim = wrap_dim(dim, self.dim(), "split");
  int64_t n = self.size(dim);
  FC_CHECK(size > 0 || n == 0, "split: split_size can only be 0 if dimension size is 0, but got dimension size of ", n);
  return pieces(self, equal_pieces(n, size), dim);
}

std::vector<Tensor> split_with_sizes(const Tensor& self, IntSpan sizes, int64_t dim) {
  FC_CHECK(self.dim() > 0, "split_with_sizes expects at least a 1-dimensional tensor");
  dim = wrap_dim(dim, self.dim(), "split_with_sizes");
  int64_t n = self.size(dim), sum = 0;
  bool overflow = false;
  for (int64_t s : sizes) {
    FC_CHECK(s >= 0,
             "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes=", sizes);
    overflow |= __builtin_add_overflow(sum, s, &sum);
  }
  FC_CHECK(sum == n && !overflow, "split_with_sizes expects split_sizes to sum exactly to ", n,
           " (input tensor's size at dimension ", dim, "), but got split_sizes=", sizes);
  return pieces(self, sizes, dim);
}
std::vector<Tensor> split_sizes(const Tensor& self, IntSpan sizes, int64_t dim) {
  return call<"aten::split_with_sizes", std::vector<Tensor>>(self, sizes, dim);
}

std::vector<Tensor> chunk(const Tensor& self, int64_t chunks, int64_t dim) {
  FC_CHECK(self.dim() > 0, "chunk expects at least a 1-dimensional tensor");
  FC_CHECK(chunks > 0, "chunk expects `chunks` to be greater than 0, got: ", chunks);
  dim = wrap_dim(dim, self.dim(), "chunk");
  int64_t n = self.size(dim);
  if (n == 0) {
    check_pieces("chunk", chunks);
    return split_sizes(self, Dims(static_cast<size_t>(chunks)), dim);
  }
  return call<"aten::split.Tensor", std::vector<Tensor>>(self, n / chunks + (n % chunks != 0), dim);
}

std::vector<Tensor> split_at(const Tensor& self, IntSpan indices, int64_t dim) {
  FC_CHECK(self.dim() > 0, "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims");
  dim = wrap_dim(dim, self.dim(), "tensor_split");
  std::vector<Tensor> out;
  int64_t at = 0;
  for (int64_t i : indices) {
    out.push_back(slice(self, dim, at, i));
    at = i;
  }
  out.push_back(slice(self, dim, at, {}));
  return out;
}
std::vector<Tensor> split_sections(const Tensor& self, int64_t sections, int64_t dim) {
  FC_CHECK(self.dim() > 0, "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims");
  FC_CHECK(sections > 0, "tensor_split: number of sections must be larger than 0, got ", sections);
  check_pieces("tensor_split", sections);
  dim = wrap_dim(dim, self.dim(), "tensor_split");
  int64_t n = self.size(dim);
  Dims cuts;
  for (int64_t i = 1; i < sections; ++i) cuts.push_back(i * (n / sections) + std::min(i, n % sections));
  return split_at(self, cuts, dim);
}
std::vector<Tensor> split_by_tensor(const Tensor& self, const Tensor& where, int64_t dim) {
  FC_CHECK(where.dtype() == DType::Int64 && where.dim() <= 1,
           "tensor_split expected tensor_indices_or_sections to be a zero- or one-dimensional int64 tensor, got ",
           where.dtype(), " with ", where.dim(), " dims");
  Tensor host = contiguous(
      call<"aten::to.device", Tensor>(where, Device{}, DType::Int64, false, false, std::optional<MemoryFormat>()));
  const auto* v = host.data_as<int64_t>();
  return where.dim() == 0 ? split_sections(self, *v, dim) : split_at(self, {v, static_cast<size_t>(host.numel())}, dim);
}

// hsplit, vsplit, dsplit: equal parts along one fixed dimension.
int64_t split_dim(const char* op, const Tensor& self, int64_t least, int64_t dim) {
  FC_CHECK(self.dim() >= least, op, " requires a tensor with at least ", least, " dimension but got a tensor with ",
           self.dim(), " dimensions!");
  return self.dim() == 1 ? 0 : dim;
}
std::vector<Tensor> equal_sections(const char* op, const Tensor& self, int64_t sections, int64_t dim) {
  FC_CHECK(sections > 0 && self.size(dim) % sections == 0, op, " attempted to split along dimension ", dim,
           ", but the size of the dimension ", self.size(dim), " is not divisible by the split_size ", sections, "!");
  return split_sections(self, sections, dim);
}
std::vector<Tensor> hsplit(const Tensor& self, int64_t n) {
  return equal_sections("torch.hsplit", self, n, split_dim("torch.hsplit", self, 1, 1));
}
std::vector<Tensor> vsplit(const Tensor& self, int64_t n) {
  return equal_sections("torch.vsplit", self, n, split_dim("torch.vsplit", self, 2, 0));
}
std::vector<Tensor> dsplit(const Tensor& self, int64_t n) {
  return equal_sections("torch.dsplit", self, n, split_dim("torch.dsplit", self, 3, 2));
}
std::vector<Tensor> hsplit_at(const Tensor& self, IntSpan at) {
  return split_at(self, at, split_dim("torch.hsplit", self, 1, 1));
}
std::vector<Tensor> vsplit_at(const Tensor& self, IntSpan at) {
  return split_at(self, at, split_dim("torch.vsplit", self, 2, 0));
}
std::vector<Tensor> dsplit_at(const Tensor& self, IntSpan at) {
  return split_at(self, at, split_dim("torch.dsplit", self, 3, 2));
}

std::vector<Tensor> unbind_kernel(const Tensor& self, int64_t dim) {
  FC_CHECK_AS(IndexError, self.dim() > 0, "unbind: Dimension specified as ", dim, " but tensor has no dimensions");
  dim = wrap_dim(dim, self.dim(), "unbind");
  check_pieces("unbind", self.size(dim));
  std::vector<Tensor> out;
  for (int64_t i = 0; i < self.size(dim); ++i) out.push_back(select_kernel(self, dim, i));
  return out;
}

std::vector<Tensor> broadcast_tensors(TensorSpan tensors) {
  Dims shape;
  for (const Tensor& t : tensors) shape = broadcast_shapes("broadcast_tensors", shape, t.sizes());
  std::vector<Tensor> out;
  for (const Tensor& t : tensors) out.push_back(expand(t, shape));
  return out;
}

// Gradients of pieces, put together again; a piece that nothing flows into counts as zeros.
void join_grad(Grad& g, IntSpan sizes, int64_t dim) {
  Dims shape(g.sizes(0));
  size_t d = static_cast<size_t>(wrap_dim(dim, static_cast<int64_t>(shape.size())));
  std::vector<Tensor> parts;
  for (size_t i = 0; i < sizes.size(); ++i) {
    shape[d] = sizes[i];
    const Tensor& part = g.out(static_cast<int>(i));
    parts.push_back(part.defined() ? part : zeros(shape, g.dtype(0), g.device(0)));
  }
  g.set(0, cat(parts, static_cast<int64_t>(d)));
}

constexpr OpDef defs[] = {
    {.schema = "select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)",
     .doc = "A view of one index along a dimension.",
     .all = kernel<&select_kernel>(),
     .saves = "dim index",
     .grad =
         [](Grad& g) {
           g.set(0, call<"aten::select_backward", Tensor>(G, g.sizes(0), g.arg(1).integer(), g.arg(2).integer()));
         },
     .view_copy = true},
    {.schema = "select_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt index) -> Tensor",
     .all = kernel<&select_backward>(),
     .saves = "dim index",
     .grad = [](Grad& g) { g.set(0, select(G, g.arg(2).integer(), g.arg(3).integer())); },
     .hidden = true},
    {.schema =
         "slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)",
     .all = kernel<&slice_kernel>(),
     .saves = "dim start end step",
     .grad =
         [](Grad& g) {
           int64_t dim = g.arg(1).integer(),
                   size = g.sizes(0)[static_cast<size_t>(wrap_dim(dim, static_cast<int64_t>(g.sizes(0).size())))];
           int64_t start = g.arg(2).is_none() ? 0 : g.arg(2).integer(),
                   end = g.arg(3).is_none() ? size : g.arg(3).integer();
           g.set(0, call<"aten::slice_backward", Tensor>(G, g.sizes(0), dim, start, end, g.arg(4).integer()));
         },
     .view_copy = true,
     .hidden = true},
    {.schema = "slice_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt start, SymInt end, SymInt "
               "step) -> Tensor",
     .all = kernel<&slice_backward>(),
     .saves = "dim start end step",
     .grad =
         [](Grad& g) {
           g.set(0, slice(G, g.arg(2).integer(), g.arg(3).integer(), g.arg(4).integer(), g.arg(5).integer()));
         },
     .hidden = true},
    {.schema = "narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)",
     .doc = "A view of length elements from start along a dimension.",
     .composite = kernel<&narrow_kernel>(),
     .view_copy = true},
    {.schema = "narrow.Tensor(Tensor(a) self, int dim, Tensor start, SymInt length) -> Tensor(a)",
     .composite = kernel<&narrow_at>()},

    {.schema = "fill_diagonal_(Tensor(a!) self, Scalar fill_value, bool wrap=False) -> Tensor(a!)",
     .doc = "Sets the main diagonal to a value.",
     .composite = kernel<&fill_diagonal>()},
    {.schema = "diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)",
     .doc = "A view of the diagonal between two dimensions.",
     .all = kernel<&diagonal_kernel>(),
     .saves = "offset dim1 dim2",
     .grad =
         [](Grad& g) {
           g.set(0, call<"aten::diagonal_backward", Tensor>(G, g.sizes(0), g.arg(1).integer(), g.arg(2).integer(),
                                                            g.arg(3).integer()));
         },
     .view_copy = true},
    {.schema = "diagonal_backward(Tensor grad_output, SymInt[] input_sizes, int offset, int dim1, int dim2) -> Tensor",
     .all = kernel<&diagonal_backward>(),
     .saves = "offset dim1 dim2",
     .grad =
         [](Grad& g) {
           g.set(0, call<"aten::diagonal", Tensor>(G, g.arg(2).integer(), g.arg(3).integer(), g.arg(4).integer()));
         },
     .hidden = true},
    {.schema = "unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)",
     .doc = "A view of sliding windows along a dimension.",
     .all = kernel<&unfold_kernel>(),
     .saves = "dimension size step",
     .grad =
         [](Grad& g) {
           g.set(0, call<"aten::unfold_backward", Tensor>(G, g.sizes(0), g.arg(1).integer(), g.arg(2).integer(),
                                                          g.arg(3).integer()));
         },
     .view_copy = true},
    {.schema = "unfold_backward(Tensor grad_in, SymInt[] input_sizes, int dim, int size, int step) -> Tensor",
     .all = kernel<&unfold_backward>(),
     .saves = "dim size step",
     .grad =
         [](Grad& g) {
           g.set(0, call<"aten::unfold", Tensor>(G, g.arg(2).integer(), g.arg(3).integer(), g.arg(4).integer()));
         },
     .hidden = true},
    {.schema = "as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)",
     .doc = "A view of the same storage with the given sizes, strides and offset.",
     .composite = kernel<&as_strided_public>(),
     .view_copy = true},
    {.schema = "_as_strided(Tensor(a) self, int[] size, int[] stride, int? storage_offset, int[] self_stride, int "
               "self_offset) -> Tensor(a)",
     .all = kernel<&as_strided_kernel>(),
     .saves = "size stride storage_offset self_stride self_offset",
     .grad = as_strided_grad,
     .hidden = true},
    {.schema =
         "as_strided_(Tensor(a!) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a!)",
     .all = kernel<&as_strided_in_place>(),
     .differentiable = false,
     .writes = Writes::Geometry},

    {.schema = "split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]",
     .doc = "The tensor cut into parts of the given sizes, as views.",
     .all = kernel<&split_kernel>(),
     .saves = "split_size dim",
     .grad =
         [](Grad& g) {
           int64_t dim = wrap_dim(g.arg(2).integer(), static_cast<int64_t>(g.sizes(0).size()));
           join_grad(g, equal_pieces(g.sizes(0)[static_cast<size_t>(dim)], g.arg(1).integer()), dim);
         },
     .view_copy = true},
    {.schema = "split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]",
     .doc = "The tensor cut into parts of the given sizes, as views.",
     .all = kernel<&split_with_sizes>(),
     .saves = "split_sizes dim",
     .grad = [](Grad& g) { join_grad(g, g.arg(1).ints(), g.arg(2).integer()); },
     .view_copy = true},
    {.schema = "split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]",
     .composite = kernel<&split_sizes>()},
    {.schema = "chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]",
     .doc = "The tensor cut into at most the given number of parts, as views.",
     .composite = kernel<&chunk>()},
    {.schema = "tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> Tensor(a)[]",
     .doc = "The tensor cut into parts as equal as possible, or at the given indices, as views.",
     .composite = kernel<&split_sections>()},
    {.schema = "tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> Tensor(a)[]",
     .composite = kernel<&split_at>()},
    {.schema = "tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, Tensor tensor_indices_or_sections, int "
               "dim=0) -> Tensor(a)[]",
     .composite = kernel<&split_by_tensor>()},
    {.schema = "hsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]",
     .doc = "The tensor cut into parts side by side, as views.",
     .composite = kernel<&hsplit>()},
    {.schema = "hsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]", .composite = kernel<&hsplit_at>()},
    {.schema = "vsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]",
     .doc = "The tensor cut into parts above each other, as views.",
     .composite = kernel<&vsplit>()},
    {.schema = "vsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]", .composite = kernel<&vsplit_at>()},
    {.schema = "dsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]",
     .doc = "The tensor cut along its third dimension, as views.",
     .composite = kernel<&dsplit>()},
    {.schema = "dsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]", .composite = kernel<&dsplit_at>()},
    {.schema = "unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]",
     .doc = "Views of all indices along a dimension.",
     .all = kernel<&unbind_kernel>(),
     .saves = "dim",
     .grad =
         [](Grad& g) {
           Dims shape(g.sizes(0));
           size_t dim = static_cast<size_t>(wrap_dim(g.arg(1).integer(), static_cast<int64_t>(shape.size())));
           int64_t n = shape[dim];
           shape.erase(dim);
           std::vector<Tensor> parts;
           for (int i = 0; i < n; ++i)
             parts.push_back(g.out(i).defined() ? g.out(i) : zeros(shape, g.dtype(0), g.device(0)));
           g.set(0, stack(parts, static_cast<int64_t>(dim)));
         },
     .view_copy = true},
    {.schema = "broadcast_tensors(Tensor[] tensors) -> Tensor[]",
     .doc = "The tensors expanded to their common shape, as views.",
     .composite = kernel<&broadcast_tensors>()},
};
#undef G

}  // namespace

void define_part() { define_all(defs); }

}  // namespace fc
