// SPDX-License-Identifier: Apache-2.0
// Finding, checking and registering backends; the functions that are neither memory nor compute.
#include <dlfcn.h>

#include <algorithm>
#include <cstring>

#include "backends/plugin/backend.h"
#include "backends/plugin/library_file.h"
#include "core/storage.h"
#include "dispatch/family_table.h"
#include "dispatch/observe.h"
#include "dispatch/snapshot.h"

namespace fc {
namespace plugin {
namespace {

struct Table {
  std::mutex mutex;
  std::vector<std::unique_ptr<Backend>> backends;  // never destroyed: tensors may outlive everything
};
Table& table() {
  static Table& t = *new Table;
  return t;
}
constinit Backend* by_type[kMaxDeviceTypes] = {};

struct CurrentStream {
  int type, index;
  void* stream;
};
thread_local std::vector<CurrentStream> streams;

void copy_device_bytes(void* dst, Device dst_device, const void* src, Device src_device, size_t bytes) {
  if (bytes == 0) return;
  if (!dst_device.is_cpu() && !src_device.is_cpu() && index_of(dst_device) != index_of(src_device)) {
    Backend& b = backend_of(dst_device);
    if (b.c.copy_peer) {
      CallScope s(b, index_of(dst_device));
      s.check(b.c.copy_peer(b.c.self, &s.context, dst, src, index_of(src_device), bytes, 0), "copy_peer");
      return;
    }
    auto host = std::make_unique_for_overwrite<char[]>(bytes);
    copy_device_bytes(host.get(), Device{}, src, src_device, bytes);
    copy_device_bytes(dst, dst_device, host.get(), Device{}, bytes);
    return;
  }
  int32_t kind = dst_device.is_cpu()   ? FC_DEVICE_TO_HOST
                 : src_device.is_cpu() ? FC_HOST_TO_DEVICE
                                       : FC_DEVICE_TO_DEVICE;
  Device device = dst_device.is_cpu() ? src_device : dst_device;
  Backend& b = backend_of(device);
  CallScope s(b, index_of(device));
  constexpr const char* names[] = {"copy to the device", "copy to the host", "copy on the device"};
  s.check(b.c.copy(b.c.self, &s.context, dst, src, bytes, kind, 0), names[kind]);
  if (kind == FC_DEVICE_TO_HOST) b.errors.raise(b, index_of(device), s.context.stream, false);
}

void check_struct(const fc_backend& c, const std::string& origin) {
  FC_CHECK(c.abi_version == FC_ABI_VERSION, "backend ", origin, ": it has version ", c.abi_version,
           " of the backend contract, this Facula has version ", FC_ABI_VERSION);
  FC_CHECK(c.size >= FC_BACKEND_REQUIRED_SIZE, "backend ", origin, ": its fc_backend has ", c.size,
           " bytes, too short for the required functions (", FC_BACKEND_REQUIRED_SIZE, " bytes)");
  FC_CHECK(c.size <= sizeof(fc_backend), "backend ", origin, ": its fc_backend claims ", c.size,
           " bytes, more than this Facula has (", sizeof(fc_backend),
           " bytes); it must fill no more than it was given");
  FC_CHECK(c.name && *c.name, "backend ", origin, ": it has no name");
  FC_CHECK(c.device_count >= 1 && c.device_count <= 127, "backend ", origin, ": '", c.name, "' has ", c.device_count,
           " devices; 1 to 127 are possible");
  const std::pair<const char*, const void*> required[] = {
      {"describe", reinterpret_cast<const void*>(c.describe)},
      {"alloc", reinterpret_cast<const void*>(c.alloc)},
      {"free", reinterpret_cast<const void*>(c.free)},
      {"copy", reinterpret_cast<const void*>(c.copy)},
      {"fill_bytes", reinterpret_cast<const void*>(c.fill_bytes)},
      {"synchronise", reinterpret_cast<const void*>(c.synchronise)}};
  for (auto& [name, fn] : required)
    FC_CHECK(fn, "backend ", origin, ": '", c.name, "' lacks the required function ", name);
}

// Groups of which a backend has all or none: half a group counts as none.
void drop_incomplete(fc_backend& c) {
  if (!c.stream_create || !c.stream_destroy || !c.event_create || !c.event_destroy || !c.event_record ||
      !c.event_wait || !c.event_query)
    c.stream_create = nullptr;
  if (!c.host_alloc || !c.host_free) c.host_alloc = nullptr;
  if (!c.counter_names || !c.counters) c.counters = nullptr;
  if (!c.operators || !c.run_operator) c.operators = nullptr;
  if (!c.functions || !c.call) c.functions = nullptr;
}

}  // namespace

Backend* find_backend(int device_type) { return __atomic_load_n(&by_type[device_type], __ATOMIC_ACQUIRE); }

Backend& backend_of(Device device) {
  Backend* b = find_backend(device.type);
  FC_CHECK(b, "device '", device, "' has no loaded backend");
  FC_CHECK(device.index < b->c.device_count, "device '", device, "' does not exist: backend '", b->name, "' has ",
           b->c.device_count, b->c.device_count == 1 ? " device" : " devices");
  return *b;
}

void* stream_of(int device_type, int index) {
  for (const CurrentStream& s : streams)
    if (s.type == device_type && s.index == index) return s.stream;
  return nullptr;
}

}  // namespace plugin

using namespace plugin;

int register_backend(const fc_backend& given, const std::string& origin) {
  check_struct(given, origin);
  fc_backend c{};
  std::memcpy(&c, &given, given.size);
  drop_incomplete(c);
  Table& t = table();
  std::vector<std::string> unknown;
  int type;
  {
    std::lock_guard lock(t.mutex);
    for (auto& b : t.backends) {
      if (b->name != c.name) continue;
      FC_CHECK(b->origin == origin, "backend ", origin, ": the name '", c.name, "' is taken by ", b->origin);
      return b->device_type;
    }
    FC_CHECK(find_device_type(c.name) < 0, "backend ", origin, ": the name '", c.name, "' is a built-in device's");
    auto fresh = std::make_unique<Backend>(c, origin);
    fresh->name = c.name;
    unknown = fresh->read_operators();
    t.backends.reserve(t.backends.size() + 1);
    // Its name is what cannot be taken back: what may fail lies behind us.
    type = fresh->device_type = register_device_type(c.name);
    Backend& b = *t.backends.emplace_back(std::move(fresh));
    __atomic_store_n(&by_type[type], &b, __ATOMIC_RELEASE);
    set_allocator(type, &b.allocator);
    set_copy_bytes(type, copy_device_bytes);
    install_families(b);
    b.install_operators();
  }
  // A warning may run Python code, which must not happen with the lock held.
  for (const std::string& name : unknown)
    warn(str("backend '", given.name, "' offers the operator '", name, "', which this Facula does not have"));
  return type;
}

int load_backend(const std::string& path) {
  // A plain name is looked up in the current folder, not in the loader's search path.
  std::string file = path.find('/') == path.npos ? "./" + path : path;
  if (std::string fault = library_file_fault(file); !fault.empty())
    raise<Error>("load_backend: cannot open ", path, ": ", fault);
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* why = dlerror();
    raise<Error>("load_backend: cannot open ", path, ": ", why ? why : "unknown reason");
  }
  auto entry = reinterpret_cast<fc_backend_entry>(dlsym(library, FC_BACKEND_ENTRY));
  FC_CHECK(entry || !dlsym(library, "facula_backend_v1"), "load_backend: ", path,
           ": it was built for version 1 of the backend contract, this Facula has version ", FC_ABI_VERSION,
           "; rebuild it against this include/facula/backend.h");
  FC_CHECK(entry, "load_backend: ", path, " is no backend of this version: it exports no function ", FC_BACKEND_ENTRY);
  fc_backend c{};
  c.size = sizeof c;
  c.abi_version = FC_ABI_VERSION;
  int status = entry(&host_services(), &c);
  FC_CHECK(status == FC_OK, "load_backend: ", path, ": ", FC_BACKEND_ENTRY, " failed with status ", status);
  Dl_info where{};
  dladdr(reinterpret_cast<const void*>(entry), &where);
  return register_backend(c, where.dli_fname ? where.dli_fname : path);
}

std::vector<BackendInfo> loaded_backends() {
  Table& t = table();
  std::vector<Backend*> all;
  {
    std::lock_guard lock(t.mutex);
    for (auto& b : t.backends) all.push_back(b.get());
  }
  std::vector<BackendInfo> out;
  for (Backend* b : all) {
    BackendInfo info{.name = b->name,
                     .origin = b->origin,
                     .device_type = b->device_type,
                     .device_count = b->c.device_count,
                     .functions = function_lines(*b),
                     .streams = b->c.stream_create != nullptr,
                     .pinned_memory = b->c.host_alloc != nullptr,
                     .single_device = (b->c.flags & FC_BACKEND_SINGLE_DEVICE) != 0,
                     .exact_memory = (b->c.flags & FC_BACKEND_EXACT_MEMORY) != 0,
                     .python_module = b->c.python_module ? b->c.python_module : ""};
    for (int d = 0; d < b->c.device_count; ++d) {
      CallScope s(*b, d);
      char text[512] = {};
      int status = b->c.describe(b->c.self, &s.context, text, sizeof text);
      text[sizeof text - 1] = 0;
      info.descriptions.push_back(status == FC_OK ? text : str("(describe failed: ", s.message(), ")"));
    }
    for (int f = 0; b->c.supports && f < FC_FAMILY_COUNT; ++f)
      if (has_function(b->c, static_cast<fc_family>(f))) info.families.emplace_back(family_name(static_cast<fc_family>(f)));
    info.operators = b->operator_names();
    out.push_back(std::move(info));
  }
  return out;
}

void synchronise(Device device) {
  Backend& b = backend_of(device);
  CallScope s(b, index_of(device));
  s.check(b.c.synchronise(b.c.self, &s.context), "synchronise");
  b.errors.raise(b, index_of(device), s.context.stream, !s.context.stream);
}

MemoryStats backend_memory_stats(Device device) { return backend_of(device).allocator.stats(index_of(device)); }
void reset_backend_peak(Device device) { backend_of(device).allocator.reset_peak(index_of(device)); }
std::vector<MemoryBlock> backend_memory_blocks(Device device) {
  return backend_of(device).allocator.snapshot(index_of(device));
}
void empty_backend_cache(Device device) { backend_of(device).allocator.empty(index_of(device)); }

std::vector<Counter> backend_counters(Device device) {
  Backend& b = backend_of(device);
  std::vector<Counter> out;
  if (!b.c.counters) return out;
  for (const char* const* name = b.c.counter_names; *name; ++name) out.push_back({*name, 0});
  std::vector<uint64_t> values(out.size() + 1);
  CallScope s(b, index_of(device));
  s.check(b.c.counters(b.c.self, &s.context, values.data()), "counters");
  for (size_t i = 0; i < out.size(); ++i) out[i].value = values[i];
  return out;
}

MemoryInfo backend_memory_info(Device device) {
  Backend& b = backend_of(device);
  FC_CHECK_AS(NotImplementedError, b.c.memory_info, "backend '", b.name, "' does not tell its free memory");
  MemoryInfo m{};
  CallScope s(b, index_of(device));
  s.check(b.c.memory_info(b.c.self, &s.context, &m.free, &m.total), "memory_info");
  return m;
}

Tensor empty_pinned(IntSpan sizes, DType dtype, Device device) {
  Backend& b = backend_of(device);
  FC_CHECK_AS(NotImplementedError, b.c.host_alloc, "backend '", b.name, "' has no pinned memory");
  size_t bytes = checked_bytes(checked_numel(sizes), dtype);
  Block block;
  if (bytes) {
    CallScope s(b, index_of(device));
    std::string what = str("host_alloc of ", bytes, " bytes");
    s.check(b.c.host_alloc(b.c.self, &s.context, bytes, &block.data), what);
    if (!block.data) s.fail(FC_OUT_OF_MEMORY, what);
    block.context = &b;
    block.free = [](void* data, size_t n, void* context) {
      auto& backend = *static_cast<Backend*>(context);
      CallScope scope(backend, 0);
      if (backend.c.host_free(backend.c.self, &scope.context, data, n) != FC_OK)
        warn(str("backend '", backend.name, "', host_free of ", n, " bytes: ", scope.message()));
    };
  }
  auto impl = make_ref<TensorImpl>(make_ref<Storage>(block, bytes, Device{}, nullptr), dtype, Device{});
  impl->set_contiguous(sizes);
  return Tensor(std::move(impl));
}

namespace {

Backend& with_streams(Device device) {
  Backend& b = backend_of(device);
  FC_CHECK_AS(NotImplementedError, b.c.stream_create, "backend '", b.name, "' has no streams");
  return b;
}

}  // namespace

void* create_stream(Device device) {
  Backend& b = with_streams(device);
  CallScope s(b, index_of(device));
  void* stream = nullptr;
  s.check(b.c.stream_create(b.c.self, &s.context, &stream), "stream_create");
  return stream;
}

void destroy_stream(Device device, void* stream) {
  Backend& b = with_streams(device);
  CallScope s(b, index_of(device));
  s.check(b.c.stream_destroy(b.c.self, &s.context, stream), "stream_destroy");
}

void hand_streams_to_workers() {
  set_stream_source(current_stream);
  using Streams = std::vector<CurrentStream>;
  add_thread_local_part({
      .capture = []() -> void* { return streams.empty() ? nullptr : new Streams(streams); },
      .enter = [](void* copy) { streams = *static_cast<Streams*>(copy); },
      .leave = [](void*) { streams.clear(); },
      .release = [](void* copy) { delete static_cast<Streams*>(copy); },
  });
}

void* current_stream(Device device) { return stream_of(device.type, index_of(device)); }

void set_current_stream(Device device, void* stream) {
  with_streams(device);
  std::erase_if(streams, [&](const CurrentStream& s) { return s.type == device.type && s.index == index_of(device); });
  if (stream) streams.push_back({device.type, index_of(device), stream});
}

void* create_event(Device device) {
  Backend& b = with_streams(device);
  CallScope s(b, index_of(device));
  void* event = nullptr;
  s.check(b.c.event_create(b.c.self, &s.context, &event), "event_create");
  return event;
}

void destroy_event(Device device, void* event) {
  Backend& b = with_streams(device);
  CallScope s(b, index_of(device));
  s.check(b.c.event_destroy(b.c.self, &s.context, event), "event_destroy");
}

void record_event(Device device, void* event) {
  Backend& b = with_streams(device);
  CallScope s(b, index_of(device));
  s.check(b.c.event_record(b.c.self, &s.context, event), "event_record");
}

void wait_event(Device device, void* event) {
  Backend& b = with_streams(device);
  CallScope s(b, index_of(device));
  s.check(b.c.event_wait(b.c.self, &s.context, event), "event_wait");
}

bool event_done(Device device, void* event) {
  Backend& b = with_streams(device);
  CallScope s(b, index_of(device));
  int32_t done = 0;
  s.check(b.c.event_query(b.c.self, &s.context, event, &done), "event_query");
  return done != 0;
}

void synchronise_event(Device device, void* event) {
  Backend& b = with_streams(device);
  CallScope s(b, index_of(device));
  if (b.c.event_synchronise) s.check(b.c.event_synchronise(b.c.self, &s.context, event), "event_synchronise");
  else if (!event_done(device, event)) {  // all that was queued is more than what the event waits for
    s.context.stream = nullptr;
    s.check(b.c.synchronise(b.c.self, &s.context), "synchronise");
  }
}

double event_elapsed(Device device, void* start, void* end) {
  Backend& b = with_streams(device);
  FC_CHECK_AS(NotImplementedError, b.c.event_elapsed, "backend '", b.name, "' does not tell the time between events");
  CallScope s(b, index_of(device));
  double milliseconds = 0;
  s.check(b.c.event_elapsed(b.c.self, &s.context, start, end, &milliseconds), "event_elapsed");
  return milliseconds;
}

}  // namespace fc
