// SPDX-License-Identifier: Apache-2.0
// Finding, checking and registering backends; the functions that are neither memory nor compute.
#include <dlfcn.h>

#include <algorithm>
#include <cstring>

#include "backends/plugin/backend.h"
#include "backends/plugin/library_file.h"
#include "dispatch/family_table.h"

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

Backend* find_backend(int device_type) { return dynamic_cast<Backend*>(&device_record(device_type)); }

Backend& backend_of(Device device) {
  device_record(device);  // there is such a device
  Backend* b = find_backend(device.type);
  FC_CHECK(b, "device '", device, "' is no backend's");
  return *b;
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
      if (b->own_name != c.name) continue;
      FC_CHECK(b->origin == origin, "backend ", origin, ": the name '", c.name, "' is taken by ", b->origin);
      return b->type;
    }
    FC_CHECK(find_device_type(c.name) < 0, "backend ", origin, ": the name '", c.name, "' is a built-in device's");
    auto fresh = std::make_unique<Backend>(c, origin);
    unknown = fresh->read_operators();
    t.backends.reserve(t.backends.size() + 1);
    add_device_type(*fresh);  // what may fail lies behind us
    Backend& b = *t.backends.emplace_back(std::move(fresh));
    b.install_operators();
    type = b.type;
  }
  if (Backend* b = find_backend(type)) tell_watchers(*b);
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
    BackendInfo info{.name = b->own_name,
                     .origin = b->origin,
                     .device_type = b->type,
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
      if (has_function(b->c, static_cast<fc_family>(f)))
        info.families.emplace_back(family_name(static_cast<fc_family>(f)));
    info.operators = b->operator_names();
    out.push_back(std::move(info));
  }
  return out;
}

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

}  // namespace fc
