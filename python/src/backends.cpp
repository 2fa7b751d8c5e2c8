// SPDX-License-Identifier: Apache-2.0
// Backends from Python: loading, what they hold, fallback counts, streams; and single calls of compute families, from
// which facula/conformance.py makes its scorecard.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>

#include "backends/plugin/plugin.h"
#include "bind.h"
#include "casters.h"
#include "core/device_record.h"
#include "dispatch/fallback.h"
#include "dispatch/family_table.h"
#include "dispatch/operator.h"
#include "plan/pointwise.h"

namespace nb = nanobind;

namespace fc {
namespace {

Device device_of(nb::handle h) { return py::to_device(h.ptr()); }
void* pointer(uintptr_t p) { return reinterpret_cast<void*>(p); }
uintptr_t number(void* p) { return reinterpret_cast<uintptr_t>(p); }

nb::list backends() {
  nb::list out;
  for (const BackendInfo& b : loaded_backends()) {
    nb::dict d;
    d["name"] = b.name;
    d["origin"] = b.origin;
    d["device_count"] = b.device_count;
    d["devices"] = b.descriptions;
    d["families"] = b.families;
    d["operators"] = b.operators;
    d["functions"] = b.functions;
    d["single_device"] = b.single_device;
    d["exact_memory"] = b.exact_memory;
    d["python_module"] = b.python_module;
    d["streams"] = b.streams;
    d["pinned_memory"] = b.pinned_memory;
    out.append(d);
  }
  return out;
}

// --- single family calls. Operands are tensors that are expanded to the call's shape already, numbers or None.
struct Operands {
  std::vector<Tensor> tensors;
  std::vector<Scalar> numbers;
  std::vector<bool> is_number;
  std::vector<ByteStrides> strides;

  explicit Operands(const nb::list& list) {
    for (nb::handle h : list) {
      bool tensor = py::is_tensor(h.ptr());
      tensors.push_back(tensor ? py::tensor_of(h.ptr()) : Tensor());
      is_number.push_back(!tensor && !h.is_none());
      numbers.push_back(is_number.back() ? py::to_scalar(h.ptr()) : Scalar());
      strides.push_back(tensor ? ByteStrides(tensors.back()) : ByteStrides());
    }
    FC_CHECK_AS(ValueError, !tensors.empty() && first().defined(), "_run_family: no tensor among the operands");
    for (const Tensor& t : tensors)
      FC_CHECK_AS(ValueError, !t.defined() || (t.device() == first().device() && t.dim() == first().dim()),
                  "_run_family: operands differ in device or dimensions");
  }
  const Tensor& first() const {
    for (const Tensor& t : tensors)
      if (t.defined()) return t;
    return tensors[0];
  }
  fc_operand operand(size_t i, DType number_type) const {
    if (tensors[i].defined()) return fc::operand(tensors[i], strides[i]);
    fc_operand o{};
    o.dtype = static_cast<int32_t>(number_type);
    if (is_number[i]) o.value = to_number(numbers[i]);
    return o;
  }
  void same_shape(IntSpan shape, std::initializer_list<size_t> which) const {
    for (size_t i : which)
      FC_CHECK_AS(ValueError, !tensors[i].defined() || Dims::same(tensors[i].sizes(), shape), "_run_family: operand ",
                  i, " has shape ", tensors[i].sizes(), ", the call has ", shape);
  }
};

template <class Call>
bool run_if_claimed(Device device, fc_family family, void (*Families::*member)(void*, Device, const Call&), Call& c) {
  c.size = sizeof c;
  if (device.is_meta()) return false;
  const Families& f = families(device.type);
  if (!device_supports(f, family, &c)) return false;
  (f.*member)(f.context, device, c);
  return true;
}

bool run_map(const Operands& o, int opcode, DType compute, const std::vector<Scalar>& params) {
  FC_CHECK_AS(ValueError, opcode >= 0 && opcode < map_opcode_count(), "_run_family: no map opcode ", opcode);
  const MapOpcode& code = map_opcode(opcode);
  FC_CHECK_AS(ValueError,
              o.tensors.size() == code.inputs + 1u && params.size() == code.params && o.tensors[0].defined(),
              "_run_family: map ", code.name, " takes ", code.inputs, " inputs and ", code.params, " parameters");
  IntSpan shape = o.tensors[0].sizes();
  fc_map c{};
  c.opcode = opcode;
  c.n_in = code.inputs;
  c.n_params = code.params;
  c.ndim = static_cast<int32_t>(shape.size());
  c.shape = shape.data();
  c.compute = static_cast<int32_t>(compute);
  c.out = o.operand(0, compute);
  for (size_t i = 1; i < o.tensors.size(); ++i) {
    o.same_shape(shape, {i});
    c.in[i - 1] = o.operand(i, compute);
  }
  for (size_t i = 0; i < params.size(); ++i) c.params[i] = to_number(params[i]);
  return run_if_claimed(o.first().device(), FC_FAMILY_MAP, &Families::map, c);
}

bool decompose(const Operands& o, int opcode, DType compute, const std::vector<Scalar>& params) {
  FC_CHECK_AS(ValueError,
              opcode >= 0 && opcode < map_opcode_count() && o.tensors[0].defined() &&
                  params.size() == map_opcode(opcode).params && o.tensors.size() == map_opcode(opcode).inputs + 1u,
              "_decompose: wrong operands");
  std::vector<MapInput> inputs;
  for (size_t i = 1; i < o.tensors.size(); ++i)
    inputs.push_back({o.tensors[i].defined() ? &o.tensors[i] : nullptr, o.numbers[i]});
  MapRequest r{
      .op = map_opcode(opcode).name, .opcode = opcode, .inputs = inputs, .params = params, .out = &o.tensors[0]};
  if (o.tensors[0].dtype() == DType::Bool && compute != DType::Bool) r.promote = Promote::Compare;
  r.compute = compute;
  Tensor result;
  return decompose_map(r, result);
}

bool run_named_family(const std::string& family, int opcode, const nb::list& list, nb::handle compute_type, int dim,
                      const nb::list& param_list, bool descending) {
  Operands o(list);
  std::vector<Scalar> params;
  for (nb::handle h : param_list) params.push_back(py::to_scalar(h.ptr()));
  DType compute = py::to_dtype(compute_type.ptr());
  Device device = o.first().device();
  if (family == "map") return run_map(o, opcode, compute, params);
  if (family == "decompose") return decompose(o, opcode, compute, params);
  size_t n = o.tensors.size();
  auto need = [&](size_t count, bool ok) {
    FC_CHECK_AS(ValueError, n == count && ok, "_run_family: wrong operands for ", family);
  };
  if (family == "copy") {
    need(2, o.tensors[0].defined() && (o.tensors[1].defined() || o.is_number[1]));
    IntSpan shape = o.tensors[0].sizes();
    o.same_shape(shape, {1});
    fc_copy c{};
    c.ndim = static_cast<int32_t>(shape.size());
    c.shape = shape.data();
    c.dst = o.operand(0, compute);
    c.src = o.operand(1, o.tensors[0].dtype());
    return run_if_claimed(device, FC_FAMILY_COPY, &Families::copy, c);
  }
  if (family == "random") {
    need(2, o.tensors[0].defined() && !is_complex(o.tensors[0].dtype()) && params.size() == 6 &&
                opcode >= FC_RANDOM_UNIFORM && opcode <= FC_RANDOM_INTEGER);
    IntSpan shape = o.tensors[0].sizes();
    o.same_shape(shape, {1});
    fc_random c{};
    c.opcode = opcode;
    c.ndim = static_cast<int32_t>(shape.size());
    c.shape = shape.data();
    c.out = o.operand(0, compute);
    c.p = o.operand(1, DType::Float32);
    c.a = params[0].to_double(), c.b = params[1].to_double();
    c.low = params[2].to_int(), c.range = static_cast<uint64_t>(params[3].to_int());
    c.seed = static_cast<uint64_t>(params[4].to_int()), c.offset = static_cast<uint64_t>(params[5].to_int());
    return run_if_claimed(device, FC_FAMILY_RANDOM, &Families::random, c);
  }
  need(3, true);
  const Tensor &first = o.tensors[0], &second = o.tensors[1], &third = o.tensors[2];
  FC_CHECK_AS(ValueError, family == "matmul" || (dim >= -1 && dim < std::max<int64_t>(o.first().dim(), 1)),
              "_run_family: no dimension ", dim);
  if (family == "matmul") {
    need(3, first.defined() && second.defined() && third.defined() && first.dim() == 3);
    fc_matmul c{};
    c.dtype = static_cast<int32_t>(first.dtype());
    c.batch = first.sizes()[0];
    c.m = first.sizes()[1];
    c.n = first.sizes()[2];
    c.k = second.sizes()[2];
    o.same_shape(Dims{c.batch, c.m, c.k}, {1});
    o.same_shape(Dims{c.batch, c.k, c.n}, {2});
    FC_CHECK_AS(ValueError, second.dtype() == first.dtype() && third.dtype() == first.dtype(),
                "_run_family: matmul of mixed types");
    c.c = first.data();
    c.a = second.data();
    c.b = third.data();
    const int64_t *cs = o.strides[0].data(), *as = o.strides[1].data(), *bs = o.strides[2].data();
    c.c_batch = cs[0], c.c_row = cs[1], c.c_col = cs[2];
    c.a_batch = as[0], c.a_row = as[1], c.a_col = as[2];
    c.b_batch = bs[0], c.b_row = bs[1], c.b_col = bs[2];
    c.alpha = params.size() > 0 ? params[0].to_double() : 1;
    c.beta = params.size() > 1 ? params[1].to_double() : 0;
    return run_if_claimed(device, FC_FAMILY_MATMUL, &Families::matmul, c);
  }
  if (family == "reduce") {
    need(3, second.defined() && (first.defined() || third.defined()) && opcode >= FC_REDUCE_sum &&
                opcode <= FC_REDUCE_all);
    o.same_shape(second.sizes(), {0, 2});
    FC_CHECK_AS(ValueError, !third.defined() || third.dtype() == DType::Int64, "_run_family: indices are int64");
    fc_reduce c{};
    c.opcode = opcode;
    c.ndim = static_cast<int32_t>(second.dim());
    c.compute = static_cast<int32_t>(compute);
    c.shape = second.sizes().data();
    c.out = o.operand(0, compute);
    c.in = o.operand(1, compute);
    c.indices = o.operand(2, DType::Int64);
    c.dim = dim;
    return run_if_claimed(device, FC_FAMILY_REDUCE, &Families::reduce, c);
  }
  need(3, first.defined() && second.defined() && dim >= 0);
  if (family == "gather") {
    need(3, third.defined() && third.dtype() == DType::Int64 && first.dtype() == second.dtype() && first.dim() > 0);
    o.same_shape(third.sizes(), {0});
    for (int64_t d = 0; d < third.dim(); ++d)
      FC_CHECK_AS(ValueError, d == dim || third.size(d) <= second.size(d),
                  "_run_family: index is larger than the input");
    fc_gather c{};
    c.ndim = static_cast<int32_t>(third.dim());
    c.shape = third.sizes().data();
    c.out = o.operand(0, compute);
    c.in = o.operand(1, compute);
    c.index = o.operand(2, DType::Int64);
    c.dim = dim;
    c.in_size = second.size(dim);
    return run_if_claimed(device, FC_FAMILY_GATHER, &Families::gather, c);
  }
  if (family == "scatter") {
    need(3, third.defined() && third.dtype() == DType::Int64 && first.dtype() == second.dtype() && first.dim() > 0 &&
                opcode >= FC_SCATTER_SET && opcode <= FC_SCATTER_MIN);
    o.same_shape(third.sizes(), {1});
    for (int64_t d = 0; d < third.dim(); ++d)
      FC_CHECK_AS(ValueError, d == dim || third.size(d) <= first.size(d),
                  "_run_family: index is larger than the result");
    fc_scatter c{};
    c.opcode = opcode;
    c.ndim = static_cast<int32_t>(third.dim());
    c.dim = dim;
    c.shape = third.sizes().data();
    c.out = o.operand(0, compute);
    c.src = o.operand(1, compute);
    c.index = o.operand(2, DType::Int64);
    c.out_size = first.size(dim);
    return run_if_claimed(device, FC_FAMILY_SCATTER, &Families::scatter, c);
  }
  o.same_shape(first.sizes(), {1, 2});
  FC_CHECK_AS(ValueError, !third.defined() || third.dtype() == DType::Int64, "_run_family: indices are int64");
  auto fill = [&](auto& c) {
    c.ndim = static_cast<int32_t>(first.dim());
    c.dim = dim;
    c.shape = first.sizes().data();
    c.out = o.operand(0, compute);
    c.in = o.operand(1, compute);
    c.indices = o.operand(2, DType::Int64);
  };
  if (family == "scan") {
    need(3, opcode >= FC_SCAN_SUM && opcode <= FC_SCAN_MIN);
    fc_scan c{};
    fill(c);
    c.opcode = opcode;
    return run_if_claimed(device, FC_FAMILY_SCAN, &Families::scan, c);
  }
  need(3, family == "sort");
  fc_sort c{};
  fill(c);
  c.descending = descending;
  return run_if_claimed(device, FC_FAMILY_SORT, &Families::sort, c);
}

}  // namespace

namespace py {
static int64_t integer_of_64_bits(nb::handle h) {
  const int64_t value = PyLong_AsLongLong(h.ptr());
  if (value == -1 && PyErr_Occurred()) throw nb::python_error();  // OverflowError
  return value;
}
}  // namespace py

// An argument of a backend's own function.
static Value argument(nb::handle h) {
  PyObject* o = h.ptr();
  if (h.is_none()) return {};
  if (py::is_tensor(o)) return Value(py::tensor_of(o));
  if (PyBool_Check(o)) return Value(o == Py_True);
  if (PyLong_Check(o)) return Value(py::integer_of_64_bits(h));
  if (PyFloat_Check(o)) return Value(nb::cast<double>(h));
  if (PyUnicode_Check(o)) return Value(nb::cast<std::string>(h));
  if (py::is_dtype(o)) return Value(py::to_dtype(o));
  if (PyList_Check(o) || PyTuple_Check(o)) {
    std::vector<Tensor> tensors;
    std::vector<int64_t> ints;
    std::vector<double> doubles;
    size_t n = 0;
    for (nb::handle item : nb::borrow<nb::sequence>(h)) {
      ++n;
      if (py::is_tensor(item.ptr())) tensors.push_back(py::tensor_of(item.ptr()));
      else if (PyLong_Check(item.ptr()))
        ints.push_back(py::integer_of_64_bits(item)), doubles.push_back(static_cast<double>(ints.back()));
      else if (PyFloat_Check(item.ptr())) doubles.push_back(nb::cast<double>(item));
    }
    if (n > 0 && tensors.size() == n) return Value(std::move(tensors));
    if (ints.size() == n) return Value(IntSpan(ints));
    if (doubles.size() == n) return Value(Arg(std::span<const double>(doubles)));
  }
  raise<TypeError>(
      "a backend's function takes None, bool, int, float, str, dtype, tensors and lists of ints, floats or tensors, "
      "not ",
      Py_TYPE(o)->tp_name);
}

// What every device has, from its record.
static void bind_devices(nb::module_& m) {
  m.def("_device_records", [] {
    nb::list out;
    for (const DeviceRecord* r : device_records())
      out.append(nb::make_tuple(std::string(r->name), r->count, r->single, r->has_streams()));
    return out;
  });
  m.def("_current_device", [](nb::handle d) { return current_device(device_of(d).type); });
  m.def("_set_current_device", [](nb::handle d) { set_current_device(device_of(d)); });
  m.def("_backend_synchronize", [](nb::handle d) {
    const Device device = device_of(d);
    DeviceRecord& r = device_record(device);
    py::ReleaseGil free;
    r.synchronise(device);
  });
  m.def("_backend_memory_stats", [](nb::handle d) {
    const Device device = device_of(d);
    const MemoryStats s = device_record(device).memory_stats(device);
    nb::dict out;
    out["current"] = s.current;
    out["peak"] = s.peak;
    out["total"] = s.total;
    out["allocations"] = s.allocations;
    out["cached"] = s.cached;
    out["from_system"] = s.from_system;
    return out;
  });
  m.def("_backend_reset_peak", [](nb::handle d) { device_record(device_of(d)).reset_peak(device_of(d)); });
  m.def("_backend_memory_blocks", [](nb::handle d) {
    nb::list out;
    for (const MemoryBlock& b : device_record(device_of(d)).memory_blocks(device_of(d)))
      out.append(nb::make_tuple(number(const_cast<void*>(b.address)), b.bytes, b.requested, number(b.stream)));
    return out;
  });
  m.def("_backend_empty_cache", [](nb::handle d) { device_record(device_of(d)).empty_cache(device_of(d)); });
  m.def("_backend_counters", [](nb::handle d) {
    nb::dict out;
    for (const Counter& c : backend_counters(device_of(d))) out[c.name.c_str()] = c.value;
    return out;
  });
  m.def("_backend_memory_info", [](nb::handle d) {
    const MemoryInfo info = device_record(device_of(d)).memory_info(device_of(d));
    return nb::make_tuple(info.free, info.total);
  });
  m.def("_empty_pinned", [](const std::vector<int64_t>& sizes, nb::handle dtype, nb::handle d) {
    return empty_pinned(sizes, py::to_dtype(dtype.ptr()), device_of(d));
  });
  m.def("_backend_call", [](nb::handle d, const std::string& function, const nb::list& given) {
    const Device device = device_of(d);
    std::vector<Value> args;
    for (nb::handle h : given) args.push_back(argument(h));
    Value result;
    {
      py::ReleaseGil free;
      result = call_backend(device, function, args);
    }
    return nb::steal(py::check(py::wrap(result)));
  });
  m.def("_default_generator", [](nb::handle d) {
    const Device device = with_index(device_of(d));
    return nb::steal(py::check(py::wrap(device_record(device).default_generator(device))));
  });
  m.def("_seed_all_devices", &seed_all_devices);
  // --- streams and events, as numbers
  m.def("_stream_create", [](nb::handle d) { return number(device_record(device_of(d)).create_stream(device_of(d))); });
  m.def("_stream_destroy",
        [](nb::handle d, uintptr_t s) { device_record(device_of(d)).destroy_stream(device_of(d), pointer(s)); });
  m.def("_stream_current", [](nb::handle d) { return number(current_stream(device_of(d))); });
  m.def("_stream_set", [](nb::handle d, uintptr_t s) { set_current_stream(device_of(d), pointer(s)); });
  m.def("_event_create", [](nb::handle d) { return number(device_record(device_of(d)).create_event(device_of(d))); });
  m.def("_event_destroy",
        [](nb::handle d, uintptr_t e) { device_record(device_of(d)).destroy_event(device_of(d), pointer(e)); });
  m.def("_event_record",
        [](nb::handle d, uintptr_t e) { device_record(device_of(d)).record_event(device_of(d), pointer(e)); });
  m.def("_event_wait",
        [](nb::handle d, uintptr_t e) { device_record(device_of(d)).wait_event(device_of(d), pointer(e)); });
  m.def("_event_query",
        [](nb::handle d, uintptr_t e) { return device_record(device_of(d)).event_done(device_of(d), pointer(e)); });
  m.def("_event_synchronize", [](nb::handle d, uintptr_t e) {
    const Device device = device_of(d);
    DeviceRecord& r = device_record(device);
    py::ReleaseGil free;
    r.synchronise_event(device, pointer(e));
  });
  m.def("_event_elapsed", [](nb::handle d, uintptr_t start, uintptr_t end) {
    return device_record(device_of(d)).event_elapsed(device_of(d), pointer(start), pointer(end));
  });
}

void bind_backends(nb::module_& m) {
  m.def("_load_backend", [](const std::string& path) { return std::string(device_type_name(load_backend(path))); });
  m.def("_register_backend", [](uintptr_t address, const std::string& origin) {
    return std::string(device_type_name(register_backend(*static_cast<const fc_backend*>(pointer(address)), origin)));
  });
  m.def("_host_services", [] { return number(const_cast<fc_host*>(&host_services())); });
  m.def("_set_backend_error",
        [](nb::handle e, std::string message) { py::set_backend_error(e.ptr(), std::move(message)); });
  m.def("_set_device_finder", [](nb::handle finder) {
    static PyObject* kept = nullptr;  // called for device names that are not known yet; true: look again
    kept = finder.inc_ref().ptr();
    find_more_devices = [](std::string_view name) {
      py::TakeGil gil;
      py::Own text(py::check(PyUnicode_DecodeUTF8(name.data(), static_cast<Py_ssize_t>(name.size()), "replace")));
      py::Own found(py::in_interpreter([&] { return PyObject_CallOneArg(kept, text.get()); }));
      int yes = found ? PyObject_IsTrue(found.get()) : -1;
      if (yes < 0) throw py::PythonError{};
      return yes == 1;
    };
  });
  m.def("_backends", &backends);
  m.def("_fallback_counts", [] {
    nb::dict out;
    for (const FallbackCount& c : fallback_counts())
      out[nb::make_tuple(c.op, std::string(device_type_name(c.device_type)))] = c.count;
    return out;
  });
  m.def("_reset_fallback_counts", &reset_fallback_counts);
  m.def("_set_fallback_mode", [](const std::string& mode) {
    FC_CHECK_AS(ValueError, mode == "count" || mode == "warn" || mode == "error",
                "set_fallback_mode: expected 'count', 'warn' or 'error', got '", mode, "'");
    set_fallback_mode(mode == "count"  ? FallbackMode::Count
                      : mode == "warn" ? FallbackMode::Warn
                                       : FallbackMode::Error);
  });
  m.def("_set_fallback_note", &set_fallback_note);
  m.def("_fallback_mode", [] {
    FallbackMode mode = fallback_mode();
    return mode == FallbackMode::Count ? "count" : mode == FallbackMode::Warn ? "warn" : "error";
  });
  bind_devices(m);
  // --- families
  m.def("_map_opcodes", [] {
    nb::list out;
    for (int i = 0; i < map_opcode_count(); ++i)
      out.append(nb::make_tuple(map_opcode(i).name, static_cast<int>(map_opcode(i).inputs),
                                static_cast<int>(map_opcode(i).params)));
    return out;
  });
  nb::list reductions, base_reductions;
  for (int i = 0; i < reduce_opcode_count(); ++i) reductions.append(reduce_opcode(i).name);
  for (int i = 0; i <= FC_REDUCE_all; ++i) base_reductions.append(reduce_opcode(i).name);
  m.attr("_reductions") = nb::tuple(reductions);
  m.attr("_base_reductions") = nb::tuple(base_reductions);
  m.attr("_last_base_opcode") = static_cast<int>(FC_MAP_where);
  m.def("_run_family", &run_named_family, nb::arg("family"), nb::arg("opcode"), nb::arg("operands"), nb::arg("compute"),
        nb::arg("dim") = -1, nb::arg("params") = nb::list(), nb::arg("descending") = false);
}

}  // namespace fc
