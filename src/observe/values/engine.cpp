// SPDX-License-Identifier: Apache-2.0
// Events as they come: which call path they belong to, and what they read and write. What becomes of versions is
// versions.cpp.
#include "observe/values/engine.h"

#include <pthread.h>

#include <algorithm>
#include <cstring>

#include "observe/recorder.h"
#include "observe/values/lane.h"
#include "observe/values/native.h"

namespace fc::observe::values {
namespace {

uint64_t last_number = 0;
struct Known {
  uint64_t engine = 0;
  void* lane = nullptr;
};
constinit thread_local Known known[2];

uint64_t combine(uint64_t h, uint64_t v) {
  h = (h ^ v) * 0x9fb21c651e98df25;
  return h ^ (h >> 29);
}

const std::string* leaf_name(const Event& e) {
  return intern(e.text.empty() || e.kind == EventKind::Library ? e.name : std::string_view(str(e.name, " ", e.text)));
}

Segment unseen(uint64_t bytes, uint64_t version) {  // nobody saw what is in it
  Segment s;
  s.end = bytes;
  s.version = version;
  s.reads = Reads::Some;
  return s;
}

bool is_leaf(EventKind k) {
  return k == EventKind::Launch || k == EventKind::Copy || k == EventKind::Fill || k == EventKind::Library;
}

}  // namespace

// --- forks: a child gets no engine whose lock another thread held
namespace {
struct Engines {
  std::mutex mutex;
  std::vector<std::mutex*> locks;
};
Engines& engines() {
  static Engines& e = *new Engines;
  return e;
}
void hold_at_forks(std::mutex& lock, bool on) {
  static const int once = pthread_atfork(
      [] {
        engines().mutex.lock();
        for (std::mutex* m : engines().locks) m->lock();
      },
      [] {
        for (std::mutex* m : engines().locks) m->unlock();
        engines().mutex.unlock();
      },
      [] {
        for (std::mutex* m : engines().locks) m->unlock();
        engines().mutex.unlock();
      });
  (void)once;
  std::lock_guard held(engines().mutex);
  if (on) engines().locks.push_back(&lock);
  else std::erase(engines().locks, &lock);
}
}  // namespace

Engine::~Engine() { hold_at_forks(mutex_, false); }

Engine::Engine(const Options& options)
    : options_(options), number_(__atomic_add_fetch(&last_number, 1, __ATOMIC_RELAXED)) {
  nodes_.emplace_back();
  nodes_[0].name = intern("before");
  if (options.instructions) accesses_ = std::make_unique<Accesses>(options_);
  hold_at_forks(mutex_, true);
}

void Engine::start(Watch where, bool children) {
  FC_CHECK(!registration_, "values: this profile is running already; stop it before it is started again");
  {
    std::lock_guard lock(mutex_);
    totals_.watched_before += totals_.stopped ? totals_.stopped - totals_.started : 0;
    totals_.started = now_ns();
    totals_.stopped = 0;
    forget();  // what happened while nobody looked
  }
  registration_ = start_observing(Ref<Observer>(this), {.kinds = kAllKinds, .where = where, .children = children});
}

void Engine::forget_memory() {
  storages_ = {};
  by_hash_.clear(), answers_.clear(), changed_.clear(), ended_.clear(), moved_.clear();
}

void Engine::forget() {
  forget_memory();
  for (auto& [thread, lane] : lanes_) *lane = {};
}

void Engine::stop() {
  if (!registration_) return;
  stop_observing(std::exchange(registration_, 0));
  std::lock_guard lock(mutex_);
  totals_.stopped = now_ns();
  // What is alive now has a future that nobody saw: never dead, but what it equals is known.
  try {
    for (auto& [id, r] : storages_.all())
      for (const Segment& s : r.segments)
        if (!r.ignored) retire(s, End::Lost, false);
  } catch (const std::bad_alloc&) { ++totals_.lost; }
  forget();
}

// No lock is taken: whoever asks may hold one that a copy to look at waits for.
Engine::Lane* Engine::lane_if_known() const {
  for (const Known& k : known)
    if (k.engine == number_) return static_cast<Lane*>(k.lane);
  return nullptr;
}

const fc_watcher* Engine::watcher(int device_type) {
  if (!accesses_) return nullptr;
  std::unique_ptr<Watched>& w = watched_[device_type];
  if (!w) w = std::make_unique<Watched>();
  *w = {this, device_type, {sizeof(fc_watcher), 0, w.get(), nullptr, nullptr}};
  w->watcher.launch = [](void* context, const fc_watched_launch* launch) {
    const auto& told = *static_cast<Watched*>(context);
    Lane* lane = told.engine->lane_if_known();
    Accesses& accesses = *told.engine->accesses_;
    try {
      if (!launch->ended)
        return accesses.launch_begins(told.device, lane && !lane->frames.empty() ? lane->frames.back().node : 0,
                                      *launch);
      // Where no operator says what the launch is given, its accesses do.
      const bool alone = lane && lane->kernels == 0 && !lane->frames.empty();
      std::vector<Accesses::Piece> pieces = accesses.launch_ended(*launch, alone);
      if (alone) lane->pieces = std::move(pieces);
    } catch (const std::bad_alloc&) { __atomic_fetch_add(&told.engine->totals_.lost, 1, __ATOMIC_RELAXED); }
  };
  w->watcher.accesses = [](void* context, const fc_access* all, size_t count) {
    static_cast<Watched*>(context)->engine->accesses_->accessed(all, count);
  };
  return &w->watcher;
}

Engine::Lane& Engine::lane_here() {
  for (const Known& k : known)
    if (k.engine == number_) return *static_cast<Lane*>(k.lane);
  const uint64_t thread = Event::thread();
  std::lock_guard lock(mutex_);
  std::unique_ptr<Lane>& lane = lanes_[thread];
  if (!lane) lane = std::make_unique<Lane>();
  known[number_ % std::size(known)] = {number_, lane.get()};
  return *lane;
}

void Engine::see(const Event& e) noexcept {
  const uint64_t now = now_ns();
  Lane* here = nullptr;
  try {
    Lane& lane = *(here = &lane_here());
    // It may wait for the interpreter's lock, so before ours is taken.
    uint32_t stack = 0;
    const bool names_place = e.kind == EventKind::Call || (e.kind == EventKind::Range && e.text == "function") ||
                             ((is_leaf(e.kind) || e.kind == EventKind::Allocate) && lane.frames.empty());
    if (names_place && e.phase != Event::End && lane.calls == 0) {
      if (stack_source) stack = stack_source();
      if (options_.native) lane.native = native_stack();
    }
    std::lock_guard lock(mutex_);
    ++totals_.events;
    if (e.phase == Event::Once) memory(lane, e, stack);
    else if (e.phase == Event::Begin) begin(lane, e, stack, now);
    else end(lane, e, now);
  } catch (const std::exception&) {  // no memory, or a device that did not let us look
    std::lock_guard lock(mutex_);
    ++totals_.lost;
    forget_memory();  // what this event would have changed is not what is known any more
    if (here) *here = {};
  }
  const uint64_t took = now_ns() - now;
  if (here) here->own_ns += took;
  __atomic_fetch_add(&totals_.own_ns, took, __ATOMIC_RELAXED);
}

uint32_t Engine::child(uint32_t parent, const Operator* op, const std::string* name, EventKind kind, const Lane& lane,
                       Device d) {
  const bool top = parent == 0;
  const uint32_t stack = top ? lane.stack : 0, forward = top ? lane.forward : 0;
  const std::string* scope = top ? lane.scope() : nullptr;
  uint64_t h = combine(parent, reinterpret_cast<uintptr_t>(op ? static_cast<const void*>(op) : name));
  h = combine(h, stack | uint64_t{forward} << 32);
  h = combine(h, reinterpret_cast<uintptr_t>(scope) ^ static_cast<uint64_t>(d.type));
  std::vector<uint32_t>& same = children_[h];
  for (const uint32_t i : same) {
    const Node& n = nodes_[i];
    if (n.parent == parent && n.op == op && n.name == name && n.stack == stack && n.forward == forward &&
        n.scope == scope)
      return i;
  }
  same.push_back(static_cast<uint32_t>(nodes_.size()));
  Node& n = nodes_.emplace_back();
  n.parent = parent, n.op = op, n.name = name, n.kind = kind, n.stack = stack, n.forward = forward, n.scope = scope;
  n.where = d;
  n.native = top ? lane.native : 0;
  return same.back();
}

void Engine::know(const Tensor& t) {
  if (t.defined() && t.impl().storage()) know(*t.impl().storage());
}

void Engine::know(const Storage& s) {
  if (!s.data()) return;
  StorageRecord* r = storages_.find(s.id());
  if (!r || r->address != reinterpret_cast<uintptr_t>(s.data()) || r->bytes != s.bytes()) {
    if (r) free_storage(s.id());
    r = &storages_.add(s.id(), s.data(), s.bytes(), s.device().type, s.device().index);
    if (accesses_) accesses_->allocated(r->device, r->address, r->bytes, 0);
    r->segments.push_back(unseen(s.bytes(), ++version_));
  }
  r->exposed |= s.lent() || s.read_only() || !s.block().free;
}

namespace {

template <class F>
void each_tensor(const Arg& a, const F& f) {
  if (a.is_tensor()) {
    if (a.tensor().defined()) f(a.tensor());
  } else if (a.is_tensor_list()) {
    for (const Tensor& t : a.tensors())
      if (t.defined()) f(t);
  }
}

bool has_values(const Tensor& t) {
  return t.defined() && !t.device().is_meta() && t.impl().storage() && t.impl().storage()->data() && t.numel() > 0;
}

View view_of(const Tensor& t) {
  View v;
  v.data = static_cast<const char*>(t.data());
  v.dtype = t.dtype();
  v.sizes = t.sizes();
  for (const int64_t s : t.strides()) v.strides.push_back(s * static_cast<int64_t>(item_size(t.dtype())));
  return v;
}

View view_of(const MemoryOperand& o) {
  View v;
  v.data = static_cast<const char*>(o.data);
  v.dtype = o.dtype;
  for (int d = 0; d < o.ndim; ++d) v.sizes.push_back(o.size(d)), v.strides.push_back(o.stride(d));
  return v;
}

bool overlap(const View& a, const View& b) {
  const Runs x(a), y(b);
  return x.bytes() && y.bytes() && x.begin() == y.begin() && x.bytes() == y.bytes();
}

}  // namespace

void Engine::begin(Lane& lane, const Event& e, uint32_t stack, uint64_t now) {
  Frame& f = lane.frames.emplace_back();
  f.kind = e.kind;
  f.id = e.call_id;
  f.start = now;
  f.own_ns = lane.own_ns;
  f.version = version_;
  const uint32_t outer = lane.frames.size() > 1 ? lane.frames[lane.frames.size() - 2].node : 0;
  f.node = outer;
  switch (e.kind) {
    case EventKind::Range: {
      if (stack) forward_[e.call_id] = stack;  // of a Function: its backward's calls name it
      const std::string_view name = e.name;
      lane.scopes.push_back(name.starts_with("@") ? nullptr
                                                  : intern(str(lane.scope() ? *lane.scope() + " / " : "", name)));
      break;
    }
    case EventKind::Call: {
      if (lane.calls++ == 0) {
        lane.stack = stack;
        lane.forward = 0;
        if (e.forward_id) {
          if (const auto it = forward_.find(e.forward_id); it != forward_.end()) lane.forward = it->second;
        } else if (stack) {
          forward_[e.call_id] = stack;
        }
      }
      f.node = child(outer, e.op, nullptr, e.kind, lane, e.device());
      ++nodes_[f.node].calls;
      break;
    }
    case EventKind::Kernel:
      if (lane.leaves) break;  // a part of something that was told with its operands
      f.own = static_cast<bool>(e.op->kernel(e.device().type)) && e.path == Path::Kernel;
      lane.own += f.own;
      if (f.node == 0 || nodes_[f.node].op != e.op) f.node = child(outer, e.op, nullptr, e.kind, lane, e.device());
      ++lane.kernels;
      f.copies = lane.copies, f.others = lane.others;
      begin_kernel(lane, f, e);
      break;
    default:
      if (stack) lane.stack = stack, lane.forward = 0;
      f.node = child(outer, nullptr, leaf_name(e), e.kind, lane, e.where);
      ++nodes_[f.node].calls;
      if (lane.leaves++ == 0) {
        ++(e.kind == EventKind::Copy ? lane.copies : lane.others);
        lane.edges.clear();  // what the kernel seemed to read, its leaves tell
        begin_leaf(lane, f, e);
      }
  }
}

void Engine::end(Lane& lane, const Event& e, uint64_t now) {
  // An end without a begin: of what began before the profile did.
  if (lane.frames.empty() || lane.frames.back().kind != e.kind || lane.frames.back().id != e.call_id) return;
  Frame f = std::move(lane.frames.back());
  lane.frames.pop_back();
  if (e.kind == EventKind::Range) {
    if (!lane.scopes.empty()) lane.scopes.pop_back();
    return;
  }
  if (e.kind == EventKind::Call || is_leaf(e.kind))
    nodes_[f.node].ns += now - f.start - std::min(lane.own_ns - f.own_ns, now - f.start);
  if (e.kind == EventKind::Call) {
    --lane.calls;
  } else if (e.kind == EventKind::Kernel) {
    if (lane.leaves) return;
    --lane.kernels;
    lane.own -= f.own;
    lane.accumulated.resize(f.accumulated);
    if (!e.failed) end_kernel(lane, f, e);
    else
      for (Pending& p : f.pending) unknown_write(f.node, p.view, p.device);
    if (f.masked) --lane.masked;
    if (lane.kernels == 0) lane.keep_edges(edges_);
  } else if (--lane.leaves == 0) {
    if (!lane.pieces.empty()) take_pieces(lane, f.node, e, e.where);
    else if (!e.failed) end_leaf(lane, f, e);
    else
      for (Pending& p : f.pending) unknown_write(f.node, p.view, p.device);
  }
}

void Engine::memory(Lane& lane, const Event& e, uint32_t stack) {
  if (e.kind == EventKind::Allocate) {
    free_storage(e.storage);
    StorageRecord& r = storages_.add(e.storage, e.address, e.bytes, e.where.type, e.where.index);
    if (lane.frames.empty()) {  // by the program itself
      static const std::string* const name = intern("allocation");
      lane.stack = stack, lane.forward = 0;
      r.maker = child(0, nullptr, name, e.kind, lane, e.where);
      ++nodes_[r.maker].calls;
    } else {
      r.maker = lane.frames.back().node;
    }
    if (accesses_) accesses_->allocated(e.where.type, r.address, r.bytes, r.maker);
    r.inside = lane.own > 0;
    r.ignored = lane.leaves > 0;
  } else if (e.kind == EventKind::Free) {
    StorageRecord* r = storages_.find(e.storage);
    if (accesses_ && r) accesses_->freed(r->device, r->address);
    free_storage(e.storage, r && lane.quiet(*r));
  } else if (e.kind == EventKind::Expose && e.name != "data") {
    StorageRecord* r = storages_.find(e.storage);
    if (!r) {
      r = &storages_.add(e.storage, e.address, e.bytes, e.where.type, e.where.index);
      r->segments.push_back(unseen(e.bytes, ++version_));
    }
    for (Segment& s : r->segments) s.reads = Reads::Some;
    if (e.name == "read") return;
    r->exposed |= e.name == "lent" || e.name == "made outside";
    if (accesses_) accesses_->written(r->device, r->address, r->bytes, false);
    const Segment unknown = unseen(r->bytes, ++version_);
    storages_.put(*r, 0, r->bytes, &unknown, [](const Segment&, End) {});
  }
}

uint64_t Engine::call_key(const Event& e, bool& usable) {
  uint64_t h = reinterpret_cast<uintptr_t>(e.op);
  auto tensor = [&](const Tensor& t) {
    h = combine(h, static_cast<uint64_t>(t.dtype()) + 1);
    for (size_t d = 0; d < t.sizes().size(); ++d)
      h = combine(combine(h, static_cast<uint64_t>(t.sizes()[d])), static_cast<uint64_t>(t.strides()[d]));
    if (!has_values(t)) return;
    StorageRecord* r = storages_.find(t.impl().storage()->id());
    const Runs runs(view_of(t));
    if (!r || r->exposed) {
      usable = false;
      return;
    }
    const auto at = reinterpret_cast<uintptr_t>(runs.begin()) - r->address;
    h = combine(h, at);
    uint64_t covered = 0;
    Storages::each(*r, at, at + static_cast<uint64_t>(runs.bytes()), [&](const Segment& s) {
      usable &= s.known;
      h = combine(h, s.version);
      covered += std::min(s.end, at + static_cast<uint64_t>(runs.bytes())) - std::max(s.begin, at);
    });
    usable &= covered == static_cast<uint64_t>(runs.bytes()) && runs.count() == 1;
  };
  for (const Arg& a : e.arguments()) {
    h = combine(h, static_cast<uint64_t>(a.tag()) + 77);
    switch (a.tag()) {
      case Tag::Tensor:
      case Tag::TensorList: each_tensor(a, tensor); break;
      case Tag::Int: h = combine(h, static_cast<uint64_t>(a.integer())); break;
      case Tag::Bool: h = combine(h, a.boolean()); break;
      case Tag::IntList:
        for (const int64_t i : a.ints()) h = combine(h, static_cast<uint64_t>(i));
        break;
      case Tag::Double:
      case Tag::Scalar: {
        const Scalar s = a.scalar();
        if (s.is_complex()) usable = false;
        else if (s.is_integral(true)) h = combine(h, static_cast<uint64_t>(s.to_int()));
        else h = combine(h, __builtin_bit_cast(uint64_t, s.to_double()));
        break;
      }
      case Tag::DType: h = combine(h, static_cast<uint64_t>(a.dtype())); break;
      case Tag::Device:
        h = combine(h, static_cast<uint64_t>(a.device().type) << 8 | static_cast<uint8_t>(a.device().index));
        break;
      case Tag::Layout: h = combine(h, static_cast<uint64_t>(a.layout())); break;
      case Tag::MemoryFormat: h = combine(h, static_cast<uint64_t>(a.memory_format())); break;
      case Tag::String: h = combine(h, std::hash<std::string_view>()(a.text())); break;
      case Tag::None: break;
      default: usable = false;
    }
  }
  return h;
}

void Engine::begin_kernel(Lane& lane, Frame& f, const Event& e) {
  const Operator& op = *e.op;
  f.outermost = lane.kernels == 1;
  f.fresh_before = version_;
  f.accumulated = lane.accumulated.size();
  if (op.is_view || op.writes == Writes::Geometry || op.memory.unwritten) return;
  uint64_t written = 0;
  for (const uint8_t i : op.written_args()) written |= uint64_t{1} << i;
  const MemoryFacts& facts = op.memory;
  for (const uint8_t i : op.tensor_args())
    each_tensor(e.args[i], [&](const Tensor& t) {
      know(t);
      if (accesses_ && has_values(t))
        accesses_->typed(t.device().type, reinterpret_cast<uintptr_t>(t.impl().storage()->data()), t.dtype());
      const uint64_t b = uint64_t{1} << i;
      if (!has_values(t) || facts.unread & b || facts.overwritten & b) return;
      // What it writes it reads too: a sum in place, unless other arguments say which elements.
      const bool accumulates = (written & b) && !(facts.partial & b);
      const View v = view_of(t);
      mark_read(lane, f.node, v, t.device(), accumulates);
      if (!accumulates || v.numel() == 0) return;
      const Runs runs(v);
      lane.accumulated.emplace_back(runs.begin(), runs.begin() + runs.last() + runs.run_bytes());
    });
  if (f.outermost && wants(Pattern::Repeated) && !written && !op.random && op.num_results()) {
    bool usable = true;
    f.key = call_key(e, usable);
    if (!usable) f.key = 0;
  }
  // Elements that a mask selects are judged by it, not by what the kernel stores back.
  const int mask = facts.partial ? op.schema().find("mask") : -1;
  for (const uint8_t i : op.written_args()) {
    if (!(facts.partial >> i & 1) || mask < 0 || !e.args[i].is_tensor()) {
      each_tensor(e.args[i], [&](const Tensor& t) {
        if (!has_values(t)) return;
        f.pending.push_back(prepare(view_of(t), t.device(), false));
        f.pending.back().some = facts.partial >> i & 1;
      });
    } else if (lane.masked == 0 && has_values(e.args[i].tensor())) {
      f.pending.push_back(prepare(view_of(e.args[i].tensor()), e.args[i].tensor().device(), true));
      f.masked = true;
    }
  }
  if (f.masked) ++lane.masked;
}

void Engine::end_kernel(Lane& lane, Frame& f, const Event& e) {
  const Operator& op = *e.op;
  if (op.is_view || op.writes == Writes::Geometry || op.memory.unwritten) return;
  // Written by something inside since this kernel began: already accounted for.
  auto written_inside = [&](const View& v, Device d) {
    const Runs runs(v);
    StorageRecord* r = storages_.at(runs.begin(), d.type, d.index);
    if (!r) return true;
    bool any = false;
    const auto at = reinterpret_cast<uintptr_t>(runs.begin()) - r->address;
    Storages::each(*r, at, at + static_cast<uint64_t>(std::max<int64_t>(runs.bytes(), 1)),
                   [&](const Segment& s) { any |= s.version > f.fresh_before; });
    return any;
  };
  if (f.masked) {
    const View mask = [&] {
      const int i = op.schema().find("mask");
      View m = view_of(e.args[i].tensor());
      const View& self = f.pending[0].view;  // broadcast
      const size_t lead = self.sizes.size() - std::min(self.sizes.size(), m.sizes.size());
      View out{m.data, m.dtype, self.sizes, Dims(self.sizes.size())};
      for (size_t d = 0; d < m.sizes.size() && d + lead < self.sizes.size(); ++d)
        out.strides[d + lead] = m.sizes[d] == 1 ? 0 : m.strides[d];
      return out;
    }();
    write_selected(lane, f.node, f.pending[0], mask);
    return;
  }
  for (Pending& p : f.pending) {
    if (written_inside(p.view, p.device)) continue;
    if (p.some) unknown_write(f.node, p.view, p.device);
    else write(lane, f.node, p, e, nullptr);
  }
  const bool in_place = !op.written_args().empty();
  auto is_argument = [&](const Tensor& t) {  // a view that the schema does not tell
    bool found = false;
    for (const uint8_t i : op.tensor_args())
      each_tensor(e.args[i], [&](const Tensor& a) { found |= a.impl().storage().get() == t.impl().storage().get(); });
    return found;
  };
  uint64_t bytes = 0, version = 0;
  for (const Value& v : e.values())
    each_tensor(v.arg(), [&](const Tensor& t) {
      if (in_place || !has_values(t) || is_argument(t)) return;
      know(t);
      if (accesses_) accesses_->typed(t.device().type, reinterpret_cast<uintptr_t>(t.data()), t.dtype());
      const View view = view_of(t);
      if (!written_inside(view, t.device())) {
        Pending p = prepare(view, t.device(), false);
        write(lane, f.node, p, e, nullptr);
      }
      StorageRecord* r = storages_.find(t.impl().storage()->id());
      if (r && r->segments.size() == 1 && r->segments[0].known) {
        bytes += static_cast<uint64_t>(t.numel()) * item_size(t.dtype());
        version = version ? version : r->segments[0].version;
      }
    });
  const bool only_moves = lane.copies > f.copies && lane.others == f.others;
  if (f.outermost && !in_place && !only_moves && wants(Pattern::Identity)) find_identity(f, e);
  if (f.key && version) {
    const auto it = answers_.find(f.key);
    StorageRecord* r = nullptr;
    for (const Value& v : e.values())
      each_tensor(v.arg(), [&](const Tensor& t) {
        if (!r && has_values(t)) r = storages_.find(t.impl().storage()->id());
      });
    const bool constant = r && !r->segments.empty() && r->segments[0].constant;
    // What a copy gives again is a duplicate, as long as both are there.
    if (it != answers_.end() && !changed_.contains(it->second) && r && !r->segments.empty() && !constant && !only_moves)
      r->segments[0].repeats = bytes;
    answers_[f.key] = version;
    if (r && !r->segments.empty()) r->segments[0].asked = true;
  }
}

void Engine::begin_leaf(Lane& lane, Frame& f, const Event& e) {
  if (lane.masked) return;
  MemoryOperand all[kMaxOperands];
  const std::span operands(all, static_cast<size_t>(e.operands(all)));
  const auto device = [&](const MemoryOperand& o) { return e.kind == EventKind::Copy && o.read ? e.from : e.where; };
  for (const MemoryOperand& o : operands)
    if (o.storage) know(*o.storage);
  if (accesses_ && (e.request || e.kind == EventKind::Library))
    for (const MemoryOperand& o : operands)
      accesses_->typed(device(o).type, reinterpret_cast<uintptr_t>(o.data), o.dtype);
  for (const MemoryOperand& o : operands) {
    if (!o.read) continue;
    const View v = view_of(o);
    bool accumulates = o.written && !o.some;
    for (const MemoryOperand& w : operands)  // in place: the same elements as an input and as the output
      accumulates |= w.written && &w != &o && !w.some && overlap(view_of(w), v);
    mark_read(lane, f.node, v, device(o), accumulates);
  }
  // Bytes that are moved between devices have the type of what the kernel around is given.
  const View* typed = nullptr;
  if (e.kind == EventKind::Copy && !e.request)
    for (size_t i = lane.frames.size(); i-- > 0 && !typed;)
      for (const Pending& p : lane.frames[i].pending)
        if (p.view.data == e.address && static_cast<uint64_t>(Runs(p.view).bytes()) == e.bytes) typed = &p.view;
  for (const MemoryOperand& o : operands) {
    if (!o.written) continue;
    const View v = typed ? *typed : view_of(o);
    if (Runs(v).bytes() == 0) continue;
    f.pending.push_back(prepare(v, device(o), false));
    f.pending.back().some = o.some;
  }
  if (e.kind != EventKind::Copy || operands.size() != 2) return;
  f.source = view_of(operands[0]);
  if (!f.pending.empty() && typed) {
    const char* from = f.source.data;
    f.source = f.pending[0].view;
    f.source.data = from;
  }
}

// A launch without operands: what it read and wrote, its accesses say. Pieces of one size at one distance are a view.
void Engine::take_pieces(Lane& lane, uint32_t node, const Event& e, Device d) {
  const std::vector<Accesses::Piece> pieces = std::exchange(lane.pieces, {});
  for (size_t i = 0; i < pieces.size();) {
    const Accesses::Piece& first = pieces[i];
    DType dtype = first.dtype;
    const auto fits = [&](size_t item) {
      return first.bytes % item == 0 && first.address % std::min<size_t>(item, 4) == 0;
    };
    if (dtype == DType::Undefined)
      dtype = !fits(4) ? DType::UInt8 : options_.untyped == DType::Float32 ? DType::Float32 : DType::Int32;
    else if (!fits(item_size(dtype))) dtype = DType::UInt8;
    const auto item = static_cast<int64_t>(item_size(dtype));
    const bool stores = !first.before.empty();
    size_t n = 1;
    const uint64_t apart = i + 1 < pieces.size() ? pieces[i + 1].address - first.address : 0;
    while (i + n < pieces.size() && pieces[i + n].bytes == first.bytes && pieces[i + n].before.empty() != stores &&
           pieces[i + n].address - first.address == n * apart)
      ++n;
    View v{reinterpret_cast<const char*>(first.address), dtype, {static_cast<int64_t>(first.bytes) / item}, {item}};
    if (n > 1) {
      v.sizes.insert(0, static_cast<int64_t>(n));
      v.strides.insert(0, static_cast<int64_t>(apart));
    }
    if (stores) {
      Pending p;
      p.view = v;
      p.device = d;
      for (size_t k = 0; k < n; ++k)
        p.before.insert(p.before.end(), pieces[i + k].before.begin(), pieces[i + k].before.end());
      const Runs runs(v);
      if (StorageRecord* r = storages_.at(runs.begin(), d.type, d.index)) {
        const uint64_t at = first.address - r->address;
        Storages::each(*r, at, at + (n - 1) * apart + first.bytes, [&](const Segment& s) { p.over_known |= s.known; });
      }
      write(lane, node, p, e, nullptr);
    } else {
      mark_read(lane, node, v, d, false);
    }
    i += n;
  }
}

void Engine::end_leaf(Lane& lane, Frame& f, const Event& e) {
  for (Pending& p : f.pending) {
    if (p.some) unknown_write(f.node, p.view, p.device);
    else write(lane, f.node, p, e, e.kind == EventKind::Copy ? &f.source : nullptr);
  }
}

void Engine::find_identity(Frame& f, const Event& e) {
  for (const Value& v : e.values())
    each_tensor(v.arg(), [&](const Tensor& t) {
      if (!has_values(t) || !t.device().is_cpu()) return;
      StorageRecord* r = storages_.find(t.impl().storage()->id());
      if (!r || r->ignored || r->segments.size() != 1 || !r->segments[0].known) return;
      const Segment& s = r->segments[0];
      if (s.constant || (s.content && s.content->constant)) return;
      const size_t bytes = static_cast<size_t>(t.numel()) * item_size(t.dtype());
      bool same = false;
      for (const uint8_t i : e.op->tensor_args())
        each_tensor(e.args[i], [&](const Tensor& in) {
          if (same || !has_values(in) || !in.device().is_cpu() || in.dtype() != t.dtype() ||
              !Dims::same(in.sizes(), t.sizes()) || !Dims::same(in.strides(), t.strides()) || !in.impl().is_dense() ||
              in.impl().storage().get() == t.impl().storage().get())
            return;
          StorageRecord* source = storages_.find(in.impl().storage()->id());
          if (!source || source->exposed) return;
          bool known = true;
          Storages::each(*source, 0, source->bytes, [&](const Segment& part) { known &= part.known; });
          same = known && std::memcmp(in.data(), t.data(), bytes) == 0;
        });
      if (!same) return;
      Tally& tally = nodes_[f.node].found[static_cast<size_t>(Pattern::Identity)];
      tally.bytes += bytes;
      ++tally.calls;
      r->segments[0].twin = 0;  // said already
    });
}

void Engine::ignore(const Tensor& t) {
  if (!has_values(t)) return;
  std::lock_guard lock(mutex_);
  know(t);
  storages_.find(t.impl().storage()->id())->ignored = true;
}

std::vector<Node> Engine::nodes() const {
  std::lock_guard lock(mutex_);
  return nodes_;
}
std::vector<std::pair<EdgeKey, Edge>> Engine::edges() const {
  std::lock_guard lock(mutex_);
  return {edges_.begin(), edges_.end()};
}
Totals Engine::totals() const {
  std::lock_guard lock(mutex_);
  Totals t = totals_;
  t.ns = t.watched_before + ((t.stopped ? t.stopped : now_ns()) - t.started);
  return t;
}

}  // namespace fc::observe::values
