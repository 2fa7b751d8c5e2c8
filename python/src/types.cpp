// SPDX-License-Identifier: Apache-2.0
// dtype, device, Size, memory_format, layout: small immutable objects, most of them singletons.
#include <cstring>
#include <mutex>
#include <optional>

#include "core/device_record.h"
#include "define/calls.h"
#include "py.h"
#include "tracing.h"

namespace fc::py {
namespace {

struct DTypeObject {
  PyObject_HEAD DType value;
};
struct DeviceObject {
  PyObject_HEAD Device value;
};
struct EnumObject {  // memory_format, layout
  PyObject_HEAD int value;
  const char* name;
};
struct GeneratorObject {
  PyObject_HEAD Ref<Generator> value;
};

PyTypeObject *dtype_type, *device_type, *size_type, *memory_format_type, *layout_type, *generator_type;
PyObject* dtypes[kDTypeSlots];
PyObject* memory_formats[4];
PyObject* layouts[6];

PyObject* text(const std::string& s) {
  return PyUnicode_FromStringAndSize(s.data(), static_cast<Py_ssize_t>(s.size()));
}
DType value_of(PyObject* o) { return reinterpret_cast<DTypeObject*>(o)->value; }
Device device_of(PyObject* o) { return reinterpret_cast<DeviceObject*>(o)->value; }
// --- dtype
PyObject* dtype_repr(PyObject* self) { return text(str("torch.", value_of(self))); }
// (facula._pickle.<maker>, (argument,)); takes the argument over.
PyObject* reduce_by(const char* maker, PyObject* argument) {
  Own arg(argument), module(PyImport_ImportModule("facula._pickle"));
  if (!arg || !module) return nullptr;
  Own f(PyObject_GetAttrString(module.get(), maker));
  return f ? Py_BuildValue("O(O)", f.get(), arg.get()) : nullptr;
}
PyObject* dtype_reduce(PyObject* self, PyObject*) {
  return reduce_by("named", text(std::string(to_string(value_of(self)))));
}
PyGetSetDef dtype_getset[] = {
    {"is_floating_point", [](PyObject* s, void*) { return PyBool_FromLong(is_floating(value_of(s))); }, nullptr,
     "whether it holds floating-point numbers", nullptr},
    {"is_complex", [](PyObject* s, void*) { return PyBool_FromLong(is_complex(value_of(s))); }, nullptr,
     "whether it holds complex numbers", nullptr},
    {"is_signed", [](PyObject* s, void*) { return PyBool_FromLong(is_signed(value_of(s))); }, nullptr,
     "whether it holds negative numbers", nullptr},
    {"itemsize", [](PyObject* s, void*) { return PyLong_FromSize_t(item_size(value_of(s))); }, nullptr,
     "bytes per element", nullptr},
    {}};
PyMethodDef dtype_methods[] = {{"__reduce__", dtype_reduce, METH_NOARGS, nullptr},
                               {"to_real", [](PyObject* s, PyObject*) { return wrap(real_of(value_of(s))); },
                                METH_NOARGS, "the real type of a complex one"},
                               {"to_complex", [](PyObject* s, PyObject*) { return wrap(complex_of(value_of(s))); },
                                METH_NOARGS, "the complex type of a real one"},
                               {}};

// --- device
PyObject* device_new(PyTypeObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"type", "index", nullptr};
    PyObject *type = nullptr, *index = nullptr;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:device", const_cast<char**>(names), &type, &index))
      return nullptr;
    Device d = to_device(type);
    if (index && index != Py_None) {
      FC_CHECK(PyUnicode_Check(type) && d.index < 0,
               "type (string) must not include an index because index was passed explicitly: ", d);
      int64_t i = to_int(index);
      FC_CHECK(i >= 0 && i < 128, "Device index must be between 0 and 127, got ", i);
      d.index = static_cast<int8_t>(i);
    }
    return wrap(d);
  });
}
PyObject* device_repr(PyObject* self) {
  Device d = device_of(self);
  std::string out = str("device(type='", device_type_name(d.type), "'");
  if (d.index >= 0) out += str(", index=", static_cast<int>(d.index));
  return text(out + ")");
}
PyObject* device_compare(PyObject* a, PyObject* b, int op) {
  if ((op != Py_EQ && op != Py_NE) || !PyObject_TypeCheck(b, device_type)) Py_RETURN_NOTIMPLEMENTED;
  Device x = device_of(a), y = device_of(b);
  return PyBool_FromLong((x.type == y.type && x.index == y.index) == (op == Py_EQ));
}
Py_hash_t device_hash(PyObject* self) {
  Device d = device_of(self);
  return d.type * 131 + d.index + 1;
}
PyGetSetDef device_getset[] = {
    {"type", [](PyObject* s, void*) { return text(std::string(device_type_name(device_of(s).type))); }, nullptr,
     "the kind of device", nullptr},
    {"index",
     [](PyObject* s, void*) -> PyObject* {
       if (device_of(s).index < 0) Py_RETURN_NONE;
       return PyLong_FromLong(device_of(s).index);
     },
     nullptr, "which one of its kind, or None", nullptr},
    {}};
// `with torch.device("meta"):` makes it the thread's default device. One object may be entered several times.
std::vector<Device>& devices_before() {
  static thread_local std::vector<Device> before;
  return before;
}
PyObject* device_enter(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    devices_before().push_back(default_device());
    thread_state().default_device = device_of(self);
    return Py_NewRef(self);
  });
}
PyObject* device_exit(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    FC_CHECK(!devices_before().empty(), "device: left more often than entered");
    thread_state().default_device = devices_before().back();
    devices_before().pop_back();
    Py_RETURN_NONE;
  });
}
PyMethodDef device_methods[] = {
    {"__enter__", device_enter, METH_NOARGS, "make it this thread's default device"},
    {"__exit__", device_exit, METH_VARARGS, nullptr},
    {"__reduce__", [](PyObject* s, PyObject*) { return reduce_by("device", text(to_string(device_of(s)))); },
     METH_NOARGS, nullptr},
    {}};

// --- memory_format, layout
PyObject* enum_repr(PyObject* self) { return text(str("torch.", reinterpret_cast<EnumObject*>(self)->name)); }
PyMethodDef enum_methods[] = {
    {"__reduce__",
     [](PyObject* s, PyObject*) { return reduce_by("named", text(reinterpret_cast<EnumObject*>(s)->name)); },
     METH_NOARGS, nullptr},
    {}};

// --- Size
PyObject* size_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    Own t(check(PyTuple_Type.tp_new(type, args, kwargs)));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(t.get()); ++i) {
      PyObject* item = PyTuple_GET_ITEM(t.get(), i);
      if (PyLong_Check(item) || (tracing() && is_tensor(item))) continue;
      if (!PyIndex_Check(item))
        raise<TypeError>("torch.Size() takes an iterable of 'int' (item ", i, " is '", Py_TYPE(item)->tp_name, "')");
      PyTuple_SET_ITEM(t.get(), i, check(PyNumber_Index(item)));
      Py_DECREF(item);
    }
    return t.release();
  });
}
PyObject* size_repr(PyObject* self) {
  std::string out = "torch.Size([";
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self); ++i) {
    Own s(PyObject_Str(PyTuple_GET_ITEM(self, i)));
    if (!s) return nullptr;
    out += str(i ? ", " : "", PyUnicode_AsUTF8(s.get()));
  }
  return text(out + "])");
}
PyObject* as_size(PyObject* tuple) {
  if (!tuple || Py_IS_TYPE(tuple, size_type) || !PyTuple_Check(tuple)) return tuple;
  Own t(tuple);
  return PyObject_CallFunctionObjArgs(reinterpret_cast<PyObject*>(size_type), tuple, nullptr);
}
PyObject* size_subscript(PyObject* self, PyObject* index) {
  return as_size(PyTuple_Type.tp_as_mapping->mp_subscript(self, index));
}
PyObject* size_concat(PyObject* a, PyObject* b) { return as_size(PyTuple_Type.tp_as_sequence->sq_concat(a, b)); }
PyObject* size_repeat(PyObject* a, Py_ssize_t n) { return as_size(PyTuple_Type.tp_as_sequence->sq_repeat(a, n)); }
PyMethodDef size_methods[] = {
    {"numel",
     [](PyObject* s, PyObject*) -> PyObject* {
       Own n(PyLong_FromLong(1));
       for (Py_ssize_t i = 0; n && i < PyTuple_GET_SIZE(s); ++i)
         n.reset(PyNumber_Multiply(n.get(), PyTuple_GET_ITEM(s, i)));
       return n.release();
     },
     METH_NOARGS, "number of elements of a tensor of this size"},
    {"__reduce__", [](PyObject* s, PyObject*) -> PyObject* { return reduce_by("size", PySequence_List(s)); },
     METH_NOARGS, nullptr},
    {}};

// --- Generator
Generator& generator_of(PyObject* o) { return *reinterpret_cast<GeneratorObject*>(o)->value; }
PyObject* generator_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"device", nullptr};
    PyObject* device = nullptr;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:Generator", const_cast<char**>(names), &device)) return nullptr;
    auto* self = reinterpret_cast<GeneratorObject*>(check(type->tp_alloc(type, 0)));
    new (&self->value) Ref<Generator>();
    Own guard(reinterpret_cast<PyObject*>(self));
    const Device where = device ? to_device(device) : Device{};
    FC_CHECK(where.is_meta() || device_record(int{where.type}).count > 0, "Generator: no backend for device '", where,
             "' is loaded");
    if (where.is_meta()) self->value = make_ref<PhiloxGenerator>(where, kDefaultSeed);
    else self->value = device_record(where).make_generator(with_index(where), kDefaultSeed);
    return guard.release();
  });
}
void generator_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  reinterpret_cast<GeneratorObject*>(self)->value.~Ref();
  type->tp_free(self);
  Py_DECREF(type);
}
uint64_t seed_of(PyObject* o) {
  Own i(check(PyNumber_Index(o)));
  int overflow = 0;
  int64_t v = PyLong_AsLongLongAndOverflow(i.get(), &overflow);
  if (!overflow) return static_cast<uint64_t>(v);
  uint64_t u = overflow > 0 ? PyLong_AsUnsignedLongLong(i.get()) : UINT64_MAX;
  if (overflow < 0 || PyErr_Occurred()) {
    PyErr_Clear();
    raise<ValueError>("manual_seed: Overflow when unpacking long long: seed must be in [-2**63, 2**64)");
  }
  return u;
}
PhiloxGenerator& philox_of(PyObject* o, const char* what) {
  FC_CHECK(!generator_of(o).device().is_cpu(), what, ": a generator of the CPU has no offset");
  return static_cast<PhiloxGenerator&>(generator_of(o));
}
PyMethodDef generator_methods[] = {
    {"manual_seed",
     [](PyObject* s, PyObject* seed) {
       return guarded([&]() -> PyObject* {
         uint64_t v = seed_of(seed);
         std::lock_guard lock(generator_of(s).mutex);
         generator_of(s).set_seed(v);
         return Py_NewRef(s);
       });
     },
     METH_O, "manual_seed(seed): start over from this seed"},
    {"initial_seed", [](PyObject* s, PyObject*) { return PyLong_FromUnsignedLongLong(generator_of(s).initial_seed()); },
     METH_NOARGS, "the seed last set"},
    {"seed",
     [](PyObject* s, PyObject*) {
       return guarded([&]() -> PyObject* {
         std::lock_guard lock(generator_of(s).mutex);
         return PyLong_FromUnsignedLongLong(generator_of(s).seed());
       });
     },
     METH_NOARGS, "draw a seed from the system, use and return it"},
    {"get_state",
     [](PyObject* s, PyObject*) {
       return guarded([&]() -> PyObject* {
         std::unique_lock lock(generator_of(s).mutex);
         const std::vector<uint8_t> bytes = generator_of(s).state();
         lock.unlock();
         Tensor t = empty_tensor(Dims{static_cast<int64_t>(bytes.size())}, DType::UInt8, Device{});
         std::memcpy(t.data(), bytes.data(), bytes.size());
         return wrap(std::move(t));
       });
     },
     METH_NOARGS, "the state as a ByteTensor"},
    {"set_state",
     [](PyObject* s, PyObject* state) {
       return guarded([&]() -> PyObject* {
         FC_CHECK_AS(TypeError,
                     is_tensor(state) && tensor_of(state).dtype() == DType::UInt8 && tensor_of(state).device().is_cpu(),
                     "RNG state must be a torch.ByteTensor");
         const Tensor t = contiguous(tensor_of(state));
         const auto* p = t.data_as<uint8_t>();
         std::lock_guard lock(generator_of(s).mutex);
         generator_of(s).set_state(std::vector<uint8_t>(p, p + t.numel()));
         return Py_NewRef(s);
       });
     },
     METH_O, "take over a state"},
    {"__reduce__",
     [](PyObject* s, PyObject*) -> PyObject* {
       Own state(PyObject_CallMethod(s, "get_state", nullptr));
       Own device(guarded([&] { return wrap(generator_of(s).device()); }));
       return state && device ? reduce_by("generator", PyTuple_Pack(2, device.get(), state.get())) : nullptr;
     },
     METH_NOARGS, nullptr},
    {"get_offset",
     [](PyObject* s, PyObject*) {
       return guarded([&]() -> PyObject* { return PyLong_FromUnsignedLongLong(philox_of(s, "get_offset").offset()); });
     },
     METH_NOARGS, "how many numbers of its seed were taken; of generators of devices"},
    {"set_offset",
     [](PyObject* s, PyObject* offset) {
       return guarded([&]() -> PyObject* {
         PhiloxGenerator& g = philox_of(s, "set_offset");
         const uint64_t v = seed_of(offset);
         std::lock_guard lock(g.mutex);
         g.set_offset(v);
         return Py_NewRef(s);
       });
     },
     METH_O, "set_offset(n): goes on after n numbers of its seed"},
    {"graphsafe_get_state",
     [](PyObject* s, PyObject*) { return guarded([&]() -> PyObject* { return wrap(generator_of(s).clone()); }); },
     METH_NOARGS, "a generator with the same state"},
    {"clone_state",
     [](PyObject* s, PyObject*) { return guarded([&]() -> PyObject* { return wrap(generator_of(s).clone()); }); },
     METH_NOARGS, "a generator with the same state"},
    {}};
PyGetSetDef generator_getset[] = {{"device", [](PyObject* s, void*) { return wrap(generator_of(s).device()); }, nullptr,
                                   "the device it draws for", nullptr},
                                  {}};
PyObject* generator_repr(PyObject* self) { return PyUnicode_FromFormat("<torch._C.Generator object at %p>", self); }

PyTypeObject* make_type(PyObject* module, const char* name, int size, unsigned flags,
                        std::initializer_list<PyType_Slot> slots, PyObject* base = nullptr) {
  std::vector<PyType_Slot> all(slots);
  all.push_back({0, nullptr});
  PyType_Spec spec{name, size, 0, static_cast<unsigned>(Py_TPFLAGS_DEFAULT | flags), all.data()};
  PyObject* t = check(base ? PyType_FromSpecWithBases(&spec, base) : PyType_FromSpec(&spec));
  check(PyModule_AddObjectRef(module, std::strrchr(name, '.') + 1, t));
  return reinterpret_cast<PyTypeObject*>(t);
}
void* slot(auto f) { return reinterpret_cast<void*>(+f); }

}  // namespace

PyObject* wrap(DType t) {
  if (t == DType::Undefined) Py_RETURN_NONE;
  return Py_NewRef(dtypes[static_cast<int>(t)]);
}
PyObject* wrap(Device d) {
  auto* o = reinterpret_cast<DeviceObject*>(device_type->tp_alloc(device_type, 0));
  if (o) o->value = d;
  return reinterpret_cast<PyObject*>(o);
}
PyObject* wrap(MemoryFormat f) { return Py_NewRef(memory_formats[static_cast<int>(f)]); }
PyObject* wrap(Layout l) { return Py_NewRef(layouts[static_cast<int>(l)]); }

bool is_size(PyObject* o) { return PyObject_TypeCheck(o, size_type); }
PyObject* wrap_size(IntSpan sizes) {
  // Size adds nothing to a tuple's layout, so it is filled directly.
  PyObject* t = size_type->tp_alloc(size_type, static_cast<Py_ssize_t>(sizes.size()));
  if (!t) return nullptr;
  for (size_t i = 0; i < sizes.size(); ++i)
    PyTuple_SET_ITEM(t, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(sizes[i]));
  return t;
}
PyObject* wrap_ints(IntSpan v) {
  PyObject* t = PyTuple_New(static_cast<Py_ssize_t>(v.size()));
  if (!t) return nullptr;
  for (size_t i = 0; i < v.size(); ++i) PyTuple_SET_ITEM(t, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(v[i]));
  return t;
}
PyObject* wrap(const Ref<Generator>& g) {
  auto* o = reinterpret_cast<GeneratorObject*>(generator_type->tp_alloc(generator_type, 0));
  if (o) new (&o->value) Ref<Generator>(g);
  return reinterpret_cast<PyObject*>(o);
}

bool is_dtype(PyObject* o) {
  return Py_TYPE(o) == dtype_type || o == reinterpret_cast<PyObject*>(&PyFloat_Type) ||
         o == reinterpret_cast<PyObject*>(&PyLong_Type) || o == reinterpret_cast<PyObject*>(&PyBool_Type) ||
         o == reinterpret_cast<PyObject*>(&PyComplex_Type);
}
DType to_dtype(PyObject* o) {
  if (Py_TYPE(o) == dtype_type) return value_of(o);
  if (o == reinterpret_cast<PyObject*>(&PyFloat_Type)) return DType::Float64;
  if (o == reinterpret_cast<PyObject*>(&PyLong_Type)) return DType::Int64;
  if (o == reinterpret_cast<PyObject*>(&PyBool_Type)) return DType::Bool;
  if (o == reinterpret_cast<PyObject*>(&PyComplex_Type)) return DType::Complex128;
  raise<TypeError>("expected a torch.dtype, got ", Py_TYPE(o)->tp_name);
}
bool is_device(PyObject* o) {
  return Py_TYPE(o) == device_type || PyUnicode_Check(o) || (PyLong_Check(o) && !PyBool_Check(o));
}
Device to_device(PyObject* o) {
  if (Py_TYPE(o) == device_type) return device_of(o);
  if (PyUnicode_Check(o)) return parse_device(utf8(o));
  FC_CHECK_AS(TypeError, PyLong_Check(o) && !PyBool_Check(o), "device(): argument 'type' must be str, not ",
              Py_TYPE(o)->tp_name);
  int64_t i = to_int(o);
  FC_CHECK(i >= 0 && i < 128, "Device index must not be negative");
  return {Device::CUDA, static_cast<int8_t>(i)};  // a bare number names an accelerator, as in PyTorch
}
bool is_memory_format(PyObject* o) { return Py_TYPE(o) == memory_format_type; }
MemoryFormat to_memory_format(PyObject* o) {
  FC_CHECK_AS(TypeError, is_memory_format(o), "memory_format must be torch.memory_format, not ", Py_TYPE(o)->tp_name);
  return static_cast<MemoryFormat>(reinterpret_cast<EnumObject*>(o)->value);
}
bool is_layout(PyObject* o) { return Py_TYPE(o) == layout_type; }
Layout to_layout(PyObject* o) { return static_cast<Layout>(reinterpret_cast<EnumObject*>(o)->value); }
Generator* to_generator(PyObject* o) {
  return PyObject_TypeCheck(o, generator_type) ? reinterpret_cast<GeneratorObject*>(o)->value.get() : nullptr;
}

void add_value_types(PyObject* module) {
  constexpr unsigned no_new = Py_TPFLAGS_DISALLOW_INSTANTIATION;
  dtype_type =
      make_type(module, "torch.dtype", sizeof(DTypeObject), no_new,
                {{Py_tp_repr, slot(dtype_repr)}, {Py_tp_getset, dtype_getset}, {Py_tp_methods, dtype_methods}});
  for (int i = 0; i < kDTypeSlots; ++i) {
    DType t = static_cast<DType>(i);
    if (!exists(t)) continue;
    auto* o = reinterpret_cast<DTypeObject*>(check(dtype_type->tp_alloc(dtype_type, 0)));
    o->value = t;
    dtypes[i] = reinterpret_cast<PyObject*>(o);
    check(PyModule_AddObjectRef(module, info(t).name, dtypes[i]));
  }
  device_type = make_type(module, "torch.device", sizeof(DeviceObject), 0,
                          {{Py_tp_new, slot(device_new)},
                           {Py_tp_repr, slot(device_repr)},
                           {Py_tp_hash, slot(device_hash)},
                           {Py_tp_str, slot([](PyObject* s) { return text(to_string(device_of(s))); })},
                           {Py_tp_richcompare, slot(device_compare)},
                           {Py_tp_getset, device_getset},
                           {Py_tp_methods, device_methods}});
  size_type = make_type(module, "torch.Size", 0, 0,
                        {{Py_tp_new, slot(size_new)},
                         {Py_tp_repr, slot(size_repr)},
                         {Py_mp_subscript, slot(size_subscript)},
                         {Py_sq_concat, slot(size_concat)},
                         {Py_sq_repeat, slot(size_repeat)},
                         {Py_tp_methods, size_methods}},
                        reinterpret_cast<PyObject*>(&PyTuple_Type));
  memory_format_type = make_type(module, "torch.memory_format", sizeof(EnumObject), no_new,
                                 {{Py_tp_repr, slot(enum_repr)}, {Py_tp_methods, enum_methods}});
  constexpr const char* formats[] = {"contiguous_format", "preserve_format", "channels_last", "channels_last_3d"};
  auto make_enum = [&](PyTypeObject* type, int value, const char* name) {
    auto* o = reinterpret_cast<EnumObject*>(check(type->tp_alloc(type, 0)));
    o->value = value;
    o->name = name;
    check(PyModule_AddObjectRef(module, name, reinterpret_cast<PyObject*>(o)));
    return reinterpret_cast<PyObject*>(o);
  };
  for (int i = 0; i < 4; ++i) memory_formats[i] = make_enum(memory_format_type, i, formats[i]);
  layout_type = make_type(module, "torch.layout", sizeof(EnumObject), no_new,
                          {{Py_tp_repr, slot(enum_repr)}, {Py_tp_methods, enum_methods}});
  for (int i = 0; i < 6; ++i) layouts[i] = make_enum(layout_type, i, to_string(static_cast<Layout>(i)).data());
  generator_type = make_type(module, "torch.Generator", sizeof(GeneratorObject), Py_TPFLAGS_BASETYPE,
                             {{Py_tp_new, slot(generator_new)},
                              {Py_tp_dealloc, slot(generator_dealloc)},
                              {Py_tp_repr, slot(generator_repr)},
                              {Py_tp_methods, generator_methods},
                              {Py_tp_getset, generator_getset}});
  Own g(check(wrap(default_generator_ref())));
  check(PyModule_AddObjectRef(module, "default_generator", g.get()));
}

}  // namespace fc::py
