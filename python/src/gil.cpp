// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

#include "bind.h"
#include "dispatch/observing.h"

namespace fc::py {
namespace {

// What was dropped inside of a use of this thread: lists through the objects themselves.
struct Waiting {
  PyHolder::Held* held = nullptr;
  TensorObject* tensors = nullptr;
};
constinit thread_local Waiting waiting [[gnu::tls_model("initial-exec")]];

// Asking for the lock from a thread of our own makes a thread state, for which there must be an interpreter. So the end
// of the interpreter waits for those who are asking (it ends them), and nobody asks from then on.
std::atomic<int> asking{0};
std::atomic<bool> gone{false};
void last_call(PyObject*) {
  gone = true;
  while (asking > 0) usleep(100);
}

// The interpreter is gone, and next the process runs the destructors of libraries that daemon threads may be computing
// in. They will sleep when they ask for the lock; until then, but not for ever, the end waits for them.
std::atomic<int> computing{0};
constinit thread_local bool computes [[gnu::tls_model("initial-exec")]] = false;  // this thread is one of them
bool set_computing(bool on) {
  if (on != computes) computing.fetch_add(on ? 1 : -1, std::memory_order_acq_rel);
  return std::exchange(computes, on);
}
constexpr size_t kRoom = 512 << 10;  // of a stack, for what runs until the next check_stack
constexpr int kPatience = 20000;     // times 100 us
void wait_for_computing() {
  for (int i = 0; i < kPatience && computing.load(std::memory_order_acquire) > 0; ++i) usleep(100);
}

void give_up(PyHolder::Held* h) noexcept {
  drop_reference(h->object);
  delete h;
}

void drop_what_waits() {
  tell_what_waits();
  if (observer_runs()) return;  // which has paused its use to ask for the interpreter: a free would be told to nobody
  while (waiting.held || waiting.tensors) {  // what is dropped may run Python code, which drops more
    Waiting now = std::exchange(waiting, {});
    while (now.held) give_up(std::exchange(now.held, now.held->next));
    while (now.tensors) {
      TensorImpl* last = &now.tensors->tensor.impl();
      now.tensors = now.tensors->next_waiting;
      last->release();
    }
  }
}

void wait_for_turn() {
  if (begin_change()) return;
  const bool locked = PyGILState_Check();  // a device's worker has no lock to let go of
  WaitForUses uses;
  do {  // the lock is back before the next try
    ReleaseGil let_others(locked);
    uses.wait();
  } while (!begin_change());
}

}  // namespace

void ReleaseGil::let_go(What what) {
  before_ = set_computing(computes || what == Kernels);  // before the lock goes to one who ends the interpreter
  state_ = PyEval_SaveThread();
}
void ReleaseGil::take_back() {
  set_computing(before_);
  in_interpreter([&] { PyEval_RestoreThread(state_); });
}

void drop_later(TensorImpl& dying) noexcept {
  dying.revive();  // the list's count, with which it cannot end: nobody puts it here twice
  auto* o = static_cast<TensorObject*>(dying.python);
  o->next_waiting = std::exchange(waiting.tensors, o);
}

PyHolder::~PyHolder() {
  if (in_use()) held_->next = std::exchange(waiting.held, held_);
  else give_up(held_);
}

void add_gil_hooks() {
  after_use = drop_what_waits;
  wait_to_change = wait_for_turn;
  Py_AtExit(wait_for_computing);
  pthread_atfork(nullptr, nullptr, [] { computing = 0; });  // a child has no other threads
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

__attribute__((no_sanitize("null"))) TakeGil::TakeGil(std::nothrow_t) noexcept : computes_(set_computing(false)) {
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
  set_computing(computes_);
}

ChangeAlone::ChangeAlone() { wait_for_turn(); }

bool stack_left() {
  static constinit thread_local uintptr_t lowest [[gnu::tls_model("initial-exec")]] = 0;  // address that is still fine
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  if (!lowest) {
    lowest = 1;
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
      void* end = nullptr;
      size_t bytes = 0;
      if (pthread_attr_getstack(&attributes, &end, &bytes) == 0)
        lowest = reinterpret_cast<uintptr_t>(end) + std::min(bytes / 4, kRoom);
      pthread_attr_destroy(&attributes);
    }
  }
  if (here > lowest) [[likely]]
    return true;
  PyErr_SetString(PyExc_RecursionError, "maximum recursion depth exceeded: the stack of this thread is used up");
  return false;
}

nanobind::object call_python(nanobind::handle f, const nanobind::tuple& args, const nanobind::dict& kwargs) {
  if (!stack_left()) throw nanobind::python_error();
  PyObject* r = in_interpreter([&] { return PyObject_Call(f.ptr(), args.ptr(), kwargs.ptr()); });
  if (!r) throw nanobind::python_error();
  return nanobind::steal(r);
}

void drop_reference(PyObject* o) noexcept {
  if (!o) return;
  if (TakeGil gil(std::nothrow); gil) in_interpreter([o] { Py_DECREF(o); });
}

}  // namespace fc::py
