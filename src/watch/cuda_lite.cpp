// SPDX-License-Identifier: Apache-2.0
// The value profiler for programs in CUDA-Lite, which know nothing of it: FACULA_HB_WATCH names this library,
// FACULA_VALUES the file that the results go to, FACULA_VALUES_OPTIONS the options ("mode 1 patterns 8191 floats 0").
// `facula vprof ./program` sets them and reports what the file says (python/facula/tools/vprof/_program.py).
//
// What the device tells becomes the engine's events. Device memory lies at its address in this process, so the engine
// takes it for the host's and copies nothing. Copies and fills are of words where they can be: of what type they are,
// nobody says.
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <sstream>
#include <unordered_map>

#include "backends/hammerblade/include/host/facula_hb.h"
#include "files/atomic_file.h"
#include "observe/recorder.h"
#include "observe/values/engine.h"
#include "observe/values/native.h"

namespace {

using namespace fc;
using namespace fc::observe::values;
using files::AtomicFile;
using observe::now_ns;

struct Program {
  Ref<Engine> engine;
  const fc_watcher* accesses = nullptr;
  std::string file;
  std::unordered_map<uint32_t, std::pair<uint64_t, uint64_t>> blocks;  // storage and bytes, by address
  uint64_t storages = 0, written = 0;
  std::vector<fc_access> batch;
};
Program* program = nullptr;  // told under the device's lock; the one that ends the process has no other thread to fear

const void* at(uint32_t address) { return reinterpret_cast<const void*>(static_cast<uintptr_t>(address)); }

MemoryOperand words(const void* data, uint64_t bytes, bool written) {
  const bool whole = bytes % 4 == 0 && reinterpret_cast<uintptr_t>(data) % 4 == 0;
  const int64_t item = whole ? 4 : 1;
  return {.data = data,
          .ndim = 1,
          .dtype = whole ? program->engine->options().untyped == DType::Float32 ? DType::Float32 : DType::Int32
                         : DType::UInt8,
          .read = !written,
          .written = written,
          .own = {static_cast<int64_t>(bytes) / item, 1, 1, item, 0, 0}};
}

void write_results();

void memory(void*, const facula_hb_memory_t* m) {
  Event e{};
  e.bytes = m->bytes;
  e.address = at(m->address);
  if (m->what == FACULA_HB_ALLOCATED || m->what == FACULA_HB_FREED) {
    e.kind = m->what == FACULA_HB_FREED ? EventKind::Free : EventKind::Allocate;
    e.phase = Event::Once;
    auto& [storage, bytes] = program->blocks[m->address];
    if (m->what == FACULA_HB_ALLOCATED) storage = ++program->storages, bytes = m->bytes;
    e.storage = storage;
    if (m->what == FACULA_HB_FREED) program->blocks.erase(m->address);
    return program->engine->see(e);
  }
  MemoryOperand operands[kMaxOperands];
  e.kind = m->what == FACULA_HB_FILLED ? EventKind::Fill : EventKind::Copy;
  e.phase = m->ended ? Event::End : Event::Begin;
  e.name = m->what == FACULA_HB_FILLED ? "fill" : m->what == FACULA_HB_TO_DEVICE ? "copy to device" : "copy to host";
  e.own_operands = operands;
  if (m->what == FACULA_HB_TO_DEVICE) operands[e.num_operands++] = words(m->host, m->bytes, false);
  if (m->what == FACULA_HB_TO_HOST) operands[e.num_operands++] = words(at(m->address), m->bytes, false);
  operands[e.num_operands++] = words(m->what == FACULA_HB_TO_HOST ? m->host : at(m->address), m->bytes, true);
  program->engine->see(e);
}

int64_t line(uint64_t site, char* out, size_t size) { return facula_hb_site(site, out, size); }

void launch(void*, const facula_hb_launch_t* l) {
  const fc_watched_launch told{sizeof told, 0, l->kernel, l->mode, l->ended != 0, l->told, l->lost, line};
  Event e{};
  e.kind = EventKind::Launch;
  e.name = l->kernel;
  e.phase = l->ended ? Event::End : Event::Begin;
  e.failed = l->ended < 0;
  if (!l->ended) program->engine->see(e);
  program->accesses->launch(program->accesses->context, &told);
  if (l->ended) program->engine->see(e);
  if (l->ended && now_ns() - program->written > 5'000'000'000) write_results();
}

void accesses(void*, const facula_hb_access_t* all, size_t count) {
  std::vector<fc_access>& batch = program->batch;
  batch.clear();
  for (const facula_hb_access_t *a = all, *end = all + count; a != end; ++a)
    batch.push_back({a->site, a->address, a->value, a->before, a->tile, a->bytes, a->kind, a->type, 0});
  program->accesses->accesses(program->accesses->context, batch.data(), batch.size());
}

// --- results: what the Python module's bindings give, as JSON (python/src/values.cpp)
class Json {
 public:
  std::ostringstream out;
  Json() { out.precision(17); }
  void text(std::string_view s) {
    out << '"';
    for (const char c : s) {
      if (c == '"' || c == '\\') out << '\\' << c;
      else if (static_cast<unsigned char>(c) < 32) out << ' ';
      else out << c;
    }
    out << '"';
  }
  void key(std::string_view name) {
    if (!first_) out << ',';
    first_ = false;
    text(name);
    out << ':';
  }
  void open(char c) { out << c, first_ = true; }
  void close(char c) { out << c, first_ = false; }
  void next() {
    if (!first_) out << ',';
    first_ = false;
  }
  template <class T>
  void number(std::string_view name, T v) {
    key(name);
    if constexpr (std::is_floating_point_v<T>) out << (v - v == 0 ? v : 0);
    else out << +v;
  }
  void named(std::string_view name, std::string_view v) { key(name), text(v); }

 private:
  bool first_ = true;
};

std::string_view view(const std::string* s) { return s ? std::string_view(*s) : std::string_view(); }
std::string_view name_of(DType t) { return t == DType::Undefined ? std::string_view() : info(t).name; }

std::string results() {
  const Engine& engine = *program->engine;
  const Accesses& told = *engine.accesses();
  Json j;
  uint32_t most = 0;
  j.open('{'), j.key("nodes"), j.open('[');
  for (const Node& n : engine.nodes()) {
    most = std::max({most, n.stack, n.native});
    j.next(), j.open('{');
    j.number("parent", n.parent), j.named("operator", ""), j.named("name", view(n.name));
    j.named("kind", to_string(n.kind)), j.number("stack", n.stack), j.number("forward", 0), j.named("scope", "");
    j.named("device", "hammerblade"), j.number("calls", n.calls), j.number("looked", n.looked), j.number("ns", n.ns);
    j.number("written", n.written), j.number("judged", n.judged), j.number("read", n.read);
    j.number("known", n.known), j.number("unchanged", n.unchanged), j.number("unchanged_bytes", n.unchanged_bytes);
    j.number("tiles", n.tiles), j.number("object", n.object), j.named("tensor", n.tensor);
    j.named("narrow", name_of(n.narrow)), j.number("number", n.number), j.number("slope", n.slope);
    j.number("base", n.base), j.number("frequent", n.frequent), j.number("native", 0);
    j.key("found"), j.open('{');
    for (size_t p = 0; p < n.found.size(); ++p)
      if (n.found[p].calls) {
        j.key(pattern_names[p]), j.open('['), j.next(), j.out << n.found[p].bytes, j.next();
        j.out << n.found[p].calls, j.close(']');
      }
    j.close('}'), j.close('}');
  }
  j.close(']'), j.key("edges"), j.open('[');
  for (const auto& [k, e] : engine.edges()) {
    j.next();
    j.out << '[' << k.from << ',' << k.to << ',' << k.object << ',' << (k.write ? "true" : "false") << ',' << e.bytes
          << ',' << e.unchanged << ',' << e.object << ',' << e.count << ']';
  }
  j.close(']'), j.key("totals"), j.open('{');
  const Totals t = engine.totals();
  j.number("events", t.events), j.number("looked_bytes", t.looked_bytes), j.number("copied_bytes", t.copied_bytes);
  j.number("own_ns", t.own_ns), j.number("ns", t.ns), j.number("crowded", t.crowded), j.number("lost", t.lost);
  j.number("skipped", t.skipped);
  j.close('}'), j.key("accesses"), j.open('{'), j.key("rows"), j.open('[');
  for (const AccessRow& r : told.rows()) {
    j.next(), j.open('{');
    j.number("node", r.node), j.named("kernel", view(r.kernel)), j.number("maker", r.maker);
    j.number("object_bytes", r.bytes), j.named("dtype", name_of(r.dtype)), j.number("stores", r.stores);
    j.number("detailed", r.detailed), j.number("accesses", r.counts.accesses), j.number("silent", r.counts.silent);
    j.number("temporal", r.counts.temporal), j.number("spatial", r.counts.spatial), j.number("items", r.items);
    j.number("unique_items", r.unique_items), j.number("unique_accesses", r.unique_accesses);
    j.number("distinct", r.distinct), j.number("about", r.about), j.key("patterns"), j.open('[');
    for (size_t i = 0; i < pattern_names.size(); ++i)
      if (r.patterns >> i & 1) j.next(), j.text(pattern_names[i]);
    j.close(']'), j.named("narrow", name_of(r.narrow)), j.number("slope", r.slope), j.number("base", r.base);
    j.key("top"), j.open('[');
    for (const auto& [value, n] : r.top) j.next(), j.out << '[' << (value - value == 0 ? value : 0) << ',' << n << ']';
    j.close(']'), j.key("lines"), j.open('[');
    for (const AccessLine& l : r.lines) {
      j.next(), j.open('['), j.next(), j.text(view(l.line)), j.next();
      j.out << l.counts.accesses << ',' << l.counts.silent << ',' << l.counts.temporal << ',' << l.counts.spatial;
      j.close(']');
    }
    j.close(']'), j.close('}');
  }
  j.close(']');
  for (const bool spatial : {false, true}) {
    j.key(spatial ? "spatial" : "temporal"), j.open('[');
    for (const AccessPair& p : told.pairs(spatial)) {
      j.next(), j.open('['), j.next(), j.out << p.node << ',' << p.maker << ',', j.text(view(p.kernel)), j.next();
      j.text(view(p.from)), j.next(), j.text(view(p.to)), j.next(), j.text(name_of(p.dtype)), j.next();
      j.out << (p.stores ? "true" : "false") << ',' << (p.value - p.value == 0 ? p.value : 0) << ',' << p.count;
      j.close(']');
    }
    j.close(']');
  }
  j.key("unseen"), j.open('{');
  for (const auto& [kernel, n] : told.unseen()) j.number(kernel, n);
  j.close('}'), j.number("lost", told.lost()), j.close('}');
  j.key("stacks"), j.open('[');
  for (uint32_t i = 1; i <= most; ++i) {
    j.next(), j.open('[');
    for (const auto& [file, address] : native_frames(i)) {
      j.next(), j.open('['), j.next(), j.text(file), j.next(), j.out << address, j.close(']');
    }
    j.close(']');
  }
  j.close(']'), j.close('}');
  return j.out.str();
}

void write_results() {
  program->written = now_ns();
  try {
    const std::string text = results();
    AtomicFile file(program->file);
    file.write(text.data(), text.size());
    file.commit();
  } catch (const std::exception& e) { std::fprintf(stderr, "facula vprof: %s: %s\n", program->file.c_str(), e.what()); }
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int facula_hb_watch_program(void) {
  const char *file = std::getenv("FACULA_VALUES"), *given = std::getenv("FACULA_VALUES_OPTIONS");
  if (!file || !*file) return 1;
  Options options;
  options.instructions = true;
  options.mode = Mode::Exact;
  std::istringstream words_of(given ? given : "");
  std::string name;
  for (double value = 0; words_of >> name >> value;) {
    if (name == "mode") options.mode = static_cast<Mode>(static_cast<int>(value));
    else if (name == "patterns") options.patterns = static_cast<uint32_t>(value);
    else if (name == "frequent") options.frequent = value;
    else if (name == "zero") options.zero = value;
    else if (name == "heavy_error") options.heavy_error = value;
    else if (name == "structured_error") options.structured_error = value;
    else if (name == "approximate") options.approximate = static_cast<int>(value);
    else if (name == "budget") options.budget = value;
    else if (name == "exact_below") options.exact_below = static_cast<uint64_t>(value);
    else if (name == "sample") options.sample = static_cast<uint64_t>(value);
    else if (name == "floats") options.untyped = value != 0 ? DType::Float32 : DType::Undefined;
    else return 2;
  }
  fc::observe::stack_source = native_stack;
  program = new Program{make_ref<Engine>(options)};
  program->file = file;
  program->accesses = program->engine->watcher(0);
  program->engine->start(Watch::Process, false);
  facula_hb_watcher_t watcher{};
  watcher.size = sizeof watcher;
  watcher.memory = memory;
  watcher.launch = launch;
  watcher.accesses = accesses;
  if (facula_hb_watch(&watcher) < 0) return 3;
  program->written = now_ns();
  std::atexit([] {
    program->engine->stop();
    write_results();
  });
  return 0;
}
