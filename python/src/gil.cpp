// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <atomic>
#include <utility>
#include <vector>

#include "bind.h"

namespace fc::py {
namespace {

// What was dropped inside of a use of this thread.
constinit thread_local bool something_waits [[gnu::tls_model("initial-exec")]] = false;
struct Waiting {
  std::vector<PyObject*> objects;
  std::vector<Tensor> tensors;
};
thread_local Waiting waiting;

// Asking for the lock from a thread of our own makes a thread state, for which there must be an interpreter. So the end of
// the interpreter waits for those who are asking (it ends them), and nobody asks from then on.
std::atomic<int> asking{0};
std::atomic<bool> gone{false};
void last_call(PyObject*) {
  gone = true;
  while (asking > 0) usleep(100);
}

void drop_what_waits() {
  while (something_waits) {
    Waiting now = std::exchange(waiting, {});
    something_waits = false;
    for (PyObject* o : now.objects) drop_reference(o);
  }
}

}  // namespace

void drop_later(TensorImpl& dying) {
  waiting.tensors.reserve(waiting.tensors.size() + 1);
  dying.revive();
  waiting.tensors.emplace_back(Ref<TensorImpl>::adopt(&dying));
  something_waits = true;
}
void add_gil_hooks() {
  after_use = drop_what_waits;
  static char any;
  PyObject* dict = PyInterpreterState_GetDict(PyInterpreterState_Main());  // cleared when the interpreter ends
  Own capsule(check(PyCapsule_New(&any, nullptr, last_call)));
  if (dict) check(PyDict_SetItemString(dict, "facula._C.last_call", capsule.get()));
}

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

__attribute__((no_sanitize("null"))) TakeGil::TakeGil(std::nothrow_t) noexcept {
  ++asking;
  held_ = !gone && (!shutting_down() || PyGILState_Check());
  try {
    if (held_) state_ = PyGILState_Ensure();
  } catch (const abi::__forced_unwind&) {
    --asking;
    sleep_until_exit();
  }
  --asking;
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
  if (in_use()) {
    waiting.objects.push_back(o);
    something_waits = true;
    return;
  }
  if (TakeGil gil(std::nothrow); gil) in_interpreter([o] { Py_DECREF(o); });
}

}  // namespace fc::py
