// SPDX-License-Identifier: Apache-2.0
// The value profiler's engine (observe/values/engine.h) from Python: options in, rows out.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "backends/plugin/plugin.h"
#include "bind.h"
#include "casters.h"
#include "observe/values/engine.h"
#include "observe/values/native.h"

namespace nb = nanobind;

namespace fc {
namespace {

using namespace observe::values;

struct PythonValues {
  Ref<Engine> engine;
  bool watches = false;  // backends tell it single accesses
  ~PythonValues();
};

// Backends that can tell single loads and stores do so from now on, or no longer.
void watch(PythonValues& v, bool on) {
  if (!v.engine->accesses() || v.watches == on) return;
  v.watches = on;
  if (on) watch_backends([engine = v.engine](int type) { return engine->watcher(type); });
  else watch_backends({});
}

PythonValues::~PythonValues() {
  try {
    watch(*this, false);
  } catch (const std::exception&) {  // a device that could not be opened tells nobody
  }
  engine->stop();
}

nb::str text(std::string_view s) { return nb::str(s.data(), s.size()); }

nb::str text(const std::string* s) { return text(s ? std::string_view(*s) : std::string_view()); }
nb::str name_of(DType t) { return text(t == DType::Undefined ? std::string_view() : std::string_view(info(t).name)); }

nb::dict row(const AccessRow& r) {
  nb::dict d;
  d["node"] = r.node;
  d["kernel"] = text(r.kernel);
  d["maker"] = r.maker;
  d["object_bytes"] = r.bytes;
  d["dtype"] = name_of(r.dtype);
  d["stores"] = r.stores;
  d["detailed"] = r.detailed;
  d["accesses"] = r.counts.accesses;
  d["silent"] = r.counts.silent;
  d["temporal"] = r.counts.temporal;
  d["spatial"] = r.counts.spatial;
  d["items"] = r.items;
  d["unique_items"] = r.unique_items;
  d["unique_accesses"] = r.unique_accesses;
  d["distinct"] = r.distinct;
  d["about"] = r.about;
  nb::list patterns;
  for (size_t i = 0; i < pattern_names.size(); ++i)
    if (r.patterns >> i & 1) patterns.append(text(pattern_names[i]));
  d["patterns"] = patterns;
  d["narrow"] = name_of(r.narrow);
  d["slope"] = r.slope;
  d["base"] = r.base;
  d["top"] = nb::cast(r.top);
  nb::list lines;
  for (const AccessLine& l : r.lines)
    lines.append(nb::make_tuple(text(l.line), l.counts.accesses, l.counts.silent, l.counts.temporal, l.counts.spatial));
  d["lines"] = lines;
  return d;
}

nb::dict accesses_of(const PythonValues& v) {
  nb::dict d;
  nb::list rows, temporal, spatial;
  nb::dict unseen;
  uint64_t lost = 0;
  if (const Accesses* a = v.engine->accesses()) {
    for (const AccessRow& r : a->rows()) rows.append(row(r));
    const auto add = [](nb::list& to, const AccessPair& p) {
      to.append(nb::make_tuple(p.node, p.maker, text(p.kernel), text(p.from), text(p.to), name_of(p.dtype), p.stores,
                               p.value, p.count));
    };
    for (const AccessPair& p : a->pairs(false)) add(temporal, p);
    for (const AccessPair& p : a->pairs(true)) add(spatial, p);
    for (const auto& [kernel, launches] : a->unseen()) unseen[text(&kernel)] = launches;
    lost = a->lost();
  }
  d["rows"] = rows, d["temporal"] = temporal, d["spatial"] = spatial, d["unseen"] = unseen, d["lost"] = lost;
  return d;
}

nb::dict row(const Node& n) {
  nb::dict d;
  d["parent"] = n.parent;
  d["operator"] = n.op ? text(n.op->name()) : nb::str("");
  d["name"] = text(n.name ? std::string_view(*n.name) : n.op ? std::string_view(n.op->name()) : std::string_view());
  d["kind"] = text(to_string(n.kind));
  d["stack"] = n.stack;
  d["forward"] = n.forward;
  d["native"] = n.native;
  d["scope"] = text(n.scope ? std::string_view(*n.scope) : std::string_view());
  d["device"] = text(str(n.where));
  d["calls"] = n.calls;
  d["looked"] = n.looked;
  d["ns"] = n.ns;
  d["written"] = n.written;
  d["judged"] = n.judged;
  d["read"] = n.read;
  d["known"] = n.known;
  d["unchanged"] = n.unchanged;
  d["unchanged_bytes"] = n.unchanged_bytes;
  d["tiles"] = n.tiles;
  d["object"] = n.object;
  d["tensor"] = text(n.tensor);
  d["narrow"] = text(n.narrow == DType::Undefined ? std::string_view() : std::string_view(info(n.narrow).name));
  d["number"] = n.number;
  d["slope"] = n.slope;
  d["base"] = n.base;
  d["frequent"] = n.frequent;
  nb::dict found;
  for (size_t p = 0; p < n.found.size(); ++p)
    if (n.found[p].calls) found[text(pattern_names[p])] = nb::make_tuple(n.found[p].bytes, n.found[p].calls);
  d["found"] = found;
  return d;
}

}  // namespace

void bind_values(nb::module_& m) {
  nb::class_<PythonValues>(m, "_Values")
      .def(
          "__init__",
          [](PythonValues* self, int mode, uint32_t patterns, double frequent, double zero, double heavy_error,
             double structured_error, int approximate, double budget, uint64_t exact_below, uint64_t sample,
             bool instructions, bool floats, bool native) {
            new (self) PythonValues{make_ref<Engine>(Options{.mode = static_cast<Mode>(mode),
                                                             .patterns = patterns,
                                                             .frequent = frequent,
                                                             .zero = zero,
                                                             .heavy_error = heavy_error,
                                                             .structured_error = structured_error,
                                                             .approximate = approximate,
                                                             .budget = budget,
                                                             .sample = sample,
                                                             .untyped = floats ? DType::Float32 : DType::Undefined,
                                                             .native = native,
                                                             .instructions = instructions,
                                                             .exact_below = exact_below})};
          },
          nb::kw_only(), nb::arg("mode"), nb::arg("patterns"), nb::arg("frequent"), nb::arg("zero"),
          nb::arg("heavy_error"), nb::arg("structured_error"), nb::arg("approximate"), nb::arg("budget"),
          nb::arg("exact_below"), nb::arg("sample"), nb::arg("instructions"), nb::arg("floats"), nb::arg("native"))
      .def(
          "start",
          [](PythonValues& v, bool process, bool children) {
            v.engine->start(process ? Watch::Process : Watch::Thread, children);
            watch(v, true);
          },
          nb::arg("process"), nb::arg("children"))
      .def("stop",
           [](PythonValues& v) {
             watch(v, false);
             v.engine->stop();
           })
      .def("accesses", [](const PythonValues& v) { return accesses_of(v); })
      .def("ignore", [](PythonValues& v, const Tensor& t) { v.engine->ignore(t); })
      .def("nodes",
           [](const PythonValues& v) {
             nb::list out;
             for (const Node& n : v.engine->nodes()) out.append(row(n));
             return out;
           })
      .def("edges",
           [](const PythonValues& v) {
             nb::list out;
             for (const auto& [k, e] : v.engine->edges())
               out.append(nb::make_tuple(k.from, k.to, k.object, k.write, e.bytes, e.unchanged, e.object, e.count));
             return out;
           })
      .def("totals", [](const PythonValues& v) {
        const Totals t = v.engine->totals();
        nb::dict d;
        d["events"] = t.events;
        d["looked_bytes"] = t.looked_bytes;
        d["copied_bytes"] = t.copied_bytes;
        d["own_ns"] = t.own_ns;
        d["ns"] = t.ns;
        d["crowded"] = t.crowded;
        d["lost"] = t.lost;
        d["skipped"] = t.skipped;
        return d;
      });
  m.def("_value_content", [](const Tensor& t) {  // what one pass says of a tensor on the host
    View v{static_cast<const char*>(t.data()), t.dtype(), t.sizes(), {}};
    for (const int64_t s : t.strides()) v.strides.push_back(s * static_cast<int64_t>(item_size(t.dtype())));
    FC_CHECK(t.device().is_cpu() && !t.impl().is_sparse(), "values: a dense tensor on the CPU expected");
    const Content c = look(v, Runs(v), Options{});
    nb::list patterns;
    for (size_t i = 0; i < pattern_names.size(); ++i)
      if (c.patterns >> i & 1) patterns.append(text(pattern_names[i]));
    nb::dict d;
    d["elements"] = c.elements;
    d["patterns"] = patterns;
    d["share"] = c.frequent_share;
    d["narrow"] = text(c.narrow == DType::Undefined ? std::string_view() : std::string_view(info(c.narrow).name));
    d["slope"] = c.slope;
    d["base"] = c.base;
    return d;
  });
  m.def("_native_frames", [](uint32_t stack) {
    nb::list out;
    for (const auto& [file, address] : native_frames(stack)) out.append(nb::make_tuple(text(&file), address));
    return out;
  });
  nb::list names;
  for (const std::string_view n : pattern_names) names.append(text(n));
  m.attr("_value_patterns") = nb::tuple(names);
}

}  // namespace fc
