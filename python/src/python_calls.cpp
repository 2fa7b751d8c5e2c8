// SPDX-License-Identifier: Apache-2.0
#include "python_calls.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <unordered_map>

#include "bind.h"
#include "dispatch/observe.h"

namespace nb = nanobind;

namespace fc {
namespace {

constexpr size_t kMost = 1 << 22;  // calls kept of a thread: a fifth of a gigabyte
constexpr uint32_t kNone = UINT32_MAX;
constexpr const char* kCapsule = "facula.PythonCalls";

std::atomic<unsigned> forks{0};  // a child does not go on with what its parent records

}  // namespace

struct PythonCalls::State {
  struct Call {
    uint64_t start, end;
    PyCodeObject* code;
    uint32_t parent;  // kNone: there is none
  };
  struct Thread {
    uint64_t number;
    std::vector<Call> calls;
    std::vector<uint32_t> open;
    uint64_t lost = 0;
    std::shared_ptr<State> state;  // null: it records no longer
  };
  ~State() {
    for (auto& [code, known] : codes) Py_DECREF(code);
  }
  void enter(Thread& t, PyCodeObject* code, uint64_t now) {
    if (t.calls.size() >= kMost) {
      ++t.lost;
      t.open.push_back(kNone);
      return;
    }
    const auto [known, fresh] = codes.try_emplace(code);
    if (fresh) {
      Py_INCREF(code);
      // Ranges begin and end inside of these: they would cross them.
      known->second.hidden = py::utf8(code->co_filename).find("/facula/profiler/") != std::string_view::npos;
    }
    if (known->second.hidden) {
      t.open.push_back(kNone);
      return;
    }
    const auto outer = std::find_if(t.open.rbegin(), t.open.rend(), [](uint32_t call) { return call != kNone; });
    t.calls.push_back({now, 0, code, outer == t.open.rend() ? kNone : *outer});
    t.open.push_back(static_cast<uint32_t>(t.calls.size() - 1));
  }
  static void leave(Thread& t, uint64_t now) {
    if (t.open.empty()) return;
    if (t.open.back() != kNone) t.calls[t.open.back()].end = now;
    t.open.pop_back();
  }

  bool recording = false;
  unsigned generation = 0;
  std::vector<std::shared_ptr<Thread>> threads;
  struct Code {
    std::string name;  // that a trace has
    bool hidden = false;
  };
  std::unordered_map<PyCodeObject*, Code> codes;  // held
};

namespace {

using State = PythonCalls::State;

int tell(PyObject* to, PyFrameObject* frame, int what, PyObject*) {
  auto& thread = **static_cast<std::shared_ptr<State::Thread>*>(PyCapsule_GetPointer(to, kCapsule));
  if (!thread.state || thread.state->generation != forks) {
    PyEval_SetProfile(nullptr, nullptr);  // `to` is gone from here on
    return 0;
  }
  State& state = *thread.state;
  if (what == PyTrace_CALL) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    state.enter(thread, code, observe::now_ns());
    Py_DECREF(code);
  } else if (what == PyTrace_RETURN) {
    State::leave(thread, observe::now_ns());
  }
  return 0;
}

}  // namespace

PythonCalls::PythonCalls() : state_(std::make_shared<State>()) {
  static const int registered = pthread_atfork(nullptr, nullptr, [] { ++forks; });
  (void)registered;
}
PythonCalls::~PythonCalls() { stop(); }

void PythonCalls::start() {
  state_->recording = true;
  state_->generation = forks;
  watch();
}

void PythonCalls::watch() {
  if (!state_->recording) return;
  nb::object known = nb::module_::import_("sys").attr("getprofile")();
  // Of a profiler of the program's own nothing is taken away; what led here gives way (threading.setprofile).
  if (!known.is_none() && !nb::hasattr(known, "_facula_watches")) return;
  auto thread = std::make_shared<State::Thread>();
  thread->number = Event::thread();
  thread->state = state_;
  std::vector<PyCodeObject*> around;
  PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
  while (frame) {
    around.push_back(PyFrame_GetCode(frame));
    PyFrameObject* back = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = back;
  }
  const uint64_t now = observe::now_ns();
  for (size_t i = around.size(); i-- > 0;) {
    state_->enter(*thread, around[i], now);
    Py_DECREF(around[i]);
  }
  auto* held = new std::shared_ptr<State::Thread>(thread);
  nb::object capsule = nb::steal(PyCapsule_New(held, kCapsule, [](PyObject* c) {
    delete static_cast<std::shared_ptr<State::Thread>*>(PyCapsule_GetPointer(c, kCapsule));
  }));
  if (!capsule.is_valid()) {
    delete held;
    throw nb::python_error();
  }
  state_->threads.push_back(std::move(thread));
  PyEval_SetProfile(tell, capsule.ptr());
}

void PythonCalls::stop() {
  if (!state_->recording) return;
  state_->recording = false;
  const uint64_t now = observe::now_ns();
  for (auto& thread : state_->threads) {
    while (!thread->open.empty()) State::leave(*thread, now);
    thread->state.reset();  // other threads notice at their next call
  }
  const nb::object known = nb::module_::import_("sys").attr("getprofile")();
  if (PyCapsule_IsValid(known.ptr(), kCapsule)) PyEval_SetProfile(nullptr, nullptr);
}

uint64_t PythonCalls::lost() const {
  uint64_t lost = 0;
  for (const auto& thread : state_->threads) lost += thread->lost;
  return lost;
}

std::vector<observe::Span> PythonCalls::spans() const {
  std::vector<std::string> roots;  // of modules: names are told from there on
  for (nb::handle root : nb::list(nb::module_::import_("sys").attr("path")))
    if (PyUnicode_Check(root.ptr()) && PyUnicode_GET_LENGTH(root.ptr()) > 0)
      roots.push_back(std::string(py::utf8(root.ptr())) + "/");
  for (auto& [code, known] : state_->codes) {
    if (!known.name.empty()) continue;
    std::string_view file = py::utf8(code->co_filename);
    size_t cut = 0;
    for (const std::string& root : roots)
      if (file.starts_with(root)) cut = std::max(cut, root.size());
    known.name = str(file.substr(cut), "(", code->co_firstlineno, "): ", py::utf8(code->co_name));
  }
  std::vector<observe::Span> out;
  uint64_t first = 1;  // numbers of calls go through all threads
  for (const auto& thread : state_->threads) {
    for (const State::Call& c : thread->calls)
      out.push_back(
          {thread->number, c.start, c.end, &state_->codes.at(c.code).name, c.parent == kNone ? 0 : first + c.parent});
    first += thread->calls.size();
  }
  return out;
}

void bind_python_calls(nb::module_& m) {
  nb::class_<PythonCalls>(m, "_PythonCalls")
      .def(nb::init<>())
      .def("start", &PythonCalls::start)
      .def("watch", &PythonCalls::watch)
      .def("stop", &PythonCalls::stop)
      .def_prop_ro("lost", &PythonCalls::lost);
}

}  // namespace fc
