// SPDX-License-Identifier: Apache-2.0
// Grad modes, backward, hooks and the graph as Python sees it.
#include "autograd/autograd.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "autograd/meta.h"
#include "bind.h"
#include "dispatch/layers.h"

namespace nb = nanobind;

namespace facula {
namespace {

using autograd::Edge;
using autograd::Node;

// A node in Python: keeps alive whatever owns it.
struct PyNode {
  Edge edge;
};

class PyTensorHook final : public autograd::TensorHook {
 public:
  explicit PyTensorHook(nb::object f) : f_(std::move(f)) {}
  ~PyTensorHook() override {
    if (!Py_IsInitialized()) {
      f_.release();
      return;
    }
    nb::gil_scoped_acquire gil;
    f_.reset();
  }
  Tensor call(const Tensor& gradient) override {
    nb::gil_scoped_acquire gil;
    nb::object r = f_(gradient);
    if (r.is_none()) return {};
    FC_CHECK_AS(TypeError, py::is_tensor(r.ptr()), "hook must return None or a Tensor, got ", Py_TYPE(r.ptr())->tp_name);
    return py::tensor_of(r.ptr());
  }

 private:
  nb::object f_;
};

}  // namespace

void bind_autograd(nb::module_& m) {
  m.def("is_grad_enabled", [] { return grad_enabled(); });
  m.def("_set_grad_enabled", [](bool on) { GradMode::set(on); });
  m.def("is_inference_mode_enabled", [] { return thread_state().inference_mode; });
  m.def("_set_anomaly", [](bool on, bool check_nan) {
    thread_state().anomaly_mode = on;
    thread_state().anomaly_check_nan = check_nan;
  });
  m.def("is_anomaly_enabled", [] { return thread_state().anomaly_mode; });

  m.def("_run_backward", [](std::vector<Tensor> roots, std::vector<Tensor> grads, std::vector<Tensor> inputs, bool keep_graph, bool create_graph, bool allow_unused, bool accumulate) {
    nb::gil_scoped_release release;
    return autograd::run_backward(roots, grads, inputs, {keep_graph, create_graph, allow_unused, accumulate});
  });

  nb::class_<PyNode>(m, "Node")
      .def("name", [](const PyNode& n) { return n.edge.node->name(); })
      .def("__repr__", [](const PyNode& n) { return str("<", n.edge.node->name(), " object>"); })
      .def("__eq__", [](const PyNode& a, const PyNode& b) { return a.edge.node == b.edge.node; })
      .def("__hash__", [](const PyNode& n) { return reinterpret_cast<size_t>(n.edge.node); })
      .def_prop_ro("next_functions", [](const PyNode& n) {
        nb::list out;
        for (const Edge& e : n.edge.node->edges) out.append(e ? nb::make_tuple(PyNode{e}, e.nr) : nb::make_tuple(nb::none(), 0));
        return nb::tuple(out);
      })
      .def_prop_ro("_sequence_nr", [](const PyNode& n) { return n.edge.node->sequence; });
  m.def("_grad_fn", [](const Tensor& t) -> nb::object {
    Ref<Node> fn = autograd::grad_fn(t);
    if (!fn) return nb::none();
    return nb::cast(PyNode{{fn, fn.get(), 0}});
  });
  m.def("_register_hook", [](const Tensor& t, nb::object f) { return autograd::add_hook(t, make_ref<PyTensorHook>(std::move(f))); });
  m.def("_register_post_accumulate_hook", [](const Tensor& t, nb::object f) { return autograd::add_post_accumulate_hook(t, make_ref<PyTensorHook>(std::move(f))); });
  m.def("_remove_hook", &autograd::remove_hook);
}

}  // namespace facula
