// SPDX-License-Identifier: Apache-2.0
// Grad modes, backward, hooks and the graph as Python sees it.
#include "autograd/autograd.h"

#include <nanobind/nanobind.h>

#include <thread>

#include "autograd/meta.h"
#include "autograd/saved.h"
#include "bind.h"
#include "casters.h"
#include "dispatch/snapshot.h"

namespace nb = nanobind;

namespace fc {
namespace {

using autograd::Edge;
using autograd::HookHandle;
using autograd::Node;
using py::PyHolder;

// A node in Python: keeps alive whatever owns it.
struct PyNode {
  Edge edge;
};

class PyTensorHook final : public autograd::TensorHook {
 public:
  explicit PyTensorHook(nb::object f) : f_(std::move(f)) {}
  Tensor call(const Tensor& gradient) override {
    py::TakeGil gil;
    nb::object r = py::call_python(f_.get(), nb::make_tuple(gradient));
    if (r.is_none()) return {};
    FC_CHECK_AS(TypeError, py::is_tensor(r.ptr()), "hook must return None or a Tensor, got ",
                Py_TYPE(r.ptr())->tp_name);
    return py::tensor_of(r.ptr());
  }

 private:
  PyHolder f_;
};

std::vector<Tensor> tensors_of(nb::handle sequence) {
  std::vector<Tensor> out;
  for (nb::handle h : sequence) {
    FC_CHECK_AS(TypeError, h.is_none() || py::is_tensor(h.ptr()), "expected Tensors or None, got ",
                Py_TYPE(h.ptr())->tp_name);
    out.push_back(h.is_none() ? Tensor() : py::tensor_of(h.ptr()));
  }
  return out;
}
nb::tuple tuple_of(const std::vector<Tensor>& v) {
  nb::list out;
  for (const Tensor& t : v) out.append(t);
  return nb::tuple(out);
}

// A hook around a node: f(grad_inputs, grad_outputs) after it, f(grad_outputs) before it.
class PyNodeHook final : public autograd::NodeHook {
 public:
  PyNodeHook(nb::object f, bool before) : f_(std::move(f)), before_(before) {}
  void call(std::vector<Tensor>& grad_inputs, std::vector<Tensor>& grad_outputs) override {
    py::TakeGil gil;
    std::vector<Tensor>& mine = before_ ? grad_outputs : grad_inputs;
    nb::object r = py::call_python(f_.get(), before_ ? nb::make_tuple(tuple_of(grad_outputs))
                                                     : nb::make_tuple(tuple_of(grad_inputs), tuple_of(grad_outputs)));
    if (r.is_none()) return;
    std::vector<Tensor> changed = py::is_tensor(r.ptr()) ? std::vector<Tensor>{py::tensor_of(r.ptr())} : tensors_of(r);
    FC_CHECK(changed.size() == mine.size(), "hook has returned an incorrect number of values (got ", changed.size(),
             ", but expected ", mine.size(), ")");
    mine = std::move(changed);
  }

 private:
  PyHolder f_;
  bool before_;
};

// A node whose backward is a Python function: the graph side of torch.autograd.Function. The context object is the
// node's face in Python (y.grad_fn), owns the saved attributes and is called with the gradients.
class FunctionNode final : public Node {
 public:
  FunctionNode(nb::object context, std::string name) : context_(std::move(context)), name_(std::move(name)) {
    python = context_.get().ptr();
  }
  std::string name() const override { return name_; }
  std::vector<Tensor> apply(std::vector<Tensor>&& grads) override {
    py::TakeGil gil;
    nb::object run = context_.get().attr("_run_backward");
    return tensors_of(py::call_python(run, nb::make_tuple(tuple_of(grads))));
  }
  void release_saved() override {
    std::vector<autograd::SavedTensor> dropped;
    std::lock_guard guard(lock_);
    dropped.swap(saved_);
    released_ = true;
  }
  void save(const Tensor& t, bool is_output) { saved_.emplace_back(t, is_output); }  // before anybody sees the node
  std::vector<Tensor> saved() {
    std::vector<autograd::SavedTensor> found;
    bool released;
    {
      std::lock_guard guard(lock_);
      found = saved_;
      released = released_;
    }
    FC_CHECK(!released,
             "Trying to backward through the graph a second time (or directly access saved tensors after they have "
             "already been freed). Saved intermediate values of the graph are freed when you call .backward() or "
             "autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or if "
             "you need to access saved tensors after calling backward.");
    std::vector<Tensor> out;
    for (const auto& s : found) out.push_back(s.unpack(Ref<Node>(this)));
    return out;
  }
  PyObject* context() const { return context_.get().ptr(); }

 private:
  std::vector<autograd::SavedTensor> saved_;
  bool released_ = false;
  PyHolder context_;
  std::string name_;
};

// What the context keeps of its node. The two own each other: when the graph has let go of the node, the garbage
// collector sees the circle and frees it; of a chain of such nodes, the last one each time.
struct FunctionHandle {
  Ref<FunctionNode> node;
};
int traverse_handle(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  const FunctionHandle* h = nb::inst_ptr<FunctionHandle>(self);
  if (h->node && h->node->use_count() == 1) Py_VISIT(h->node->context());
  return 0;
}
int clear_handle(PyObject* self) {
  Ref<FunctionNode> node = std::move(nb::inst_ptr<FunctionHandle>(self)->node);
  return 0;
}
PyType_Slot handle_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse_handle)},
                              {Py_tp_clear, reinterpret_cast<void*>(clear_handle)},
                              {0, nullptr}};

// The face of a node: its own Python object if it has one.
nb::object face(const Edge& e) {
  if (e.node->python) return nb::borrow(static_cast<PyObject*>(e.node->python));
  return nb::cast(PyNode{e});
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

// Backward inside backward nests on the interpreter's stack, which is short: every so often a fresh thread goes on.
// Who nests without end is stopped before the system has no threads left.
constexpr int kNestingPerThread = 50, kMostThreads = 40;
thread_local int nesting = 0, threads_above = 0;

template <class F>
std::vector<Tensor> backward_at_depth(const F& run) {
  struct Depth {
    Depth() { ++nesting; }
    ~Depth() { --nesting; }
  } depth;
  if (nesting <= kNestingPerThread) return run();
  const int number = threads_above + 1;
  FC_CHECK(number < kMostThreads, "backward was called inside of backward ", kNestingPerThread * kMostThreads,
           " times: a hook or a Function runs backward over itself without end");
  std::vector<Tensor> result;
  std::exception_ptr error;
  ThreadSnapshot state;
  std::thread([&] {
    try {
      WorkerScope scope(state);
      nesting = 1;
      threads_above = number;
      result = run();
    } catch (...) { error = std::current_exception(); }
  }).join();
  if (error) std::rethrow_exception(error);
  return result;
}

// A tensor's edge, or the one that a GradientEdge names: a node, or the context of a custom function, and a number.
Edge edge_of(nb::handle h) {
  if (py::is_tensor(h.ptr())) return autograd::gradient_edge(py::tensor_of(h.ptr()));
  FC_CHECK_AS(TypeError, nb::isinstance<nb::tuple>(h) && nb::len(h) >= 2, "expected Tensors or GradientEdges, got ",
              Py_TYPE(h.ptr())->tp_name);
  nb::object node = h[0];
  if (!nb::isinstance<PyNode>(node) && nb::hasattr(node, "_handle"))
    node = nb::cast(PyNode{{nb::cast<FunctionHandle&>(node.attr("_handle")).node, nullptr, 0}});
  Edge e = nb::cast<PyNode&>(node).edge;
  e.nr = nb::cast<uint32_t>(h[1]);
  FC_CHECK(e && e.nr < e.node->inputs.size(), "there is no gradient edge ", e.nr, " of ",
           e ? e.node->name() : std::string("nothing"));
  return e;
}

std::string python_stack() {
  py::TakeGil gil;
  try {
    nb::object lines = py::call_python(nb::module_::import_("traceback").attr("format_stack"), nb::make_tuple());
    return nb::cast<std::string>(nb::str("").attr("join")(lines));
  } catch (nb::python_error&) { return "(no Python stack)"; }
}

}  // namespace

void py::push_saved_tensors_hooks(PyObject* pack, PyObject* unpack) {
  autograd::push_saved_tensor_hooks(make_ref<PySavedHooks>(nb::borrow(pack), nb::borrow(unpack)));
}

void bind_autograd(nb::module_& m) {
  m.def("is_grad_enabled", [] { return grad_enabled(); });
  m.def("is_inference_mode_enabled", [] { return thread_state().inference_mode; });
  m.def("is_anomaly_enabled", [] { return thread_state().anomaly_mode; });

  m.def("_run_backward", [](std::vector<Tensor> roots, std::vector<Tensor> grads, std::vector<Tensor> inputs,
                            bool keep_graph, bool create_graph, bool allow_unused, bool accumulate) {
    for (const Tensor& t : roots) given(t);
    for (const Tensor& t : inputs) given(t);
    py::ReleaseGil release(true, py::ReleaseGil::Kernels);
    return backward_at_depth([&] {
      return autograd::run_backward(roots, grads, inputs, {keep_graph, create_graph, allow_unused, accumulate});
    });
  });
  m.def("_run_backward_edges", [](nb::handle roots, std::vector<Tensor> grads, nb::handle inputs, bool keep_graph,
                                  bool create_graph, bool allow_unused, bool accumulate) {
    std::vector<Edge> from, to;
    for (nb::handle h : roots) from.push_back(edge_of(h));
    for (nb::handle h : inputs) {
      to.push_back(edge_of(h));
      FC_CHECK(to.back(), "One of the differentiated Tensors does not require grad");
    }
    py::ReleaseGil release(true, py::ReleaseGil::Kernels);
    return backward_at_depth([&] {
      return autograd::run_backward_edges(from, grads, to, {keep_graph, create_graph, allow_unused, accumulate});
    });
  });
  m.def("_current_graph_task_id",
        [] { return autograd::current_backward() == 0 ? -1 : static_cast<int64_t>(autograd::current_backward()); });
  m.def("_is_checkpoint_valid", [] { return autograd::backward_to_all_leaves(); });
  m.def("_will_engine_execute_node", [](nb::handle edge) {
    const Edge e = edge_of(edge);
    return autograd::backward_runs(*e.node);
  });
  m.def("_queue_callback", [](nb::object f) {
    auto kept = std::make_shared<PyHolder>(std::move(f));
    autograd::at_end_of_backward([kept] {
      py::TakeGil gil;
      py::call_python(kept->get(), nb::make_tuple());
    });
  });
  nb::class_<autograd::SavedTensor>(m, "_SavedTensor",
                                    "A tensor kept as a node keeps it: with a version, and by hooks.")
      .def("__init__",
           [](autograd::SavedTensor* self, const Tensor& t) { new (self) autograd::SavedTensor(given(t), false); })
      .def("unpack", [](const autograd::SavedTensor& s) { return s.unpack({}); });
  m.def(
      "_disable_saved_tensors_hooks",
      [](nb::handle because) -> nb::object {
        std::optional<std::string> text;
        if (!because.is_none()) text = nb::cast<std::string>(because);
        const auto before = autograd::disable_saved_tensor_hooks(std::move(text));
        return before ? nb::cast(*before) : nb::none();
      },
      nb::arg("because").none());

  autograd::stack_trace_hook = python_stack;

  nb::class_<PyNode>(m, "Node", nb::dynamic_attr())
      .def("name", [](const PyNode& n) { return n.edge.node->name(); })
      .def("__repr__",
           [](const PyNode& n) {
             py::Own address(PyUnicode_FromFormat("%p", static_cast<void*>(n.edge.node.get())));
             return str("<", n.edge.node->name(), " object at ", address ? py::utf8(address.get()) : "?", ">");
           })
      .def("__eq__",
           [](const PyNode& a, nb::handle b) {
             return nb::isinstance<PyNode>(b) && a.edge.node == nb::cast<PyNode&>(b).edge.node;
           })
      .def("__hash__", [](const PyNode& n) { return reinterpret_cast<size_t>(n.edge.node.get()); })
      .def_prop_ro("next_functions",
                   [](const PyNode& n) {
                     nb::list out;
                     for (const Edge& e : n.edge.node->edges)
                       out.append(e ? nb::make_tuple(face(e), e.nr) : nb::make_tuple(nb::none(), 0));
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
                     for (const autograd::InputMeta& i : n.edge.node->inputs)
                       out.append(nb::make_tuple(nb::steal(py::wrap_size(i.sizes)), nb::steal(py::wrap(i.dtype)),
                                                 nb::steal(py::wrap(i.device))));
                     return out;
                   })
      .def("_sequence_nr", [](const PyNode& n) { return n.edge.node->sequence; })
      .def("register_hook",
           [](PyNode& n, nb::object f) {
             autograd::NodeHooks& list = hooks_at(n.edge.node->post_hooks);
             return HookHandle{Ref<autograd::AnyHookList>(&list), list.add(make_ref<PyNodeHook>(std::move(f), false))};
           })
      .def("register_prehook", [](PyNode& n, nb::object f) {
        autograd::NodeHooks& list = hooks_at(n.edge.node->pre_hooks);
        return HookHandle{Ref<autograd::AnyHookList>(&list), list.add(make_ref<PyNodeHook>(std::move(f), true))};
      });
  nb::class_<HookHandle>(m, "_RemovableHandle", "What takes a hook away again.")
      .def_ro("id", &HookHandle::id)
      .def("remove", &HookHandle::remove)
      .def("__enter__", [](nb::object self) { return self; })
      .def("__exit__", [](const HookHandle& h, nb::args) { h.remove(); });
  m.def("_grad_fn", [](const Tensor& t) -> nb::object {
    Ref<Node> fn = autograd::grad_fn(t);
    if (!fn) return nb::none();
    return face({fn, nullptr, 0});
  });
  m.def("_gradient_edge", [](const Tensor& t) -> nb::object {
    Edge e = autograd::gradient_edge(t);
    FC_CHECK(e, "Cannot get gradient edge for Tensor that does not require grad.");
    return nb::make_tuple(face(e), e.nr);
  });

  // --- torch.autograd.Function
  nb::class_<FunctionHandle>(m, "_FunctionHandle", nb::type_slots(handle_slots));
  m.def("_function_node", [](nb::object context, const std::string& name, nb::handle inputs) {
    auto node = make_ref<FunctionNode>(std::move(context), name);
    for (const Tensor& t : tensors_of(inputs))
      node->edges.push_back(autograd::requires_grad(t) ? autograd::gradient_edge(t) : Edge());
    if (thread_state().anomaly_mode) node->forward_trace = python_stack();
    return FunctionHandle{std::move(node)};
  });
  // Attaches results; `kind`: 0 plain, 1 input number `input` changed in place, 2 no gradient.
  m.def("_function_result", [](FunctionHandle& h, const Tensor& t, int kind, size_t input) {
    FC_CHECK(kind != 1 || input < h.node->edges.size(), "_function_result: there is no input ", input);
    if (kind == 1) autograd::rebase_history(t, h.node, input);
    else if (kind == 0) autograd::set_history(t, h.node);
    else h.node->add_input(t);
  });
  m.def("_function_save", [](FunctionHandle& h, nb::handle tensors, nb::handle is_output) {
    const auto flags = nb::cast<std::vector<bool>>(is_output);
    const std::vector<Tensor> saved = tensors_of(tensors);
    FC_CHECK(h.node && flags.size() == saved.size(), "_function_save: ", saved.size(), " tensors, but ", flags.size(),
             " flags");
    for (size_t i = 0; i < saved.size(); ++i) h.node->save(saved[i], flags[i]);
  });
  m.def("_function_saved", [](FunctionHandle& h) { return tuple_of(h.node->saved()); });
  m.def("_function_needs", [](FunctionHandle& h, size_t i) { return h.node->wants(i); });
  m.def("_function_meta", [](FunctionHandle& h, size_t i) {
    const autograd::InputMeta& meta = h.node->inputs.at(i);
    return nb::make_tuple(nb::steal(py::wrap_size(meta.sizes)), nb::steal(py::wrap(meta.dtype)),
                          nb::steal(py::wrap(meta.device)));
  });
  m.def("_function_face", [](FunctionHandle& h) { return PyNode{{h.node, nullptr, 0}}; });
  m.def("_check_in_place", [](const std::string& name, const Tensor& t) { autograd::check_in_place(name.c_str(), t); });
  m.def("_bump_version", [](const Tensor& t) { t.impl().bump_version(); });

  m.def("_register_hook",
        [](const Tensor& t, nb::object f) { return autograd::add_hook(t, make_ref<PyTensorHook>(std::move(f))); });
  m.def("_register_post_accumulate_hook", [](const Tensor& t, nb::object f) {
    return autograd::add_post_accumulate_hook(t, make_ref<PyTensorHook>(std::move(f)));
  });
}

}  // namespace fc
