// SPDX-License-Identifier: Apache-2.0
// Grad modes, backward, hooks and custom functions as Python sees them.
#include "autograd/autograd.h"

#include <nanobind/nanobind.h>

#include <thread>

#include "autograd/meta.h"
#include "autograd/saved.h"
#include "bind.h"
#include "casters.h"
#include "dispatch/observe.h"
#include "dispatch/snapshot.h"
#include "node.h"

namespace nb = nanobind;

namespace fc {
namespace {

using autograd::Edge;
using autograd::Node;
using py::edge_of;
using py::PyHolder;
using py::tensors_of;
using py::tuple_of;

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

// A node whose backward is a Python function: the graph side of torch.autograd.Function. The context object is the
// node's face in Python (y.grad_fn), owns the saved attributes and is called with the gradients.
class FunctionNode final : public Node {
 public:
  FunctionNode(nb::object context, std::string name) : context_(std::move(context)), name_(std::move(name)) {
    python = context_.get().ptr();
    if (watched(
            EventKind::Range)) {  // its forward has a number like an operator's, so that backward's calls can name it
      const RangeScope told(name_, "function");
      call_id = thread_state().call_id;
    }
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
  std::vector<std::string> saved_names() const override { return {"tensors"}; }
  autograd::SavedItem saved(size_t) override {
    autograd::SavedItem found;
    found.is_list = true;
    bool released;
    {
      std::lock_guard guard(lock_);
      found.tensors = saved_;
      released = released_;
    }
    if (released) raise_released();
    return found;
  }
  void replace_saved(size_t, size_t item, const autograd::SavedTensor& next) override {
    autograd::SavedTensor before;  // dropped after the lock
    bool released;
    {
      std::lock_guard guard(lock_);
      released = released_;
      if (!released) before = std::exchange(saved_.at(item), next);
    }
    if (released) raise_released();
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

std::string python_stack() {
  py::TakeGil gil;
  try {
    nb::object lines = py::call_python(nb::module_::import_("traceback").attr("format_stack"), nb::make_tuple());
    return nb::cast<std::string>(nb::str("").attr("join")(lines));
  } catch (nb::python_error&) { return "(no Python stack)"; }
}

}  // namespace

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

  m.def("_grad_fn", [](const Tensor& t) -> nb::object {
    Ref<Node> fn = autograd::grad_fn(t);
    if (!fn) return nb::none();
    return py::face_of({fn, nullptr, 0});
  });
  m.def("_gradient_edge", [](const Tensor& t) -> nb::object {
    Edge e = autograd::gradient_edge(t);
    FC_CHECK(e, "Cannot get gradient edge for Tensor that does not require grad.");
    return nb::make_tuple(py::face_of(e), e.nr);
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
  m.def("_function_saved", [](FunctionHandle& h) {
    std::vector<Tensor> out;
    for (const autograd::SavedTensor& t : h.node->saved(0).tensors) out.push_back(t.unpack(h.node));
    return tuple_of(out);
  });
  m.def("_function_needs", [](FunctionHandle& h, size_t i) { return h.node->wants(i); });
  m.def("_function_meta", [](FunctionHandle& h, size_t i) {
    const autograd::InputMeta& meta = h.node->inputs.at(i);
    return nb::make_tuple(nb::steal(py::wrap_size(meta.sizes)), nb::steal(py::wrap(meta.dtype)),
                          nb::steal(py::wrap(meta.device)));
  });
  m.def("_function_face", [](FunctionHandle& h) { return py::second_face_of(h.node); });
  m.def("_check_in_place", [](const std::string& name, const Tensor& t) { autograd::check_in_place(name.c_str(), t); });
  m.def("_bump_version", [](const Tensor& t) { t.impl().bump_version(); });

  m.def("_register_hook",
        [](const Tensor& t, nb::object f) { return autograd::add_hook(t, make_ref<PyTensorHook>(std::move(f))); });
  m.def("_register_post_accumulate_hook", [](const Tensor& t, nb::object f) {
    return autograd::add_post_accumulate_hook(t, make_ref<PyTensorHook>(std::move(f)));
  });
}

}  // namespace fc
