// SPDX-License-Identifier: Apache-2.0
// Observers written in Python (dispatch/observe.h). Calls, kernels and ranges are told as they happen. The other events
// may happen inside of a use (core/use.h), where asking for the interpreter's lock would let a change in between two
// reads of a kernel: those are kept and told, in order, when the use ends or pauses.
#include "dispatch/observe.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <time.h>

#include <cstring>

#include "bind.h"
#include "dispatch.h"

namespace nb = nanobind;

namespace fc {
namespace {

uint64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}

// An event as Python holds it. `live` is the event itself while it is told; what was read of it then stays.
struct PythonEvent {
  explicit PythonEvent(const Event& e)
      : plain(e),
        name(e.op ? e.op->name() : std::string(e.name)),
        text(e.text),
        error(error_text(e)),
        thread(Event::thread()),
        time_ns(now_ns()),
        device(e.device()),
        stream(e.stream()) {
    keep_operands(e);
    plain.args = nullptr;  // they end with the event, and so does what the views point to
    plain.results = nullptr;
    plain.request = nullptr;
    plain.own_operands = nullptr;
    plain.error = nullptr;
    plain.name = plain.text = {};
  }

  const Event& alive(const char* what) const {
    FC_CHECK(live, "event.", what, " was not read while the event was told: read it in the observer");
    return *live;
  }
  const nb::tuple& call() {  // (args, kwargs)
    if (!call_.is_valid()) {
      const Event& e = alive("args");
      auto [args, kwargs] = e.op ? py::python_call(*e.op, e.args) : std::pair<nb::tuple, nb::dict>();
      call_ = nb::make_tuple(args, kwargs);
    }
    return call_;
  }
  nb::object result() {
    if (!result_.is_valid()) {
      const Event& e = alive("result");
      auto one = [](const Value& v) { return nb::steal(py::check(py::wrap(Value(v)))); };
      if (e.values().size() == 1) {
        result_ = one(e.values()[0]);
      } else {
        nb::list all;
        for (const Value& v : e.values()) all.append(one(v));
        result_ = e.values().empty() ? nb::none() : nb::object(nb::tuple(all));
      }
    }
    return result_;
  }

  nb::list operands() const {  // of each (address, dtype, sizes, strides in bytes, "r", "w" or "rw")
    nb::list out;
    for (const KeptOperand& k : operands_)
      out.append(nb::make_tuple(reinterpret_cast<size_t>(k.plain.data), nb::steal(py::check(py::wrap(k.plain.dtype))),
                                nb::steal(py::check(py::wrap_ints(k.sizes))),
                                nb::steal(py::check(py::wrap_ints(k.strides))),
                                !k.plain.written ? "r"
                                : k.plain.read   ? "rw"
                                                 : "w"));
    return out;
  }

  Event plain;
  std::string name, text, error;
  uint64_t thread, time_ns;
  Device device;
  void* stream;
  const Event* live = nullptr;

 private:
  struct KeptOperand {
    MemoryOperand plain;
    Dims sizes, strides;
  };
  void keep_operands(const Event& e) {
    MemoryOperand all[kMaxOperands];
    for (const MemoryOperand& o : std::span(all, static_cast<size_t>(e.operands(all)))) {
      KeptOperand& k = operands_.emplace_back(o);
      for (int d = 0; d < o.ndim; ++d) k.sizes.push_back(o.size(d)), k.strides.push_back(o.stride(d));
    }
  }
  std::vector<KeptOperand> operands_;
  nb::tuple call_{nb::steal<nb::tuple>(nb::handle())};
  nb::object result_;
};

class PythonObserver final : public Observer {
 public:
  explicit PythonObserver(nb::object f) : f_(std::move(f)) {}
  void see(const Event& e) noexcept override;
  void tell(PythonEvent&& event, const Event* live) noexcept;

 private:
  py::PyHolder f_;
};

struct Kept {
  Ref<PythonObserver> observer;
  PythonEvent event;
};
thread_local std::vector<Kept>* waiting = nullptr;  // what happened inside of this thread's use; null: nothing

void PythonObserver::see(const Event& e) noexcept {
  const bool anywhere = e.kind == EventKind::Call || e.kind == EventKind::Kernel || e.kind == EventKind::Range;
  try {
    if (anywhere || !in_use()) {
      tell(PythonEvent(e), &e);
    } else {
      if (!waiting) waiting = new std::vector<Kept>;
      waiting->push_back({Ref<PythonObserver>(this), PythonEvent(e)});
    }
  } catch (const std::bad_alloc&) {}  // an event is lost where there is no memory to keep it in
}

void PythonObserver::tell(PythonEvent&& event, const Event* live) noexcept {
  py::TakeGil gil(std::nothrow);
  if (!gil) return;
  ExcludeLayers unwatched(layer::kObserve);  // it may call operators
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);  // a call that failed ends with its error set
  try {
    event.live = live;
    nb::object o = nb::cast(std::move(event));
    PyObject* r = py::in_interpreter([&] { return PyObject_CallOneArg(f_.get().ptr(), o.ptr()); });
    nb::cast<PythonEvent&>(o).live = nullptr;
    if (!r) {
      const bool stop = PyErr_ExceptionMatches(PyExc_KeyboardInterrupt);
      py::in_interpreter([&] { PyErr_WriteUnraisable(f_.get().ptr()); });
      if (stop) PyErr_SetInterrupt();  // the program's, not the observer's
    }
    py::in_interpreter([&] { Py_XDECREF(r); });
  } catch (nb::python_error& e) {
    e.restore();
    PyErr_WriteUnraisable(f_.get().ptr());
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
    PyErr_WriteUnraisable(f_.get().ptr());
  }
  PyErr_Restore(type, value, trace);
}

class PythonWatch {
 public:
  PythonWatch(nb::object f, EventKinds kinds, bool process, bool children)
      : observer_(make_ref<PythonObserver>(std::move(f))),
        options_{kinds, process ? Watch::Process : Watch::Thread, children} {}
  ~PythonWatch() { stop(); }
  PythonWatch(const PythonWatch&) = delete;
  PythonWatch& operator=(const PythonWatch&) = delete;
  void start() {
    FC_CHECK(!registration_, "observe: this observer is watching already; stop it before it is started again");
    registration_ = start_observing(observer_, options_);
  }
  void stop() noexcept { stop_observing(std::exchange(registration_, 0)); }

 private:
  Ref<PythonObserver> observer_;
  WatchOptions options_;
  uint64_t registration_ = 0;
};

// Fills memory with a byte as soon as it is allocated: what was never written cannot look like an answer then.
class Poison final : public Observer {
 public:
  explicit Poison(uint8_t byte) : byte_(byte) {}
  void see(const Event& e) noexcept override {
    if (e.where.is_cpu() && e.address) std::memset(const_cast<void*>(e.address), byte_, e.bytes);
  }

 private:
  uint8_t byte_;
};

// A part of the program with a name. Left on the thread where it was entered.
class PythonRange {
 public:
  PythonRange(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {}
  void enter() { range_.emplace(name_, text_); }
  void leave() { range_.reset(); }

 private:
  std::string name_, text_;
  std::optional<RangeScope> range_;
};

constexpr const char* phases[] = {"begin", "end", "once"};

}  // namespace

void py::tell_what_waits() noexcept {
  if (!waiting) return;
  std::unique_ptr<std::vector<Kept>> now(std::exchange(waiting, nullptr));
  for (Kept& k : *now) k.observer->tell(std::move(k.event), nullptr);
}

void bind_observe(nb::module_& m) {
  auto number = [](auto member) { return [member](const PythonEvent& e) { return e.plain.*member; }; };
  nb::class_<PythonEvent>(m, "Event")
      .def_prop_ro("kind", [](const PythonEvent& e) { return to_string(e.plain.kind); })
      .def_prop_ro("phase", [](const PythonEvent& e) { return phases[e.plain.phase]; })
      .def_prop_ro("op",
                   [](const PythonEvent& e) { return e.plain.op ? py::operator_object(*e.plain.op) : nb::none(); })
      .def_ro("name", &PythonEvent::name)
      .def_ro("text", &PythonEvent::text)
      .def_prop_ro("args", [](PythonEvent& e) { return nb::object(e.call()[0]); })
      .def_prop_ro("kwargs", [](PythonEvent& e) { return nb::object(e.call()[1]); })
      .def_prop_ro("result", &PythonEvent::result)
      .def_prop_ro("failed", number(&Event::failed))
      .def_prop_ro(
          "error",
          [](const PythonEvent& e) { return e.plain.failed ? nb::object(nb::str(e.error.c_str())) : nb::none(); })
      .def_prop_ro("path",
                   [](const PythonEvent& e) -> nb::object {  // how a call was answered: known at its end
                     const bool known =
                         e.plain.op && (e.plain.phase == Event::End || e.plain.kind == EventKind::Kernel);
                     return known ? nb::cast(to_string(e.plain.path)) : nb::none();
                   })
      .def_prop_ro("call_id", number(&Event::call_id))
      .def_prop_ro("parent_id", number(&Event::parent_id))
      .def_prop_ro("forward_id", number(&Event::forward_id))
      .def_prop_ro("device_ns", number(&Event::device_ns))
      .def_ro("time_ns", &PythonEvent::time_ns)
      .def_ro("thread", &PythonEvent::thread)
      .def_prop_ro("device", [](const PythonEvent& e) { return nb::steal(py::check(py::wrap(e.device))); })
      .def_prop_ro("source", [](const PythonEvent& e) { return nb::steal(py::check(py::wrap(e.plain.from))); })
      .def_prop_ro("stream", [](const PythonEvent& e) { return reinterpret_cast<size_t>(e.stream); })
      .def_prop_ro("bytes", number(&Event::bytes))
      .def_prop_ro("address", [](const PythonEvent& e) { return reinterpret_cast<size_t>(e.plain.address); })
      .def_prop_ro("storage", number(&Event::storage))
      .def_prop_ro("operands", &PythonEvent::operands)
      .def_prop_ro("product",
                   [](const PythonEvent& e) -> nb::object {
                     if (e.plain.m <= 0) return nb::none();
                     return nb::make_tuple(e.plain.batch, e.plain.m, e.plain.n, e.plain.k);
                   })
      .def("__repr__", [](const PythonEvent& e) {
        return str("<", to_string(e.plain.kind), " ", phases[e.plain.phase], " ", e.name, e.text.empty() ? "" : " ",
                   e.text, ">");
      });
  nb::class_<PythonWatch>(m, "_Watch")
      .def(nb::init<nb::object, EventKinds, bool, bool>())
      .def("start", &PythonWatch::start)
      .def("stop", &PythonWatch::stop)
      .def("__enter__",
           [](nb::handle self) {
             nb::cast<PythonWatch&>(self).start();
             return nb::borrow(self);
           })
      .def("__exit__", [](PythonWatch& w, nb::args) { w.stop(); });
  nb::class_<PythonRange>(m, "_Range")
      .def(nb::init<std::string, std::string>(), nb::arg("name"), nb::arg("text") = "")
      .def("__enter__",
           [](nb::handle self) {
             nb::cast<PythonRange&>(self).enter();
             return nb::borrow(self);
           })
      .def("__exit__", [](PythonRange& r, nb::args) { r.leave(); });
  nb::class_<ObserveScope>(m, "_Poison").def("__init__", [](ObserveScope* self, uint8_t byte) {
    new (self) ObserveScope(make_ref<Poison>(byte), {.kinds = kinds(EventKind::Allocate)});
  });
  m.def("_memory_facts", [](const std::string& name) {  // names of arguments, by what a call does to their memory
    const Operator& op = get_operator(name);
    auto names = [&](uint64_t bits) {
      nb::list out;
      for (size_t i = 0; i < op.num_args(); ++i)
        if (bits >> i & 1) out.append(op.schema().parameters[i].name);
      return out;
    };
    uint64_t written = 0;
    for (const uint8_t i : op.written_args()) written |= uint64_t{1} << i;
    nb::dict d;
    d["written"] = names(written);
    d["overwritten"] = names(op.memory.overwritten);
    d["partial"] = names(op.memory.partial);
    d["unread"] = names(op.memory.unread);
    d["unwritten"] = op.memory.unwritten;
    d["geometry"] = op.writes == Writes::Geometry;
    return d;
  });
  nb::list names;
  for (int k = 0; k < kEventKinds; ++k) names.append(to_string(static_cast<EventKind>(k)));
  m.attr("_event_kinds") = nb::tuple(names);
}

}  // namespace fc
