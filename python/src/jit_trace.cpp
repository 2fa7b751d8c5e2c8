// SPDX-License-Identifier: Apache-2.0
// torch._C's names of tracing: what torch.jit._trace calls, and switches of a trace that goes on.
#include "jit/trace/trace.h"

#include "casters.h"
#include "core/containers.h"
#include "jit.h"
#include "jit/trace/state.h"
#include "tracing.h"

namespace nb = nanobind;

namespace fc::jit {
namespace {

// --- where the program is
struct Place {
  PyCodeObject* code;  // borrowed: frames that run keep theirs, and the text of others is not asked for
  int line;
  bool operator==(const Place&) const = default;
};

bool stands_for_operators(std::string_view file) {
  return file.ends_with("/facula/functional.py") || file.ends_with("/facula/_tensor.py");
}

// The range of the running frame, whose text is the whole stack. Operators of one line share it.
SourceRange running_line() {
  const py::TakeGil gil;
  thread_local std::vector<Place> last;
  thread_local Ref<Source> last_source;
  std::vector<Place> places;
  PyFrameObject* frame = PyEval_GetFrame();
  Py_XINCREF(frame);
  while (frame) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    places.push_back({code, PyFrame_GetLineNumber(frame)});
    Py_DECREF(code);
    PyFrameObject* back = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = back;
  }
  // What stands in these files for functions that PyTorch has in C++ is not the program.
  size_t first = 0;
  while (first + 1 < places.size() && stands_for_operators(py::utf8(places[first].code->co_filename))) ++first;
  places.erase(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(first));
  if (places.empty()) return {};
  if (places != last || !last_source) {
    std::string text;
    for (const Place& p : places)
      text += str(py::utf8(p.code->co_filename), "(", p.line, "): ", py::utf8(p.code->co_name), "\n");
    last_source = make_ref<Source>(std::move(text), std::string(py::utf8(places[0].code->co_filename)),
                                   static_cast<size_t>(std::max(places[0].line - 1, 0)));
    last = std::move(places);
  }
  return {last_source, 0, last_source->text().size()};
}

void warn_in_python(const std::string& message) {
  const py::TakeGil gil;
  const nb::object category = nb::module_::import_("facula.jit").attr("TracerWarning");
  if (PyErr_WarnEx(category.ptr(), message.c_str(), 1) != 0) throw nb::python_error();
}

// --- values that a trace takes and gives
fc::Value traceable(nb::handle o, int depth = 0) {
  FC_CHECK(depth < 100, "containers of a trace nest at most 100 deep");
  PyObject* p = o.ptr();
  const auto items_of = [&](PyObject* fixed) {
    std::vector<fc::Value> items;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(fixed); ++i)
      items.push_back(traceable(PyTuple_GET_ITEM(fixed, i), depth + 1));
    return items;
  };
  if (py::is_tensor(p)) return py::tensor_of(p);
  if (PyTuple_Check(p)) {
    std::vector<fc::Value> items = items_of(p);
    TypeRef named = nullptr;
    if (nb::hasattr(o, "_fields")) {
      std::vector<std::string> fields;
      for (nb::handle f : o.attr("_fields")) fields.push_back(nb::cast<std::string>(f));
      std::vector<TypeRef> types;
      for (const fc::Value& v : items) types.push_back(type_of(v)->unshaped());
      if (fields.size() == types.size())
        named = named_tuple_type(
            nb::cast<std::string>(nb::module_::import_("facula.jit._names").attr("qualified_name")(o.type())),
            std::move(fields), std::move(types));
    }
    return tuple_value(std::move(items), named);
  }
  if (PyList_Check(p)) {
    nb::object fixed = nb::steal(PyList_AsTuple(p));
    FC_CHECK(PyTuple_GET_SIZE(fixed.ptr()) > 0, "List trace inputs must have elements");
    return make_list(items_of(fixed.ptr()));
  }
  if (PyDict_Check(p)) {
    FC_CHECK(PyDict_GET_SIZE(p) > 0, "Dictionary inputs must have entries");
    std::vector<std::pair<fc::Value, fc::Value>> entries;
    nb::object fixed = nb::steal(PyDict_Copy(p));
    PyObject *key, *value;
    for (Py_ssize_t at = 0; PyDict_Next(fixed.ptr(), &at, &key, &value);)
      entries.emplace_back(traceable(key, depth + 1), traceable(value, depth + 1));
    return make_dict(std::move(entries));
  }
  try {
    return to_value(o);
  } catch (const TypeError&) {
    raise<Error>(
        "Only tensors and (possibly nested) tuples of tensors, lists, or dicts are supported as inputs or outputs of "
        "traced functions, but instead got value of type ",
        Py_TYPE(p)->tp_name, ".\nValue: ", py::utf8(nb::repr(o).ptr()));
  }
}

bool is_traceable(TypeRef t) {
  if (t->is(TypeKind::Tensor)) return true;
  if (t->is(TypeKind::List)) return is_traceable(t->item());
  if (t->is(TypeKind::Dict)) return is_traceable(t->item(1));
  if (!t->is(TypeKind::Tuple)) return false;
  for (TypeRef item : t->items())
    if (!is_traceable(item)) return false;
  return true;
}

[[gnu::noinline]] Stack to_traceable_stack(nb::handle tuple) {
  std::vector<fc::Value> out;
  std::vector<TypeRef> types;
  for (nb::handle o : nb::cast<nb::tuple>(tuple)) {
    out.push_back(traceable(o));
    types.push_back(type_of(out.back()));
  }
  const TypeRef all = tuple_type(std::move(types));
  FC_CHECK(is_traceable(all), "Type '", annotation_text(all->unshaped()),
           "' cannot be traced. Only Tensors and (possibly nested) Lists, Dicts, and Tuples of Tensors can be traced");
  return out;
}

std::function<std::string(const Tensor&)> name_lookup(nb::handle lookup) {
  if (lookup.is_none()) return {};
  auto held = std::make_shared<py::PyHolder>(nb::borrow(lookup));
  return [held](const Tensor& t) {
    const py::TakeGil gil;
    return nb::cast<std::string>(held->get()(nb::steal(py::wrap(Tensor(t)))));
  };
}

// The function itself, while it is traced: Python's objects for the values, and what it gives as one.
struct TraceFn {
  nb::handle func;
  const std::vector<std::string>& keywords;  // of the inputs; none: by position
  [[gnu::noinline]] fc::Value operator()(const std::vector<fc::Value>& values) const {
    nb::list args;
    nb::dict named;
    for (size_t i = 0; i < values.size(); ++i) {
      if (keywords.empty()) args.append(to_python(values[i]));
      else named[keywords[i].c_str()] = to_python(values[i]);
    }
    const nb::object out = nb::steal(py::check(PyObject_Call(func.ptr(), nb::steal(PyList_AsTuple(args.ptr())).ptr(),
                                                             keywords.empty() ? nullptr : named.ptr())));
    FC_CHECK(!out.is_none(),
             "The traced function didn't return any values! Side-effects are not captured in traces, so it would be a "
             "no-op.");
    return traceable(out);
  }
};

[[gnu::noinline]] trace::Result create_graph_by_tracing(nb::handle func, Stack inputs, const TraceOptions& o,
                                                        fc::Value self, std::vector<std::string> keywords = {}) {
  trace::Request r;
  r.inputs = std::move(inputs);
  r.self = std::move(self);
  r.strict = o.strict;
  r.force_out_of_place = o.force_out_of_place;
  r.argument_names = keywords.empty() ? o.argument_names : keywords;
  r.variable_name = name_lookup(o.lookup);
  r.run = TraceFn{func, keywords};
  return trace::trace(r);
}

// Inputs by keyword: those that the function has, in its order.
trace::Result run_trace_by_name(nb::handle func, const nb::dict& inputs, const TraceOptions& o, fc::Value self) {
  std::vector<std::string> keywords;
  std::vector<fc::Value> values;
  for (const std::string& name : o.argument_names)
    if (inputs.contains(name.c_str())) {
      keywords.push_back(name);
      values.push_back(traceable(inputs[name.c_str()]));
    }
  return create_graph_by_tracing(func, std::move(values), o, std::move(self), std::move(keywords));
}

}  // namespace

trace::Result trace_function(nb::handle func, nb::handle inputs, const TraceOptions& o, fc::Value self) {
  if (nb::isinstance<nb::dict>(inputs)) return run_trace_by_name(func, nb::cast<nb::dict>(inputs), o, std::move(self));
  return create_graph_by_tracing(func, to_traceable_stack(inputs), o, std::move(self));
}

// torch.jit.trace of a function: its inputs by position or by name.
[[gnu::noinline]] static nb::object create_function_from_trace(const std::string& name, nb::handle func,
                                                               nb::handle inputs, nb::handle lookup, bool strict,
                                                               bool force, const std::vector<std::string>& names) {
  return make_function(name, trace_function(func, inputs, {lookup, strict, force, names}).graph);
}

void bind_trace(nb::module_& m) {
  trace::where = running_line;
  nb::class_<StateHandle>(m, "TracingState", "The trace that this thread makes.")
      .def_prop_ro("graph", [](const StateHandle& s) { return GraphHandle{s.state->graph}; })
      .def("push_scope", [](const StateHandle& s, const std::string& name) { s.state->begin_module(name); })
      .def("pop_scope", [](const StateHandle& s) { s.state->end_module(); })
      .def("__repr__", [](const StateHandle&) { return "<TracingState>"; });
  m.def("_tracer_warn_use_python", [] { trace::tracer_warning = warn_in_python; });
  py::tracing_state_object = [] { return nb::cast(StateHandle{Ref<trace::State>(trace::active())}).release().ptr(); };
  m.def(
      "_set_tracing_state",
      [](nb::handle s) { trace::set_current(s.is_none() ? nullptr : nb::cast<StateHandle>(s).state); },
      nb::arg("state").none());
  m.def("_get_value_trace", [](const Tensor& t) {
    trace::State* s = trace::active();
    FC_CHECK(s, "_get_value_trace: nothing is traced");
    return ValueHandle(s->value_of(given(t)));
  });
  m.def("_set_value_trace", [](const Tensor& t, const ValueHandle& v) {
    trace::State* s = trace::active();
    FC_CHECK(s, "_set_value_trace: nothing is traced");
    s->set_value(given(t), v.get());
  });
  m.def(
      "_create_graph_by_tracing",
      [](nb::handle func, nb::handle inputs, nb::handle lookup, bool strict, bool force, nb::handle self,
         const std::vector<std::string>& names) {
        FC_CHECK(self.is_none(), "_create_graph_by_tracing: a module is traced by its own methods");
        std::vector<fc::Value> values;
        for (nb::handle o : inputs) values.push_back(traceable(o));
        trace::Result r = create_graph_by_tracing(func, std::move(values), {lookup, strict, force, names}, {});
        return nb::make_tuple(GraphHandle{r.graph}, to_python(r.output));
      },
      nb::arg("func"), nb::arg("inputs"), nb::arg("var_lookup_fn").none(), nb::arg("strict"), nb::arg("force_outplace"),
      nb::arg("self").none() = nb::none(), nb::arg("argument_names") = std::vector<std::string>());
  m.def(
      "_create_function_from_trace",
      [](const std::string& name, nb::handle func, const nb::tuple& inputs, nb::handle lookup, bool strict, bool force,
         const std::vector<std::string>& names) {
        return create_function_from_trace(name, func, inputs, lookup, strict, force, names);
      },
      nb::arg("qualname"), nb::arg("func"), nb::arg("input_tuple"), nb::arg("var_lookup_fn").none(), nb::arg("strict"),
      nb::arg("force_outplace"), nb::arg("argument_names") = std::vector<std::string>());
  m.def(
      "_create_function_from_trace_with_dict",
      [](const std::string& name, nb::handle func, const nb::dict& inputs, nb::handle lookup, bool strict, bool force,
         const std::vector<std::string>& names) {
        return create_function_from_trace(name, func, inputs, lookup, strict, force, names);
      },
      nb::arg("qualname"), nb::arg("func"), nb::arg("input_dict"), nb::arg("var_lookup_fn").none(), nb::arg("strict"),
      nb::arg("force_outplace"), nb::arg("argument_names") = std::vector<std::string>());
}

}  // namespace fc::jit
