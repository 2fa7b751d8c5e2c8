// SPDX-License-Identifier: Apache-2.0
// src/distributed for facula.distributed, which asks for it when it is imported: _C._distributed() makes the classes.
#include <nanobind/nanobind.h>
#include <nanobind/stl/chrono.h>

#include <pthread.h>

#include "bind.h"
#include "casters.h"
#include "distributed/group.h"
#include "distributed/monitor.h"
#include "distributed/schedule.h"
#include "distributed/tcp_store.h"

namespace nb = nanobind;

namespace fc {
namespace {

using namespace distributed;

// What Python holds: classes of its own, since the counts are the objects' own.
struct PyStore {
  Ref<Store> store;
};
struct PyHashStore : PyStore {};
struct PyFileStore : PyStore {};
struct PyTcpStore : PyStore {
  TcpStore& tcp() const { return static_cast<TcpStore&>(*store); }
};
struct PyPrefixStore : PyStore {
  PrefixStore& prefix() const { return static_cast<PrefixStore&>(*store); }
};
struct PyWork {
  Ref<Work> work;
};
struct PyGroup {
  Ref<ProcessGroup> group;
  ~PyGroup() {
    py::ReleaseGil others;  // its thread may need the lock to end
    group = nullptr;
  }
};

Store& of(const PyStore& s) {
  FC_CHECK_AS(TypeError, s.store, "a store whose __init__ was not called");
  return *s.store;
}

std::string bytes_from(nb::handle o) {  // str or bytes
  if (PyUnicode_Check(o.ptr())) return std::string(py::utf8(o.ptr()));
  char* data;
  Py_ssize_t n;
  if (!PyBytes_Check(o.ptr())) {
    nb::object bytes = nb::steal(PyBytes_FromObject(o.ptr()));  // a bytearray
    if (!bytes.is_valid()) throw nb::python_error();
    return bytes_from(bytes);
  }
  py::check(PyBytes_AsStringAndSize(o.ptr(), &data, &n));
  return {data, static_cast<size_t>(n)};
}
nb::bytes to_bytes(const std::string& s) { return nb::bytes(s.data(), s.size()); }

template <class F>
auto without_gil(F&& f) {
  py::ReleaseGil others;
  return f();
}

// The line of the program that called: of the first frame outside of this package.
struct Where {
  std::string package;  // its folder
  std::string line() const {
    PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
    std::string found;
    while (frame && found.empty()) {
      PyCodeObject* code = PyFrame_GetCode(frame);
      Py_ssize_t n = 0;
      const char* file = PyUnicode_AsUTF8AndSize(code->co_filename, &n);
      if (!file) PyErr_Clear();
      else if (std::string_view name(file, static_cast<size_t>(n)); package.empty() || !name.starts_with(package))
        found = str(name.substr(name.rfind('/') + 1), ":", PyFrame_GetLineNumber(frame));
      Py_DECREF(code);
      PyFrameObject* back = PyFrame_GetBack(frame);
      Py_DECREF(frame);
      frame = back;
    }
    Py_XDECREF(frame);
    return found;
  }
};
Where& where() {
  static Where& w = *new Where;
  return w;
}

ProcessGroup::Site site(Duration timeout) { return {where().line(), timeout}; }

pthread_t program_thread;
void look_for_interrupt() {
  // Only the program's thread takes signals; ours have no business with the interpreter.
  if (!pthread_equal(pthread_self(), program_thread) || !Py_IsInitialized()) return;
  py::TakeGil gil;
  if (PyErr_CheckSignals() < 0) throw py::PythonError{};
}

void set_error(const std::exception_ptr& e) {
  try {
    std::rethrow_exception(e);
  } catch (...) { py::set_python_error(); }
}

template <class P>
nb::class_<P, PyStore> store_class(nb::module_& m, const char* name, const char* doc) {
  return nb::class_<P, PyStore>(m, name, doc);
}

void bind_stores(nb::module_& m) {
  nb::class_<PyStore>(m, "Store", "A table of keys and bytes through which processes find each other.")
      .def(
          "set",
          [](PyStore& s, nb::handle key, nb::handle value) {
            without_gil([&, k = bytes_from(key), v = bytes_from(value)] { of(s).set(k, v); });
          },
          nb::arg("key"), nb::arg("value"))
      .def(
          "get",
          [](PyStore& s, nb::handle key) {
            return to_bytes(without_gil([&, k = bytes_from(key)] { return of(s).get(k); }));
          },
          nb::arg("key"), "The value; waits for the key.")
      .def(
          "add",
          [](PyStore& s, nb::handle key, int64_t amount) {
            return without_gil([&, k = bytes_from(key)] { return of(s).add(k, amount); });
          },
          nb::arg("key"), nb::arg("amount"))
      .def(
          "compare_set",
          [](PyStore& s, nb::handle key, nb::handle expected, nb::handle desired) {
            return to_bytes(without_gil([&, k = bytes_from(key), e = bytes_from(expected), d = bytes_from(desired)] {
              return of(s).compare_set(k, e, d);
            }));
          },
          nb::arg("key"), nb::arg("expected_value"), nb::arg("desired_value"))
      .def(
          "delete_key",
          [](PyStore& s, nb::handle key) { return without_gil([&, k = bytes_from(key)] { return of(s).remove(k); }); },
          nb::arg("key"))
      .def(
          "check", [](PyStore& s, const Strings& keys) { return without_gil([&] { return of(s).check(keys); }); },
          nb::arg("keys"))
      .def(
          "wait",
          [](PyStore& s, const Strings& keys, nb::object timeout) {
            const Duration limit = timeout.is_none() ? of(s).timeout() : nb::cast<Duration>(timeout);
            without_gil([&] { of(s).wait(keys, limit); });
          },
          nb::arg("keys"), nb::arg("timeout") = nb::none())
      .def_prop_ro("own_address", [](PyStore& s) { return of(s).own_address(); })
      .def("_clock", [](PyStore& s) { return without_gil([&] { return of(s).clock(); }); })
      .def("num_keys", [](PyStore& s) { return without_gil([&] { return of(s).count(); }); })
      .def(
          "append",
          [](PyStore& s, nb::handle key, nb::handle value) {
            without_gil([&, k = bytes_from(key), v = bytes_from(value)] { of(s).append(k, v); });
          },
          nb::arg("key"), nb::arg("value"))
      .def(
          "multi_get",
          [](PyStore& s, const Strings& keys) {
            nb::list out;
            for (auto& v : without_gil([&] {
                   Strings values;
                   for (auto& k : keys) values.push_back(of(s).get(k));
                   return values;
                 }))
              out.append(to_bytes(v));
            return out;
          },
          nb::arg("keys"))
      .def(
          "multi_set",
          [](PyStore& s, const Strings& keys, nb::list values) {
            FC_CHECK_AS(ValueError, keys.size() == nb::len(values), "multi_set: ", keys.size(), " keys and ",
                        nb::len(values), " values");
            Strings bytes;
            for (nb::handle v : values) bytes.push_back(bytes_from(v));
            without_gil([&] {
              for (size_t i = 0; i < keys.size(); ++i) of(s).set(keys[i], bytes[i]);
            });
          },
          nb::arg("keys"), nb::arg("values"))
      .def("list_keys", [](PyStore& s) { return without_gil([&] { return of(s).keys(); }); })
      .def(
          "queue_push",
          [](PyStore& s, nb::handle key, nb::handle value) {
            without_gil([&, k = bytes_from(key), v = bytes_from(value)] { of(s).queue_push(k, v); });
          },
          nb::arg("key"), nb::arg("value"))
      .def(
          "queue_pop",
          [](PyStore& s, nb::handle key, bool block) {
            return to_bytes(without_gil([&, k = bytes_from(key)] { return of(s).queue_pop(k, block); }));
          },
          nb::arg("key"), nb::arg("block") = true)
      .def(
          "queue_len",
          [](PyStore& s, nb::handle key) {
            return without_gil([&, k = bytes_from(key)] { return of(s).queue_length(k); });
          },
          nb::arg("key"))
      .def("has_extended_api", [](PyStore&) { return true; })
      .def(
          "set_timeout", [](PyStore& s, Duration timeout) { of(s).set_timeout(timeout); }, nb::arg("timeout"))
      .def_prop_ro("timeout", [](PyStore& s) { return of(s).timeout(); })
      .def(
          "clone",
          [](PyStore& s) {
            Ref<Store> c = without_gil([&] { return of(s).clone(); });
            return new PyStore{std::move(c)};
          },
          "The same table with a connection of its own.")
      .def("__repr__", [](PyStore& s) { return "<" + of(s).describe() + ">"; });

  store_class<PyHashStore>(m, "HashStore", "A store for threads of one process.").def("__init__", [](PyHashStore* s) {
    new (s) PyHashStore{{make_hash_store()}};
  });
  store_class<PyFileStore>(m, "FileStore", "A store in a file that all processes can reach.")
      .def(
          "__init__",
          [](PyFileStore* s, const std::string& path, int64_t) {
            new (s) PyFileStore{{without_gil([&] { return make_file_store(path); })}};
          },
          nb::arg("file_name"), nb::arg("world_size") = -1)
      .def_prop_ro("path", [](PyFileStore& s) { return of(s).describe().substr(sizeof "the store in " - 1); });
  store_class<PyPrefixStore>(m, "PrefixStore", "Keys of another store below a prefix.")
      .def(
          "__init__",
          [](PyPrefixStore* s, std::string prefix, PyStore& under) {
            new (s) PyPrefixStore{{make_ref<PrefixStore>(std::move(prefix), under.store)}};
          },
          nb::arg("prefix"), nb::arg("store"))
      .def_prop_ro("underlying_store", [](PyPrefixStore& s) { return new PyStore{s.prefix().under()}; })
      .def_prop_ro("prefix", [](PyPrefixStore& s) { return s.prefix().prefix(); });
  store_class<PyTcpStore>(m, "_TCPStore", "A store that one process holds and others reach by TCP.")
      .def("__init__",
           [](PyTcpStore* s, const std::string& host, int port, bool server, Duration timeout, const std::string& token,
              int listen_fd) {
             TcpOptions o{host, port, server, timeout, token, listen_fd};
             new (s) PyTcpStore{{without_gil([&]() -> Ref<Store> { return make_ref<TcpStore>(o); })}};
           })
      .def_prop_ro("host", [](PyTcpStore& s) { return s.tcp().host(); })
      .def_prop_ro("port", [](PyTcpStore& s) { return s.tcp().port(); });
}

void bind_work(nb::module_& m) {
  nb::class_<PyWork>(m, "Work", nb::dynamic_attr(), "A call that a process group carries out.")
      .def(
          "wait",
          [](PyWork& w, Duration timeout) {
            without_gil([&] { w.work->wait(timeout); });
            return true;
          },
          nb::arg("timeout") = Duration(0), "Waits for the end; raises the call's error.")
      .def("synchronize", [](PyWork& w) { without_gil([&] { w.work->wait(); }); })
      .def("is_completed", [](PyWork& w) { return w.work->done(); })
      .def("is_success", [](PyWork& w) { return w.work->done() && !w.work->error(); })
      .def("exception",
           [](PyWork& w) -> nb::object {
             std::exception_ptr e = w.work->error();
             if (!e) return nb::none();
             set_error(e);
             return nb::steal(py::check([] {
               PyObject *type, *value, *trace;
               PyErr_Fetch(&type, &value, &trace);
               PyErr_NormalizeException(&type, &value, &trace);
               Py_XDECREF(type), Py_XDECREF(trace);
               return value;
             }()));
           })
      .def(
          "source_rank", [](PyWork& w) { return w.work->source(); }, nb::call_guard<nb::gil_scoped_release>())
      .def("_source_rank", [](PyWork& w) { return w.work->source(); })
      .def("_get_duration", [](PyWork& w) { return std::chrono::duration<double, std::milli>(w.work->took()).count(); })
      .def(
          "_then",
          [](PyWork& w, nb::object f) {
            auto held = std::make_shared<py::PyHolder>(std::move(f));
            without_gil([&] {
              w.work->then([held] {
                py::TakeGil gil(std::nothrow);
                if (!gil) return;
                py::in_interpreter([&] {
                  PyObject* r = PyObject_CallNoArgs(held->get().ptr());
                  if (!r) PyErr_WriteUnraisable(held->get().ptr());
                  Py_XDECREF(r);
                });
              });
            });
          },
          "Calls a function at the end, on the group's thread.");
}

nb::dict as_dict(const Record& r) {
  nb::dict d;
  const Header& h = r.header;
  static constexpr auto state_of = [](Record::State s) {
    return s == Record::Done      ? "completed"
           : s == Record::Failed  ? "failed"
           : s == Record::Running ? "started"
                                  : "scheduled";
  };
  d["sequence"] = h.sequence;
  d["op"] = h.op;
  d["dtype"] = std::string(to_string(h.dtype));
  d["count"] = h.count;
  d["detail"] = h.detail;
  d["where"] = h.where;
  d["state"] = state_of(r.state);
  d["begun_us"] = r.begun_us;
  d["ended_us"] = r.ended_us;
  d["bytes"] = r.bytes;
  return d;
}

void bind_group(nb::module_& m) {
  using Tensors = ProcessGroup::Tensors;
  using G = PyGroup;
  auto made = [](Ref<Work> w) { return new PyWork{std::move(w)}; };
  nb::class_<std::shared_ptr<Monitor>>(m, "Monitor");
  m.def("_make_monitor", [](PyStore& store, int rank, int size, bool beats) {
    return without_gil(
        [&] { return new std::shared_ptr<Monitor>(std::make_shared<Monitor>(of(store).clone(), rank, size, beats)); });
  });
  nb::class_<PyGroup>(m, "_Group", "Ranks, an engine, and a thread that carries calls out.")
      .def(
          "__init__",
          [](PyGroup* g, const std::string& name, const std::string& engine, const std::vector<int>& ranks, int rank,
             PyStore& store, Duration timeout, const std::string& address, bool compare,
             std::shared_ptr<Monitor>* monitor) {
            GroupOptions o{name, engine, ranks, rank, timeout, compare};
            new (g) PyGroup{without_gil(
                [&] { return make_group(std::move(o), store.store, address, monitor ? *monitor : nullptr); })};
          },
          nb::arg("name"), nb::arg("engine"), nb::arg("ranks"), nb::arg("rank"), nb::arg("store"), nb::arg("timeout"),
          nb::arg("address"), nb::arg("compare"), nb::arg("monitor").none())
      .def("all_reduce",
           [made](G& g, const Tensors& t, int op, Duration timeout) {
             auto s = site(timeout);
             return made(without_gil([&] { return g.group->all_reduce(t, static_cast<ReduceOp>(op), s); }));
           })
      .def("reduce",
           [made](G& g, const Tensor& t, int root, int op, Duration timeout) {
             auto s = site(timeout);
             return made(without_gil([&] { return g.group->reduce(given(t), root, static_cast<ReduceOp>(op), s); }));
           })
      .def("broadcast",
           [made](G& g, const Tensors& t, int root, Duration timeout) {
             auto s = site(timeout);
             return made(without_gil([&] { return g.group->broadcast(t, root, s); }));
           })
      .def("all_gather",
           [made](G& g, const Tensors& outputs, const Tensor& input, Duration timeout) {
             auto s = site(timeout);
             return made(without_gil([&] { return g.group->all_gather(outputs, given(input), s); }));
           })
      .def("gather",
           [made](G& g, const Tensors& outputs, const Tensor& input, int root, Duration timeout) {
             auto s = site(timeout);
             return made(without_gil([&] { return g.group->gather(outputs, given(input), root, s); }));
           })
      .def("scatter",
           [made](G& g, const Tensor& output, const Tensors& inputs, int root, Duration timeout) {
             auto s = site(timeout);
             return made(without_gil([&] { return g.group->scatter(given(output), inputs, root, s); }));
           })
      .def("reduce_scatter",
           [made](G& g, const Tensor& output, const Tensors& inputs, int op, Duration timeout) {
             auto s = site(timeout);
             return made(without_gil(
                 [&] { return g.group->reduce_scatter(given(output), inputs, static_cast<ReduceOp>(op), s); }));
           })
      .def("all_to_all",
           [made](G& g, const Tensors& outputs, const Tensors& inputs, Duration timeout) {
             auto s = site(timeout);
             return made(without_gil([&] { return g.group->all_to_all(outputs, inputs, s); }));
           })
      .def("all_to_all_single",
           [made](G& g, const Tensor& output, const Tensor& input, const std::vector<int64_t>& out,
                  const std::vector<int64_t>& in, Duration timeout) {
             auto s = site(timeout);
             return made(
                 without_gil([&] { return g.group->all_to_all_single(given(output), given(input), out, in, s); }));
           })
      .def("barrier",
           [made](G& g, Duration timeout) {
             auto s = site(timeout);
             return made(without_gil([&] { return g.group->barrier(s); }));
           })
      .def("send",
           [made](G& g, const Tensor& t, int to, uint32_t tag, Duration timeout) {
             auto s = site(timeout);
             return made(without_gil([&] { return g.group->send(given(t), to, tag, s); }));
           })
      .def("recv",
           [made](G& g, const Tensor& t, int from, uint32_t tag, Duration timeout) {
             auto s = site(timeout);
             return made(without_gil([&] { return g.group->recv(given(t), from, tag, s); }));
           })
      .def("abort", [](G& g, const std::string& why) { without_gil([&] { g.group->fail(why); }); })
      .def("shutdown", [](G& g) { without_gil([&] { g.group->shut_down(); }); })
      .def("set_timeout", [](G& g, Duration t) { g.group->set_timeout(t); })
      .def_prop_ro("timeout", [](G& g) { return g.group->timeout(); })
      .def_prop_ro("sequence", [](G& g) { return g.group->sequence(); })
      .def(
          "last_calls",
          [](G& g) {
            nb::list out;
            for (auto& r : g.group->last_calls()) out.append(as_dict(r));
            return out;
          },
          "What this rank called last, as dicts, the newest at the end.");
  m.def("_start_schedule", [](size_t limit) { start_schedule(limit); });
  m.def("_stop_schedule", [] {
    const Schedule s = stop_schedule();
    nb::list calls;
    for (auto& c : s.calls) {
      const Work::Times t = c.work->times();
      nb::dict d;
      d["group"] = c.group, d["engine"] = c.engine, d["ranks"] = c.ranks;
      d["sequence"] = c.header.sequence, d["op"] = c.header.op, d["dtype"] = std::string(to_string(c.header.dtype));
      d["count"] = c.header.count, d["bytes"] = c.bytes, d["detail"] = c.header.detail, d["where"] = c.header.where;
      d["called"] = c.called_ns, d["begun"] = t.begun, d["ended"] = t.ended;
      d["wait_from"] = t.wait_from, d["wait_to"] = t.wait_to;
      calls.append(d);
    }
    return nb::make_tuple(s.start_ns, s.stop_ns, s.lost, calls);
  });
  m.def("_engine_missing", [](const std::string& name) { return engine_missing(name); });
  m.def("_load_engine", [](const std::string& name, const std::string& path) { load_engine(name, path); });
}

}  // namespace

void bind_distributed(nb::module_& m) {
  m.def("_distributed", [](const std::string& package) {
    nb::module_ d = nb::steal<nb::module_>(py::check(PyModule_New("facula._C._distributed")));
    where().package = package;
    program_thread = pthread_self();
    check_interrupt = look_for_interrupt;
    bind_stores(d);
    bind_work(d);
    bind_group(d);
    return d;
  });
}

}  // namespace fc
