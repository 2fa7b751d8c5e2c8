// SPDX-License-Identifier: Apache-2.0
// Watching what happens: where profilers, logs and charts hang. Always compiled in; where nobody looks a call pays
// nothing, every other event one load and a branch.
//
// Events come in the order in which they happen on their thread. Most have a Begin and an End, which nest; memory is
// told Once. A call and its kernel have one call_id; parent_id is the call around it; what is launched, copied or
// allocated meanwhile has the id of the innermost call. Calls of a backward have the id of their forward call as
// forward_id. Composite operators have no kernel of their own: their parts are calls with ids of their own.
//
// An observer sees the events of its kinds, on one thread (and on workers that take over the thread's state) or on
// all. Several may look at once. see() may run on several threads at the same time and takes no lock of ours. What it
// does itself is seen by nobody, so it may call operators. It may add and remove observers, itself included: after
// stop no event begins to be told to it, one that another thread is telling may still be under way, and the registry's
// reference is dropped when that ends. An observer that comes while a call runs sees its End without a Begin.
//
// A call that throws ends with `failed`, and its exception in `error`. Arguments are those of the call, before (Begin)
// and after (End): tensors that were written to hold what was written. In the child of a fork nobody looks, except
// observers that asked for it.
#pragma once
#include <array>
#include <exception>
#include <optional>

#include "core/watch.h"
#include "dispatch/operator.h"
#include <facula/families.h>

namespace fc {

// Memory that a launch, fill, copy or library call reads or writes: elements of one type, strides in bytes.
struct MemoryOperand {
  const void* data = nullptr;
  const int64_t* sizes = nullptr;  // null: they are in `own`, as are the strides
  const int64_t* strides = nullptr;
  int32_t ndim = 0;
  DType dtype = DType::UInt8;
  bool read = false, written = false;
  bool some = false;  // which of the elements, the call's other operands say: a gather's input, a scatter's output
  const Storage* storage = nullptr;  // where it lies, if it is known
  int64_t own[6] = {};               // three sizes, three strides

  int64_t size(int d) const { return sizes ? sizes[d] : own[d]; }
  int64_t stride(int d) const { return sizes ? strides[d] : own[3 + d]; }
};
inline constexpr int kMaxOperands = 6;

struct Event {
  enum Phase : uint8_t { Begin, End, Once };

  EventKind kind;
  Phase phase = Begin;
  Path path = Path::Layer;  // at End of Call and Kernel; at Begin of Kernel what is tried first
  bool failed = false;      // at End: an exception passed
  bool reported = false;    // of a Launch: by a backend, of what it runs for the call, family or copy around it
  uint64_t call_id = 0;     // of the call, or of the innermost one around the event; 0: none
  uint64_t parent_id = 0;
  uint64_t forward_id = 0;  // 0 outside backward
  uint64_t device_ns = 0;   // at End: what the device says it took; 0: it cannot tell
  uint64_t start_ns = 0;    // of a Launch that a backend reports: when it began, by the device's clock; 0: not told
  uint64_t waited_ns = 0;   // of one that it reports when it is done: how long it took by this machine's clock

  // Call, Kernel. Valid while the event is told.
  const Operator* op = nullptr;
  const Arg* args = nullptr;
  const Value* results = nullptr;             // at End, unless it failed
  const std::exception_ptr* error = nullptr;  // at End of a Call or Kernel that failed

  // The rest
  std::string_view name{};        // of a Range; what is launched ("map", "reduce", an operator); of a library's routine
  std::string_view text{};        // a family's opcode ("add"), what a library call is about
  int64_t m = 0, n = 0, k = 0;    // of a product; m > 0 says that there is one
  int64_t batch = 0;              // how many products
  uint64_t bytes = 0;             // read and written by a Launch, moved, allocated, freed
  Device where{};                 // of a Launch, Fill, Library, Allocate, Free; where a Copy goes to
  Device from{};                  // of a Copy
  const void* address = nullptr;  // Allocate, Free, Expose; what a Copy or Fill writes
  const void* source = nullptr;   // of a Copy: what it reads
  uint64_t storage = 0;           // Allocate, Free, Expose: Storage::id
  fc_family family = FC_FAMILY_COUNT;     // of a Launch, Copy or Fill by a family:
  const void* request = nullptr;          // its struct, valid while the event is told
  MemoryOperand* own_operands = nullptr;  // of a Library call: room for kMaxOperands, filled by add()
  int num_operands = 0;

  void add(const Tensor& t, bool written);
  void add_matrix(const void* data, DType dtype, std::array<int64_t, 3> sizes, std::array<int64_t, 3> strides,
                  bool read, bool written);
  // Of a Launch, Fill, Copy or Library call, as far as told: their number, at most kMaxOperands. What they point
  // to is valid while the event is told.
  int operands(MemoryOperand* out) const;

  std::span<const Arg> arguments() const { return {args, args ? op->num_args() : 0}; }
  std::span<const Value> values() const { return {results, results ? op->num_results() : 0}; }
  Device device() const;     // of a call: that of its first tensor that is not on the CPU
  void* stream() const;      // the thread's current one on that device; null is the default
  static uint64_t thread();  // the system's number of the calling thread
};
std::string_view to_string(EventKind k);  // "call", "kernel" …
std::string_view to_string(Path p);       // "layer", "kernel", "family" …
std::string error_text(const Event& e);   // of one that failed

using EventKinds = uint32_t;
template <class... K>
constexpr EventKinds kinds(K... k) {
  return (0u | ... | (1u << static_cast<int>(k)));
}
inline constexpr EventKinds kAllKinds = (1u << kEventKinds) - 1;
inline constexpr EventKinds kCalls = kinds(EventKind::Call, EventKind::Kernel);

class Observer : public RefCounted {
 public:
  virtual void see(const Event& e) noexcept = 0;
};

enum class Watch : uint8_t { Thread, Process };
struct WatchOptions {
  EventKinds kinds = kCalls;
  Watch where = Watch::Thread;  // the calling thread and those that work for it, or all
  bool children = false;        // goes on in the children of a fork
};
// From now on, until stop_observing(what this returned); both may be called on any thread and inside of see().
uint64_t start_observing(Ref<Observer> observer, const WatchOptions& options = {});
void stop_observing(uint64_t registration) noexcept;  // of none, or a second time: does nothing

uint64_t own_watch_group();  // of the calling thread and those that work for it

class ObserveScope {
 public:
  explicit ObserveScope(Ref<Observer> o, const WatchOptions& options = {})
      : registration_(start_observing(std::move(o), options)) {}
  ~ObserveScope() { stop_observing(registration_); }
  ObserveScope(const ObserveScope&) = delete;
  ObserveScope& operator=(const ObserveScope&) = delete;

 private:
  uint64_t registration_;
};

// --- for code that events come from
// An event for a scope: told at both ends, if its kind is watched. `describe(Event&)` fills it then.
class EventScope {
 public:
  template <class F>
  EventScope(EventKind kind, const F& describe) {
    if (!watched(kind)) [[likely]]
      return;
    event_.emplace();
    event_->kind = kind;
    event_->own_operands = operands_;
    describe(*event_);
    begin();
  }
  ~EventScope() {
    if (event_) [[unlikely]]
      end();
  }
  EventScope(const EventScope&) = delete;
  EventScope& operator=(const EventScope&) = delete;

 private:
  void begin() noexcept;
  void end() noexcept;
  std::optional<Event> event_;
  int exceptions_ = 0;
  uint64_t before_ = 0;
  union {  // never constructed where nobody looks
    MemoryOperand operands_[kMaxOperands];
  };
};
// A named part of the program: calls inside are its children.
class RangeScope {
 public:
  explicit RangeScope(std::string_view name, std::string_view text = {});  // both stay the caller's
  ~RangeScope() {
    if (event_) [[unlikely]]
      close();
  }
  RangeScope(const RangeScope&) = delete;
  RangeScope& operator=(const RangeScope&) = delete;

 private:
  void close() noexcept;
  std::optional<Event> event_;
  int exceptions_ = 0;
  uint64_t before_ = 0, parent_ = 0;
};

void describe_launch(Event& e, Device device, fc_family family, const void* request);
template <class Call>
[[gnu::cold, gnu::noinline]] void launch_told(Device device, fc_family family, void (*f)(void*, Device, const Call&),
                                              void* context, const Call& call) {
  Event described{};
  describe_launch(described, device, family, &call);
  EventScope told(described.kind, [&](Event& e) { e = described; });
  f(context, device, call);
}
// Calls a device's family, which is a Launch, Copy or Fill.
template <class Call>
[[gnu::always_inline]] inline void launch(Device device, fc_family family, void (*f)(void*, Device, const Call&),
                                          void* context, const Call& call) {
  if (watched(EventKind::Launch, EventKind::Copy, EventKind::Fill)) [[unlikely]]
    launch_told(device, family, f, context, call);
  else f(context, device, call);
}

void install_observe_layers();  // once, at start-up

}  // namespace fc
