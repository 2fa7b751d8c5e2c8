// SPDX-License-Identifier: Apache-2.0
// The profiler's recorder (observe/recorder.h) from Python, and the stacks that it asks for.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "bind.h"
#include "files/atomic_file.h"
#include "observe/call_tree.h"
#include "observe/recorder.h"
#include "python_calls.h"

namespace nb = nanobind;

namespace fc {
namespace {

using observe::Recorder;
using observe::Row;

// --- stacks: code objects and lines, innermost first. Each is kept once, for ever: programs have few.
using Frames = std::vector<std::pair<PyCodeObject*, int>>;
struct FramesHash {
  size_t operator()(const Frames& frames) const {
    size_t h = frames.size();
    for (auto& [code, line] : frames)
      h = (h ^ reinterpret_cast<uintptr_t>(code) ^ static_cast<size_t>(line) << 48) * 0x9fb21c651e98df25, h ^= h >> 29;
    return h;
  }
};
struct Stacks {
  std::mutex mutex;
  std::unordered_map<Frames, uint32_t, FramesHash> numbers;
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

// Lines are looked up once per place: code objects that were in a stack live for ever.
constexpr size_t kPlaces = 1024;
int line_of(PyFrameObject* frame, PyCodeObject* code) {
#if PY_VERSION_HEX >= 0x030b0000
  struct Place {
    PyCodeObject* code = nullptr;
    int at = 0, line = 0;
  };
  static Place* const known = new Place[kPlaces];  // under the interpreter's lock
  const int at = PyFrame_GetLasti(frame);
  Place& p = known[(reinterpret_cast<uintptr_t>(code) >> 4 ^ static_cast<uintptr_t>(at) * 31) % kPlaces];
  if (p.code != code || p.at != at) p = {code, at, PyFrame_GetLineNumber(frame)};
  return p.line;
#else
  return PyFrame_GetLineNumber(frame);
#endif
}

uint32_t current_stack() {
  PyThreadState* state = PyGILState_GetThisThreadState();
  if (!state) return 0;  // a thread that never ran Python
  py::TakeGil gil(std::nothrow);
  if (!gil) return 0;
  Frames frames;
  frames.reserve(32);
  PyFrameObject* frame = PyThreadState_GetFrame(state);
  while (frame) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    frames.emplace_back(code, line_of(frame, code));
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

nb::object micro(uint64_t ns) { return nb::float_(static_cast<double>(ns) / 1000); }

nb::list averages(const Recorder& r, bool by_shapes, int stack_depth, bool by_overload) {
  nb::list out;
  for (const observe::Average& a : observe::averages(r, {by_shapes, stack_depth, by_overload}, top_of))
    out.append(nb::make_tuple(text(*a.name), text(a.overload), text(a.shapes), lines(a.stack), a.count, a.total, a.self,
                              a.memory, a.self_memory, a.device_memory, a.self_device_memory, a.flops, a.bytes,
                              a.device_total, a.device_self, device(a.where), text(to_string(a.kind))));
  return out;
}

// Strings that many rows have, made once.
class Texts {
 public:
  nb::object of(const std::string* kept) { return kept ? of(std::string_view(*kept)) : of(std::string_view("")); }
  nb::object of(std::string_view kept) { return find(kept.data(), kept); }  // kept for ever: known by its address
  nb::object of(Device d) {
    nb::object& known = devices_[{d.type, d.index}];
    if (!known.is_valid()) known = device(d);
    return known;
  }
  nb::object name(const Row& row) { return row.op ? find(row.op, row.shown_name()) : of(row.name); }
  nb::object overload(const Row& row) { return of(row.op ? &row.op->schema().overload : nullptr); }

 private:
  nb::object find(const void* key, std::string_view content) {
    nb::object& known = texts_[key];
    if (!known.is_valid()) known = text(content);
    return known;
  }
  std::unordered_map<const void*, nb::object> texts_;
  std::map<std::pair<int, int>, nb::object> devices_;
};

nb::list rows(const Recorder& r) {
  nb::list out;
  Texts texts;
  std::string shapes;
  for (auto& log : r.logs())
    for (size_t i = 0; i < log->rows.size(); ++i) {
      const Row& row = log->rows[i];
      shapes.clear();
      if (row.detail) observe::write_detail(shapes, *log, row, observe::Detail::Shapes);
      out.append(nb::make_tuple(texts.name(row), texts.overload(row), log->thread, row.start, row.end, row.self, row.id,
                                row.parent, row.forward, texts.of(to_string(row.kind)), texts.of(to_string(row.path)),
                                row.failed, texts.of(row.where), text(shapes), lines(row.stack), row.memory,
                                row.self_memory, row.device_memory, row.self_device_memory, row.flops, row.bytes,
                                row.device_ns, row.self_device_ns, texts.of(row.text)));
    }
  return out;
}

// Calls, ranges and what devices ran in the order in which they began, thread by thread. What Python sees of one is
// made when it is asked for: programs look at few of a million.
class Events {
 public:
  explicit Events(Ref<Recorder> r);
  size_t size() const { return items_.size(); }
  nb::object attribute(size_t i, std::string_view name);          // of FunctionEvent; times are microseconds
  int64_t parent(size_t i) const { return items_.at(i).parent; }  // -1: none on the same thread
  nb::list children(size_t i) const;

 private:
  struct Item {
    const observe::Log* log;
    const Row* row;
    int64_t parent = -1;
  };
  template <observe::Detail what>
  static nb::object detail(Events&, const Item& e) {  // as the text of a list
    std::string list;
    observe::write_detail(list, *e.log, *e.row, what);
    return text(list);
  }
  static bool is_call(const Row& r) { return r.kind == EventKind::Call || r.kind == EventKind::Range; }
  Ref<Recorder> recorder_;  // owns the rows
  std::vector<Item> items_;
  std::vector<size_t> first_child_, children_;  // those of i are children_[first_child_[i] ... first_child_[i + 1] - 1]
  Texts texts_;
};

Events::Events(Ref<Recorder> r) : recorder_(std::move(r)) {
  for (auto& log : recorder_->logs())
    for (size_t i = 0; i < log->rows.size(); ++i)
      if (const Row& row = log->rows[i]; is_call(row) || row.is_device_work()) items_.push_back({log.get(), &row});
  std::ranges::stable_sort(items_, {}, [](const Item& e) {
    return std::tuple(e.log->thread, e.row->start, ~e.row->end);  // the outer one of two that begin at once
  });
  std::unordered_map<uint64_t, size_t> by_id;
  by_id.reserve(items_.size());
  for (size_t i = 0; i < items_.size(); ++i)
    if (is_call(*items_[i].row)) by_id[items_[i].row->id] = i;
  first_child_.resize(items_.size() + 1);
  for (size_t i = 0; i < items_.size(); ++i) {
    if (!is_call(*items_[i].row)) continue;  // what a device ran is nobody's child here
    const auto it = by_id.find(items_[i].row->parent);
    if (it == by_id.end() || it->second == i || items_[it->second].log != items_[i].log) continue;
    items_[i].parent = static_cast<int64_t>(it->second);
    ++first_child_[it->second + 1];
  }
  std::partial_sum(first_child_.begin(), first_child_.end(), first_child_.begin());
  children_.resize(first_child_.back());
  std::vector<size_t> next(first_child_.begin(), first_child_.end() - 1);
  for (size_t i = 0; i < items_.size(); ++i)
    if (items_[i].parent >= 0) children_[next[static_cast<size_t>(items_[i].parent)]++] = i;
}

nb::list Events::children(size_t i) const {
  nb::list out;
  for (size_t k = first_child_.at(i); k < first_child_.at(i + 1); ++k) out.append(children_[k]);
  return out;
}

nb::object Events::attribute(size_t i, std::string_view name) {
  using Make = nb::object (*)(Events&, const Item&);
  static const std::unordered_map<std::string_view, Make> made = {
      {"name", [](Events& s, const Item& e) { return s.texts_.name(*e.row); }},
      {"overload_name", [](Events& s, const Item& e) { return s.texts_.overload(*e.row); }},
      {"kind", [](Events& s, const Item& e) { return s.texts_.of(to_string(e.row->kind)); }},
      {"path", [](Events& s, const Item& e) { return s.texts_.of(to_string(e.row->path)); }},
      {"device",
       [](Events& s, const Item& e) { return s.texts_.of(is_call(*e.row) ? e.row->where : e.row->device()); }},
      {"text", [](Events& s, const Item& e) { return s.texts_.of(e.row->text); }},
      {"thread", [](Events&, const Item& e) { return nb::cast(e.log->thread); }},
      {"id", [](Events&, const Item& e) { return nb::cast(e.row->id); }},
      {"parent_id", [](Events&, const Item& e) { return nb::cast(e.row->parent); }},
      {"forward_id", [](Events&, const Item& e) { return nb::cast(e.row->forward); }},
      {"failed", [](Events&, const Item& e) { return nb::cast(e.row->failed); }},
      {"stack", [](Events&, const Item& e) -> nb::object { return lines(e.row->stack); }},
      {"cpu_memory_usage", [](Events&, const Item& e) { return nb::cast(e.row->memory); }},
      {"self_cpu_memory_usage", [](Events&, const Item& e) { return nb::cast(e.row->self_memory); }},
      {"device_memory_usage", [](Events&, const Item& e) { return nb::cast(e.row->device_memory); }},
      {"self_device_memory_usage", [](Events&, const Item& e) { return nb::cast(e.row->self_device_memory); }},
      {"flops", [](Events&, const Item& e) { return e.row->flops ? nb::cast(e.row->flops) : nb::none(); }},
      {"bytes", [](Events&, const Item& e) { return nb::cast(e.row->bytes); }},
      {"cpu_time_total", [](Events&, const Item& e) { return micro(is_call(*e.row) ? e.row->end - e.row->start : 0); }},
      {"self_cpu_time_total", [](Events&, const Item& e) { return micro(is_call(*e.row) ? e.row->self : 0); }},
      {"device_time_total", [](Events&, const Item& e) { return micro(e.row->device_time()); }},
      {"self_device_time_total", [](Events&, const Item& e) { return micro(e.row->self_device_time()); }},
      {"_start", [](Events& s, const Item& e) { return micro(e.row->start - s.recorder_->started()); }},
      {"_end", [](Events& s, const Item& e) { return micro(e.row->end - s.recorder_->started()); }},
      {"_shapes", detail<observe::Detail::Shapes>},
      {"_values", detail<observe::Detail::Values>},
  };
  const auto it = made.find(name);
  if (it == made.end()) throw nb::attribute_error(str("'FunctionEvent' object has no attribute '", name, "'").c_str());
  return it->second(*this, items_.at(i));
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

void write_trace(const Recorder& r, const std::string& path, const std::string& metadata, const PythonCalls* calls) {
  files::AtomicFile file(path);
  const std::vector<observe::Span> functions = calls ? calls->spans() : std::vector<observe::Span>();
  observe::write_trace(
      r, metadata, stack_text, functions,
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
  nb::class_<Events>(m, "_Events")
      .def("__len__", &Events::size)
      .def("attribute", &Events::attribute)
      .def("parent", &Events::parent)
      .def("children", &Events::children);
  m.def("_stack_lines", &lines);  // of a number that stack_source gave
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
      .def("events", [](const PythonRecorder& p) { return std::make_unique<Events>(p.r); })
      .def("rows", [](const PythonRecorder& p) { return rows(*p.r); })
      .def("memory", [](const PythonRecorder& p) { return memory_rows(*p.r); })
      .def("call_tree", [](const PythonRecorder& p) { return observe::add_up(*p.r); })
      .def(
          "write_trace",
          [](const PythonRecorder& p, const std::string& path, const std::string& metadata, const PythonCalls* calls) {
            write_trace(*p.r, path, metadata, calls);
          },
          nb::arg("path"), nb::arg("metadata"), nb::arg("calls").none() = nb::none());
  bind_python_calls(m);
}

}  // namespace fc
