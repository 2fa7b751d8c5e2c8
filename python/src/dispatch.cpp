// SPDX-License-Identifier: Apache-2.0
// The dispatcher from Python: operators by name, operators and kernels written in Python, layers and modes that see
// every call, libraries loaded at run time.
#include <dlfcn.h>
#include <nanobind/nanobind.h>

#include <algorithm>
#include <utility>

#include "autograd/autograd.h"
#include "backends/plugin/library_file.h"
#include "bind.h"
#include "call.h"
#include "casters.h"
#include "define/autocast.h"
#include "define/rule.h"
#include "dispatch.h"
#include "dispatch/family_table.h"
#include "dispatch/forward_level.h"
#include "dispatch/operator.h"
#include "dispatch/route.h"
#include "dispatch/snapshot.h"

namespace nb = nanobind;

namespace fc {

// They live for ever, like operators.
nb::object py::operator_object(const Operator& op) {
  static nb::dict& made = *new nb::dict;
  nb::object key = nb::cast(reinterpret_cast<size_t>(&op));
  if (!made.contains(key)) made[key] = nb::cast(const_cast<Operator*>(&op), nb::rv_policy::reference);
  return made[key];
}

namespace {

using py::operator_object;
using py::python_call;

nb::object steal(PyObject* o) { return nb::steal(py::check(o)); }

nb::list arguments(const std::vector<Parameter>& parameters) {  // they live as long as their operator: for ever
  nb::list out;
  for (const Parameter& p : parameters) out.append(nb::cast(&p, nb::rv_policy::reference));
  return out;
}

// --- calls as Python sees them: positional arguments, then keywords that differ from their defaults
nb::object to_python(const Arg& a) { return steal(py::wrap(Value(a))); }

bool same_value(const Arg& a, const Value& v) {
  if (a.is_none() || v.is_none()) return a.is_none() && v.is_none();
  if (a.is_tensor() || a.is_tensor_list()) return false;
  return to_string(a) == to_string(v.arg());
}

}  // namespace

std::pair<nb::tuple, nb::dict> py::python_call(const Operator& op, const Arg* args) {
  const auto& params = op.schema().parameters;
  size_t n = params.size(), last = 0;
  for (size_t i = 0; i < n; ++i)
    if (!params[i].keyword_only && !(params[i].has_default && same_value(args[i], params[i].default_value)))
      last = i + 1;
  nb::list positional;
  nb::dict keywords;
  for (size_t i = 0; i < n; ++i) {
    const Parameter& p = params[i];
    auto value = [&]() -> nb::object {
      if (p.type.list && args[i].is_tensor_list()) return nb::list(to_python(args[i]));
      if (p.type.list && args[i].tag() == Tag::IntList) return nb::list(to_python(args[i]));
      return to_python(args[i]);
    };
    if (!p.keyword_only && i < last) positional.append(value());
    else if (p.keyword_only && !(p.has_default && same_value(args[i], p.default_value)))
      keywords[p.name.c_str()] = value();
  }
  return {nb::tuple(positional), keywords};
}

namespace {

// `who` gave the results, for messages.
Value from_python(nb::handle h, const FlatType& type, const Operator& op, std::string_view who) {
  PyObject* o = h.ptr();
  if (h.is_none()) {
    // A backward or a kernel may leave a tensor out; one that has a single result to give forgot to return it.
    FC_CHECK_AS(TypeError, type.kind != Kind::Tensor || op.num_results() > 1 || type.optional, op.name(), ": ", who,
                " must return a Tensor, not None");
    return {};
  }
  if (type.list && type.kind == Kind::Tensor) {
    std::vector<Tensor> out;
    for (nb::handle item : h) {
      FC_CHECK_AS(TypeError, py::is_tensor(item.ptr()), op.name(), ": ", who, " returned a list that holds a ",
                  Py_TYPE(item.ptr())->tp_name);
      out.push_back(py::tensor_of(item.ptr()));
    }
    return Value(std::move(out));
  }
  if (type.list && type.kind == Kind::Int) {
    Dims v;
    for (nb::handle item : h) v.push_back(py::to_int(item.ptr()));
    return Value(IntSpan(v));
  }
  switch (type.kind) {
    case Kind::Tensor:
      FC_CHECK_AS(TypeError, py::is_tensor(o), op.name(), ": ", who, " must return a Tensor, not ",
                  Py_TYPE(o)->tp_name);
      return Value(Tensor(py::tensor_of(o)));
    case Kind::Bool: {
      const int yes = PyObject_IsTrue(o);
      py::check(yes);
      return Value(yes == 1);
    }
    case Kind::Int: return Value(py::to_int(o));
    case Kind::Str: return Value(py::utf8(o));
    default: return Value(py::to_scalar(o));
  }
}

void read_results(const Operator& op, nb::handle r, Value* results, std::string_view who) {
  const auto& returns = op.schema().returns;
  if (returns.empty()) return;
  if (returns.size() == 1) {
    results[0] = from_python(r, returns[0].type, op, who);
    return;
  }
  FC_CHECK_AS(TypeError, nb::isinstance<nb::tuple>(r) || nb::isinstance<nb::list>(r), op.name(), ": ", who,
              " must return ", returns.size(), " values");
  FC_CHECK(nb::len(r) == returns.size(), op.name(), ": ", who, " returned ", nb::len(r), " values, not ",
           returns.size());
  for (size_t i = 0; i < returns.size(); ++i) results[i] = from_python(r[i], returns[i].type, op, who);
}
// What the interpreter holds as the error of this thread is not seen by another, which a backward may end on: the
// exception itself holds it.
void store_results(const Operator& op, nb::handle r, Value* results,
                   std::string_view who = "the Python implementation") {
  try {
    read_results(op, r, results, who);
  } catch (const py::PythonError&) { throw nb::python_error(); }
}

// --- kernels written in Python
void python_kernel(void* function, const Operator& op, const Arg* args, Value* results) {
  py::TakeGil gil;
  auto [positional, keywords] = python_call(op, args);
  nb::object r = py::call_python(static_cast<PyObject*>(function), positional, keywords);
  store_results(op, r, results);
}

Operator& operator_named(const std::string& name) {
  Operator* op = find_operator(name);
  FC_CHECK(op, "no operator named ", name);
  return *op;
}

void set_python_kernel(const std::string& name, const std::string& key, nb::object f) {
  Operator& op = operator_named(name);
  py::ChangeAlone alone;
  Kernel k{python_kernel, f.release().ptr()};  // kept for ever, like the operator
  if (key == "CompositeImplicitAutograd") op.set_composite(k);
  else if (key == "CompositeExplicitAutograd") op.set_all_devices(k);
  else if (key == "Decomposition") op.set_decomposition(k);
  else if (key == "Autograd") op.set_autograd(k);
  else {
    std::string device = key;
    for (char& c : device) c = static_cast<char>(std::tolower(c));
    int type = find_device_type(device);
    FC_CHECK(type >= 0, "library: unknown dispatch key or device '", key, "'");
    op.set_kernel(type, k);
  }
}

// --- a Python layer for every operator, and modes
struct PythonLayer {
  nb::object f;
  std::string name, who;  // who: for messages
  LayerSet bit = 0;
};

// torch.split gives a tuple, torch.ops.aten.split a list, as in PyTorch.
nb::object with_lists(const Operator& op, nb::object r) {
  const auto& returns = op.schema().returns;
  auto listed = [](nb::handle v) { return nb::steal(PySequence_List(v.ptr())); };
  if (returns.size() == 1) return returns[0].type.list ? listed(r) : r;
  if (std::none_of(returns.begin(), returns.end(), [](const Parameter& p) { return p.type.list; })) return r;
  nb::list out;
  for (size_t i = 0; i < returns.size(); ++i) out.append(returns[i].type.list ? listed(r[i]) : nb::object(r[i]));
  return nb::tuple(out);
}

// Arguments as vectorcall has them; the values stay the caller's.
struct FlatArguments {
  FlatArguments(const nb::args& args, const nb::kwargs& kwargs) : n(args.size()) {
    for (nb::handle a : args) all.push_back(a.ptr());
    nb::list keys;
    for (auto [k, v] : kwargs) {
      keys.append(k);
      all.push_back(v.ptr());
    }
    names = nb::tuple(keys);
  }
  PyObject* kwnames() const { return names.size() ? names.ptr() : nullptr; }

  size_t n;
  std::vector<PyObject*> all;
  nb::tuple names;
};

// With layers: only those run.
nb::object call_operator(const Operator& op, nb::args args, nb::kwargs kwargs, const LayerSet* layers) {
  const FlatArguments flat(args, kwargs);
  return with_lists(op, steal(py::call_boxed(op, flat.all.data(), flat.n, flat.kwnames(), layers)));
}
nb::object call_packet(const std::string& name, nb::args args, nb::kwargs kwargs) {
  const FlatArguments flat(args, kwargs);
  const Operator* chosen = nullptr;
  nb::object r = steal(py::call_packet(name, flat.all.data(), flat.n, flat.kwnames(), &chosen));
  return with_lists(*chosen, std::move(r));
}

// What a Python layer calls to go on: the rest of the layers, with possibly other arguments.
struct Continuation {
  const Operator* op;
  LayerSet below, exclude;  // and what the thread excluded when the layer was reached
  nb::object call(nb::args args, nb::kwargs kwargs) const {
    LayerSet& excluded = thread_state().exclude;
    struct Restore {
      LayerSet& where;
      LayerSet before;
      ~Restore() { where = before; }
    } restore{excluded, std::exchange(excluded, exclude)};
    return call_operator(*op, args, kwargs, &below);
  }
};

// What f(op, args, kwargs, go_on) answers.
nb::object ask(nb::handle f, const Operator& op, LayerSet below, const Arg* args, LayerSet exclude) {
  auto [positional, keywords] = python_call(op, args);
  const Continuation go_on{&op, below, exclude};
  return py::call_python(f, nb::make_tuple(operator_object(op), positional, keywords, nb::cast(go_on)));
}

void python_layer(void* context, const Operator& op, LayerSet below, const Arg* args, Value* results) {
  py::TakeGil gil;
  const auto& layer = *static_cast<PythonLayer*>(context);
  const LayerSet exclude = thread_state().exclude;
  ExcludeLayers not_itself(layer.bit);  // what the function computes for itself is none of its business
  store_results(op, ask(layer.f, op, below, args, exclude), results, layer.who);
}

class PythonRouter final : public Router {
 public:
  explicit PythonRouter(nb::object f) : f_(std::move(f)) {}
  void route(const Operator& op, LayerSet below, const Arg* args, Value* results) override {
    {
      py::TakeGil gil;
      nb::object r = ask(f_.get(), op, below, args, thread_state().exclude);
      if (!r.is(nb::handle(Py_NotImplemented))) {
        store_results(op, r, results, "the route");
        return;
      }
    }
    redispatch(op, below, args, results);
  }

 private:
  py::PyHolder f_;
};

thread_local PyObject* mode_list = nullptr;  // this thread's modes, innermost last
PyObject* name_torch_dispatch = nullptr;

bool has_torch_dispatch(const Tensor& t) {
  auto* o = static_cast<PyObject*>(t.impl().python);
  return o && Py_TYPE(o) != py::tensor_class && _PyType_Lookup(Py_TYPE(o), name_torch_dispatch) != nullptr;
}

void collect(const Tensor& t, nb::list& types, nb::object& first) {
  if (!t.defined() || !(t.impl().layers() & layer::Python) || !has_torch_dispatch(t)) return;
  auto* o = static_cast<PyObject*>(t.impl().python);
  if (!first.is_valid()) first = nb::borrow(o);
  nb::handle type(reinterpret_cast<PyObject*>(Py_TYPE(o)));
  for (nb::handle known : types)
    if (known.is(type)) return;
  types.append(type);
}

// Modes first, innermost first; then the classes of the arguments. While one handles the call it is switched off.
void python_modes_layer(void*, const Operator& op, LayerSet below, const Arg* args, Value* results) {
  py::TakeGil gil;
  nb::list types;
  nb::object first;
  for (size_t i = 0; i < op.num_args(); ++i) {
    if (args[i].is_tensor()) collect(args[i].tensor(), types, first);
    else if (args[i].is_tensor_list())
      for (const Tensor& t : args[i].tensors()) collect(t, types, first);
  }
  Py_ssize_t modes = mode_list ? PyList_GET_SIZE(mode_list) : 0;
  if (modes == 0 && !first.is_valid()) {
    redispatch(op, below, args, results);
    return;
  }
  auto [positional, keywords] = python_call(op, args);
  if (modes > 0) {
    nb::object mode = nb::borrow(PyList_GET_ITEM(mode_list, modes - 1));
    struct Pop {  // takes the mode off for the call and puts it back
      nb::object mode;
      LayerSet before = thread_state().include;
      explicit Pop(nb::object m) : mode(std::move(m)) {
        Py_ssize_t n = PyList_GET_SIZE(mode_list);
        PyList_SetSlice(mode_list, n - 1, n, nullptr);
        if (n == 1) thread_state().include &= ~layer::Python;
      }
      ~Pop() {
        PyObject *t, *v, *tb;
        PyErr_Fetch(&t, &v, &tb);
        PyList_Append(mode_list, mode.ptr());
        PyErr_Restore(t, v, tb);
        thread_state().include = before;
      }
    } pop(mode);
    nb::object r = py::call_python(mode.attr("__torch_dispatch__"),
                                   nb::make_tuple(operator_object(op), nb::tuple(types), positional, keywords));
    if (!r.is(nb::handle(Py_NotImplemented))) {
      store_results(op, r, results, "__torch_dispatch__");
      return;
    }
  }
  FC_CHECK_AS(TypeError, first.is_valid(), "no mode handled ", op.name());
  nb::handle type(reinterpret_cast<PyObject*>(Py_TYPE(first.ptr())));
  nb::object r = py::call_python(type.attr("__torch_dispatch__"),
                                 nb::make_tuple(operator_object(op), nb::tuple(types), positional, keywords));
  FC_CHECK_AS(TypeError, !r.is(nb::handle(Py_NotImplemented)), "Multiple dispatch failed for '", op.name(),
              "'; all __torch_dispatch__ handlers returned NotImplemented");
  store_results(op, r, results, "__torch_dispatch__");
}

}  // namespace

PyObject* py::dispatch_modes() {
  if (!mode_list) mode_list = check(PyList_New(0));
  return mode_list;
}

// torch.ops.aten.add of torch.ops.aten.add.Tensor.
static nb::object packet_of(const Operator& op) {
  return nb::module_::import_("facula").attr("ops").attr(op.schema().space.c_str()).attr(op.schema().name.c_str());
}

void bind_dispatch(nb::module_& m) {
  name_torch_dispatch = PyUnicode_InternFromString("__torch_dispatch__");
  set_layer_handler(layer::Python, {python_modes_layer, nullptr, "python"});
  add_thread_local_part({
      .capture = []() -> void* {
        if (!mode_list) return nullptr;
        py::TakeGil gil;
        return py::check(PySequence_List(mode_list));
      },
      .enter =
          [](void* copy) {
            py::TakeGil gil;
            mode_list = py::check(PySequence_List(static_cast<PyObject*>(copy)));
          },
      .leave = [](void*) { py::drop_reference(std::exchange(mode_list, nullptr)); },
      .release = [](void* copy) { py::drop_reference(static_cast<PyObject*>(copy)); },
  });

  nb::class_<Alias>(m, "_AliasInfo").def_ro("is_write", &Alias::write).def_prop_ro("before_set", [](const Alias& a) {
    return nb::make_tuple(std::string(1, a.all ? '*' : a.set));
  });
  nb::class_<Parameter>(m, "Argument")
      .def_ro("name", &Parameter::name)
      .def_prop_ro("type", [](const Parameter& p) { return to_string(p.type); })
      .def_ro("kwarg_only", &Parameter::keyword_only)
      .def("has_default_value", [](const Parameter& p) { return p.has_default; })
      .def_prop_ro("default_value",
                   [](const Parameter& p) { return p.has_default ? to_python(p.default_value.arg()) : nb::none(); })
      .def_prop_ro("alias_info",
                   [](const Parameter& p) { return p.alias.set || p.alias.all ? nb::cast(p.alias) : nb::none(); })
      .def_prop_ro("is_write", [](const Parameter& p) { return p.alias.write; })
      .def_prop_ro(
          "N",
          [](const Parameter& p) { return p.type.length ? nb::cast(static_cast<int>(p.type.length)) : nb::none(); })
      .def_prop_ro("is_out", [](const Parameter& p) { return p.keyword_only && p.alias.write; });
  nb::class_<Schema>(m, "FunctionSchema")
      .def_prop_ro("name", &Schema::base_name)
      .def_ro("overload_name", &Schema::overload)
      .def_prop_ro("arguments", [](const Schema& s) { return arguments(s.parameters); })
      .def_prop_ro("returns", [](const Schema& s) { return arguments(s.returns); })
      .def_prop_ro("is_mutable", &Schema::mutates)
      .def("_is_view_op", &Schema::is_view)
      .def("__repr__", [](const Schema& s) { return to_string(s); })
      .def("__eq__",
           [](const Schema& s, nb::handle o) {
             return nb::isinstance<Schema>(o) && to_string(s) == to_string(nb::cast<Schema&>(o));
           })
      .def("__hash__", [](const Schema& s) { return std::hash<std::string>()(to_string(s)); });
  nb::class_<Operator>(m, "Operator")
      .def("name", &Operator::name)
      .def_prop_ro("_schema", &Operator::schema, nb::rv_policy::reference)
      .def_prop_ro("namespace", [](const Operator& op) { return op.schema().space; })
      .def_prop_ro("_opname", [](const Operator& op) { return op.schema().name; })
      .def_prop_ro("_overloadname",
                   [](const Operator& op) { return op.schema().overload.empty() ? "default" : op.schema().overload; })
      .def_prop_ro("overloadpacket", &packet_of)
      .def_prop_ro("_overloadpacket", &packet_of)
      .def("__getattr__",
           [](const Operator& op, const std::string& name) -> nb::object {  // nanobind keeps __name__ for the class
             if (name == "__signature__")
               return nb::module_::import_("facula._docs").attr("signature")(nb::make_tuple(operator_object(op)));
             FC_CHECK_AS(AttributeError, name == "__name__", "'Operator' object has no attribute '", name, "'");
             return nb::cast(
                 str(op.schema().name, ".", op.schema().overload.empty() ? "default" : op.schema().overload));
           })
      .def_prop_ro("is_view", [](const Operator& op) { return op.is_view; })
      .def_prop_ro("is_in_place", [](const Operator& op) { return op.is_in_place; })
      .def_prop_ro("is_out", [](const Operator& op) { return op.is_out; })
      .def_prop_ro("is_composite", [](const Operator& op) { return static_cast<bool>(op.composite()); })
      .def_prop_ro("is_random", [](const Operator& op) { return op.random; })
      .def("_path_on",  // how a type of device would answer it, by what is registered for it
           [](const Operator& op, const std::string& device) {
             const int type = find_device_type(device);
             FC_CHECK(type >= 0, "unknown device type '", device, "'");
             Path path = op.decomposition() ? Path::Decomposition : Path::Fallback;
             if (op.composite()) path = Path::Composite;
             if (op.all_devices()) path = Path::Family;
             if (op.kernel(type)) path = Path::Kernel;
             const std::string_view text = to_string(path);
             return nb::str(text.data(), text.size());
           })
      .def_prop_ro("is_map", [](const Operator& op) { return op.map.opcode >= 0; })  // element by element
      .def("_expand",
           [](const Operator& op, nb::args args, nb::kwargs kwargs) {  // a composite in the operators it is written in
             FC_CHECK(op.composite(), op.name(), " is not written in other operators");
             constexpr LayerSet expand = layer::Trace;
             return call_operator(op, args, kwargs, &expand);
           })
      .def_prop_ro("has_derivative", [](const Operator& op) { return op.grad != nullptr || op.autograd(); })
      .def_prop_ro("differentiable", [](const Operator& op) { return op.differentiable; })
      .def_prop_ro("autocast_class",
                   [](const Operator& op) {
                     constexpr const char* names[] = {"none", "lower", "float32", "promote"};
                     return names[static_cast<int>(op.autocast)];
                   })
      .def("__repr__",
           [](const Operator& op) {
             return str("<OpOverload(op='", op.schema().space, ".", op.schema().name, "', overload='",
                        op.schema().overload.empty() ? "default" : op.schema().overload, "')>");
           })
      .def("__str__",
           [](const Operator& op) {
             return str(op.schema().space, ".", op.schema().name, ".",
                        op.schema().overload.empty() ? "default" : op.schema().overload);
           })
      .def("__hash__", [](const Operator& op) { return reinterpret_cast<size_t>(&op); })
      .def("__eq__", [](const Operator& op,
                        nb::handle o) { return nb::isinstance<Operator>(o) && &nb::cast<Operator&>(o) == &op; })
      .def_prop_ro("map",  // what it asks of a device: name of the opcode, operands, parameters; None: no single map
                   [](const Operator& op) -> nb::object {
                     if (op.map.opcode < 0) return nb::none();
                     return nb::make_tuple(map_opcode(op.map.opcode).name, op.map.inputs, op.map.params);
                   })
      .def("flops",  // floating-point operations of a call with these arguments, which is not made
           [](const Operator& op, nb::args args, nb::kwargs kwargs) {
             const FlatArguments flat(args, kwargs);
             return py::count_flops(op, flat.all.data(), flat.n, flat.kwnames());
           })
      .def("__call__", [](const Operator& op, nb::args args, nb::kwargs kwargs) {
        return call_operator(op, args, kwargs, nullptr);
      });
  m.def("_set_forward_level", set_forward_level);  // of forward_ad
  nb::class_<Continuation>(m, "_Continuation").def("__call__", &Continuation::call);

  m.def("_find_operator", [](const std::string& name) -> nb::object {
    Operator* op = find_operator(name);
    return op ? operator_object(*op) : nb::none();
  });
  m.def("_overloads", [](const std::string& base) {
    std::vector<std::string> out;
    for (Operator* op : overloads(base)) out.push_back(op->schema().overload);
    return out;
  });
  m.def("_operator_doc", [](const std::string& base) -> nb::object {  // what its row says, or None
    for (Operator* op : overloads(base))
      if (op->doc) return nb::str(op->doc);
    return nb::none();
  });
  m.def("_call_packet", &call_packet);
  m.def("_operator_names", [] {
    std::vector<std::string> out;
    for (Operator* op : all_operators()) out.push_back(op->name());
    return out;
  });
  m.def("_parse_schema", [](const std::string& text) { return to_string(parse_schema(text)); });
  m.def("_define", [](const std::string& schema) { return define(schema).name(); });
  m.def("_set_kernel", &set_python_kernel);
  m.def("_set_differentiable", [](const std::string& name, bool on) {
    py::ChangeAlone alone;
    operator_named(name).differentiable = on;
  });
  m.def("_publish", [](const std::string& space) { py::publish_operators(space); });

  // A shared library may define operators and kernels in C++: it exports facula_library_init().
  m.def("_load_library", [](const std::string& path) {
    // A plain name is looked up by the loader itself.
    std::string fault = path.find('/') == path.npos ? std::string() : library_file_fault(path);
    if (!fault.empty()) {
      PyErr_Format(PyExc_OSError, "%s: %s", path.c_str(), fault.c_str());
      throw nb::python_error();
    }
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      PyErr_SetString(PyExc_OSError, dlerror());
      throw nb::python_error();
    }
    auto init = reinterpret_cast<void (*)()>(dlsym(handle, "facula_library_init"));
    if (!init) {
      dlclose(handle);
      PyErr_Format(PyExc_OSError, "%s: exports no function facula_library_init; see docs/add-an-operator.md",
                   path.c_str());
      throw nb::python_error();
    }
    py::ChangeAlone alone;
    init();
  });

  m.def("_add_layer", [](const std::string& name, nb::object f) {
    // Layers are few and may be running on any thread: never freed.
    auto* context = new PythonLayer{std::move(f), name, str("the layer '", name, "'")};
    py::ChangeAlone alone;
    return context->bit = add_user_layer({python_layer, context, context->name.c_str()});
  });
  m.def("_remove_layer", [](LayerSet bit) {
    py::ChangeAlone alone;
    remove_user_layer(bit);
  });
  struct BelowAutograd {
    std::optional<ExcludeLayers> guard;
  };
  nb::class_<BelowAutograd>(m, "_AutoDispatchBelowAutograd")  // PyTorch's name: for derivatives written in Python
      .def(nb::init<>())
      .def("__enter__", [](BelowAutograd& b) { b.guard.emplace(layer::Autograd); })
      .def("__exit__", [](BelowAutograd& b, nb::args) { b.guard.reset(); });
  m.def("_start_route", [](nb::object f, bool process) {
    return start_routing(make_ref<PythonRouter>(std::move(f)), process ? Watch::Process : Watch::Thread);
  });
  m.def("_stop_route", [](uint64_t registration) { stop_routing(registration); });
  m.def("_include_layers", [](LayerSet bits, bool on) {
    LayerSet& include = thread_state().include;
    include = on ? include | bits : include & ~bits;
  });
  m.def("_default_device", [] { return steal(py::wrap(default_device())); });
  m.def("_set_default_device", [](nb::handle d) { thread_state().default_device = py::to_device(d.ptr()); });
  m.def("_included_layers", [] { return thread_state().include; });
  m.def("_autocast_dtype", [](const std::string& device) {
    int type = find_device_type(device);
    FC_CHECK(type >= 0, "autocast: unknown device type '", device, "'");
    return steal(py::wrap(autocast_dtype(type)));
  });
  m.def(
      "_set_autocast",
      [](const std::string& device, nb::handle dtype) {
        int type = find_device_type(device);
        FC_CHECK(type >= 0, "autocast: unknown device type '", device, "'");
        set_autocast(type, dtype.is_none() ? DType::Undefined : py::to_dtype(dtype.ptr()));
      },
      nb::arg("device"), nb::arg("dtype").none());
  m.def("_is_autocast_cache_enabled", &autocast_keeps_casts);
  m.def("_set_autocast_cache_enabled", &set_autocast_keeps_casts);
  m.def("_clear_autocast_cache", &clear_autocast_casts);
  m.def("_set_python_dispatch", [](const Tensor& t, bool on) { given(t).impl().set_layer(layer::Python, on); });
  m.def("_below_python",
        [](nb::object f, nb::args args, nb::kwargs kwargs) {  // calls f without Python modes and subclasses
          ExcludeLayers guard(layer::Python);
          return f(*args, **kwargs);
        });
}

}  // namespace fc
