// SPDX-License-Identifier: Apache-2.0
// Tensors made of TorchScript's numbers and lists, and what only graphs call of tensors: compositions of operators.
#include "autograd/autograd.h"
#include "core/future.h"
#include "define/calls.h"
#include "jit/ops/script_ops.h"

namespace fc::jit {
namespace {

// The numbers of a list of lists, and its shape.
struct Flat {
  std::vector<Scalar> numbers;
  Dims sizes;
  std::optional<DType> type;

  void add(const fc::Value& v, size_t depth) {
    FC_CHECK(depth < 64, "tensor: lists nested more than 64 deep");
    if (!is_list(v.tag())) {
      const Scalar s = v.is_tensor() ? call<"aten::_local_scalar_dense", Scalar>(v.tensor()) : v.arg().scalar();
      const DType own = s.is_bool()            ? DType::Bool
                        : s.is_complex()       ? DType::Complex64
                        : s.is_integral(false) ? DType::Int64
                                               : DType::Float32;
      type = own;
      numbers.push_back(s);
      FC_CHECK_AS(ValueError, depth == sizes.size(), "tensor: the lists differ in depth");
      return;
    }
    visit_list(v, [&](auto& items) {
      const auto n = static_cast<int64_t>(items.size());
      if (depth == sizes.size()) sizes.push_back(n);
      FC_CHECK_AS(ValueError, sizes[depth] == n, "Expected sequence of length ", sizes[depth], " at dim ", depth,
                  " (got ", n, ")");
      for (size_t i = 0; i < items.size(); ++i) add(fc::Value(items[i]), depth + 1);
    });
  }
};

DType default_type(const fc::Value& v) {  // of an empty list
  switch (v.tag()) {
    case Tag::IntList: return DType::Int64;
    case Tag::BoolList: return DType::Bool;
    default: return DType::Float32;
  }
}

// Of numbers and lists, with a dtype and a device.
Tensor made_of(const Arg* a) {
  const fc::Value data = value_of(a[0]);
  Flat flat;
  flat.add(data, 0);
  DType type = flat.type.value_or(default_type(data));
  if (!a[1].is_none()) type = a[1].tag() == Tag::Int ? static_cast<DType>(a[1].integer()) : a[1].dtype();
  else if (is_floating(type)) type = default_dtype();
  const Device device = a[2].is_none() ? Device{} : a[2].device();
  Tensor out = full(flat.sizes, Scalar(0), type, Device{});
  if (!flat.numbers.empty()) {
    std::vector<Tensor> parts;
    parts.reserve(flat.numbers.size());
    for (const Scalar& s : flat.numbers) parts.push_back(full({}, s, type, Device{}));
    out = call<"aten::reshape", Tensor>(call<"aten::stack", Tensor>(TensorSpan(parts), int64_t(0)), flat.sizes);
  }
  if (device != Device{})
    out = call<"aten::to.device", Tensor>(out, device, type, false, false, std::optional<MemoryFormat>());
  return out;
}
void tensor(void*, const Operator&, const Arg* a, fc::Value* r) {
  Tensor out = made_of(a);
  if (a[3].boolean()) autograd::set_requires_grad(out, true);
  r[0] = fc::Value(std::move(out));
}
void as_tensor(void*, const Operator&, const Arg* a, fc::Value* r) {
  if (!a[0].is_tensor()) {
    r[0] = made_of(a);
    return;
  }
  const Tensor& t = a[0].tensor();
  const DType type = a[1].is_none()           ? t.dtype()
                     : a[1].tag() == Tag::Int ? static_cast<DType>(a[1].integer())
                                              : a[1].dtype();
  r[0] = call<"aten::to.device", Tensor>(t, a[2].is_none() ? t.device() : a[2].device(), type, false, false,
                                         std::optional<MemoryFormat>());
}

void type_as(void*, const Operator&, const Arg* a, fc::Value* r) {
  r[0] = call<"aten::to.other", Tensor>(a[0].tensor(), a[1].tensor(), false, false, std::optional<MemoryFormat>());
}
Tensor on_device(const Tensor& t, Device device) {
  return call<"aten::to.device", Tensor>(t, device, t.dtype(), false, false, std::optional<MemoryFormat>());
}
void to_cpu(void*, const Operator&, const Arg* a, fc::Value* r) { r[0] = on_device(a[0].tensor(), Device{}); }
void to_cuda(void*, const Operator&, const Arg* a, fc::Value* r) {
  r[0] = on_device(a[0].tensor(), parse_device("cuda"));
}
DType dtype_of(const Arg& a, DType otherwise) { return a.is_none() ? otherwise : static_cast<DType>(a.integer()); }
void to_given(const Arg* a, fc::Value* r, Device device, DType type, int flags) {
  r[0] = call<"aten::to.device", Tensor>(a[0].tensor(), device, type, a[flags].boolean(), a[flags + 1].boolean(),
                                         std::optional<MemoryFormat>());
}
void to_prim_device(void*, const Operator&, const Arg* a, fc::Value* r) {
  const Tensor& t = a[0].tensor();
  to_given(a, r, a[1].is_none() ? t.device() : a[1].device(), dtype_of(a[2], t.dtype()), 3);
}
void to_prim_dtype(void*, const Operator&, const Arg* a, fc::Value* r) {
  to_given(a, r, a[0].tensor().device(), dtype_of(a[1], a[0].tensor().dtype()), 2);
}
void to_prim_other(void*, const Operator&, const Arg* a, fc::Value* r) {
  to_given(a, r, a[0].tensor().device(), a[0].tensor().dtype(), 1);
}
Tensor sum_of(const Arg* a, const Scalar& alpha) {
  return a[1].is_tensor() ? add(a[0].tensor(), a[1].tensor(), alpha) : add(a[0].tensor(), a[1].scalar(), alpha);
}
void add_relu(void*, const Operator&, const Arg* a, fc::Value* r) {
  r[0] = call<"aten::relu", Tensor>(sum_of(a, a[2].scalar()));
}
void add_relu_(void*, const Operator&, const Arg* a, fc::Value* r) {
  const Tensor& self = a[0].tensor();
  if (a[1].is_tensor()) add_(self, a[1].tensor(), a[2].scalar());
  else call<"aten::add_.Scalar", Tensor>(self, a[1].scalar(), a[2].scalar());
  r[0] = call<"aten::relu_", Tensor>(self);
}
void unwrap_optional(void*, const Operator&, const Arg* a, fc::Value* r) {
  FC_CHECK(!a[0].is_none(), "Unwrapping null optional");
  r[0] = value_of(a[0]);
}
void grad_sum_to_size(void*, const Operator&, const Arg* a, fc::Value* r) {
  r[0] = a[1].is_none() ? a[0].tensor() : sum_to_size(a[0].tensor(), held(a[1]).arg().ints());
}

// Where it is no instruction of its own: evaluated while a graph is compiled.
void wait(void*, const Operator&, const Arg* a, fc::Value* r) {
  Future& f = future_of(held(a[0]));
  f.wait();
  r[0] = f.value();
}

constexpr ScriptRow rows[] = {
    {"aten::wait(Future(t) self) -> t", wait},
    {"aten::type_as(Tensor self, Tensor other) -> Tensor", type_as},
    {"aten::cpu(Tensor(a) self) -> Tensor(b|a)", to_cpu},
    {"aten::cuda(Tensor(a) self) -> Tensor(b|a)", to_cuda},
    {"aten::to.prim_Device(Tensor(a) self, Device? device, int? dtype=None, bool non_blocking=False, bool copy=False) "
     "-> "
     "Tensor(a|b)",
     to_prim_device},
    {"aten::to.prim_dtype(Tensor(a) self, int? dtype=None, bool non_blocking=False, bool copy=False) -> Tensor(a|b)",
     to_prim_dtype},
    {"aten::to.prim_other(Tensor(a) self, bool non_blocking=False, bool copy=False) -> Tensor(a|b)", to_prim_other},
    {"aten::_add_relu.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", add_relu},
    {"aten::_add_relu.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", add_relu},
    {"aten::_add_relu_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)", add_relu_},
    {"aten::_add_relu_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) -> Tensor(a!)", add_relu_},
    {"aten::_unwrap_optional(t(a)? optional) -> t(a)", unwrap_optional},
    {"aten::_grad_sum_to_size(Tensor(a) self, int[]? size) -> Tensor(a)", grad_sum_to_size},
    {"aten::as_tensor(Tensor(a) data, *, ScalarType? dtype=None, Device? device=None) -> Tensor(b|a)", as_tensor},
    {"aten::as_tensor.bool(bool t, *, ScalarType? dtype=None, Device? device=None) -> Tensor", as_tensor},
    {"aten::as_tensor.float(float t, *, ScalarType? dtype=None, Device? device=None) -> Tensor", as_tensor},
    {"aten::as_tensor.int(int t, *, ScalarType? dtype=None, Device? device=None) -> Tensor", as_tensor},
    {"aten::as_tensor.complex(complex t, *, ScalarType? dtype=None, Device? device=None) -> Tensor", as_tensor},
    {"aten::as_tensor.list(t[] data, *, ScalarType? dtype=None, Device? device=None) -> Tensor", as_tensor},
    {"aten::tensor.bool(bool t, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor",
     tensor},
    {"aten::tensor.float(float t, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor",
     tensor},
    {"aten::tensor.int(int t, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor",
     tensor},
    {"aten::tensor.complex(complex t, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> "
     "Tensor",
     tensor},
    {"aten::tensor(t[] data, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor",
     tensor},
};

}  // namespace

void define_tensor_operators() { define_rows(rows); }

}  // namespace fc::jit
