// SPDX-License-Identifier: Apache-2.0
#include "node.h"

#include "autograd/autograd.h"
#include "autograd/saved.h"
#include "casters.h"

namespace nb = nanobind;

namespace fc {
namespace {

using autograd::Edge;
using autograd::HookHandle;
using autograd::InputMeta;
using autograd::Node;
using py::PyHolder;

// The node's `python` points here from when the object is made until it ends.
struct PyNode {
  PyNode(Edge e, PyObject* self) : edge(std::move(e)) {
    if (self) edge.node->python = self;
    is_face = self != nullptr;
  }
  ~PyNode() {
    if (is_face) edge.node->python = nullptr;
  }
  PyNode(const PyNode&) = delete;
  PyNode& operator=(const PyNode&) = delete;

  Edge edge;
  bool is_face;
};

std::string type_name(const Node& node) {
  std::string name = node.name();
  const size_t space = name.rfind("::");
  return space == std::string::npos ? name : name.substr(space + 2);
}

// Programs that draw graphs print type(node).__name__. Types are kept: there are as many as there are operators.
nb::object type_of_nodes(const Node& node) {
  static PyObject* types = py::check(PyDict_New());  // never ends: nodes may outlive the module
  const nb::str name(type_name(node).c_str());
  if (PyObject* found = PyDict_GetItemWithError(types, name.ptr())) return nb::borrow(found);
  if (PyErr_Occurred()) nb::raise_python_error();
  nb::dict members;
  members["__slots__"] = nb::tuple();
  members["__module__"] = "facula.autograd";
  nb::object made = nb::borrow(&PyType_Type)(name, nb::make_tuple(nb::type<PyNode>()), members);
  if (PyDict_SetItem(types, name.ptr(), made.ptr()) != 0) nb::raise_python_error();
  return made;
}

nb::object make_face(const Edge& e, bool is_face) {
  nb::object made = nb::inst_alloc(type_of_nodes(*e.node));
  new (nb::inst_ptr<PyNode>(made)) PyNode(e, is_face ? made.ptr() : nullptr);
  nb::inst_mark_ready(made);
  return made;
}

// A hook around a node: f(grad_inputs, grad_outputs) after it, f(grad_outputs) before it.
class PyNodeHook final : public autograd::NodeHook {
 public:
  PyNodeHook(nb::object f, bool before) : f_(std::move(f)), before_(before) {}
  void call(std::vector<Tensor>& grad_inputs, std::vector<Tensor>& grad_outputs) override {
    py::TakeGil gil;
    std::vector<Tensor>& mine = before_ ? grad_outputs : grad_inputs;
    nb::object r =
        py::call_python(f_.get(), before_ ? nb::make_tuple(py::tuple_of(grad_outputs))
                                          : nb::make_tuple(py::tuple_of(grad_inputs), py::tuple_of(grad_outputs)));
    if (r.is_none()) return;
    std::vector<Tensor> changed =
        py::is_tensor(r.ptr()) ? std::vector<Tensor>{py::tensor_of(r.ptr())} : py::tensors_of(r);
    FC_CHECK(changed.size() == mine.size(), "hook has returned an incorrect number of values (got ", changed.size(),
             ", but expected ", mine.size(), ")");
    mine = std::move(changed);
  }

 private:
  PyHolder f_;
  bool before_;
};

HookHandle add_hook(const PyNode& n, OnceRef<autograd::NodeHooks> Node::*place, nb::object f, bool before) {
  autograd::NodeHooks& list = hooks_at(n.edge.node.get()->*place);
  return {Ref<autograd::AnyHookList>(&list), list.add(make_ref<PyNodeHook>(std::move(f), before))};
}

class PySavedHooks final : public autograd::SavedTensorHooks {
 public:
  PySavedHooks(nb::object pack, nb::object unpack) : pack_(std::move(pack)), unpack_(std::move(unpack)) {}
  struct Packed final : RefCounted {
    explicit Packed(nb::object o) : content(std::move(o)) {}
    PyHolder content;
  };
  Ref<RefCounted> pack(const Tensor& t) override {
    py::TakeGil gil;
    return make_ref<Packed>(py::call_python(pack_.get(), nb::make_tuple(t)));
  }
  Tensor unpack(RefCounted& packed) override {
    py::TakeGil gil;
    nb::object r = py::call_python(unpack_.get(), nb::make_tuple(static_cast<Packed&>(packed).content.get()));
    FC_CHECK_AS(TypeError, py::is_tensor(r.ptr()),
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of type ",
                Py_TYPE(r.ptr())->tp_name);
    return py::tensor_of(r.ptr());
  }

 private:
  PyHolder pack_, unpack_;
};

// A tensor in its place in a node: y.grad_fn._raw_saved_self.
struct RawSaved {
  Ref<Node> node;
  size_t name, item;
  autograd::SavedTensor now() const { return node->saved(name).tensors.at(item); }
};

struct Metadata final : RefCounted {
  explicit Metadata(nb::object d) : dict(std::move(d)) {}
  PyHolder dict;
};

// y.grad_fn._saved_self, and _raw_saved_self of what is a tensor.
nb::object saved_attribute(const PyNode& n, const std::string& attribute) {
  constexpr std::string_view saved = "_saved_", raw = "_raw_saved_";
  const bool is_raw = attribute.starts_with(raw);
  if (is_raw || attribute.starts_with(saved)) {
    const std::string_view wanted = std::string_view(attribute).substr((is_raw ? raw : saved).size());
    const std::vector<std::string> names = n.edge.node->saved_names();
    for (size_t k = 0; k < names.size(); ++k) {
      if (names[k] != wanted) continue;
      const autograd::SavedItem item = n.edge.node->saved(k);
      if (item.tensors.empty() && !item.is_list) {
        if (is_raw) break;
        return nb::steal(py::wrap(item.value));
      }
      nb::list found;
      for (size_t i = 0; i < item.tensors.size(); ++i)
        found.append(is_raw ? nb::cast(RawSaved{n.edge.node, k, i}) : nb::cast(item.tensors[i].unpack(n.edge.node)));
      return item.is_list ? nb::object(nb::tuple(found)) : nb::object(found[0]);
    }
  }
  raise<AttributeError>("'", type_name(*n.edge.node), "' object has no attribute '", attribute, "'");
}

nb::list attributes(nb::handle self) {
  nb::list names(nb::borrow(&PyBaseObject_Type).attr("__dir__")(self));
  const Node& node = *nb::cast<PyNode&>(self).edge.node;
  for (const std::string& name : node.saved_names()) names.append(str("_saved_", name).c_str());
  return names;
}

}  // namespace

std::vector<Tensor> py::tensors_of(nb::handle sequence) {
  std::vector<Tensor> out;
  for (nb::handle h : sequence) {
    FC_CHECK_AS(TypeError, h.is_none() || py::is_tensor(h.ptr()), "expected Tensors or None, got ",
                Py_TYPE(h.ptr())->tp_name);
    out.push_back(h.is_none() ? Tensor() : py::tensor_of(h.ptr()));
  }
  return out;
}
nb::tuple py::tuple_of(const std::vector<Tensor>& v) {
  nb::list out;
  for (const Tensor& t : v) out.append(t);
  return nb::tuple(out);
}

nb::object py::face_of(const Edge& e) {
  if (e.node->python) return nb::borrow(static_cast<PyObject*>(e.node->python));
  return make_face(e, true);
}
nb::object py::second_face_of(const Ref<Node>& node) { return make_face({node, nullptr, 0}, false); }

Edge py::edge_of(nb::handle h) {
  if (py::is_tensor(h.ptr())) return autograd::gradient_edge(py::tensor_of(h.ptr()));
  FC_CHECK_AS(TypeError, nb::isinstance<nb::tuple>(h) && nb::len(h) >= 2, "expected Tensors or GradientEdges, got ",
              Py_TYPE(h.ptr())->tp_name);
  nb::object node = h[0];
  if (!nb::isinstance<PyNode>(node) && nb::hasattr(node, "_node")) node = node.attr("_node");
  Edge e = nb::cast<PyNode&>(node).edge;
  e.nr = nb::cast<uint32_t>(h[1]);
  FC_CHECK(e && e.nr < e.node->inputs.size(), "there is no gradient edge ", e.nr, " of ",
           e ? e.node->name() : std::string("nothing"));
  return e;
}

void py::push_saved_tensors_hooks(PyObject* pack, PyObject* unpack) {
  autograd::push_saved_tensor_hooks(make_ref<PySavedHooks>(nb::borrow(pack), nb::borrow(unpack)));
}

void bind_nodes(nb::module_& m) {
  nb::class_<PyNode>(m, "_GradNode")  // torch._C.Node is TorchScript's
      .def("name", [](const PyNode& n) { return n.edge.node->name(); })
      .def("__repr__",
           [](const PyNode& n) {
             py::Own address(PyUnicode_FromFormat("%p", static_cast<void*>(n.edge.node.get())));
             return str("<", type_name(*n.edge.node), " object at ", address ? py::utf8(address.get()) : "?", ">");
           })
      .def("__eq__",
           [](const PyNode& a, nb::handle b) {
             return nb::isinstance<PyNode>(b) && a.edge.node == nb::cast<PyNode&>(b).edge.node;
           })
      .def("__hash__", [](const PyNode& n) { return reinterpret_cast<size_t>(n.edge.node.get()); })
      .def("__getattr__", saved_attribute)
      .def("__dir__", attributes)
      .def_prop_ro("requires_grad",
                   [](const PyNode& n) {
                     for (const Edge& e : n.edge.node->edges)
                       if (e) return true;
                     return static_cast<bool>(n.edge.leaf);
                   })
      .def_prop_ro("metadata",
                   [](const PyNode& n) {
                     RefCounted& kept = n.edge.node->metadata.get_or_make(
                         []() -> Ref<RefCounted> { return make_ref<Metadata>(nb::dict()); });
                     return nb::borrow(static_cast<Metadata&>(kept).dict.get());
                   })
      .def_prop_ro("next_functions",
                   [](const PyNode& n) {
                     nb::list out;
                     for (const Edge& e : n.edge.node->edges)
                       out.append(e ? nb::make_tuple(py::face_of(e), e.nr) : nb::make_tuple(nb::none(), 0));
                     return nb::tuple(out);
                   })
      .def_prop_ro("variable",
                   [](const PyNode& n) {
                     FC_CHECK_AS(AttributeError, n.edge.leaf, "only AccumulateGrad nodes have a variable, not ",
                                 n.edge.node->name());
                     return Tensor(n.edge.leaf);
                   })
      .def_prop_ro("_input_metadata",
                   [](const PyNode& n) {
                     nb::list out;
                     for (const InputMeta& i : n.edge.node->inputs) out.append(i);
                     return out;
                   })
      .def("_sequence_nr", [](const PyNode& n) { return n.edge.node->sequence; })
      .def("register_hook",
           [](const PyNode& n, nb::object f) { return add_hook(n, &Node::post_hooks, std::move(f), false); })
      .def("register_prehook",
           [](const PyNode& n, nb::object f) { return add_hook(n, &Node::pre_hooks, std::move(f), true); });
  nb::class_<HookHandle>(m, "_RemovableHandle", "What takes a hook away again.")
      .def_ro("id", &HookHandle::id)
      .def("remove", &HookHandle::remove)
      .def("__enter__", [](nb::object self) { return self; })
      .def("__exit__", [](const HookHandle& h, nb::args) { h.remove(); });
  nb::class_<InputMeta>(m, "_TensorMetadata", "What a gradient that arrives at a node must look like.")
      .def_prop_ro("shape", [](const InputMeta& i) { return nb::steal(py::wrap_size(i.sizes)); })
      .def_prop_ro("dtype", [](const InputMeta& i) { return nb::steal(py::wrap(i.dtype)); })
      .def_prop_ro("device", [](const InputMeta& i) { return nb::steal(py::wrap(i.device)); });
  nb::class_<RawSaved>(m, "_RawSavedTensor", "A tensor as a node keeps it for its backward.")
      .def(
          "register_hooks",
          [](const RawSaved& s, nb::object pack, nb::object unpack) {
            autograd::SavedTensor t = s.now();
            t.register_hooks(make_ref<PySavedHooks>(std::move(pack), std::move(unpack)), s.node);
            s.node->replace_saved(s.name, s.item, t);
          },
          nb::arg("pack_hook"), nb::arg("unpack_hook"), "Keep pack_hook(tensor) instead, and read unpack_hook of that.")
      .def("unpack", [](const RawSaved& s) { return s.now().unpack(s.node); });
}

}  // namespace fc
