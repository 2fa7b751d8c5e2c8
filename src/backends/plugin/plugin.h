// SPDX-License-Identifier: Apache-2.0
// Backends behind the C contract of <facula/backend.h>: from a shared library, or from a filled struct (the null
// device, a Python class). The loader wraps their functions into what the rest of Facula knows: an allocator with a
// cache, copies of bytes, compute families, kernels by operator name. A loaded backend stays until the process ends,
// since tensors may live as long. Everything here may be called from any thread.
#pragma once
#include <string>
#include <vector>

#include "core/tensor.h"
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
  std::string name, origin;
  int device_type, device_count;
  std::vector<std::string> descriptions;  // one per device
  std::vector<std::string> families, operators;
  bool streams, pinned_memory;
};
std::vector<BackendInfo> loaded_backends();

// These throw for a device whose type has no backend, or where the backend lacks the function.
void synchronise(Device device);
MemoryStats backend_memory_stats(Device device);
void empty_backend_cache(Device device);
struct Counter {
  std::string name;
  uint64_t value;
};
std::vector<Counter> backend_counters(Device device);
struct MemoryInfo {
  uint64_t free, total;
};
MemoryInfo backend_memory_info(Device device);
// CPU memory from the backend's host_alloc, which its device reaches fast.
Tensor empty_pinned(IntSpan sizes, DType dtype, Device device);

// --- streams and events: null is the default stream
void* create_stream(Device device);
void destroy_stream(Device device, void* stream);
void hand_streams_to_workers();  // once, at start-up
void* current_stream(Device device);
void set_current_stream(Device device, void* stream);  // of this thread
void* create_event(Device device);
void destroy_event(Device device, void* event);
void record_event(Device device, void* event);  // on the current stream
void wait_event(Device device, void* event);    // the current stream waits
bool event_done(Device device, void* event);

}  // namespace fc
