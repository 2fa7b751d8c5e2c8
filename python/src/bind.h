// SPDX-License-Identifier: Apache-2.0
// What each file binds into the module, through nanobind.
#pragma once
#include <nanobind/nanobind.h>

#include "core/small.h"
#include "py.h"

namespace fc {

void bind_config(nanobind::module_& m);
void bind_tensor(nanobind::module_& m);    // making tensors, NumPy, threads, memory
void bind_autograd(nanobind::module_& m);  // modes, backward, custom functions
void bind_nodes(nanobind::module_& m);     // the graph
void bind_dlpack(nanobind::module_& m);
void bind_backends(nanobind::module_& m);  // loading, fallback counts, single family calls
void bind_shared_memory(nanobind::module_& m);
void bind_distributed(nanobind::module_& m);  // process groups, when they are asked for
void bind_dispatch(nanobind::module_& m);     // operators by name, layers
void bind_observe(nanobind::module_& m);
void bind_profiler(nanobind::module_& m);
void bind_values(nanobind::module_& m);
void bind_files(nanobind::module_& m);   // archives, maps, safetensors
void bind_pickle(nanobind::module_& m);  // reading and writing pickles

namespace py {
void add_override_functions(PyObject* module);
void add_modes(PyObject* module);
void add_module_functions(PyObject* module);
void push_saved_tensors_hooks(PyObject* pack, PyObject* unpack);  // node.cpp, for modes.cpp
// Calls what a program gave, from C++ that may run on any thread: the error that it throws holds Python's.
nanobind::object call_python(nanobind::handle f, const nanobind::tuple& args, const nanobind::dict& kwargs = {});
void tell_what_waits() noexcept;  // observe.cpp: to observers in Python, what happened inside of a use
// Owns a Python object, may end on any thread and gives the object up under the interpreter's lock: inside of a use
// when that ends. The place in the list of what waits for that is made with the holder, since an end cannot fail.
class PyHolder {
 public:
  explicit PyHolder(nanobind::object o) : held_(new Held{o.ptr(), nullptr}) { o.release(); }
  ~PyHolder();
  PyHolder(const PyHolder&) = delete;
  PyHolder& operator=(const PyHolder&) = delete;
  nanobind::handle get() const { return held_->object; }

  struct Held {
    PyObject* object;
    Held* next;
    static void* operator new(size_t bytes) { return take_small(bytes); }
    static void operator delete(void* p, size_t bytes) { give_small(p, bytes); }
  };

 private:
  Held* held_;
};
}  // namespace py

// A tensor that a binding reads: None, which the caster below takes for the undefined tensor, is none.
inline const Tensor& given(const Tensor& t) {
  FC_CHECK_AS(TypeError, t.defined(), "expected a Tensor, not None");
  return t;
}

}  // namespace fc

namespace nanobind::detail {
// Tensors cross nanobind's functions as the hand-written type; None is the undefined tensor.
template <>
struct type_caster<fc::Tensor> {
  NB_TYPE_CASTER(fc::Tensor, const_name("facula.Tensor"))
  bool from_python(handle src, uint8_t, cleanup_list*) noexcept {
    if (src.is_none()) {
      value.reset();
      return true;
    }
    if (!fc::py::is_tensor(src.ptr())) return false;
    value = fc::py::tensor_of(src.ptr());
    return true;
  }
  static handle from_cpp(const fc::Tensor& t, rv_policy, cleanup_list*) noexcept {
    return fc::py::guarded([&] { return fc::py::wrap(fc::Tensor(t)); });
  }
};
}  // namespace nanobind::detail
