// SPDX-License-Identifier: Apache-2.0
// Who looks is a list that never changes: adding and removing make a new one and swap it in. A thread that tells an
// event says which list it reads (its Reader), so a list that was replaced is freed when no reader has it, by whoever
// notices: no lock is held while an observer runs, and readers wait for nobody.
#include "dispatch/observe.h"
#include "dispatch/observing.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "core/device_record.h"
#include "core/waiting.h"

namespace fc {
namespace {

struct Entry {
  Ref<Observer> observer;
  EventKinds kinds;
  uint64_t group;  // of ThreadState::watch_group; 0: all threads
  uint64_t id;
  bool children;
  mutable bool ended = false;  // there was no memory for a list without it
};
using List = std::vector<Entry>;

// One per thread that ever told an event; kept for ever and handed on when the thread ends.
struct Reader {
  const List* reads = nullptr;
  Reader* next = nullptr;
  bool taken = true;
};

struct Registry {
  std::mutex mutex;  // for changes
  const List* list = nullptr;
  std::vector<const List*> retired;  // replaced, perhaps still read
  Reader* readers = nullptr;
  bool pending = false;  // something is retired
  uint64_t last_id = 0;
};
Registry& registry() {
  static Registry& r = *new Registry;  // observers may outlive every static object
  return r;
}

constinit thread_local Reader* reader_here [[gnu::tls_model("initial-exec")]] = nullptr;
constinit thread_local uint64_t thread_here = 0;

constinit thread_local bool thread_ended = false;  // what happens later on this thread is not told

struct EndOfThread {
  ~EndOfThread() {
    thread_ended = true;
    __atomic_store_n(&std::exchange(reader_here, nullptr)->taken, false, __ATOMIC_RELEASE);
  }
};

[[gnu::cold, gnu::noinline]] Reader& start_reader() {
  Registry& r = registry();
  {
    std::lock_guard lock(r.mutex);
    for (Reader* p = r.readers; p && !reader_here; p = p->next)
      if (!__atomic_load_n(&p->taken, __ATOMIC_ACQUIRE)) reader_here = p;
    if (!reader_here) {
      reader_here = new Reader;
      reader_here->next = r.readers;
      r.readers = reader_here;
    }
    reader_here->taken = true;
  }
  static thread_local EndOfThread end;
  (void)end;
  return *reader_here;
}

// Frees the replaced lists that nobody reads. Their observers are dropped without the lock.
void collect() noexcept {
  Registry& r = registry();
  for (const List* free = nullptr;; delete free) {  // after the lock was given back
    std::lock_guard lock(r.mutex);
    const auto it = std::ranges::find_if(r.retired, [&](const List* l) {
      for (Reader* p = r.readers; p; p = p->next)
        if (__atomic_load_n(&p->reads, __ATOMIC_SEQ_CST) == l) return false;
      return true;
    });
    if (it == r.retired.end()) {
      __atomic_store_n(&r.pending, !r.retired.empty(), __ATOMIC_SEQ_CST);
      break;
    }
    free = *it;
    r.retired.erase(it);
  }
}

class Reading {
 public:
  Reading() : reader_(reader_here ? *reader_here : start_reader()) {
    Registry& r = registry();
    do {
      list_ = __atomic_load_n(&r.list, __ATOMIC_ACQUIRE);
      __atomic_store_n(&reader_.reads, list_, __ATOMIC_SEQ_CST);
    } while (__atomic_load_n(&r.list, __ATOMIC_SEQ_CST) != list_);
  }
  ~Reading() {
    __atomic_store_n(&reader_.reads, nullptr, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&registry().pending, __ATOMIC_SEQ_CST)) [[unlikely]]
      collect();
  }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;
  const List* list() const { return list_; }

 private:
  Reader& reader_;
  const List* list_;
};

bool runs_here() { return reader_here && reader_here->reads; }

void tell(const Event& e) noexcept {
  ThreadState& s = thread_state();
  // What an observer does is not observed.
  if (s.exclude & layer::Observe || thread_ended || runs_here()) return;
  Reading reading;
  if (!reading.list()) return;
  const List& list = *reading.list();
  const ExcludeLayers silent(layer::kObserve);
  const Path path = s.path;  // of the call that is told, not of what observers call
  auto tell_one = [&](const Entry& o) {
    if (o.kinds >> static_cast<int>(e.kind) & 1 && (o.group == 0 || o.group == s.watch_group) &&
        !__atomic_load_n(&o.ended, __ATOMIC_RELAXED))
      o.observer->see(e);
  };
  if (e.phase != Event::End) std::ranges::for_each(list, tell_one);
  else std::for_each(list.rbegin(), list.rend(), tell_one);  // so that each sees what is between its own two
  s.path = path;
}

void set_ids(Event& e) {
  const ThreadState& s = thread_state();
  e.call_id = s.call_id;
  e.parent_id = s.parent_id;
  e.forward_id = s.forward_id;
}

// Tells begin and end of a call or kernel around what `go_on` runs.
template <class F>
void tell_around(Event& e, Value* results, const F& go_on) {
  ThreadState& s = thread_state();
  set_ids(e);
  const uint64_t device_before = s.device_ns;
  tell(e);
  auto end = [&] {
    e.phase = Event::End;
    e.path = s.path;
    e.device_ns = s.device_ns - device_before;
    tell(e);
  };
  try {
    go_on();
  } catch (...) {
    e.failed = true;
    const std::exception_ptr error = std::current_exception();
    e.error = &error;
    end();
    throw;
  }
  e.results = results;
  end();
}

void observe_call(void*, const Operator& op, LayerSet below, const Arg* args, Value* results) {
  struct Ids {
    ThreadState& s = thread_state();
    const uint64_t parent = std::exchange(s.parent_id, s.call_id), call = std::exchange(s.call_id, new_call_id());
    const Path path = std::exchange(s.path, Path::Layer);
    ~Ids() {
      s.call_id = call;
      s.parent_id = parent;
      s.path = path;
    }
  } ids;
  if (!watched(EventKind::Call)) {
    redispatch(op, below, args, results);
    return;
  }
  Event e{.kind = EventKind::Call, .op = &op, .args = args};
  tell_around(e, results, [&] { redispatch(op, below, args, results); });
}

void observe_kernel(void*, const Operator& op, LayerSet below, const Arg* args, Value* results) {
  thread_state().path = op.planned_path(args);
  if (!watched(EventKind::Kernel)) {
    redispatch(op, below, args, results);
    return;
  }
  Event e{.kind = EventKind::Kernel, .path = thread_state().path, .op = &op, .args = args};
  tell_around(e, results, [&] { redispatch(op, below, args, results); });
}

void tell_memory(EventKind kind, const Storage& s) noexcept {
  Event e{.kind = kind, .phase = Event::Once};
  set_ids(e);
  e.bytes = s.bytes();
  e.where = s.device();
  e.address = s.data();
  e.storage = s.id();
  tell(e);
}

void tell_exposure(const Storage& s, std::string_view how) noexcept {
  Event e{.kind = EventKind::Expose, .phase = Event::Once};
  set_ids(e);
  e.name = how;
  e.bytes = s.bytes();
  e.where = s.device();
  e.address = s.data();
  e.storage = s.id();
  tell(e);
}

void copy_told(CopyBytesFn copy, void* dst, Device dst_device, const void* src, Device src_device, size_t bytes,
               bool non_blocking) {
  EventScope told(EventKind::Copy, [&](Event& e) {
    e.name = "copy";
    e.bytes = bytes;
    e.where = dst_device;
    e.from = src_device;
    e.address = dst;
    e.source = src;
  });
  copy(dst, dst_device, src, src_device, bytes, non_blocking);
}

// With the lock held.
void put(Registry& r, std::unique_ptr<List> list) noexcept {
  EventKinds all = 0;
  for (const Entry& e : *list) all |= e.kinds;
  const bool any = !list->empty();
  __atomic_store_n(&r.list, any ? list.release() : nullptr, __ATOMIC_SEQ_CST);
  __atomic_store_n(&watched_kinds, all, __ATOMIC_RELAXED);
  set_process_layers(layer::kObserve, any);
}

// With the lock held: takes over the list that `change` makes of a copy of the current one.
template <class F>
void replace(Registry& r, const F& change) {
  auto fresh = r.list ? std::make_unique<List>(*r.list) : std::make_unique<List>();
  std::erase_if(*fresh, [](const Entry& e) { return e.ended; });
  change(*fresh);
  if (r.list) {
    r.retired.push_back(r.list);
    __atomic_store_n(&r.pending, true, __ATOMIC_SEQ_CST);
  }
  put(r, std::move(fresh));
}

void before_fork() { registry().mutex.lock(); }
void after_fork() { registry().mutex.unlock(); }
void after_fork_in_child() {
  Registry& r = registry();
  for (Reader* p = r.readers; p; p = p->next)
    if (p != reader_here) {  // threads that are gone
      p->reads = nullptr;
      p->taken = false;
    }
  thread_here = 0;
  // The lists before, and with them the observers that do not go on, stay where they are: their ends (a file that is
  // written out) belong to the parent.
  auto kept = std::make_unique<List>();
  if (r.list) std::ranges::copy_if(*r.list, std::back_inserter(*kept), &Entry::children);
  put(r, std::move(kept));
  r.retired.clear();
  r.pending = false;
  r.mutex.unlock();
}

}  // namespace

uint64_t own_watch_group() {
  uint64_t& group = thread_state().watch_group;
  if (!group) group = new_call_id();
  return group;
}

uint64_t start_observing(Ref<Observer> observer, const WatchOptions& options) {
  Registry& r = registry();
  const uint64_t group = options.where == Watch::Thread ? own_watch_group() : 0;
  uint64_t id;
  {
    std::lock_guard lock(r.mutex);
    id = ++r.last_id;
    replace(r, [&](List& list) { list.push_back({std::move(observer), options.kinds, group, id, options.children}); });
  }
  collect();
  return id;
}

void stop_observing(uint64_t id) noexcept {
  Registry& r = registry();
  {
    std::lock_guard lock(r.mutex);
    if (!r.list) return;
    const auto entry = std::ranges::find(*r.list, id, &Entry::id);
    if (entry == r.list->end()) return;
    try {
      replace(r, [&](List& list) { std::erase_if(list, [&](const Entry& e) { return e.id == id; }); });
    } catch (const std::bad_alloc&) { __atomic_store_n(&entry->ended, true, __ATOMIC_RELAXED); }
  }
  collect();
}

void EventScope::begin() noexcept {
  set_ids(*event_);
  exceptions_ = std::uncaught_exceptions();
  before_ = thread_state().device_ns;
  tell(*event_);
}
void EventScope::end() noexcept {
  event_->phase = Event::End;
  event_->failed = std::uncaught_exceptions() > exceptions_;
  event_->device_ns = thread_state().device_ns - before_;
  tell(*event_);
}

RangeScope::RangeScope(std::string_view name, std::string_view text) {
  if (!watched(EventKind::Range)) return;
  ThreadState& s = thread_state();
  parent_ = std::exchange(s.parent_id, s.call_id);
  before_ = std::exchange(s.call_id, new_call_id());
  exceptions_ = std::uncaught_exceptions();
  event_.emplace();
  event_->kind = EventKind::Range;
  event_->name = name;
  event_->text = text;
  set_ids(*event_);
  tell(*event_);
}
void RangeScope::close() noexcept {
  event_->phase = Event::End;
  event_->failed = std::uncaught_exceptions() > exceptions_;
  tell(*event_);
  ThreadState& s = thread_state();
  if (s.call_id != event_->call_id) return;  // left on another thread, or before one inside
  s.call_id = before_;
  s.parent_id = parent_;
}

Device Event::device() const {
  if (!args) return where;
  Device found;
  auto look = [&](const Tensor& t) {
    if (t.defined() && found.is_cpu()) found = t.device();
  };
  for (const Arg& a : arguments()) {
    if (a.is_tensor()) look(a.tensor());
    else if (a.is_tensor_list())
      for (const Tensor& t : a.tensors()) look(t);
    else if (a.tag() == Tag::Device) return a.device();
  }
  for (const Value& v : values())  // one that makes a tensor where the thread's default device is
    if (v.is_tensor()) look(v.tensor());
  return found;
}

void* Event::stream() const {
  const Device d = device();
  return d.is_cpu() ? nullptr : current_stream(d);
}

uint64_t Event::thread() {
  if (!thread_here) thread_here = static_cast<uint64_t>(gettid());
  return thread_here;
}

std::string_view to_string(EventKind k) {
  constexpr std::string_view names[kEventKinds] = {"call", "kernel",  "range",    "launch", "copy",
                                                   "fill", "library", "allocate", "free",   "expose"};
  return names[static_cast<int>(k)];
}

std::string_view to_string(Path p) {
  constexpr std::string_view names[] = {"layer", "kernel", "family", "decomposition", "fallback", "composite"};
  return names[static_cast<int>(p)];
}

std::string error_text(const Event& e) {
  if (!e.failed) return {};
  if (!e.error) return "an exception passed";
  try {
    std::rethrow_exception(*e.error);
  } catch (const std::exception& x) { return x.what(); } catch (...) {
    return "an exception of the program's";
  }
}

namespace {
void* begin_wait() {
  return new EventScope(EventKind::Library, [](Event& e) { e.name = "wait for threads"; });
}
void end_wait(void* told) noexcept { delete static_cast<EventScope*>(told); }
}  // namespace

void install_observe_layers() {
  set_layer_handler(layer::Observe, {observe_call, nullptr, "observe call"});
  set_layer_handler(layer::ObserveKernel, {observe_kernel, nullptr, "observe kernel"});
  memory_hook = tell_memory;
  expose_hook = tell_exposure;
  copy_hook = copy_told;
  begin_wait_hook = begin_wait;
  end_wait_hook = end_wait;
  hold_registry_at_forks();  // first, so that its lock is taken after ours, as everywhere
  pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

bool observer_runs() { return runs_here(); }

}  // namespace fc
