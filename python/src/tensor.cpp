// SPDX-License-Identifier: Apache-2.0
// Functions around tensors that are no operators: making them from Python data, threads, memory, default types.
#include <nanobind/nanobind.h>

#include "bind.h"
#include "tracing.h"
#include "casters.h"
#include "core/threads.h"
#include "dispatch/forward_level.h"
#include "plan/pointwise.h"

namespace nb = nanobind;

namespace fc {
namespace {

std::optional<DType> optional_dtype(nb::handle h) {
  return h.is_none() ? std::nullopt : std::optional(py::to_dtype(h.ptr()));
}
std::optional<Device> optional_device(nb::handle h) {
  return h.is_none() ? std::nullopt : std::optional(py::to_device(h.ptr()));
}

MapInput input_of(nb::handle h, Tensor& keep) {
  if (py::is_tensor(h.ptr())) {
    keep = py::tensor_of(h.ptr());
    return {&keep, {}};
  }
  return {nullptr, py::to_scalar(h.ptr())};
}

nb::object steal(PyObject* o) { return nb::steal(py::check(o)); }

// The memory of a tensor, offered by NumPy's array interface and kept as long as an array looks at it. It has no
// attributes that Python could change.
class LentMemory {
 public:
  explicit LentMemory(const Tensor& t) : tensor_(shallow_copy(t, false)) {
    FC_CHECK_AS(TypeError, t.device().is_cpu() && (!is_reduced(t.dtype()) || t.dtype() == DType::Float16),
                "NumPy cannot look at memory of type ", t.dtype(), " on ", t.device());
    FC_CHECK_AS(TypeError, !t.impl().is_sparse(),
                "can't convert a sparse tensor to numpy. Use Tensor.to_dense() first.");
    t.impl().storage()->lend();
  }
  nb::dict array_interface() const {
    const int64_t item = static_cast<int64_t>(item_size(tensor_.dtype()));
    Dims strides(tensor_.strides());
    for (int64_t& s : strides) s *= item;
    nb::dict d;
    d["version"] = 3;
    d["shape"] = steal(py::wrap_ints(tensor_.sizes()));
    d["strides"] = steal(py::wrap_ints(strides));
    d["typestr"] = str(item == 1 ? '|' : '<', info(tensor_.dtype()).kind, item);
    d["data"] = nb::make_tuple(reinterpret_cast<uintptr_t>(tensor_.data()), tensor_.impl().storage()->read_only());
    return d;
  }

 private:
  Tensor tensor_;  // nobody else's, so its storage cannot be exchanged
};

}  // namespace

void bind_tensor(nb::module_& m) {
  m.def("_set_tensor_class",
        [](nb::handle cls) { py::tensor_class = reinterpret_cast<PyTypeObject*>(cls.inc_ref().ptr()); });
  m.def(
      "_tensor",
      [](nb::handle data, nb::handle dtype, nb::handle device, int how) {
        if (py::tracing()) [[unlikely]]
          return py::traced_tensor(data.ptr(), optional_dtype(dtype), optional_device(device), how);
        return py::tensor_from(data.ptr(), optional_dtype(dtype), optional_device(device), (how & 1) != 0);
      },
      nb::arg("data").none(), nb::arg("dtype").none(), nb::arg("device").none(), nb::arg("how"),
      "how: 1 copies, 0 shares memory where it can; and 2 for torch.tensor, 4 for torch.as_tensor, which traces name");
  m.def("_from_buffer", [](nb::handle data) {
    if (py::tracing()) [[unlikely]]
      py::warn_of_constant("torch.from_numpy");
    return py::tensor_from_buffer(data.ptr());
  });
  m.def("_is_read_only", [](const Tensor& t) { return given(t).impl().storage()->read_only(); });
  nb::class_<LentMemory>(m, "_LentMemory").def_prop_ro("__array_interface__", &LentMemory::array_interface);
  m.def("_lend", [](const Tensor& t) { return LentMemory(given(t)); });
  m.def("result_type", [](nb::handle a, nb::handle b) {
    Tensor x, y;
    MapInput in[] = {input_of(a, x), input_of(b, y)};
    return steal(py::wrap(result_type(in)));
  });
  m.def("promote_types", [](nb::handle a, nb::handle b) {
    return steal(py::wrap(promote(py::to_dtype(a.ptr()), py::to_dtype(b.ptr()))));
  });
  m.def("can_cast", [](nb::handle a, nb::handle b) { return can_cast(py::to_dtype(a.ptr()), py::to_dtype(b.ptr())); });
  m.def("get_default_dtype", [] { return steal(py::wrap(default_dtype())); });
  m.def("set_default_dtype", [](nb::handle t) { set_default_dtype(py::to_dtype(t.ptr())); });
  m.def("get_num_threads", &num_threads);
  m.def("set_num_threads", &set_num_threads);
  m.def("are_deterministic_algorithms_enabled", &deterministic_algorithms);
  m.def("_set_deterministic_algorithms", &set_deterministic_algorithms);
  m.def("_set_cache", &set_cpu_cache);
  m.def("_fail_allocation", &fail_cpu_allocation);
  m.def("_bytes", [](const Tensor& t) {  // of a contiguous CPU tensor
    FC_CHECK(given(t).is_contiguous() && t.device().is_cpu(), "internal: _bytes wants a contiguous CPU tensor");
    return nb::bytes(t.numel() == 0 ? "" : static_cast<const char*>(t.data()),
                     static_cast<size_t>(t.numel()) * item_size(t.dtype()));
  });
  m.def("_storage_tensor", [](const Tensor& t) {  // the whole memory, as bytes
    return make_view(given(t), Dims{static_cast<int64_t>(t.impl().storage()->bytes())}, Dims{1}, 0, DType::UInt8);
  });
  m.def("_on_storage", [](const Tensor& bytes, nb::handle dtype, const std::vector<int64_t>& sizes,
                          const std::vector<int64_t>& strides, int64_t offset) {  // a tensor of its own, no view
    DType t = py::to_dtype(dtype.ptr());
    bool ok = sizes.size() == strides.size() && sizes.size() <= kMaxRank && offset >= 0 && offset <= kMaxStride;
    for (int64_t s : strides) ok &= s >= 0 && s <= kMaxStride;
    FC_CHECK(ok && checked_numel(sizes) >= 0 &&
                 storage_bytes_needed(sizes, strides, offset, t) <= given(bytes).impl().storage()->bytes(),
             "a tensor of size ", IntSpan(sizes), ", strides ", IntSpan(strides), ", offset ", offset, " and type ", t,
             " does not fit into a storage of ", bytes.impl().storage()->bytes(), " bytes");
    auto impl = make_ref<TensorImpl>(bytes.impl().storage(), t, bytes.device());
    impl->set_geometry(sizes, strides, offset);
    return Tensor(std::move(impl));
  });
  m.def("_separate_storage", [](const Tensor& t) { separate_storage(given(t)); });  // for forward_ad
  m.def("_storage_users", [](const Tensor& t) {
    FC_CHECK(given(t).impl().storage(), "a tensor without a storage");
    return t.impl().storage()->use_count();
  });
  m.def("_dtype_number", [](nb::handle t) { return static_cast<int>(py::to_dtype(t.ptr())); });
}

}  // namespace fc
