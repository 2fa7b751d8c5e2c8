// SPDX-License-Identifier: Apache-2.0
// What the host gives backends: workspace, results, reports; and the scope of one call.
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include "backends/plugin/backend.h"
#include "core/config.h"
#include "dispatch/observe.h"

namespace fc {
namespace plugin {
namespace {

constinit thread_local CallScope* innermost = nullptr;

void host_log(int32_t level, const char* text) {
  if (level >= FC_LOG_WARNING) warn(text ? text : "");
  else if (level >= FC_LOG_INFO || std::getenv("FACULA_DEBUG")) std::fprintf(stderr, "facula: %s\n", text ? text : "");
}

void* host_workspace(fc_context* context, size_t bytes) {
  CallScope* scope = CallScope::find(context);
  return scope ? scope->workspace(bytes) : nullptr;
}

void host_report_launch(fc_context* context, const fc_launch* launch) {
  CallScope* scope = CallScope::find(context);
  constexpr size_t without_waited = offsetof(fc_launch, waited_ns);  // as the struct was at first
  if (!scope || !launch || launch->size < without_waited) return;
  EventScope told(EventKind::Launch, [&](Event& e) {
    e.name = launch->name ? launch->name : "";
    e.text = launch->text ? launch->text : "";
    e.where = scope->device();
    e.bytes = launch->bytes;
    e.start_ns = launch->start_ns;
    e.reported = true;
    if (launch->size >= sizeof(fc_launch)) e.waited_ns = launch->waited_ns;
  });
  thread_state().device_ns += launch->device_ns;
}

// Runs what may throw; the reason goes to where the backend's own would.
template <class F>
int answer(fc_context* context, F body) {
  CallScope* scope = CallScope::find(context);
  if (!scope || !scope->results()) return FC_ERROR;
  auto because = [&](int status, const char* text) {
    std::snprintf(scope->context.message, scope->context.message_size, "%s", text);
    return status;
  };
  try {
    return body(*scope->results());
  } catch (const OutOfMemoryError& e) { return because(FC_OUT_OF_MEMORY, e.what()); } catch (const std::exception& e) {
    return because(FC_ERROR, e.what());
  }
}

IntSpan sizes_of(int32_t ndim, const int64_t* sizes) {
  FC_CHECK(ndim >= 0 && static_cast<size_t>(ndim) <= kMaxRank && (sizes || ndim == 0), "a result cannot have ", ndim,
           " dimensions");
  return {sizes, static_cast<size_t>(ndim)};
}

int host_make_result(fc_context* context, int32_t result, int32_t item, int32_t dtype, int32_t ndim,
                     const int64_t* sizes, fc_tensor* made) {
  return answer(
      context, [&](ResultMaker& maker) { return maker.make_result(result, item, dtype, sizes_of(ndim, sizes), made); });
}

int host_make_view(fc_context* context, int32_t result, int32_t item, int32_t arg, int32_t arg_item,
                   int64_t byte_offset, int32_t ndim, const int64_t* sizes, const int64_t* byte_strides) {
  return answer(context, [&](ResultMaker& maker) {
    FC_CHECK(byte_strides || ndim == 0, "make_view: no strides");
    return maker.make_view(result, item, arg, arg_item, byte_offset, sizes_of(ndim, sizes), byte_strides);
  });
}

Backend* named(const char* name) {
  const int type = name ? find_device_type(name) : -1;
  return type < 0 ? nullptr : find_backend(type);
}

void host_report_error(const char* backend, int32_t device, void* stream, int32_t status, const char* message) {
  if (Backend* b = named(backend); b && status != FC_OK) b->errors.add(device, stream, status, message ? message : "");
}

void host_claims_changed(const char* backend) {
  if (Backend* b = named(backend)) b->ask_anew();
}

}  // namespace

CallScope::CallScope(Backend& backend, int device, ResultMaker* results)
    : backend_(backend), results_(results), outer_(innermost) {
  const ThreadState& state = thread_state();
  context.size = sizeof context;
  context.device = device;
  context.stream = current_stream({static_cast<int8_t>(backend.type), static_cast<int8_t>(device)});
  context.message = message_;
  context.message_size = sizeof message_;
  context.host_data = this;
  context.device_ns = 0;
  context.op = state.op ? state.op->name().c_str() : "";
  context.call_id = state.call_id;
  context.flags =
      watched(EventKind::Launch, EventKind::Call, EventKind::Kernel, EventKind::Range) ? FC_CONTEXT_OBSERVED : 0;
  context.reserved = 0;
  message_[0] = 0;
  innermost = this;
}

CallScope::~CallScope() {
  innermost = outer_;
  thread_state().device_ns += context.device_ns;
  while (DeviceBlock* block = workspace_) {
    workspace_ = block->beside;
    backend_.cache.release(block);
  }
}

CallScope* CallScope::find(const fc_context* context) {
  for (CallScope* s = innermost; s; s = s->outer_)
    if (&s->context == context) return s;
  return nullptr;
}

void* CallScope::workspace(size_t bytes) noexcept {
  try {
    DeviceBlock* block = backend_.cache.take(std::max<size_t>(bytes, 1), device());
    block->beside = workspace_;
    workspace_ = block;
    return block->data;
  } catch (...) { return nullptr; }
}

void CallScope::fail(int status, std::string_view call) {
  raise_status(backend_, context.device, status, call, message());
}

void raise_status(const Backend& b, int device, int status, std::string_view call, const char* message) {
  std::string text = str("backend '", b.name, "', device ", device, ", ", call, ": ", message);
  const bool silent = !*message;
  switch (status) {
    case FC_OUT_OF_MEMORY: throw OutOfMemoryError(text + (silent ? "out of memory" : ""));
    case FC_UNSUPPORTED: throw NotImplementedError(text + (silent ? "it claimed this call, but does not do it" : ""));
    case FC_BAD_INDEX: throw IndexError(text + (silent ? "index out of range" : ""));
    default: throw Error(text + (silent ? str("failed with status ", status, " and no message") : ""));
  }
}

void DeferredErrors::add(int device, void* stream, int status, std::string message) {
  std::lock_guard lock(mutex_);
  for (const Error& e : errors_)
    if (e.device == device && e.stream == stream) return;
  errors_.push_back({device, stream, status, std::move(message)});
  __atomic_store_n(&any_, true, __ATOMIC_RELEASE);
}

void DeferredErrors::raise_one(const Backend& backend, int device, void* stream, bool all_streams) {
  Error found;
  {
    std::lock_guard lock(mutex_);
    auto it = std::find_if(errors_.begin(), errors_.end(),
                           [&](const Error& e) { return e.device == device && (all_streams || e.stream == stream); });
    if (it == errors_.end()) return;
    found = std::move(*it);
    errors_.erase(it);
    __atomic_store_n(&any_, !errors_.empty(), __ATOMIC_RELEASE);
  }
  raise_status(backend, device, found.status, "reported by work that was queued before", found.message.c_str());
}

}  // namespace plugin

const fc_host& host_services() {
  using namespace plugin;
  static const fc_host host{sizeof(fc_host),   FC_ABI_VERSION,     version(),        host_log,
                            host_workspace,    host_report_launch, host_make_result, host_make_view,
                            host_report_error, host_claims_changed};
  return host;
}

}  // namespace fc
