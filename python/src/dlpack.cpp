// SPDX-License-Identifier: Apache-2.0
// DLPack capsules: core/dlpack.h in Python's clothes. A capsule is consumed once: taking it renames it, and the
// deleter then belongs to the tensor's storage.
#include "core/dlpack.h"

#include <nanobind/nanobind.h>

#include <cstring>

#include "autograd/autograd.h"
#include "bind.h"

namespace nb = nanobind;

namespace fc {
namespace {

// A capsule that nobody took still owns its tensor.
template <class M>
void drop_capsule(PyObject* capsule) {
  const char* name = PyCapsule_GetName(capsule);
  if (!name || std::strncmp(name, "dltensor", 8) != 0) return;
  auto* m = static_cast<M*>(PyCapsule_GetPointer(capsule, name));
  if (m && m->deleter) m->deleter(m);
}

template <class M>
nb::object make_capsule(const Tensor& t, bool copied, const char* name) {
  M* m = dlpack::export_tensor<M>(t, copied);
  PyObject* capsule = PyCapsule_New(m, name, drop_capsule<M>);
  if (!capsule) m->deleter(m);
  return nb::steal(py::check(capsule));
}

nb::object to_capsule(const Tensor& t, bool versioned, bool copied) {
  FC_CHECK_AS(BufferError, !autograd::requires_grad(given(t)),
              "Can't export tensors that require gradient, use tensor.detach()");
  return versioned ? make_capsule<dlpack::Versioned>(t, copied, "dltensor_versioned")
                   : make_capsule<dlpack::Managed>(t, copied, "dltensor");
}

Tensor from_capsule(nb::handle h) {
  FC_CHECK_AS(TypeError, PyCapsule_CheckExact(h.ptr()), "from_dlpack: expected a DLPack capsule, got ",
              Py_TYPE(h.ptr())->tp_name);
  const char* name = PyCapsule_GetName(h.ptr());
  bool versioned = name && std::strcmp(name, "dltensor_versioned") == 0;
  FC_CHECK(versioned || (name && std::strcmp(name, "dltensor") == 0),
           "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, "
           "so you might have already constructed a tensor from it once (its name is ",
           name ? name : "null", ")");
  void* p = PyCapsule_GetPointer(h.ptr(), name);
  if (!p) throw nb::python_error();
  Tensor t = versioned ? dlpack::import_tensor(*static_cast<dlpack::Versioned*>(p))
                       : dlpack::import_tensor(*static_cast<dlpack::Managed*>(p));
  py::check(PyCapsule_SetName(h.ptr(), versioned ? "used_dltensor_versioned" : "used_dltensor"));
  return t;
}

}  // namespace

void bind_dlpack(nb::module_& m) {
  m.def("_to_dlpack", to_capsule, nb::arg("tensor"), nb::arg("versioned"), nb::arg("copied"));
  m.def("_from_dlpack", from_capsule);
}

}  // namespace fc
