// SPDX-License-Identifier: Apache-2.0
// torch._C.Future: the core's Future, which torch.futures.Future derives from and TorchScript's forks give.
#include "casters.h"
#include "jit.h"

namespace nb = nanobind;

namespace fc::jit {
namespace {

// Any Python object as a future's value.
struct PythonResult final : RefCounted {
  explicit PythonResult(nb::object o) : object(std::move(o)) {}
  py::PyHolder object;
};

// An exception of Python's, which the futures' waiters share.
struct PythonFailure final : Error {
  PythonFailure(nb::object e, const std::string& text)
      : Error(text), exception(std::make_shared<py::PyHolder>(std::move(e))) {}
  std::shared_ptr<py::PyHolder> exception;
};

nb::object exception_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const PythonFailure& e) { return nb::borrow(e.exception->get()); } catch (const nb::python_error& e) {
    return nb::borrow(e.value());
  } catch (...) { py::set_python_error(); }
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  Py_XDECREF(type);
  Py_XDECREF(trace);
  return nb::steal(value);
}

nb::object value_of(Future& f) {
  if (f.done())
    if (const std::exception_ptr error = f.error()) {
      nb::object e = exception_of(error);
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(e.ptr())), e.ptr());
      throw nb::python_error();
    }
  const fc::Value& v = f.value();
  if (v.tag() == Tag::Object)
    if (const auto* held = dynamic_cast<PythonResult*>(v.box())) return nb::borrow(held->object.get());
  return to_python(v);
}

void wait_for(Future& f) {
  const py::ReleaseGil released;
  while (!f.wait_for(50)) look_for_interrupt();
}

// Calls a function of Python's once; what it raises goes no further than to stderr.
struct CallPython final : Future::Callback {
  explicit CallPython(nb::object f) : function(std::move(f)) {}
  py::PyHolder function;
  void done(Future&) override {
    const py::TakeGil lock;
    PyObject* f = function.get().ptr();
    PyObject* r = py::in_interpreter([&] { return PyObject_CallNoArgs(f); });
    if (!r) PyErr_WriteUnraisable(f);
    Py_XDECREF(r);
  }
};

// A future of Python's where a graph takes one of that type: done when that is, with the value as the graph knows it.
struct Convert final : Future::Callback {
  Convert(Ref<Future> into, TypeRef type) : into(std::move(into)), type(type) {}
  Ref<Future> into;
  TypeRef type;
  void done(Future& from) override {
    try {
      const py::TakeGil lock;
      if (const std::exception_ptr error = from.error()) into->fail(error);
      else into->set(from_python(value_of(from), type));
    } catch (...) { into->fail(std::current_exception()); }
  }
};

}  // namespace

bool is_future(nb::handle o) { return nb::isinstance<FutureHandle>(o); }

fc::Value future_from_python(nb::handle o, TypeRef item) {
  const Ref<Future>& f = nb::cast<FutureHandle&>(o).future;
  auto typed = make_ref<Future>();
  f->when_done(std::make_unique<Convert>(typed, item));
  return future_value(std::move(typed));
}

nb::object future_to_python(Ref<Future> f) {
  const nb::object type = nb::module_::import_("facula.futures").attr("Future");
  nb::object made = nb::inst_alloc(type);
  new (nb::inst_ptr<FutureHandle>(made)) FutureHandle{std::move(f)};
  nb::inst_mark_ready(made);
  return made;
}

void bind_future(nb::module_& m) {
  if (PyDict_GetItemString(PyModule_GetDict(m.ptr()), "Future")) return;
  nb::class_<FutureHandle>(m, "Future", "A value or an exception that comes later.")
      .def(nb::init<>())
      .def(
          "done", [](const FutureHandle& h) { return h.future->done(); }, "Whether it has a value or an exception.")
      .def(
          "wait",
          [](const FutureHandle& h) {
            const Ref<Future> f = h.future;
            wait_for(*f);
            return value_of(*f);
          },
          "The value, once it is there; or raises the exception.")
      .def(
          "value", [](const FutureHandle& h) { return value_of(*Ref<Future>(h.future)); },
          "The value, which must be there; or raises the exception.")
      .def(
          "set_result",
          [](const FutureHandle& h, nb::object o) {
            h.future->set(fc::Value(Tag::Object, make_ref<PythonResult>(std::move(o))));
          },
          nb::arg("result").none(), "Completes it with a value and runs the callbacks.")
      .def("_fail",
           [](const FutureHandle& h, nb::object e) {
             const std::string text = std::string(Py_TYPE(e.ptr())->tp_name) + ": " + nb::str(e).c_str();
             h.future->fail(std::make_exception_ptr(PythonFailure(std::move(e), text)));
           })
      .def("_exception",
           [](const FutureHandle& h) -> nb::object {
             const std::exception_ptr error = h.future->error();
             return error ? exception_of(error) : nb::none();
           })
      .def("_when_done", [](const FutureHandle& h, nb::object f) {
        const Ref<Future> kept = h.future;
        kept->when_done(std::make_unique<CallPython>(std::move(f)));
      });
}

}  // namespace fc::jit
