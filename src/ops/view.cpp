// SPDX-License-Identifier: Apache-2.0
// Views: other shapes over the same memory. A kernel here computes a geometry and nothing else, so it runs on every
// device. What a view leaves out gets no gradient: the *_backward operators put a part back into zeros.
#include <algorithm>

#include "define/calls.h"
#include "define/row.h"
#include "ops/register.h"
#include "plan/shape.h"

namespace fc {
namespace {

#define G (g.out())

struct Geometry {
  Dims sizes, strides;
};

Tensor with_strides(const Tensor& t, IntSpan sizes, IntSpan strides) {
  return make_view(t, sizes, strides, t.offset());
}

// --- other sizes, same elements

Tensor view_kernel(const Tensor& self, IntSpan size) {
  Dims shape = infer_shape("view", size, self.numel());
  std::optional<Dims> strides = view_strides(self.sizes(), self.strides(), shape);
  FC_CHECK(strides,
           "view size is not compatible with input tensor's size and stride (at least one dimension spans "
           "across two contiguous subspaces). Use .reshape(...) instead. view: size ",
           shape, " of a tensor with sizes ", self.sizes(), " and strides ", self.strides());
  return with_strides(self, shape, *strides);
}

Tensor unsafe_view(const Tensor& self, IntSpan size) {
  Tensor v = view_kernel(self, size);
  return shallow_copy(v, false);  // the tensor it was made from is gone, so nobody sees the sharing
}

Tensor reshape_kernel(const Tensor& self, IntSpan size) {
  Dims shape = infer_shape("reshape", size, self.numel());
  if (view_strides(self.sizes(), self.strides(), shape)) return view(self, shape);
  return call<"aten::_unsafe_view", Tensor>(clone(self, MemoryFormat::Contiguous), shape);
}

Tensor view_as(const Tensor& self, const Tensor& other) { return view(self, other.sizes()); }
Tensor reshape_as(const Tensor& self, const Tensor& other) { return reshape(self, other.sizes()); }

Tensor flatten(const Tensor& self, int64_t start, int64_t end) {
  start = wrap_dim(start, self.dim(), "flatten");
  end = wrap_dim(end, self.dim(), "flatten");
  FC_CHECK(start <= end, "flatten() has invalid args: start_dim cannot come after end_dim: start_dim ", start,
           ", end_dim ", end);
  if (self.dim() == 0) return reshape(self, Dims{1});
  if (start == end) return self;
  size_t first = static_cast<size_t>(start), last = static_cast<size_t>(end);
  Dims shape(self.sizes().first(first));
  shape.push_back(checked_numel(self.sizes().subspan(first, last - first + 1)));
  for (int64_t n : self.sizes().subspan(last + 1)) shape.push_back(n);
  return reshape(self, shape);
}

Tensor unflatten(const Tensor& self, int64_t dim, IntSpan sizes) {
  dim = wrap_dim(dim, self.dim(), "unflatten");
  FC_CHECK(!sizes.empty(), "unflatten: sizes must be non-empty");
  int64_t n = self.dim() ? self.size(dim) : 1, known = 1, unknown = 0;
  bool overflow = false;
  for (int64_t s : sizes) {
    if (s == -1) ++unknown;
    else overflow |= __builtin_mul_overflow(known, s, &known);
  }
  FC_CHECK(unknown <= 1, "unflatten: only one dimension can be inferred, got ", sizes);
  FC_CHECK(!overflow && (unknown ? known > 0 && n % known == 0 : known == n), "unflatten: Provided sizes ", sizes,
           " don't multiply up to the size of dim ", dim, " (", n, ") in the input tensor");
  Dims shape;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (d != dim) shape.push_back(self.size(d));
    else
      for (int64_t s : sizes) shape.push_back(s == -1 ? n / known : s);
  }
  return view(self, self.dim() ? shape : Dims(sizes));
}

Tensor ravel(const Tensor& self) { return view(contiguous(self), Dims{-1}); }

Tensor at_least(const Tensor& self, int64_t n) {
  switch (n - self.dim()) {
    case 3: return reshape(self, Dims{1, 1, 1});
    case 2: return n == 3 ? unsqueeze(unsqueeze(self, 0), 2) : reshape(self, Dims{1, 1});
    case 1: return n == 1 ? reshape(self, Dims{1}) : unsqueeze(self, n == 3 ? 2 : 0);
    default: return self;
  }
}
template <int64_t n>
Tensor at_least_one(const Tensor& self) {
  return at_least(self, n);
}
template <int64_t n>
std::vector<Tensor> at_least_each(TensorSpan tensors) {
  std::vector<Tensor> out;
  for (const Tensor& t : tensors) out.push_back(at_least(t, n));
  return out;
}

// --- other element types

Tensor view_dtype(const Tensor& self, DType dtype) {
  int64_t from = static_cast<int64_t>(item_size(self.dtype())), to = static_cast<int64_t>(item_size(dtype));
  if (from == to) return make_view(self, self.sizes(), self.strides(), self.offset(), dtype);
  auto what = [&] {
    return str(" to view ", info(self.dtype()).legacy, " as ", info(dtype).legacy, " (different element sizes)");
  };
  FC_CHECK(self.dim() > 0, "view: self.dim() cannot be 0", what());
  FC_CHECK(self.stride(-1) == 1 || self.numel() == 0, "view: self.stride(-1) must be 1", what(), ", but got ",
           self.stride(-1));
  Dims sizes(self.sizes()), strides(self.strides());
  size_t last = sizes.size() - 1;
  if (from > to) {
    int64_t ratio = from / to;
    FC_CHECK(!__builtin_mul_overflow(sizes[last], ratio, &sizes[last]), "view: the last dimension is too large",
             what());
    for (size_t d = 0; d < last; ++d) strides[d] = scale_stride(strides[d], ratio);
    return make_view(self, sizes, strides, self.offset() * ratio, dtype);
  }
  int64_t ratio = to / from;
  FC_CHECK(sizes[last] % ratio == 0, "view: self.size(-1) must be divisible by ", ratio, what(), ", but got ",
           sizes[last]);
  FC_CHECK(self.offset() % ratio == 0, "view: self.storage_offset() must be divisible by ", ratio, what(), ", but got ",
           self.offset());
  sizes[last] /= ratio;
  for (size_t d = 0; d < last; ++d) {
    FC_CHECK(strides[d] % ratio == 0, "view: self.stride(", d, ") must be divisible by ", ratio, what(), ", but got ",
             strides[d]);
    strides[d] /= ratio;
  }
  return make_view(self, sizes, strides, self.offset() / ratio, dtype);
}

Tensor view_as_real(const Tensor& self) {
  FC_CHECK(is_complex(self.dtype()), "view_as_real is only supported for complex tensors, got ", self.dtype());
  Dims sizes(self.sizes()), strides(self.strides());
  for (int64_t& s : strides) s = scale_stride(s, 2);
  sizes.push_back(2);
  strides.push_back(1);
  return make_view(self, sizes, strides, self.offset() * 2, real_of(self.dtype()));
}

Tensor view_as_complex(const Tensor& self) {
  FC_CHECK(self.dtype() == DType::Float16 || self.dtype() == DType::Float32 || self.dtype() == DType::Float64,
           "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: ",
           info(self.dtype()).legacy);
  FC_CHECK(self.dim() > 0, "view_as_complex: Input tensor must have one or more dimensions");
  FC_CHECK(self.size(-1) == 2, "view_as_complex: Tensor must have a last dimension of size 2, got sizes ",
           self.sizes());
  FC_CHECK(self.stride(-1) == 1, "view_as_complex: Tensor must have a last dimension with stride 1, got strides ",
           self.strides());
  FC_CHECK(self.offset() % 2 == 0, "view_as_complex: Tensor must have a storage_offset divisible by 2, got ",
           self.offset());
  Dims sizes(self.sizes().first(self.sizes().size() - 1)), strides(self.strides().first(sizes.size()));
  for (int64_t& s : strides) {
    FC_CHECK(s % 2 == 0,
             "view_as_complex: Tensor must have a stride divisible by 2 for all but last dimension, got strides ",
             self.strides());
    s /= 2;
  }
  return make_view(self, sizes, strides, self.offset() / 2, complex_of(self.dtype()));
}

Tensor real_part(const Tensor& self) {
  return is_complex(self.dtype()) ? select(call<"aten::view_as_real", Tensor>(self), -1, 0) : self;
}
Tensor imaginary_part(const Tensor& self) {
  FC_CHECK(is_complex(self.dtype()), "imag is not implemented for tensors with non-complex dtypes.");
  return select(call<"aten::view_as_real", Tensor>(self), -1, 1);
}

// --- repetition without copies

Tensor expand_kernel(const Tensor& self, IntSpan size, bool) {
  FC_CHECK(size.size() >= self.sizes().size(), "expand: the number of sizes provided (", size.size(),
           ") must be greater or equal to the number of dimensions in the tensor (", self.dim(), "): sizes ", size,
           ", tensor sizes ", self.sizes());
  Dims sizes(size), strides(size.size());
  size_t lead = size.size() - self.sizes().size();
  for (size_t d = size.size(); d-- > 0;) {
    int64_t have = d >= lead ? self.sizes()[d - lead] : 1;
    int64_t stride = d >= lead ? self.strides()[d - lead] : self.dim() ? scale_stride(strides[d + 1], sizes[d + 1]) : 0;
    if (size[d] == -1) {
      FC_CHECK(d >= lead,
               "expand: The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension ", d);
      sizes[d] = have;
    }
    FC_CHECK(sizes[d] >= 0, "expand: invalid size ", sizes[d], " for dimension ", d, " in ", size);
    FC_CHECK(sizes[d] == have || have == 1, "expand: The expanded size of the tensor (", sizes[d],
             ") must match the existing size (", have, ") at non-singleton dimension ", d, ".  Target sizes: ", size,
             ".  Tensor sizes: ", self.sizes());
    strides[d] = sizes[d] == have ? stride : 0;
  }
  return with_strides(self, sizes, strides);
}

Tensor expand_as(const Tensor& self, const Tensor& other) { return expand(self, other.sizes()); }
Tensor broadcast_to(const Tensor& self, IntSpan size) {
  try {
    return expand(self, size);
  } catch (Error& e) {
    e.add_context("broadcast_to");
    throw;
  }
}

// --- other orders

Tensor permute_kernel(const Tensor& self, IntSpan dims) {
  FC_CHECK(dims.size() == self.sizes().size(),
           "permute: number of dimensions in the tensor input does not match the length of the desired ordering of "
           "dimensions i.e. input.dim() = ",
           self.dim(), " is not equal to len(dims) = ", dims.size());
  Dims order = wrap_dims("permute", dims, self.dim()), sizes(dims.size()), strides(dims.size());
  for (size_t i = 0; i < order.size(); ++i) {
    sizes[i] = self.sizes()[static_cast<size_t>(order[i])];
    strides[i] = self.strides()[static_cast<size_t>(order[i])];
  }
  return with_strides(self, sizes, strides);
}

Geometry swapped(const char* op, const Tensor& self, int64_t d0, int64_t d1) {
  size_t a = static_cast<size_t>(wrap_dim(d0, self.dim(), op)), b = static_cast<size_t>(wrap_dim(d1, self.dim(), op));
  Geometry r{self.sizes(), self.strides()};
  if (a != b) {
    std::swap(r.sizes[a], r.sizes[b]);
    std::swap(r.strides[a], r.strides[b]);
  }
  return r;
}

Tensor transpose_kernel(const Tensor& self, int64_t d0, int64_t d1) {
  Geometry r = swapped("transpose", self, d0, d1);
  return with_strides(self, r.sizes, r.strides);
}
Tensor transpose_in_place(const Tensor& self, int64_t d0, int64_t d1) {
  Geometry r = swapped("transpose_", self, d0, d1);
  self.impl().set_geometry(r.sizes, r.strides, self.offset());
  return self;
}
Tensor swap_in_place(const Tensor& self, int64_t d0, int64_t d1) {
  return call<"aten::transpose_", Tensor>(self, d0, d1);
}
Tensor swap_axes(const Tensor& self, int64_t d0, int64_t d1) {
  return transpose(self, wrap_dim(d0, self.dim(), "swapaxes"), wrap_dim(d1, self.dim(), "swapaxes"));
}
Tensor swap_dims(const Tensor& self, int64_t d0, int64_t d1) {
  return transpose(self, wrap_dim(d0, self.dim(), "swapdims"), wrap_dim(d1, self.dim(), "swapdims"));
}

void check_matrix(const char* op, const Tensor& self) {
  FC_CHECK(self.dim() <= 2, op, "() expects a tensor with <= 2 dimensions, but self is ", self.dim(), "D");
}
Tensor t_kernel(const Tensor& self) {
  check_matrix("t", self);
  return transpose_kernel(self, 0, self.dim() < 2 ? 0 : 1);
}
Tensor t_in_place(const Tensor& self) {
  check_matrix("t_", self);
  return swap_in_place(self, 0, self.dim() < 2 ? 0 : 1);
}
Tensor numpy_T(const Tensor& self) {
  Dims order;
  for (int64_t d = self.dim(); d-- > 0;) order.push_back(d);
  return permute(self, order);
}
Tensor mT(const Tensor& self) {
  FC_CHECK(self.dim() >= 2, "tensor.mT is only supported on matrices or batches of matrices. Got ", self.dim(),
           "-D tensor.");
  return transpose(self, -2, -1);
}
Tensor matrix_H(const Tensor& self) {
  FC_CHECK(self.dim() == 2 || self.dim() == 0, "tensor.H is only supported on matrices (2-D tensors). Got ", self.dim(),
           "-D tensor.");
  return conj(self.dim() ? transpose(self, 0, 1) : self);
}
Tensor adjoint(const Tensor& self) {
  FC_CHECK(self.dim() >= 2, "adjoint: tensor.adjoint() is only supported on matrices or batches of matrices. Got ",
           self.dim(), "-D tensor.");
  return conj(transpose(self, -2, -1));
}

Tensor move(const char* op, const Tensor& self, IntSpan source, IntSpan destination) {
  FC_CHECK(source.size() == destination.size(), op, ": Invalid source or destination dims: source (", source,
           " dims) should contain the same number of dims as destination (", destination, " dims)");
  if (self.dim() == 0 && source.empty()) return self;
  Dims from = wrap_dims(op, source, self.dim()), to = wrap_dims(op, destination, self.dim());
  if (self.dim() == 0) return self;
  Dims order(self.sizes().size(), -1);
  uint64_t taken = 0;
  for (size_t i = 0; i < from.size(); ++i) {
    order[static_cast<size_t>(to[i])] = from[i];
    taken |= uint64_t{1} << from[i];
  }
  int64_t next = 0;
  for (int64_t& d : order) {
    if (d >= 0) continue;
    while (taken >> next & 1) ++next;
    d = next++;
  }
  return permute(self, order);
}
Tensor movedim(const Tensor& self, IntSpan source, IntSpan destination) {
  return move("movedim", self, source, destination);
}
Tensor movedim_one(const Tensor& self, int64_t source, int64_t destination) {
  return move("movedim", self, {&source, 1}, {&destination, 1});
}
Tensor moveaxis(const Tensor& self, IntSpan source, IntSpan destination) {
  return move("moveaxis", self, source, destination);
}
Tensor moveaxis_one(const Tensor& self, int64_t source, int64_t destination) {
  return move("moveaxis", self, {&source, 1}, {&destination, 1});
}

// --- dimensions of size one

Geometry squeezed(const Tensor& self, uint64_t candidates) {
  Geometry r;
  for (size_t d = 0; d < self.sizes().size(); ++d) {
    if (candidates >> d & 1 && self.sizes()[d] == 1) continue;
    r.sizes.push_back(self.sizes()[d]);
    r.strides.push_back(self.strides()[d]);
  }
  return r;
}
Tensor squeeze_bits(const Tensor& self, uint64_t bits) {
  Geometry r = squeezed(self, bits);
  return with_strides(self, r.sizes, r.strides);
}
Tensor squeeze_bits_in_place(const Tensor& self, uint64_t bits) {
  Geometry r = squeezed(self, bits);
  self.impl().set_geometry(r.sizes, r.strides, self.offset());
  return self;
}
Tensor squeeze_all(const Tensor& self) { return squeeze_bits(self, ~uint64_t{0}); }
Tensor squeeze_dim(const Tensor& self, int64_t dim) {
  return squeeze_bits(self, dim_bits("squeeze", {&dim, 1}, self.dim()));
}
Tensor squeeze_dims(const Tensor& self, IntSpan dims) {
  return squeeze_bits(self, dim_bits("squeeze", dims, self.dim()));
}
Tensor squeeze_all_in_place(const Tensor& self) { return squeeze_bits_in_place(self, ~uint64_t{0}); }
Tensor squeeze_dim_in_place(const Tensor& self, int64_t dim) {
  return squeeze_bits_in_place(self, dim_bits("squeeze_", {&dim, 1}, self.dim()));
}
Tensor squeeze_dims_in_place(const Tensor& self, IntSpan dims) {
  return squeeze_bits_in_place(self, dim_bits("squeeze_", dims, self.dim()));
}

Geometry unsqueezed(const char* op, const Tensor& self, int64_t dim) {
  size_t d = static_cast<size_t>(wrap_dim(dim, self.dim() + 1, op));
  Geometry r{self.sizes(), self.strides()};
  int64_t stride = d < r.sizes.size() ? scale_stride(r.strides[d], r.sizes[d]) : 1;
  r.sizes.insert(d, 1);
  r.strides.insert(d, stride);
  return r;
}
Tensor unsqueeze_kernel(const Tensor& self, int64_t dim) {
  Geometry r = unsqueezed("unsqueeze", self, dim);
  return with_strides(self, r.sizes, r.strides);
}
Tensor unsqueeze_in_place(const Tensor& self, int64_t dim) {
  Geometry r = unsqueezed("unsqueeze_", self, dim);
  self.impl().set_geometry(r.sizes, r.strides, self.offset());
  return self;
}

constexpr GradFormula reshape_grad = [](Grad& g) { g.set(0, reshape(G, g.sizes(0))); };
constexpr GradFormula transpose_grad = [](Grad& g) { g.set(0, transpose(G, g.arg(1).integer(), g.arg(2).integer())); };
constexpr GradFormula same_grad = [](Grad& g) { g.set(0, G); };

// --- memory itself

Tensor alias_kernel(const Tensor& self) { return shallow_copy(self, true); }

Tensor resize_kernel(const Tensor& self, IntSpan size, std::optional<MemoryFormat> format) {
  MemoryFormat f = format.value_or(MemoryFormat::Contiguous);
  FC_CHECK(f != MemoryFormat::Preserve, "resize_: Unsupported memory format: preserve_format");
  checked_numel(size);
  resize_tensor(self, size, f);
  return self;
}
Tensor resize_as(const Tensor& self, const Tensor& like, std::optional<MemoryFormat> format) {
  MemoryFormat f = format.value_or(MemoryFormat::Contiguous);
  return resize_kernel(self, like.sizes(), f == MemoryFormat::Preserve ? suggest_memory_format(like) : f);
}

Tensor set_empty(const Tensor& self) {
  self.impl().set_storage(allocate_storage(0, self.device()), self.dtype(), self.device());
  self.impl().set_contiguous(Dims{0});
  return self;
}
Tensor set_range(const Tensor& self, const Tensor& source, int64_t offset, IntSpan size, IntSpan stride) {
  FC_CHECK(self.dtype() == source.dtype() && self.device() == source.device(), "set_: expected a source of type ",
           self.dtype(), " on ", self.device(), ", got ", source.dtype(), " on ", source.device());
  Dims strides = stride.empty() && !size.empty() ? contiguous_strides(size) : Dims(stride);
  check_in_storage("set_", size, strides, offset, source.dtype(), source.impl().storage()->bytes());
  Dims sizes(size);  // they may be self's own
  self.impl().set_storage(source.impl().storage(), source.dtype(), source.device());
  self.impl().set_geometry(sizes, strides, offset);
  return self;
}
Tensor set_tensor(const Tensor& self, const Tensor& source) {
  return self.same(source) ? self : set_range(self, source, source.offset(), source.sizes(), source.strides());
}

constexpr OpDef defs[] = {
    {.schema = "view(Tensor(a) self, SymInt[] size) -> Tensor(a)",
     .doc = "The same elements with other sizes or another type, without copying.",
     .all = kernel<&view_kernel>(),
     .grad = reshape_grad,
     .view_copy = true},
    {.schema = "view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)",
     .all = kernel<&view_dtype>(),
     .differentiable = false,
     .view_copy = true},
    {.schema = "view_as(Tensor(a) self, Tensor other) -> Tensor(a)",
     .doc = "A view with the sizes of another tensor.",
     .composite = kernel<&view_as>()},
    {.schema = "_unsafe_view(Tensor self, SymInt[] size) -> Tensor",
     .all = kernel<&unsafe_view>(),
     .grad = reshape_grad,
     .hidden = true},
    {.schema = "reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)",
     .doc = "The same elements with other sizes, a view where possible.",
     .composite = kernel<&reshape_kernel>()},
    {.schema = "reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)",
     .doc = "The same elements with the sizes of another tensor.",
     .composite = kernel<&reshape_as>()},
    {.schema = "flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)",
     .doc = "The dimensions from start_dim to end_dim as one.",
     .composite = kernel<&flatten>()},
    {.schema = "unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)",
     .doc = "A view with one dimension cut into several.",
     .composite = kernel<&unflatten>()},
    {.schema = "ravel(Tensor(a) self) -> Tensor(a)",
     .doc = "The tensor as a vector, a view where possible.",
     .composite = kernel<&ravel>()},
    {.schema = "atleast_1d(Tensor self) -> Tensor",
     .doc = "The tensor with at least one dimension.",
     .composite = kernel<&at_least_one<1>>()},
    {.schema = "atleast_1d.Sequence(Tensor[] tensors) -> Tensor[]", .composite = kernel<&at_least_each<1>>()},
    {.schema = "atleast_2d(Tensor self) -> Tensor",
     .doc = "The tensor with at least two dimensions.",
     .composite = kernel<&at_least_one<2>>()},
    {.schema = "atleast_2d.Sequence(Tensor[] tensors) -> Tensor[]", .composite = kernel<&at_least_each<2>>()},
    {.schema = "atleast_3d(Tensor self) -> Tensor",
     .doc = "The tensor with at least three dimensions.",
     .composite = kernel<&at_least_one<3>>()},
    {.schema = "atleast_3d.Sequence(Tensor[] tensors) -> Tensor[]", .composite = kernel<&at_least_each<3>>()},

    {.schema = "view_as_real(Tensor(a) self) -> Tensor(a)",
     .doc = "Complex numbers seen as pairs of real numbers in a new last dimension.",
     .all = kernel<&view_as_real>(),
     .grad = [](Grad& g) { g.set(0, call<"aten::view_as_complex", Tensor>(contiguous(G))); },
     .view_copy = true},
    {.schema = "view_as_complex(Tensor(a) self) -> Tensor(a)",
     .doc = "Pairs of real numbers in the last dimension seen as complex numbers.",
     .all = kernel<&view_as_complex>(),
     .grad = [](Grad& g) { g.set(0, call<"aten::view_as_real", Tensor>(G)); },
     .cpu_autocast = Autocast::Float32,
     .view_copy = true},
    {.schema = "real(Tensor(a) self) -> Tensor(a)",
     .doc = "A view of the real parts.",
     .composite = kernel<&real_part>()},
    {.schema = "imag(Tensor(a) self) -> Tensor(a)",
     .doc = "A view of the imaginary parts.",
     .composite = kernel<&imaginary_part>()},

    {.schema = "expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)",
     .doc = "A view in which dimensions of size 1 repeat.",
     .all = kernel<&expand_kernel>(),
     .grad = same_grad,
     .view_copy = true},
    {.schema = "expand_as(Tensor(a) self, Tensor other) -> Tensor(a)",
     .doc = "A view expanded to the sizes of another tensor.",
     .composite = kernel<&expand_as>()},
    {.schema = "broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)",
     .doc = "A view of the tensor expanded to a shape.",
     .composite = kernel<&broadcast_to>()},

    {.schema = "permute(Tensor(a) self, int[] dims) -> Tensor(a)",
     .doc = "A view with the dimensions in another order.",
     .all = kernel<&permute_kernel>(),
     .saves = "dims",
     .grad =
         [](Grad& g) {
           Dims order = wrap_dims("permute", g.arg(1).ints(), G.dim()), inverse(order.size());
           for (size_t i = 0; i < order.size(); ++i) inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
           g.set(0, permute(G, inverse));
         },
     .view_copy = true},
    {.schema = "transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
     .doc = "A view with two dimensions exchanged.",
     .all = kernel<&transpose_kernel>(),
     .saves = "dim0 dim1",
     .grad = transpose_grad,
     .view_copy = true},
    {.schema = "transpose_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)",
     .node = "TransposeBackward1",
     .all = kernel<&transpose_in_place>(),
     .saves = "dim0 dim1",
     .grad = transpose_grad,
     .writes = Writes::Geometry},
    {.schema = "swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)", .composite = kernel<&swap_axes>()},
    {.schema = "swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", .composite = kernel<&swap_dims>()},
    {.schema = "swapaxes_(Tensor(a!) self, int axis0, int axis1) -> Tensor(a!)",
     .composite = kernel<&swap_in_place>(),
     .writes = Writes::Geometry},
    {.schema = "swapdims_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)",
     .composite = kernel<&swap_in_place>(),
     .writes = Writes::Geometry},
    {.schema = "t(Tensor(a) self) -> Tensor(a)",
     .doc = "A view of a matrix, transposed.",
     .all = kernel<&t_kernel>(),
     .grad = [](Grad& g) { g.set(0, t(G)); },
     .view_copy = true},
    {.schema = "t_(Tensor(a!) self) -> Tensor(a!)", .composite = kernel<&t_in_place>(), .writes = Writes::Geometry},
    {.schema = "numpy_T(Tensor(a) self) -> Tensor(a)",
     .doc = "A view with all dimensions in reverse order.",
     .composite = kernel<&numpy_T>()},
    {.schema = "mT(Tensor(a) self) -> Tensor(a)",
     .doc = "A view of the matrices in the last two dimensions, transposed.",
     .composite = kernel<&mT>()},
    {.schema = "matrix_H(Tensor(a) self) -> Tensor(a)",
     .doc = "A view of the matrix, transposed and conjugated.",
     .composite = kernel<&matrix_H>()},
    {.schema = "mH(Tensor(a) self) -> Tensor(a)",
     .doc = "A view of the matrices in the last two dimensions, transposed and conjugated.",
     .composite = kernel<&adjoint>()},
    {.schema = "adjoint(Tensor(a) self) -> Tensor(a)",
     .doc = "A view of the matrices in the last two dimensions, transposed and conjugated.",
     .composite = kernel<&adjoint>()},
    {.schema = "movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)",
     .doc = "A view with some dimensions moved to other places.",
     .composite = kernel<&movedim>()},
    {.schema = "movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)",
     .composite = kernel<&movedim_one>()},
    {.schema = "moveaxis.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)",
     .composite = kernel<&moveaxis>()},
    {.schema = "moveaxis.int(Tensor(a) self, int source, int destination) -> Tensor(a)",
     .composite = kernel<&moveaxis_one>()},

    {.schema = "squeeze(Tensor(a) self) -> Tensor(a)",
     .doc = "A view without dimensions of size 1.",
     .all = kernel<&squeeze_all>(),
     .grad = reshape_grad,
     .view_copy = true},
    {.schema = "squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)",
     .node = "SqueezeBackward1",
     .all = kernel<&squeeze_dim>(),
     .grad = reshape_grad,
     .view_copy = true},
    {.schema = "squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)",
     .node = "SqueezeBackward2",
     .all = kernel<&squeeze_dims>(),
     .grad = reshape_grad,
     .view_copy = true},
    {.schema = "squeeze_(Tensor(a!) self) -> Tensor(a!)",
     .node = "SqueezeBackward3",
     .all = kernel<&squeeze_all_in_place>(),
     .grad = reshape_grad,
     .writes = Writes::Geometry},
    {.schema = "squeeze_.dim(Tensor(a!) self, int dim) -> Tensor(a!)",
     .node = "SqueezeBackward4",
     .all = kernel<&squeeze_dim_in_place>(),
     .grad = reshape_grad,
     .writes = Writes::Geometry},
    {.schema = "squeeze_.dims(Tensor(a!) self, int[] dim) -> Tensor(a!)",
     .node = "SqueezeBackward5",
     .all = kernel<&squeeze_dims_in_place>(),
     .grad = reshape_grad,
     .writes = Writes::Geometry},
    {.schema = "unsqueeze(Tensor(a) self, int dim) -> Tensor(a)",
     .doc = "A view with a new dimension of size 1.",
     .all = kernel<&unsqueeze_kernel>(),
     .saves = "dim",
     .grad = [](Grad& g) { g.set(0, squeeze(G, g.arg(1).integer())); },
     .view_copy = true},
    {.schema = "unsqueeze_(Tensor(a!) self, int dim) -> Tensor(a!)",
     .node = "UnsqueezeBackward1",
     .all = kernel<&unsqueeze_in_place>(),
     .saves = "dim",
     .grad = [](Grad& g) { g.set(0, squeeze(G, g.arg(1).integer())); },
     .writes = Writes::Geometry},

    {.schema = "alias(Tensor(a) self) -> Tensor(a)",
     .all = kernel<&alias_kernel>(),
     .grad = same_grad,
     .view_copy = true,
     .hidden = true},
    {.schema = "detach(Tensor(a) self) -> Tensor(a)",
     .doc = "A view of the tensor that no gradient flows through.",
     .all = kernel<&alias_kernel>(),
     .differentiable = false,
     .view_copy = true},
    {.schema = "resize_(Tensor(a!) self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor(a!)",
     .doc = "Gives the tensor other sizes, with more storage if it needs it.",
     .all = kernel<&resize_kernel>(),
     .differentiable = false,
     .writes = Writes::Geometry,
     .unwritten = true},
    {.schema = "resize_as_(Tensor(a!) self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor(a!)",
     .doc = "Gives the tensor the sizes of another.",
     .all = kernel<&resize_as>(),
     .differentiable = false,
     .writes = Writes::Geometry,
     .unwritten = true},
    {.schema = "set_(Tensor(a!) self) -> Tensor(a!)",
     .doc = "Makes the tensor use another storage, sizes and strides.",
     .all = kernel<&set_empty>(),
     .differentiable = false,
     .writes = Writes::Geometry},
    {.schema = "set_.source_Tensor(Tensor(a!) self, Tensor source) -> Tensor(a!)",
     .all = kernel<&set_tensor>(),
     .differentiable = false,
     .writes = Writes::Geometry},
    {.schema = "set_.source_Tensor_storage_offset(Tensor(a!) self, Tensor source, SymInt storage_offset, SymInt[] "
               "size, SymInt[] stride=[]) -> Tensor(a!)",
     .all = kernel<&set_range>(),
     .differentiable = false,
     .writes = Writes::Geometry},
};
#undef G

}  // namespace

void define_view() {
  define_all(defs);
  // They share memory with their input but not its history: changing the input in place gives them none.
  for (const char* name : {"aten::detach", "aten::view.dtype"}) find_operator(name)->is_view = false;
}

}  // namespace fc
