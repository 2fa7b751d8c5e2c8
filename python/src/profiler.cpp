// SPDX-License-Identifier: Apache-2.0
// The profiler's recorder (observe/recorder.h) from Python, and the stacks that it asks for.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <map>
#include <mutex>

#include "bind.h"
#include "files/atomic_file.h"
#include "observe/call_tree.h"
#include "observe/recorder.h"

namespace nb = nanobind;

namespace fc {
namespace {

using observe::Recorder;
using observe::Row;

// --- stacks: code objects and lines, innermost first. Each is kept once, for ever: programs have few.
using Frames = std::vector<std::pair<PyCodeObject*, int>>;
struct Stacks {
  std::mutex mutex;
  std::map<Frames, uint32_t> numbers;
  std::vector<const Frames*> all{nullptr};  // 0: none
};
Stacks& stacks() {
  static Stacks& s = *new Stacks;
  return s;
}

uint32_t number_of(Frames frames) {
  if (frames.empty()) return 0;
  Stacks& s = stacks();
  std::lock_guard lock(s.mutex);
  auto [it, fresh] = s.numbers.try_emplace(std::move(frames), static_cast<uint32_t>(s.all.size()));
  if (fresh) {
    s.all.push_back(&it->first);
    for (auto& [code, line] : it->first) Py_INCREF(code);
  }
  return it->second;
}

uint32_t current_stack() {
  PyThreadState* state = PyGILState_GetThisThreadState();
  if (!state) return 0;  // a thread that never ran Python
  py::TakeGil gil(std::nothrow);
  if (!gil) return 0;
  Frames frames;
  PyFrameObject* frame = PyThreadState_GetFrame(state);
  while (frame) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    frames.emplace_back(code, PyFrame_GetLineNumber(frame));
    Py_DECREF(code);  // the frame holds it, and number_of from then on
    PyFrameObject* back = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = back;
  }
  return number_of(std::move(frames));
}

uint32_t top_of(uint32_t stack, int depth) {
  if (!stack) return 0;
  Frames top;
  {
    Stacks& s = stacks();
    std::lock_guard lock(s.mutex);
    top = *s.all[stack];
  }
  if (top.size() > static_cast<size_t>(depth)) top.resize(static_cast<size_t>(depth));
  return number_of(std::move(top));
}

std::vector<std::string> stack_lines(uint32_t stack) {
  std::vector<std::string> out;
  if (!stack) return out;
  const Frames* frames;
  {
    Stacks& s = stacks();
    std::lock_guard lock(s.mutex);
    frames = s.all[stack];
  }
  for (auto& [code, line] : *frames)
    out.push_back(str(py::utf8(code->co_filename), "(", line, "): ", py::utf8(code->co_name)));
  return out;
}

std::string stack_text(uint32_t stack) {
  std::string out;
  for (const std::string& line : stack_lines(stack)) ((out += line) += ';');
  return out;
}

nb::list lines(uint32_t stack) {
  nb::list out;
  for (const std::string& line : stack_lines(stack)) out.append(nb::str(line.c_str(), line.size()));
  return out;
}

nb::str text(std::string_view s) { return nb::str(s.data(), s.size()); }
nb::str device(Device d) { return text(str(d)); }

nb::list averages(const Recorder& r, bool by_shapes, int stack_depth, bool by_overload) {
  nb::list out;
  for (const observe::Average& a : observe::averages(r, {by_shapes, stack_depth, by_overload}, top_of))
    out.append(nb::make_tuple(text(*a.name), text(a.overload), text(a.shapes), lines(a.stack), a.count, a.total, a.self,
                              a.memory, a.self_memory, a.device_memory, a.self_device_memory, a.flops, a.bytes,
                              a.device_total, a.device_self, device(a.where), text(to_string(a.kind))));
  return out;
}

nb::list rows(const Recorder& r) {
  nb::list out;
  std::string shapes;
  for (auto& log : r.logs())
    for (size_t i = 0; i < log->rows.size(); ++i) {
      const Row& row = log->rows[i];
      shapes.clear();
      if (row.detail) observe::write_detail(shapes, *log, row, observe::Detail::Shapes);
      out.append(nb::make_tuple(text(row.shown_name()), text(row.op ? row.op->schema().overload : ""), log->thread,
                                row.start, row.end, row.self, row.id, row.parent, row.forward,
                                text(to_string(row.kind)), text(to_string(row.path)), row.failed, device(row.where),
                                text(shapes), lines(row.stack), row.memory, row.self_memory, row.device_memory,
                                row.self_device_memory, row.flops, row.bytes, row.device_ns, row.self_device_ns,
                                text(row.text ? *row.text : std::string())));
    }
  return out;
}

nb::list memory_rows(const Recorder& r) {
  nb::list out;
  for (auto& log : r.logs())
    for (size_t i = 0; i < log->memory.size(); ++i) {
      const observe::MemoryRow& m = log->memory[i];
      out.append(nb::make_tuple(m.time, m.bytes, m.address, m.storage, device(m.where), m.call, log->thread));
    }
  return out;
}

void write_trace(const Recorder& r, const std::string& path, const std::string& metadata) {
  files::AtomicFile file(path);
  observe::write_trace(
      r, metadata, stack_text,
      [](void* context, const char* data, size_t bytes) {
        static_cast<files::AtomicFile*>(context)->write(data, bytes);
      },
      &file);
  file.commit();
}

using observe::CallTree;

nb::list nodes(const CallTree& s) {
  nb::list out;
  for (const observe::TreeNode& n : s.nodes)
    out.append(nb::make_tuple(n.parent,
                              text(n.op     ? n.op->name()
                                   : n.name ? *n.name
                                            : std::string()),
                              text(to_string(n.kind)), device(n.where), n.time, n.inside, n.device_ns, n.count,
                              n.told));
  return out;
}

nb::list own_calls(const CallTree& s, const nb::set& names) {  // of operators of these names
  nb::list out;
  for (const observe::OwnCall& c : s.calls)
    if (nb::str name = text(c.op->name()); names.contains(name))
      out.append(nb::make_tuple(name, c.start, c.where.is_cpu()));
  return out;
}

nb::list own_call_counts(const CallTree& s) {
  std::map<std::tuple<const Operator*, Path, bool, uint32_t>, int64_t> counts;
  for (const observe::OwnCall& c : s.calls) ++counts[{c.op, c.path, c.where.is_cpu(), c.families}];
  nb::list out;
  for (auto& [key, count] : counts) {
    const auto& [op, path, on_cpu, bits] = key;
    nb::list families;
    for (size_t i = 0; i < s.families.size(); ++i)
      if (bits >> i & 1) families.append(text(s.families[i]));
    out.append(nb::make_tuple(text(op->name()), text(to_string(path)), on_cpu, families, count));
  }
  return out;
}

struct PythonRecorder {
  Ref<Recorder> r;
  ~PythonRecorder() { r->stop(); }
};

}  // namespace

void bind_profiler(nb::module_& m) {
  observe::stack_source = current_stack;
  nb::class_<CallTree>(m, "_CallTree")
      .def("nodes", &nodes)
      .def("calls", &own_calls)
      .def("call_counts", &own_call_counts);
  nb::class_<PythonRecorder>(m, "_Recorder")
      .def(
          "__init__",
          [](PythonRecorder* self, bool shapes, bool memory, bool flops, bool stacks, bool kernels, bool process) {
            new (self) PythonRecorder{
                make_ref<Recorder>(observe::RecorderOptions{.shapes = shapes,
                                                            .memory = memory,
                                                            .flops = flops,
                                                            .stacks = stacks,
                                                            .kernels = kernels,
                                                            .where = process ? Watch::Process : Watch::Thread})};
          },
          nb::kw_only(), nb::arg("shapes") = false, nb::arg("memory") = false, nb::arg("flops") = false,
          nb::arg("stacks") = false, nb::arg("kernels") = false, nb::arg("process") = true)
      .def("start", [](PythonRecorder& p) { p.r->start(); })
      .def("stop", [](PythonRecorder& p) { p.r->stop(); })
      .def_prop_ro("started", [](const PythonRecorder& p) { return p.r->started(); })
      .def_prop_ro("stopped", [](const PythonRecorder& p) { return p.r->stopped(); })
      .def_prop_ro("lost", [](const PythonRecorder& p) { return p.r->lost(); })
      .def("__len__", [](const PythonRecorder& p) { return p.r->size(); })
      .def("averages", [](const PythonRecorder& p, bool shapes, int depth,
                          bool overload) { return averages(*p.r, shapes, depth, overload); })
      .def("rows", [](const PythonRecorder& p) { return rows(*p.r); })
      .def("memory", [](const PythonRecorder& p) { return memory_rows(*p.r); })
      .def("call_tree", [](const PythonRecorder& p) { return observe::add_up(*p.r); })
      .def("write_trace", [](const PythonRecorder& p, const std::string& path, const std::string& metadata) {
        write_trace(*p.r, path, metadata);
      });
}

}  // namespace fc
