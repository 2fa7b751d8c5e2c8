// SPDX-License-Identifier: Apache-2.0
// Indexing by several tensors at once (x[i, :, j]), by masks, and what masks and values select.
//
// A read by several indices is one gather: the indexed dimensions count as one dimension of memory positions, and the
// indices, each times its stride, add up to the position. Nothing is copied to bring dimensions together.
#include <algorithm>

#include "facula/opcodes/base.h"
#include "ops/register.h"
#include "plan/compact.h"
#include "plan/index.h"
#include "plan/pointwise.h"
#include "plan/shape.h"

namespace fc {
#define G (g.out())

void check_masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source) {
  FC_CHECK(mask.dtype() == DType::Bool, "masked_scatter_ only supports boolean masks, but got mask with dtype ",
           mask.dtype());
  FC_CHECK(self.dtype() == source.dtype(), "masked_scatter_: expected self and source to have same dtypes but got ",
           info(self.dtype()).legacy, " and ", info(source.dtype()).legacy);
}

namespace {

bool is_mask(const Tensor& t) { return t.dtype() == DType::Bool || t.dtype() == DType::UInt8; }

struct IndexPlan {
  std::vector<Tensor> indices;  // int64, one per indexed dimension, of one shape
  Dims dims;                    // the indexed dimensions of self
  Dims shape;                   // of the result
  size_t at;                    // where the indices' dimensions stand in the result,
  size_t count;                 // and how many they are
  Dims flat;                    // the result with these flattened into one
  Tensor positions;             // self with the indexed dimensions as one, at `at`
  Tensor where;                 // index into that dimension, seen with the sizes of `flat`; undefined on meta
};

IndexPlan plan_index(const Tensor& self, TensorSpan given) {
  IndexPlan p;
  int64_t dim = 0;
  for (const Tensor& t : given) {
    if (!t.defined()) {
      ++dim;
      continue;
    }
    FC_CHECK(t.device().is_cpu() || t.device() == self.device(),
             "indices should be either on cpu or on the same device as the indexed tensor (", self.device(),
             "), but got one on ", t.device());
    auto use = [&](const Tensor& index) {
      p.indices.push_back(index);
      p.dims.push_back(dim++);
    };
    if (is_mask(t)) {
      for (int64_t k = 0; k < t.dim(); ++k)
        FC_CHECK_AS(IndexError, dim + k < self.dim() && t.size(k) == self.size(dim + k), "The shape of the mask ",
                    t.sizes(), " at index ", k, " does not match the shape of the indexed tensor ", self.sizes(),
                    " at index ", dim + k);
      Tensor found = call<"aten::nonzero", Tensor>(t);
      for (int64_t k = 0; k < t.dim(); ++k) use(select(found, 1, k));
    } else {
      FC_CHECK_AS(IndexError, t.dtype() == DType::Int64 || t.dtype() == DType::Int32,
                  "tensors used as indices must be long, int, byte or bool tensors, got ", t.dtype());
      use(to_dtype(t, DType::Int64));
    }
  }
  FC_CHECK_AS(IndexError, dim <= self.dim(), "too many indices for tensor of dimension ", self.dim(), " (got ", dim,
              ")");
  FC_CHECK_AS(IndexError, !p.indices.empty(), "index: at least one index tensor must be given");

  Dims common;
  try {
    for (const Tensor& t : p.indices) common = broadcast_shapes("index", common, t.sizes());
  } catch (const Error&) {
    std::string shapes;
    for (const Tensor& t : p.indices) shapes += (shapes.empty() ? "" : ", ") + str(t.sizes());
    raise<IndexError>("shape mismatch: indexing tensors could not be broadcast together with shapes ", shapes);
  }
  int64_t n = checked_numel(common);
  for (Tensor& t : p.indices) t = expand(t, common);
  bool together = p.dims.back() - p.dims[0] + 1 == static_cast<int64_t>(p.dims.size());
  p.at = together ? static_cast<size_t>(p.dims[0]) : 0;
  p.count = common.size();

  Dims sizes, strides, index_sizes, index_strides;
  int64_t span = 1;
  for (int64_t d : p.dims) {
    int64_t size = self.size(d), stride = self.stride(d);
    index_sizes.push_back(size);
    index_strides.push_back(stride);
    span = size == 0 || span == 0 ? 0 : span + (size - 1) * stride;
  }
  int64_t step = 1;
  if (p.dims.size() == 1) {  // one index needs no memory positions: it counts the dimension itself
    step = index_strides[0];
    span = index_sizes[0];
    index_strides[0] = 1;
  }
  size_t next = 0;
  for (size_t d = 0; d <= self.sizes().size(); ++d) {
    if (p.flat.size() == p.at) {
      p.flat.push_back(n);
      for (int64_t s : common) p.shape.push_back(s);
      sizes.push_back(span);
      strides.push_back(step);
    }
    if (d == self.sizes().size()) break;
    if (next < p.dims.size() && p.dims[next] == static_cast<int64_t>(d)) {
      ++next;
      continue;
    }
    p.flat.push_back(self.sizes()[d]);
    p.shape.push_back(self.sizes()[d]);
    sizes.push_back(self.sizes()[d]);
    strides.push_back(self.strides()[d]);
  }
  p.positions = make_view(self, sizes, strides, self.offset());
  if (self.device().is_meta()) return p;
  std::vector<Tensor> host;
  for (const Tensor& t : p.indices)
    host.push_back(
        t.device().is_cpu() ? t : call<"aten::to.device", Tensor>(t, Device{}, DType::Int64, false, false, nullptr));
  Tensor linear = call<"aten::_linear_index", Tensor>(host, p.dims, index_sizes, index_strides);
  p.where = along(index_vector("index", linear, self.device()), static_cast<int64_t>(p.at), p.flat);
  return p;
}

// The result lies in memory as a pointwise operator's would, of self (with the indexed dimensions repeated) and the
// indices: a transposed self gives a transposed result.
Tensor index_result(const Tensor& self, const IndexPlan& p) {
  bool plain = self.is_contiguous();
  for (const Tensor& t : p.indices) plain &= t.is_contiguous();
  if (plain) return empty_tensor(p.shape, self.dtype(), self.device());
  std::vector<Tensor> seen;
  auto see = [&](const Tensor& t, auto stride) {
    Dims strides(p.shape.size());
    for (size_t d = 0; d < strides.size(); ++d) strides[d] = stride(d);
    seen.push_back(make_view(t, p.shape, strides, t.offset()));
  };
  see(self, [&](size_t d) {
    return d < p.at ? p.positions.strides()[d] : d < p.at + p.count ? 0 : p.positions.strides()[d - p.count + 1];
  });
  for (const Tensor& t : p.indices)
    see(t, [&](size_t d) { return d >= p.at && d < p.at + p.count ? t.strides()[d - p.at] : 0; });
  std::vector<MapInput> inputs;
  for (const Tensor& t : seen) inputs.push_back({&t, {}});
  return empty_strided_tensor(p.shape, result_strides(p.shape, inputs), self.dtype(), self.device());
}

Tensor index_kernel(const Tensor& self, TensorSpan indices) {
  if (indices.size() == 1 && indices[0].defined() && indices[0].dtype() == DType::Bool &&
      Dims::same(indices[0].sizes(), self.sizes()) && self.is_contiguous() && !self.device().is_meta() &&
      self.device() == indices[0].device())
    return call<"aten::masked_select", Tensor>(self, indices[0]);  // the same, without coordinates
  IndexPlan p = plan_index(self, indices);
  Tensor out = index_result(self, p);
  if (!p.where.defined() || out.numel() == 0) return out;
  std::optional<Dims> strides = view_strides(out.sizes(), out.strides(), p.flat);
  Tensor flat = strides ? make_view(out, p.flat, *strides, 0) : empty_tensor(p.flat, self.dtype(), self.device());
  gather_into(flat, p.positions, static_cast<int64_t>(p.at), p.where);
  return strides ? out : copy_(out, view(flat, p.shape));
}

Tensor masked_fill_tensor(const Tensor& self, const Tensor& mask, const Tensor& value);

Tensor index_put_impl(const Tensor& self, TensorSpan indices, const Tensor& values, bool accumulate, bool) {
  FC_CHECK(self.dtype() == values.dtype(), "Index put requires the source and destination dtypes match, got ",
           info(self.dtype()).legacy, " for the destination and ", info(values.dtype()).legacy,
           " for the source. (index_put_)");
  FC_CHECK(self.device() == values.device() || (values.dim() == 0 && values.device().is_cpu()),
           "index_put_: expected self and values to be on the same device, but got ", self.device(), " and ",
           values.device());
  // x[mask] = number
  const Tensor* mask = nullptr;
  size_t before = 0, given = 0;
  for (size_t i = 0; i < indices.size(); ++i)
    if (indices[i].defined()) mask = &indices[i], before = i, ++given;
  if (!accumulate && given == 1 && mask->dtype() == DType::Bool && values.numel() == 1 && mask->dim() > 0 &&
      static_cast<int64_t>(before) + mask->dim() <= self.dim() &&
      Dims::same(mask->sizes(), self.sizes().subspan(before, mask->sizes().size()))) {
    Dims shape(mask->sizes());
    while (shape.size() + before < self.sizes().size()) shape.push_back(1);
    return masked_fill_tensor(self, reshape(*mask, shape), reshape(values, {}));
  }
  IndexPlan p;
  try {
    p = plan_index(self, indices);
  } catch (Error& e) {
    e.add_context("index_put_");
    throw;
  }
  Tensor spread;
  try {
    // A value may have surplus dimensions in front, if they are all ones.
    IntSpan sizes = values.sizes();
    while (sizes.size() > p.shape.size() && sizes[0] == 1) sizes = sizes.subspan(1);
    spread = expand(values.sizes().size() == sizes.size() ? values : view(values, sizes), p.shape);
  } catch (const Error&) {
    raise<Error>("shape mismatch: value tensor of shape ", values.sizes(),
                 " cannot be broadcast to indexing result of shape ", IntSpan(p.shape), " (index_put_)");
  }
  if (!p.where.defined() || spread.numel() == 0) return self;
  Tensor src =
      values.numel() == 1 ? make_view(spread, p.flat, Dims(p.flat.size()), spread.offset()) : reshape(spread, p.flat);
  if (!(src.device() == self.device()))
    src = call<"aten::to.device", Tensor>(src, self.device(), src.dtype(), false, false, nullptr);
  scatter_into(accumulate ? FC_SCATTER_ADD : FC_SCATTER_SET, p.positions, static_cast<int64_t>(p.at), p.where, src);
  return self;
}
Tensor index_put(const Tensor& self, TensorSpan indices, const Tensor& values, bool accumulate) {
  return index_put_impl(self, indices, values, accumulate, false);
}

void index_put_grad(Grad& g) {
  bool accumulate = g.arg(3).boolean();
  TensorSpan saved = g.list(1);
  std::vector<Tensor> indices(saved.begin(), saved.end());
  if (g.needs(0))
    g.set(0, accumulate ? G : call<"aten::index_put", Tensor>(G, indices, zeros({}, G.dtype(), G.device()), false));
  if (g.needs(2)) g.set(2, call<"aten::index.Tensor", Tensor>(G, indices));
}

// --- take and put: self as if it were flat

Tensor flat_index(const char* op, const Tensor& self, const Tensor& index) {
  FC_CHECK(index.dtype() == DType::Int64, op, "(): Expected a long tensor for index, but got ",
           info(index.dtype()).legacy);
  Tensor at = index_vector(op, reshape(index, Dims{-1}), Device{});
  const Tensor list[] = {at};
  try {
    at = call<"aten::_linear_index", Tensor>(TensorSpan(list), Dims{0}, Dims{self.numel()}, Dims{1});
  } catch (IndexError& e) {
    raise<IndexError>(op, "(): out of range: tried to access a tensor of ", self.numel(), " elements: ", e.message());
  }
  return index_vector(op, at, self.device());
}

Tensor take_kernel(const Tensor& self, const Tensor& index) {
  Tensor out = empty_tensor(index.sizes(), self.dtype(), self.device());
  if (out.device().is_meta() || index.numel() == 0) return out;
  Tensor at = flat_index("take", self, index), from = reshape(self, Dims{-1});
  gather_into(make_view(out, Dims{out.numel()}, Dims{1}, 0), from, 0, at);
  return out;
}

Tensor put_kernel(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate) {
  FC_CHECK(self.dtype() == source.dtype(),
           "put_(): self and source expected to have the same dtype, but got self.dtype = ", self.dtype(),
           " and source.dtype = ", source.dtype());
  FC_CHECK(index.numel() == source.numel(),
           "put_(): Expected source and index to have the same number of elements, but got source.numel() = ",
           source.numel(), ", index.numel() = ", index.numel());
  if (self.device().is_meta() || index.numel() == 0) return self;
  Tensor at = flat_index("put_", self, index), to = reshape(self, Dims{-1});
  scatter_into(accumulate ? FC_SCATTER_ADD : FC_SCATTER_SET, to, 0, at, reshape(source, Dims{-1}));
  bool shared = to.impl().storage().get() == self.impl().storage().get();
  return shared ? self : copy_(self, view(to, self.sizes()));
}

// --- masks

void fill_where(const char* op, const Tensor& self, const Tensor& mask, const MapInput& value) {
  FC_CHECK(mask.dtype() == DType::Bool, op, " only supports boolean masks, but got mask with dtype ", mask.dtype());
  // Of elements in one place each is its mask's as well.
  for (int64_t d = 0; d < self.dim(); ++d)
    if (self.size(d) > 1 && self.stride(d) == 0)
      return fill_where(op, narrow(self, d, 0, 1), call<"aten::any.dim", Tensor>(expand(mask, self.sizes()), d, true),
                        value);
  const MapInput in[] = {{&mask, {}}, value, {&self, {}}};
  Tensor out;
  MapRequest r{.op = op, .opcode = FC_MAP_where, .inputs = in, .out = &self, .in_place = true, .compute = self.dtype()};
  if (!try_map(r, out)) throw Unsupported{};
}
Tensor masked_fill_scalar(const Tensor& self, const Tensor& mask, const Scalar& value) {
  check_fits("masked_fill_", value, self.dtype());
  fill_where("masked_fill_", self, mask, {nullptr, self.dtype() == DType::Bool ? Scalar(value.to_bool()) : value});
  return self;
}
Tensor masked_fill_tensor(const Tensor& self, const Tensor& mask, const Tensor& value) {
  FC_CHECK(value.dim() == 0, "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with ",
           value.dim(), " dimension(s).");
  if (value.device().is_cpu() && value.dtype() != self.dtype())
    check_fits("masked_fill_", call<"aten::_local_scalar_dense", Scalar>(value), self.dtype());
  fill_where("masked_fill_", self, mask, {&value, {}});
  return self;
}
// Out of place, self may be smaller than the mask.
template <auto F, class V>
Tensor masked_fill_copy(const Tensor& self, const Tensor& mask, V value) {
  Tensor out =
      clone(expand(self, broadcast_shapes("masked_fill", self.sizes(), mask.sizes())), MemoryFormat::Contiguous);
  return F(out, mask, value);
}

Tensor masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source) {
  check_masked_scatter(self, mask, source);
  return call<"aten::_masked_scatter_", Tensor>(self, expand(mask, self.sizes()), source);
}
Tensor masked_scatter_shape(const Tensor& self, const Tensor& mask, const Tensor& source) {
  check_masked_scatter(self, mask, source);
  return self;
}
Tensor masked_scatter_copy(const Tensor& self, const Tensor& mask, const Tensor& source) {
  Dims shape = broadcast_shapes("masked_scatter", self.sizes(), mask.sizes());
  return masked_scatter(clone(expand(self, shape), MemoryFormat::Contiguous), expand(mask, shape), source);
}
Tensor masked_scatter_backward(const Tensor& grad, const Tensor& mask, IntSpan sizes) {
  int64_t n = checked_numel(sizes);
  Tensor taken = call<"aten::masked_select", Tensor>(grad, expand(mask, grad.sizes()));
  return reshape(call<"aten::constant_pad_nd", Tensor>(taken, Dims{0, n - taken.numel()}, Scalar(0)), sizes);
}

Tensor argwhere(const Tensor& self) { return call<"aten::nonzero", Tensor>(self); }
std::vector<Tensor> nonzero_numpy(const Tensor& self) {
  Tensor x = self.dim() ? self : unsqueeze(self, 0);
  return call<"aten::unbind.int", std::vector<Tensor>>(call<"aten::nonzero", Tensor>(x), 1);
}

bool is_nonzero(const Tensor& self) {
  FC_CHECK(self.numel() != 0, "Boolean value of Tensor with no values is ambiguous");
  FC_CHECK(self.numel() == 1, "Boolean value of Tensor with more than one value is ambiguous");
  return call<"aten::_local_scalar_dense", Scalar>(self).to_bool();
}

Tensor isin_scalar(const Tensor& elements, const Scalar& test, bool unique, bool invert) {
  return call<"aten::isin.Tensor_Tensor", Tensor>(elements, wrapped_number(test, elements.device()), unique, invert);
}
Tensor isin_of_scalar(const Scalar& element, const Tensor& tests, bool unique, bool invert) {
  return call<"aten::isin.Tensor_Tensor", Tensor>(wrapped_number(element, tests.device()), tests, unique, invert);
}
Tensor isin_shape(const Tensor& elements, const Tensor&, bool, bool) {
  return empty_tensor(elements.sizes(), DType::Bool, elements.device());
}

constexpr OpDef defs[] = {
    {.schema = "index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
     .all = kernel<&index_kernel>(),
     .saves = "indices",
     .grad =
         [](Grad& g) {
           TensorSpan saved = g.list(1);
           std::vector<Tensor> indices(saved.begin(), saved.end());
           g.set(0, call<"aten::index_put", Tensor>(zeros(g.sizes(0), G.dtype(), G.device()), indices, G, true));
         },
     .out = true,
     .devices = Devices::Any,
     .writes = Writes::Apart,
     .hidden = true},
    {.schema = "_index_put_impl_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False, bool "
               "unsafe=False) -> Tensor(a!)",
     .all = kernel<&index_put_impl>(),
     .saves = "indices accumulate",
     .grad = index_put_grad,
     .devices = Devices::Any,
     .partial = "self",
     .hidden = true},
    {.schema = "take(Tensor self, Tensor index) -> Tensor",
     .doc = "Elements picked by their index in the flattened tensor.",
     .all = kernel<&take_kernel>(),
     .saves = "index",
     .grad =
         [](Grad& g) {
           g.set(0, call<"aten::put", Tensor>(zeros(g.sizes(0), G.dtype(), G.device()), g.in(1), G, true));
         },
     .out = true,
     .writes = Writes::Apart},

    // A 0-d tensor is also a number: the overload that takes tensors must be found first.
    {.schema = "masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor",
     .doc = "The value where the mask is true, the element elsewhere.",
     .node = "MaskedFillBackward1",
     .all = kernel<&masked_fill_copy<&masked_fill_tensor, const Tensor&>>(),
     .saves = "mask",
     .grad =
         [](Grad& g) {
           if (g.needs(0)) g.set(0, masked_fill(G, g.in(1), 0));
           if (g.needs(2)) g.set(2, sum(masked_fill(G, logical_not(g.in(1)), 0)));
         },
     .devices = Devices::Numbers},
    {.schema = "masked_fill_.Tensor(Tensor(a!) self, Tensor mask, Tensor value) -> Tensor(a!)",
     .all = kernel<&masked_fill_tensor>(),
     .saves = "mask",
     .grad =
         [](Grad& g) {
           if (g.needs(0)) g.set(0, masked_fill(G, g.in(1), 0));
           if (g.needs(2)) g.set(2, sum(masked_fill(G, logical_not(g.in(1)), 0)));
         },
     .devices = Devices::Numbers,
     .may_repeat = true,
     .overwrites = "self",
     .partial = "self"},
    {.schema = "masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor",
     .all = kernel<&masked_fill_copy<&masked_fill_scalar, const Scalar&>>(),
     .saves = "mask",
     .grad = [](Grad& g) { g.set(0, masked_fill(G, g.in(1), 0)); }},
    {.schema = "masked_fill_.Scalar(Tensor(a!) self, Tensor mask, Scalar value) -> Tensor(a!)",
     .all = kernel<&masked_fill_scalar>(),
     .saves = "mask",
     .grad = [](Grad& g) { g.set(0, masked_fill(G, g.in(1), 0)); },
     .may_repeat = true,
     .overwrites = "self",
     .partial = "self"},
    {.schema = "masked_select(Tensor self, Tensor mask) -> Tensor",
     .doc = "The elements where the mask is true, as a vector.",
     .decomposition = kernel<&masked_select_by_scan>(),
     .saves = "mask",
     .grad =
         [](Grad& g) {
           Tensor mask = g.in(1);
           Dims shape = broadcast_shapes("masked_select", g.sizes(0), mask.sizes());
           g.set(0, call<"aten::masked_scatter", Tensor>(zeros(shape, G.dtype(), G.device()), mask, G));
         },
     .out = true,
     .writes = Writes::Apart},
    {.schema = "masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor",
     .doc = "The elements of source, in order, where the mask is true; the tensor's own elsewhere.",
     .all = kernel<&masked_scatter_copy>(),
     .saves = "mask",
     .grad =
         [](Grad& g) {
           if (g.needs(0)) g.set(0, masked_fill(G, g.in(1), 0));
           if (g.needs(2)) g.set(2, masked_scatter_backward(G, g.in(1), g.sizes(2)));
         },
     .out = true},
    {.schema = "masked_scatter_(Tensor(a!) self, Tensor mask, Tensor source) -> Tensor(a!)",
     .all = kernel<&masked_scatter>(),
     .saves = "mask",
     .grad =
         [](Grad& g) {
           if (g.needs(0)) g.set(0, masked_fill(G, g.in(1), 0));
           if (g.needs(2)) g.set(2, masked_scatter_backward(G, g.in(1), g.sizes(2)));
         },
     .partial = "self"},
    {.schema = "_masked_scatter_(Tensor(a!) self, Tensor mask, Tensor source) -> Tensor(a!)",
     .meta = kernel<&masked_scatter_shape>(),
     .decomposition = kernel<&masked_scatter_by_scan>(),
     .differentiable = false,
     .partial = "self",
     .hidden = true},

    {.schema = "nonzero(Tensor self) -> Tensor",
     .doc = "The indices of all elements that are not zero, one row each or one vector per dimension.",
     .decomposition = kernel<&nonzero_by_scan>(),
     .differentiable = false,
     .out = true,
     .writes = Writes::Apart},
    {.schema = "nonzero_numpy(Tensor self) -> Tensor[]", .composite = kernel<&nonzero_numpy>(), .hidden = true},
    {.schema = "argwhere(Tensor self) -> Tensor",
     .doc = "The indices of all elements that are not zero, one row each.",
     .composite = kernel<&argwhere>()},
    {.schema = "where(Tensor condition) -> Tensor[]",
     .doc = "Elements of input where the condition holds, of other elsewhere.",
     .composite = kernel<&nonzero_numpy>()},
    {.schema = "is_nonzero(Tensor self) -> bool",
     .doc = "Whether the one element of the tensor is not zero.",
     .composite = kernel<&is_nonzero>()},
    {.schema = "bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor",
     .doc = "How often each non-negative integer occurs, or the sum of its weights.",
     .differentiable = false,
     .out = true},
    {.schema = "isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool "
               "invert=False) -> Tensor",
     .doc = "Whether each element occurs among the test elements.",
     .meta = kernel<&isin_shape>(),
     .differentiable = false,
     .out = true},
    {.schema = "isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool assume_unique=False, bool "
               "invert=False) -> Tensor",
     .composite = kernel<&isin_scalar>(),
     .out = true},
    {.schema = "isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool assume_unique=False, bool "
               "invert=False) -> Tensor",
     .composite = kernel<&isin_of_scalar>(),
     .out = true},
};

constexpr WriteDef write_defs[] = {
    repeating(writes<&index_put, MemoryFormat::Preserve>(
        "index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
        "Sets the elements that a tuple of index tensors names, or adds to them.", "indices accumulate", index_put_grad,
        Devices::Any)),
    writes<&put_kernel, MemoryFormat::Preserve>(
        "put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor",
        "Sets elements by their index in the flattened tensor, or adds to them.", "index accumulate",
        [](Grad& g) {
          if (g.needs(0))
            g.set(0, g.arg(3).boolean()
                         ? G
                         : call<"aten::put", Tensor>(G, g.in(1), zeros(g.in(1).sizes(), G.dtype(), G.device()), false));
          if (g.needs(2)) g.set(2, reshape(call<"aten::take", Tensor>(G, g.in(1)), g.sizes(2)));
        }),
};
#undef G

}  // namespace

void define_advanced_index() {
  define_all(defs);
  for (const WriteDef& d : write_defs) define_write(d);
}

}  // namespace fc
