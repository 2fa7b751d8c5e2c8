// SPDX-License-Identifier: Apache-2.0
// Layers are what may happen between a call and its kernel. Each is a bit; the set that runs is the union of the
// operator's own bits, the bits of the argument tensors and the thread's, minus what the thread excludes. No bit set
// means: straight to the kernel. Higher bits run first.
#pragma once
#include "core/tensor.h"

namespace fc {

class Operator;
class Arg;
class Value;

namespace layer {
enum : LayerSet {
  ObserveKernel = 1u << 0,  // next to the kernel: kernel log, value flow (observe.h)
  Route = 1u << 1,          // may answer in the kernel's place (route.h)
  Sparse = kSparse,         // answers for tensors that are not strided (sparse.h)
  Devices = kNotOnCpu,      // all tensors are on one device; set on tensors that are not on the CPU (checks.h)
  ViewInPlace = 1u << 4,    // may it be written; version bumps, view bases; set on operators whose schema aliases
  Autograd = 1u << 5,       // set on tensors that require a gradient
  Trace = 1u << 6,          // records operators into a graph (jit/trace/record.h)
  Autocast = 1u << 7,
  User0 = 1u << 8,  // four slots for layers added at run time
  User1 = 1u << 9,
  User2 = 1u << 10,
  User3 = 1u << 11,
  Python = 1u << 12,   // tensor subclasses and Python modes
  Observe = 1u << 13,  // profilers, chart (observe.h)
};
inline constexpr LayerSet kAll = (1u << 14) - 1;
inline constexpr LayerSet kObserve = Observe | ObserveKernel;  // they change nothing
inline constexpr LayerSet below(LayerSet bit) { return bit - 1; }
}  // namespace layer

// How a call was answered.
enum class Path : uint8_t {
  Layer,          // by a layer, in the kernel's place
  Kernel,         // by a kernel of the device's own
  Family,         // by a kernel for all devices, through the device's families
  Decomposition,  // in other operators, on the same device
  Fallback,       // by the CPU's kernel
  Composite,      // in other operators, each a call of its own
};

// Everything a thread carries that changes what calls do. Worker threads get a copy of their creator's.
struct ThreadState {
  LayerSet include = 0;
  LayerSet exclude = 0;
  bool grad_mode = true;
  bool inference_mode = false;
  bool anomaly_mode = false;
  bool anomaly_check_nan = true;
  bool in_backward = false;                     // inside of the backward engine
  Device default_device;                        // where factories make tensors unless they are told
  int8_t autocast_dtype[kMaxDeviceTypes] = {};  // DType + 1; 0: off
  Path path = Path::Layer;                      // of the last kernel; what observed calls report
  uint64_t watch_group = 0;                     // whose observers and routes apply; 0: those of all threads only
  uint64_t call_id = 0;                         // of the innermost observed call
  uint64_t parent_id = 0;                       // of the observed call around that one
  uint64_t forward_id = 0;                      // in backward: call_id of the forward call it is the derivative of
  const Operator* op = nullptr;                 // whose kernel runs
  uint64_t device_ns = 0;                       // what devices said calls of this thread took, added up
};
// Reached without a call: the one thread-local read on the path of every operator.
extern constinit thread_local ThreadState tls_state [[gnu::tls_model("initial-exec")]];
inline ThreadState& thread_state() { return tls_state; }
// Layers that are on for every thread: those of observers and routes. Every operator carries them with its own, so
// calls read nothing more.
LayerSet process_layers();
void set_process_layers(LayerSet bits, bool on);

// Sets the whole state for a scope. Workers take over more: dispatch/snapshot.h.
class StateScope {
 public:
  explicit StateScope(const ThreadState& next) : before_(thread_state()) { set(next); }
  ~StateScope() { set(before_); }
  StateScope(const StateScope&) = delete;
  StateScope& operator=(const StateScope&) = delete;

 private:
  static void set(const ThreadState& s) {
    thread_state() = s;
    new_tensors_are_inference = s.inference_mode;
  }
  ThreadState before_;
};

class ExcludeLayers {
 public:
  explicit ExcludeLayers(LayerSet bits) : before_(thread_state().exclude) { thread_state().exclude = before_ | bits; }
  ~ExcludeLayers() { thread_state().exclude = before_; }
  ExcludeLayers(const ExcludeLayers&) = delete;
  ExcludeLayers& operator=(const ExcludeLayers&) = delete;

 private:
  LayerSet before_;
};

class IncludeLayers {
 public:
  explicit IncludeLayers(LayerSet bits) : before_(thread_state().include) { thread_state().include = before_ | bits; }
  ~IncludeLayers() { thread_state().include = before_; }
  IncludeLayers(const IncludeLayers&) = delete;
  IncludeLayers& operator=(const IncludeLayers&) = delete;

 private:
  LayerSet before_;
};

inline Device default_device() { return thread_state().default_device; }
inline bool grad_enabled() { return thread_state().grad_mode; }
class GradMode {  // switches recording on or off for a scope
 public:
  explicit GradMode(bool on) : before_(thread_state().grad_mode) { set(on); }
  ~GradMode() { set(before_); }
  GradMode(const GradMode&) = delete;
  GradMode& operator=(const GradMode&) = delete;
  static void set(bool on) { thread_state().grad_mode = on; }

 private:
  bool before_;
};

inline void set_inference_mode(bool on) {  // no recording, no version counting on what is made inside
  thread_state().inference_mode = on;
  thread_state().grad_mode = !on;
  new_tensors_are_inference = on;
}

// A layer gets the call and the set of layers below it; to go on it calls redispatch.
using LayerFn = void (*)(void* context, const Operator& op, LayerSet below, const Arg* args, Value* results);
struct LayerHandler {
  LayerFn fn = nullptr;
  void* context = nullptr;
  const char* name = "";
};
void set_layer_handler(LayerSet bit, LayerHandler handler);  // for the built-in layers, at start-up
LayerSet add_user_layer(LayerHandler handler);               // a free User slot; throws if none is left
void remove_user_layer(LayerSet bit);
void redispatch(const Operator& op, LayerSet layers, const Arg* args, Value* results);

uint64_t new_call_id();

}  // namespace fc
