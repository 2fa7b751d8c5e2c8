// SPDX-License-Identifier: Apache-2.0
// What TorchScript asks of tensors, devices, enums and of values of any type.
#include <algorithm>
#include <memory>

#include "autograd/autograd.h"
#include "core/sparse.h"
#include "core/type.h"
#include "define/calls.h"
#include "dispatch/observe.h"
#include "jit/ops/script_ops.h"

namespace fc::jit {
namespace {

#define KERNEL(name) void name(void*, const Operator&, [[maybe_unused]] const Arg* a, [[maybe_unused]] fc::Value* r)

Scalar number_in(const Tensor& t) { return call<"aten::_local_scalar_dense", Scalar>(t); }

// Numbers that gradients may flow into do not become Python numbers silently.
const Tensor& plain(const Arg& a) {
  const Tensor& t = a.tensor();
  FC_CHECK(!autograd::requires_grad(t), "Cannot input a tensor that requires grad as a scalar argument");
  FC_CHECK(t.sizes().empty(), "Cannot input a tensor of dimension other than 0 as a scalar argument");
  return t;
}
KERNEL(exact_int) {
  const Scalar s = number_in(a[0].tensor());
  r[0] = s.is_integral(true) ? s.to_int() : static_cast<int64_t>(s.to_double());
}
KERNEL(float_of) { r[0] = number_in(a[0].tensor()).to_double(); }
KERNEL(bool_of) { r[0] = number_in(a[0].tensor()).to_double() != 0; }
KERNEL(implicit_int) {
  FC_CHECK(is_integral(plain(a[0]).dtype(), true), "Cannot input a floating-point tensor as an int argument");
  r[0] = number_in(a[0].tensor()).to_int();
}
KERNEL(implicit_float) { r[0] = number_in(plain(a[0])).to_double(); }
KERNEL(implicit_complex) { r[0] = Scalar(number_in(plain(a[0])).to_complex()); }
KERNEL(implicit_scalar) { r[0] = fc::Value(number_in(plain(a[0]))); }
KERNEL(tensor_length) {
  FC_CHECK_AS(TypeError, !a[0].tensor().sizes().empty(), "len() of a 0-d tensor");
  r[0] = a[0].tensor().sizes()[0];
}

int64_t dimension(const Arg* a) {
  const auto rank = static_cast<int64_t>(a[0].tensor().sizes().size()), dim = a[1].integer();
  FC_CHECK_AS(IndexError, dim >= -rank && dim < rank, "Dimension out of range (expected to be in range of [", -rank,
              ", ", rank - 1, "], but got ", dim, ")");
  return dim < 0 ? dim + rank : dim;
}
KERNEL(sizes) { r[0] = fc::Value(a[0].tensor().sizes()); }
KERNEL(size) { r[0] = a[0].tensor().sizes()[static_cast<size_t>(dimension(a))]; }
KERNEL(strides) { r[0] = fc::Value(a[0].tensor().strides()); }
KERNEL(stride) { r[0] = a[0].tensor().strides()[static_cast<size_t>(dimension(a))]; }
KERNEL(rank) { r[0] = static_cast<int64_t>(a[0].tensor().sizes().size()); }
KERNEL(numel) { r[0] = a[0].tensor().numel(); }
KERNEL(offset) { r[0] = a[0].tensor().offset(); }
KERNEL(contiguous) { r[0] = a[0].tensor().is_contiguous(); }
KERNEL(contiguous_as) {
  r[0] = a[0].tensor().is_contiguous(
      static_cast<MemoryFormat>(a[1].tag() == Tag::Int ? a[1].integer() : static_cast<int64_t>(a[1].memory_format())));
}
KERNEL(floating) { r[0] = is_floating(a[0].tensor().dtype()); }
KERNEL(complex) { r[0] = is_complex(a[0].tensor().dtype()); }
KERNEL(device_number) {
  r[0] = a[0].tensor().device().is_cpu() ? int64_t{-1} : static_cast<int64_t>(a[0].tensor().device().index);
}
KERNEL(item) { r[0] = fc::Value(number_in(a[0].tensor())); }

KERNEL(device) { r[0] = a[0].tensor().device(); }
KERNEL(dtype) { r[0] = static_cast<int64_t>(a[0].tensor().dtype()); }
KERNEL(layout) { r[0] = static_cast<int64_t>(layout_of(a[0].tensor())); }
KERNEL(requires_grad) { r[0] = autograd::requires_grad(a[0].tensor()); }
KERNEL(gradient) { r[0] = fc::Value(autograd::grad_of(a[0].tensor())); }
KERNEL(is_cpu) { r[0] = a[0].tensor().device().is_cpu(); }
KERNEL(is_cuda) { r[0] = a[0].tensor().device().type == Device::CUDA; }
KERNEL(is_meta) { r[0] = a[0].tensor().device().is_meta(); }
KERNEL(is_sparse) { r[0] = layout_of(a[0].tensor()) == Layout::SparseCoo; }
KERNEL(is_sparse_csr) { r[0] = layout_of(a[0].tensor()) == Layout::SparseCsr; }
KERNEL(no) { r[0] = false; }
KERNEL(item_bytes) { r[0] = static_cast<int64_t>(item_size(a[0].tensor().dtype())); }
KERNEL(all_bytes) { r[0] = a[0].tensor().numel() * static_cast<int64_t>(item_size(a[0].tensor().dtype())); }
KERNEL(data) { r[0] = fc::Value(call<"aten::detach", Tensor>(a[0].tensor())); }
KERNEL(tensor_abs) { r[0] = fc::Value(call<"aten::abs", Tensor>(a[0].tensor())); }
KERNEL(number_to_tensor) {
  const Scalar s = a[0].scalar();
  const DType type = s.is_complex()         ? complex_of(default_dtype())
                     : s.is_bool()          ? DType::Bool
                     : s.is_integral(false) ? DType::Int64
                                            : DType::Float64;
  r[0] =
      fc::Value(call<"aten::scalar_tensor", Tensor>(s, type, std::optional<Layout>(), Device{}, std::optional<bool>()));
}

KERNEL(device_type) {
  const std::string name(device_type_name(a[0].device().type));
  r[0] = std::string_view(name);
}
KERNEL(device_index) {
  if (a[0].device().index >= 0) r[0] = static_cast<int64_t>(a[0].device().index);
}
KERNEL(device_of) { r[0] = parse_device(a[0].text()); }
KERNEL(device_with_index) { r[0] = parse_device(str(a[0].text(), ':', a[1].integer())); }
KERNEL(same_device) { r[0] = a[0].device() == a[1].device(); }
KERNEL(other_device) { r[0] = !(a[0].device() == a[1].device()); }

KERNEL(is) {
  const fc::Value x = value_of(a[0]), y = value_of(a[1]);
  const bool shared = x.tag() >= Tag::IntList && x.tag() == y.tag();
  r[0] = shared ? x.box() == y.box() : equal(x, y);
}
KERNEL(is_not) {
  is(nullptr, get_operator("aten::__is__"), a, r);
  r[0] = !r[0].arg().boolean();
}
KERNEL(same) { r[0] = equal(value_of(a[0]), value_of(a[1])); }
KERNEL(different) { r[0] = !equal(value_of(a[0]), value_of(a[1])); }
KERNEL(hash) { r[0] = static_cast<int64_t>(hash_of(value_of(a[0]))); }
const EnumBox& enum_of(const Arg& a) {
  const fc::Value& v = held(a);
  FC_CHECK(v.tag() == Tag::Enum, "expected an Enum, got ", to_string(v.tag()));
  return *static_cast<const EnumBox*>(v.box());
}
KERNEL(enum_name) { r[0] = std::string_view(enum_of(a[0]).name); }
KERNEL(enum_value) { r[0] = enum_of(a[0]).value; }

KERNEL(grad_enabled) { r[0] = fc::grad_enabled(); }
KERNEL(set_grad_enabled) { GradMode::set(a[0].boolean()); }
KERNEL(yes) { r[0] = true; }

// Ranges that this thread is in, by their depth: what torch.autograd.profiler.record_function holds.
struct OpenRange {
  OpenRange(std::string_view n, std::string_view t) : name(n), text(t) {}
  const std::string name, text;
  const RangeScope scope{name, text};
};
thread_local std::vector<std::unique_ptr<OpenRange>> open_ranges;
KERNEL(enter_range) {
  open_ranges.push_back(std::make_unique<OpenRange>(a[0].text(), a[1].is_none() ? "" : a[1].text()));
  r[0] = static_cast<int64_t>(open_ranges.size());
}
KERNEL(exit_range) {
  const auto depth = static_cast<size_t>(std::max<int64_t>(a[0].integer(), 1));
  while (open_ranges.size() >= depth) open_ranges.pop_back();
}
KERNEL(warn_about) { warn(std::string(a[0].text())); }

constexpr ScriptRow rows[] = {
    {"aten::Int.Tensor(Tensor a) -> int", exact_int},
    {"aten::Float.Tensor(Tensor a) -> float", float_of},
    {"aten::Bool.Tensor(Tensor a) -> bool", bool_of},
    {"aten::IntImplicit(Tensor a) -> int", implicit_int},
    {"aten::FloatImplicit(Tensor a) -> float", implicit_float},
    {"aten::ComplexImplicit(Tensor a) -> complex", implicit_complex},
    {"aten::ScalarImplicit(Tensor a) -> Scalar", implicit_scalar},
    {"aten::len.Tensor(Tensor t) -> int", tensor_length},
    {"aten::size(Tensor self) -> int[]", sizes},
    {"aten::size.int(Tensor self, int dim) -> int", size},
    {"aten::stride(Tensor self) -> int[]", strides},
    {"aten::stride.int(Tensor self, int dim) -> int", stride},
    {"aten::dim(Tensor self) -> int", rank},
    {"aten::numel(Tensor self) -> int", numel},
    {"aten::storage_offset(Tensor self) -> int", offset},
    {"aten::is_contiguous(Tensor self) -> bool", contiguous},
    {"aten::is_contiguous.memory_format(Tensor self, MemoryFormat memory_format) -> bool", contiguous_as},
    {"aten::is_floating_point(Tensor self) -> bool", floating},
    {"aten::is_complex(Tensor self) -> bool", complex},
    {"aten::element_size(Tensor self) -> int", item_bytes},
    {"aten::get_device(Tensor self) -> int", device_number},
    {"aten::item(Tensor self) -> Scalar", item},
    {"prim::device(Tensor a) -> Device", device},
    {"prim::dtype(Tensor a) -> int", dtype},
    {"prim::layout(Tensor a) -> Layout", layout},
    {"prim::requires_grad(Tensor a) -> bool", requires_grad},
    {"prim::is_cpu(Tensor a) -> bool", is_cpu},
    {"prim::is_cuda(Tensor a) -> bool", is_cuda},
    {"prim::is_meta(Tensor a) -> bool", is_meta},
    {"prim::is_sparse(Tensor a) -> bool", is_sparse},
    {"prim::is_sparse_csr(Tensor a) -> bool", is_sparse_csr},
    {"prim::is_xla(Tensor a) -> bool", no},
    {"prim::is_xpu(Tensor a) -> bool", no},
    {"prim::is_ipu(Tensor a) -> bool", no},
    {"prim::is_mps(Tensor a) -> bool", no},
    {"prim::is_mtia(Tensor a) -> bool", no},
    {"prim::is_maia(Tensor a) -> bool", no},
    {"prim::is_vulkan(Tensor a) -> bool", no},
    {"prim::is_mkldnn(Tensor a) -> bool", no},
    {"prim::is_nested(Tensor a) -> bool", no},
    {"prim::is_quantized(Tensor a) -> bool", no},
    {"prim::itemsize(Tensor a) -> int", item_bytes},
    {"prim::nbytes(Tensor a) -> int", all_bytes},
    {"prim::data(Tensor(a) a) -> Tensor(a)", data},
    {"prim::grad(Tensor a) -> Tensor(*)", gradient},
    {"prim::abs(Tensor x) -> Tensor", tensor_abs},
    {"prim::NumToTensor.Scalar(Scalar a) -> Tensor", number_to_tensor},
    {"prim::NumToTensor.bool(bool a) -> Tensor", number_to_tensor},
    {"prim::type(Device self) -> str", device_type},
    {"prim::index(Device self) -> int?", device_index},
    {"aten::device(str a) -> Device", device_of},
    {"aten::device.with_index(str type, int index) -> Device", device_with_index},
    {"aten::eq.device(Device a, Device b) -> bool", same_device},
    {"aten::ne.device(Device a, Device b) -> bool", other_device},
    {"aten::__is__(t1 self, t2 obj) -> bool", is},
    {"aten::__isnot__(t1 self, t2 obj) -> bool", is_not},
    {"aten::eq.enum(AnyEnumType a, AnyEnumType b) -> bool", same},
    {"aten::ne.enum(AnyEnumType a, AnyEnumType b) -> bool", different},
    {"aten::hash.generic(t value) -> int", hash},
    {"prim::EnumName(AnyEnumType enum) -> str", enum_name},
    {"prim::EnumValue.int(AnyEnumType enum) -> int", enum_value},
    {"prim::EnumValue.float(AnyEnumType enum) -> float", enum_value},
    {"prim::EnumValue.str(AnyEnumType enum) -> str", enum_value},
    {"aten::is_grad_enabled() -> bool", grad_enabled},
    {"aten::set_grad_enabled(bool val) -> ()", set_grad_enabled},
    {"aten::is_scripting() -> bool", yes},
    {"profiler::_enter_range(str name, str? args=None) -> int", enter_range},
    {"profiler::_exit_range(int depth) -> ()", exit_range},
    {"aten::warn(str message, int stacklevel=2) -> ()", warn_about},
};

}  // namespace

void define_tensor_fact_operators() { define_rows(rows); }

}  // namespace fc::jit
