// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include "bind.h"

namespace fc::py {

void sleep_until_exit() noexcept {
  for (;;) pause();
}

bool shutting_down() {
#if PY_VERSION_HEX >= 0x030d0000
  return !Py_IsInitialized() || Py_IsFinalizing();
#else
  return !Py_IsInitialized() || _Py_IsFinalizing();
#endif
}

TakeGil::TakeGil(std::nothrow_t) noexcept {
  if (shutting_down() && !PyGILState_Check()) return;
  state_ = in_interpreter([] { return PyGILState_Ensure(); });
  held_ = true;
}
TakeGil::TakeGil() : TakeGil(std::nothrow) {
  FC_CHECK(held_, "a thread needs Python while the interpreter shuts down");
}
TakeGil::~TakeGil() {
  if (held_) in_interpreter([this] { PyGILState_Release(state_); });
}

ChangeAlone::ChangeAlone() {
  if (begin_change()) return;
  WaitForUses uses;
  do {  // the lock is back before the next try
    ReleaseGil let_others;
    uses.wait();
  } while (!begin_change());
}

nanobind::object call_python(nanobind::handle f, const nanobind::tuple& args, const nanobind::dict& kwargs) {
  PyObject* r = in_interpreter([&] { return PyObject_Call(f.ptr(), args.ptr(), kwargs.ptr()); });
  if (!r) throw nanobind::python_error();
  return nanobind::steal(r);
}

void drop_reference(PyObject* o) noexcept {
  if (!o) return;
  if (TakeGil gil(std::nothrow); gil) in_interpreter([o] { Py_DECREF(o); });
}

}  // namespace fc::py
