// SPDX-License-Identifier: Apache-2.0
#include "ops/subscript.h"

#include "define/calls.h"

namespace fc {
namespace {

bool is_mask(const Tensor& t) { return t.dtype() == DType::Bool || t.dtype() == DType::UInt8; }

// What is left to do by tensors after integers, slices and None have made a view.
struct Parsed {
  Tensor view;
  std::vector<Tensor> tensors;  // as aten::index wants them: undefined where a dimension is taken whole
};

Tensor pick(const Tensor& t, int64_t dim, int64_t index) {
  FC_CHECK_AS(IndexError, t.dim() > 0,
              "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or "
              "`tensor.item<T>()` in C++ to convert a 0-dim tensor to a number");
  int64_t size = t.size(dim);
  FC_CHECK_AS(IndexError, index >= -size && index < size, "index ", index, " is out of bounds for dimension ", dim,
              " with size ", size);
  return select(t, dim, index);
}

Parsed parse(const Tensor& self, std::span<const TensorIndex> indices) {
  using Kind = TensorIndex::Kind;
  int64_t named = 0;
  for (const TensorIndex& i : indices) {
    if (i.kind == Kind::Integer || i.kind == Kind::Slice) ++named;
    else if (i.kind == Kind::Tensor) named += is_mask(i.tensor) ? i.tensor.dim() : 1;
  }
  if (self.dim() == 0 && named > 0 && indices.size() == 1 && indices[0].kind == Kind::Integer) pick(self, 0, 0);
  FC_CHECK_AS(IndexError, named <= self.dim(), "too many indices for tensor of dimension ", self.dim());

  Parsed p{self, {}};
  int64_t dim = 0;     // the next dimension of the view
  int64_t hidden = 0;  // how many dimensions masks stand for beyond one each: aten::index takes one entry a mask
  auto record = [&](const Tensor& t) {
    p.tensors.resize(static_cast<size_t>(dim - hidden));
    p.tensors.push_back(t);
  };
  auto flag = [&](bool on) {  // a new dimension of one element, kept or not
    p.view = unsqueeze(p.view, dim);
    record(on ? zeros(Dims{1}, DType::Int64, self.device()) : zeros(Dims{0}, DType::Int64, self.device()));
    ++dim;
  };
  for (const TensorIndex& i : indices) {
    switch (i.kind) {
      case Kind::None: p.view = unsqueeze(p.view, dim++); break;
      case Kind::Ellipsis:
        dim += self.dim() - named;
        named = self.dim();
        break;
      case Kind::Integer: p.view = pick(p.view, dim, i.integer); break;
      case Kind::Boolean: flag(i.integer != 0); break;
      case Kind::Slice: {
        const Slice& s = i.slice;
        FC_CHECK_AS(ValueError, s.step > 0, "step must be greater than zero");
        if (s.start.value_or(0) != 0 || s.stop || s.step != 1) p.view = slice(p.view, dim, s.start, s.stop, s.step);
        ++dim;
        break;
      }
      case Kind::Tensor: {
        const Tensor& t = i.tensor;
        if (t.dim() > 0 || !is_integral(t.dtype(), true)) {
          record(t);
          int64_t covers = is_mask(t) ? t.dim() : 1;
          dim += covers;
          hidden += covers - 1;
        } else {
          Scalar v = call<"aten::_local_scalar_dense", Scalar>(t);
          if (is_mask(t)) flag(v.to_bool());
          else p.view = pick(p.view, dim, v.to_int());
        }
        break;
      }
    }
  }
  return p;
}

// A value may have more dimensions than the place it goes to, if the surplus in front is all ones.
Tensor drop_leading_ones(const Tensor& value, int64_t ndim) {
  IntSpan sizes = value.sizes();
  while (static_cast<int64_t>(sizes.size()) > ndim && sizes[0] == 1) sizes = sizes.subspan(1);
  return sizes.size() == value.sizes().size() ? value : view(value, sizes);
}

}  // namespace

Tensor get_item(const Tensor& self, std::span<const TensorIndex> indices) {
  Parsed p = parse(self, indices);
  if (!p.tensors.empty()) return call<"aten::index.Tensor", Tensor>(p.view, p.tensors);
  return p.view.same(self) ? call<"aten::alias", Tensor>(self) : p.view;
}

void set_item(const Tensor& self, std::span<const TensorIndex> indices, const Tensor& value) {
  Parsed p = parse(self, indices);
  if (p.tensors.empty()) copy_(p.view, drop_leading_ones(value, p.view.dim()));
  else call<"aten::index_put_", Tensor>(p.view, p.tensors, value, false);
}

void set_item(const Tensor& self, std::span<const TensorIndex> indices, const Scalar& value) {
  Parsed p = parse(self, indices);
  if (p.tensors.empty()) fill_(p.view, value);
  else call<"aten::index_put_", Tensor>(p.view, p.tensors, full({}, value, self.dtype(), self.device()), false);
}

}  // namespace fc
