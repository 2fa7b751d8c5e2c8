// SPDX-License-Identifier: Apache-2.0
// Backends behind the C contract of <facula/backend.h>: from a shared library, or from a filled struct (the null
// device, a Python class). The loader wraps their functions into what the rest of Facula knows: an allocator with a
// cache, copies of bytes, compute families, kernels by operator name. A loaded backend stays until the process ends,
// since tensors may live as long. Everything here may be called from any thread.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "core/tensor.h"
#include "core/value.h"
#include "facula/backend.h"

namespace fc {

// Opens the library, checks version and sizes, registers. Returns the device type. Loading the same file again gives
// the same answer; another file under a taken name is an error.
int load_backend(const std::string& path);
// The same for a struct that is filled already; `origin` is for messages. The struct is copied, what it points to
// must stay alive.
int register_backend(const fc_backend& backend, const std::string& origin);
void register_null();  // backends/null

const fc_host& host_services();

struct BackendInfo {
  std::string name{}, origin{};
  int device_type = -1, device_count = 0;
  std::vector<std::string> descriptions{};  // one per device
  std::vector<std::string> families{}, operators{}, functions{};
  bool streams = false, pinned_memory = false, single_device = false, exact_memory = false;
  std::string python_module{};  // empty: none
};
std::vector<BackendInfo> loaded_backends();

// A function of the backend's own. Arguments are None, numbers, texts, lists of numbers, tensors and lists of them.
Value call_backend(Device device, const std::string& function, std::span<const Value> args);
// Who is told of accesses of kernels by the backends that can tell, those that are loaded later included; an empty
// function: nobody any more. It gives the watcher of a device type and is called under a lock: it loads no backend.
using WatcherOf = std::function<const fc_watcher*(int device_type)>;
void watch_backends(WatcherOf watcher_of);
struct Counter {
  std::string name;
  uint64_t value;
};
std::vector<Counter> backend_counters(Device device);

}  // namespace fc
