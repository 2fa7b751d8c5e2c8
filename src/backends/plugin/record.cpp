// SPDX-License-Identifier: Apache-2.0
// A backend as a device record: bytes, streams, events, memory that is not its own.
#include "backends/plugin/backend.h"

namespace fc::plugin {
namespace {

void need(const Backend& b, const void* function, const char* what) {
  if (!function) raise<NotImplementedError>("backend '", b.name, "' has no ", what);
}
const void* streams(const Backend& b) { return reinterpret_cast<const void*>(b.c.stream_create); }

}  // namespace

Backend::Backend(const fc_backend& c, std::string from)
    : DeviceRecord({}), c(c), origin(std::move(from)), own_name(c.name), cache(*this, c.device_count) {
  name = own_name;
  count = c.device_count;
  single = c.flags & FC_BACKEND_SINGLE_DEVICE;
  int32_indices = c.flags & FC_BACKEND_INT32_INDICES;
  allocator = &cache;
  fill_families(*this);
}

void Backend::copy_bytes(void* dst, Device dst_device, const void* src, Device src_device, size_t bytes,
                         bool non_blocking) {
  if (bytes == 0) return;
  const bool to_host = dst_device.is_cpu(), from_host = src_device.is_cpu();
  const uint32_t how = non_blocking ? FC_COPY_NON_BLOCKING : 0;
  CallScope s(*this, index_of(to_host ? src_device : dst_device));
  if (!to_host && !from_host && index_of(dst_device) != index_of(src_device)) {
    if (c.copy_peer) {
      s.check(c.copy_peer(c.self, &s.context, dst, src, index_of(src_device), bytes, how), "copy_peer");
      return;
    }
    auto host = std::make_unique_for_overwrite<char[]>(bytes);
    copy_bytes(host.get(), Device{}, src, src_device, bytes, false);
    copy_bytes(dst, dst_device, host.get(), Device{}, bytes, false);
    return;
  }
  const int32_t kind = to_host ? FC_DEVICE_TO_HOST : from_host ? FC_HOST_TO_DEVICE : FC_DEVICE_TO_DEVICE;
  constexpr const char* names[] = {"copy to the device", "copy to the host", "copy on the device"};
  s.check(c.copy(c.self, &s.context, dst, src, bytes, kind, how), names[kind]);
  if (to_host && !non_blocking) errors.raise(*this, s.context.device, s.context.stream, false);
}

void Backend::synchronise(Device device) {
  CallScope s(*this, index_of(device));
  s.check(c.synchronise(c.self, &s.context), "synchronise");
  errors.raise(*this, s.context.device, s.context.stream, !s.context.stream);
}

MemoryInfo Backend::memory_info(Device device) {
  FC_CHECK_AS(NotImplementedError, c.memory_info, "backend '", name, "' does not tell its free memory");
  MemoryInfo m{};
  CallScope s(*this, index_of(device));
  s.check(c.memory_info(c.self, &s.context, &m.free, &m.total), "memory_info");
  return m;
}

Block Backend::pinned(size_t bytes, Device device) {
  need(*this, reinterpret_cast<const void*>(c.host_alloc), "pinned memory");
  Block block;
  if (bytes == 0) return block;
  CallScope s(*this, index_of(device));
  const std::string what = str("host_alloc of ", bytes, " bytes");
  s.check(c.host_alloc(c.self, &s.context, bytes, &block.data), what);
  if (!block.data) s.fail(FC_OUT_OF_MEMORY, what);
  block.context = this;
  block.free = [](void* data, size_t n, void* context) {
    auto& b = *static_cast<Backend*>(context);
    CallScope scope(b, 0);
    if (b.c.host_free(b.c.self, &scope.context, data, n) != FC_OK)
      warn(str("backend '", b.name, "', host_free of ", n, " bytes: ", scope.message()));
  };
  return block;
}

void* Backend::create_stream(Device device) {
  need(*this, streams(*this), "streams");
  CallScope s(*this, index_of(device));
  void* stream = nullptr;
  s.check(c.stream_create(c.self, &s.context, &stream), "stream_create");
  if (!stream) s.fail(FC_OUT_OF_MEMORY, "stream_create, which returned no stream");
  return stream;
}

void Backend::destroy_stream(Device device, void* stream) {
  need(*this, streams(*this), "streams");
  CallScope s(*this, index_of(device));
  s.check(c.stream_destroy(c.self, &s.context, stream), "stream_destroy");
}

void* Backend::create_event(Device device) {
  need(*this, streams(*this), "streams");
  CallScope s(*this, index_of(device));
  void* event = nullptr;
  s.check(c.event_create(c.self, &s.context, &event), "event_create");
  if (!event) s.fail(FC_OUT_OF_MEMORY, "event_create, which returned no event");
  return event;
}

void Backend::destroy_event(Device device, void* event) {
  need(*this, streams(*this), "streams");
  CallScope s(*this, index_of(device));
  s.check(c.event_destroy(c.self, &s.context, event), "event_destroy");
}

void Backend::record_event(Device device, void* event) {
  need(*this, streams(*this), "streams");
  CallScope s(*this, index_of(device));
  s.check(c.event_record(c.self, &s.context, event), "event_record");
}

void Backend::wait_event(Device device, void* event) {
  need(*this, streams(*this), "streams");
  CallScope s(*this, index_of(device));
  s.check(c.event_wait(c.self, &s.context, event), "event_wait");
}

bool Backend::event_done(Device device, void* event) {
  need(*this, streams(*this), "streams");
  CallScope s(*this, index_of(device));
  int32_t done = 0;
  s.check(c.event_query(c.self, &s.context, event, &done), "event_query");
  return done != 0;
}

void Backend::synchronise_event(Device device, void* event) {
  need(*this, streams(*this), "streams");
  CallScope s(*this, index_of(device));
  if (c.event_synchronise) s.check(c.event_synchronise(c.self, &s.context, event), "event_synchronise");
  else if (!event_done(device, event)) {  // all that was queued is more than what the event waits for
    s.context.stream = nullptr;
    s.check(c.synchronise(c.self, &s.context), "synchronise");
  }
  errors.raise(*this, s.context.device, nullptr, true);
}

double Backend::event_elapsed(Device device, void* start, void* end) {
  need(*this, streams(*this), "streams");
  FC_CHECK_AS(NotImplementedError, c.event_elapsed, "backend '", name, "' does not tell the time between events");
  CallScope s(*this, index_of(device));
  double milliseconds = 0;
  s.check(c.event_elapsed(c.self, &s.context, start, end, &milliseconds), "event_elapsed");
  return milliseconds;
}

}  // namespace fc::plugin
