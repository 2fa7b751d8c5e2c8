// SPDX-License-Identifier: Apache-2.0
#include "observe/recorder.h"

#include <time.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <unordered_set>

namespace fc::observe {
namespace {

constexpr bool counts(EventKind k) { return k == EventKind::Call || k == EventKind::Range; }

// The logs that this thread wrote to last, so that several recorders at once find theirs without a lock.
struct Known {
  uint64_t recorder = 0;
  Log* log = nullptr;
};
constexpr size_t kKnown = 4;
constinit thread_local Known known[kKnown];
uint64_t last_number = 0;

// What a call's tensors hold, each argument and result once.
uint64_t tensor_bytes(const Event& e) {
  if (e.op->is_view || e.path == Path::Composite) return 0;
  uint64_t n = 0;
  auto add = [&](const Tensor& t) {
    if (t.defined()) n += static_cast<uint64_t>(t.numel()) * item_size(t.dtype());
  };
  auto add_arg = [&](const Arg& a) {
    if (a.is_tensor()) add(a.tensor());
    else if (a.is_tensor_list())
      for (const Tensor& t : a.tensors()) add(t);
  };
  for (const Arg& a : e.arguments()) add_arg(a);
  if (!e.op->is_in_place && !e.op->is_out)
    for (const Value& v : e.values()) add_arg(v.arg());
  return n;
}

// --- arguments as numbers: how many, then for each a tag and what belongs to it
enum : int64_t { kNothing, kTensor, kTensors, kInt, kDouble, kBool, kInts };

void keep(std::vector<int64_t>& out, const Tensor& t) {
  out.push_back(kTensor);
  out.push_back(static_cast<int64_t>(t.dtype()));
  out.push_back(t.dim());
  out.insert(out.end(), t.sizes().begin(), t.sizes().end());
  out.insert(out.end(), t.strides().begin(), t.strides().end());
}

void keep(std::vector<int64_t>& out, const Arg& a) {
  switch (a.tag()) {
    case Tag::Tensor:
      if (a.tensor().defined()) keep(out, a.tensor());
      else out.push_back(kNothing);
      break;
    case Tag::TensorList:
      out.push_back(kTensors);
      out.push_back(static_cast<int64_t>(a.tensors().size()));
      for (const Tensor& t : a.tensors()) {
        if (t.defined()) keep(out, t);
        else out.push_back(kNothing);
      }
      break;
    case Tag::Int: out.insert(out.end(), {kInt, a.integer()}); break;
    case Tag::Bool: out.insert(out.end(), {kBool, a.boolean()}); break;
    case Tag::Double:
    case Tag::Scalar: {
      const Scalar s = a.scalar();
      if (s.is_complex()) out.push_back(kNothing);
      else if (s.is_integral(false)) out.insert(out.end(), {kInt, s.to_int()});
      else out.insert(out.end(), {kDouble, __builtin_bit_cast(int64_t, s.to_double())});
      break;
    }
    case Tag::IntList:
      out.push_back(kInts);
      out.push_back(static_cast<int64_t>(a.ints().size()));
      out.insert(out.end(), a.ints().begin(), a.ints().end());
      break;
    default: out.push_back(kNothing);
  }
}

// Calls in a loop have equal arguments: what was kept lately is not kept again. Returns Row::detail.
uint32_t keep_arguments(Log& log, const Event& e) {
  std::vector<int64_t>& all = log.details;
  const size_t first = all.size();
  if (first >= UINT32_MAX) return 0;  // no number is left
  all.push_back(static_cast<int64_t>(e.op->num_args()));
  for (const Arg& a : e.arguments()) keep(all, a);
  uint64_t hash = 0;
  for (size_t i = first; i < all.size(); ++i)
    hash = (hash ^ static_cast<uint64_t>(all[i])) * 0x9e3779b97f4a7c15U, hash ^= hash >> 32;
  uint32_t& recent = log.recent[hash % std::size(log.recent)];
  // The numbers say themselves where they end, so equal ones up to there are the same arguments.
  const size_t length = all.size() - first;
  if (recent && recent - 1 + length <= first &&
      std::equal(all.begin() + static_cast<ptrdiff_t>(first), all.end(),
                 all.begin() + static_cast<ptrdiff_t>(recent - 1)))
    all.resize(first);
  else recent = static_cast<uint32_t>(first) + 1;
  return recent;
}

template <class Numbers>
void write_list(std::string& out, const Numbers* from, int64_t n) {
  out += '[';
  for (int64_t i = 0; i < n; ++i) {
    if (i) out += ", ";
    out += std::to_string(from[i]);
  }
  out += ']';
}

const int64_t* write_one(std::string& out, const int64_t* at, Detail what) {
  const bool lists = what == Detail::Shapes || what == Detail::Strides;
  auto nothing = [&] { out += lists ? "[]" : "\"\""; };
  switch (*at++) {
    case kTensor: {
      const auto dtype = static_cast<DType>(at[0]);
      const int64_t n = at[1];
      if (what == Detail::Shapes) write_list(out, at + 2, n);
      else if (what == Detail::Strides) write_list(out, at + 2 + n, n);
      else if (what == Detail::Types) ((out += '"') += info(dtype).name) += '"';
      else nothing();
      return at + 2 + 2 * n;
    }
    case kTensors: {
      out += '[';
      const int64_t n = *at++;
      for (int64_t i = 0; i < n; ++i) {
        if (i) out += ", ";
        at = write_one(out, at, what);
      }
      out += ']';
      return at;
    }
    case kInts: {
      const int64_t n = *at++;
      if (what == Detail::Values) {
        out += '"';
        write_list(out, at, n);
        out += '"';
      } else {
        nothing();
      }
      return at + n;
    }
    case kInt:
    case kBool:
    case kDouble: {
      const int64_t tag = at[-1];
      if (what == Detail::Types) {
        out += "\"Scalar\"";
      } else if (what == Detail::Values) {
        out += '"';
        if (tag == kInt) out += std::to_string(*at);
        else if (tag == kBool) out += *at ? "True" : "False";
        else out += str(__builtin_bit_cast(double, *at));
        out += '"';
      } else {
        nothing();
      }
      return at + 1;
    }
    default: nothing(); return at;
  }
}

}  // namespace

uint32_t (*stack_source)() = nullptr;

uint64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}

const std::string* intern(std::string_view text) {
  struct Names {
    std::mutex mutex;
    std::unordered_set<std::string> all;
  };
  static Names& names = *new Names;
  std::lock_guard lock(names.mutex);
  return &*names.all.emplace(text).first;  // addresses in a node-based set stay
}

std::string_view Row::shown_name() const {
  if (!op) return *name;
  const std::string& full = op->name();
  const size_t dot = full.find('.');
  return std::string_view(full).substr(0, dot);
}

Recorder::Recorder(const RecorderOptions& options)
    : options_(options), number_(__atomic_add_fetch(&last_number, 1, __ATOMIC_RELAXED)) {}

void Recorder::start() {
  FC_CHECK(!registration_, "profiler: it records already");
  EventKinds wanted = kinds(EventKind::Call, EventKind::Range);
  if (options_.memory) wanted |= kinds(EventKind::Allocate, EventKind::Free);
  if (options_.devices || options_.kernels) wanted |= kinds(EventKind::Launch, EventKind::Copy, EventKind::Fill);
  if (options_.kernels) wanted |= kinds(EventKind::Library);
  if (!started_) started_ = now_ns();
  __atomic_store_n(&stopped_, 0, __ATOMIC_RELEASE);
  registration_ = start_observing(Ref<Observer>(this), {.kinds = wanted, .where = options_.where});
}

void Recorder::stop() {
  if (!registration_) return;
  stop_observing(std::exchange(registration_, 0));
  __atomic_store_n(&stopped_, now_ns(), __ATOMIC_RELEASE);  // events under way on other threads end here
  std::lock_guard lock(lock_);
  for (auto& log : logs_) {
    std::lock_guard log_lock(log->lock);
    while (!log->open.empty()) finish(*log, stopped_);
  }
}

const std::vector<std::unique_ptr<Log>>& Recorder::logs() const {
  FC_CHECK(!registration_, "profiler: stop it before what it recorded is read");
  return logs_;
}

size_t Recorder::size() const {
  size_t n = 0;
  for (auto& log : logs()) n += log->rows.size() + log->memory.size();
  return n;
}

Log* Recorder::log_here() {
  for (const Known& k : known)
    if (k.recorder == number_) return k.log;
  auto fresh = std::make_unique<Log>();
  fresh->thread = Event::thread();
  Known found{number_, fresh.get()};
  {
    std::lock_guard lock(lock_);
    if (__atomic_load_n(&stopped_, __ATOMIC_ACQUIRE)) return nullptr;
    // A thread that writes to many recorders finds its log again.
    for (auto& log : logs_)
      if (log->thread == fresh->thread) found.log = log.get();
    if (found.log == fresh.get()) logs_.push_back(std::move(fresh));
  }
  known[number_ % kKnown] = found;
  return found.log;
}

void Recorder::see(const Event& e) noexcept {
  const uint64_t now = now_ns();
  try {
    // It may wait for the interpreter's lock, so before ours is taken.
    const bool wants_stack = options_.stacks && stack_source && e.kind == EventKind::Call && e.phase == Event::Begin;
    const uint32_t stack = wants_stack ? stack_source() : 0;
    Log* log = log_here();
    if (!log) return;
    std::lock_guard lock(log->lock);
    if (__atomic_load_n(&stopped_, __ATOMIC_ACQUIRE)) return;
    if (e.phase == Event::Once) note_memory(*log, e, now);
    else if (e.phase == Event::Begin) begin(*log, e, stack);
    else end(*log, e, now);
  } catch (const std::bad_alloc&) { __atomic_fetch_add(&lost_, 1, __ATOMIC_RELAXED); }
}

void Recorder::begin(Log& log, const Event& e, uint32_t stack) {
  if (!counts(e.kind) && !options_.kernels && e.where.is_cpu() && e.from.is_cpu()) return;
  Row& r = log.open.emplace_back();
  r.kind = e.kind;
  r.id = e.call_id;
  r.parent = e.parent_id;
  r.forward = e.forward_id;
  r.op = e.op;
  r.where = e.device();
  r.from = e.from;
  r.bytes = e.bytes;
  r.stack = stack;
  r.reported = e.reported;
  if (!e.op) {
    r.name = intern(e.text.empty() || e.kind == EventKind::Range || e.kind == EventKind::Library
                        ? e.name
                        : std::string_view(str(e.name, " ", e.text)));
    if (!e.text.empty()) r.text = intern(e.text);
    if (e.m) r.text = intern(str(e.batch, " x ", e.m, " x ", e.n, " x ", e.k));
  }
  if (e.kind == EventKind::Call) {
    if (options_.shapes && e.op->num_args()) r.detail = keep_arguments(log, e);
    if (options_.flops) r.flops = e.op->count_flops(e.args);
  }
  r.start = now_ns();  // the time that this took is the caller's
  if (e.waited_ns && log.open.size() > 1)
    r.start -= std::min(e.waited_ns, r.start - log.open[log.open.size() - 2].start);  // inside what is around it
}

void Recorder::end(Log& log, const Event& e, uint64_t now) {
  // An end without a begin: of a call that began before the recorder did, or that it does not keep.
  if (log.open.empty()) return;
  Row& r = log.open.back();
  if (r.kind != e.kind || r.id != e.call_id || r.op != e.op) return;
  r.path = e.path;
  r.failed = e.failed;
  r.device_ns = e.device_ns;
  if (e.op && r.where.is_cpu()) r.where = e.device();  // that of its results is known now
  if (options_.flops && e.op && !e.failed) r.bytes = tensor_bytes(e);
  finish(log, now);
}

void Recorder::note_kernel(Log& log, Row& r) {
  const uint64_t waited = r.device_ns ? 0 : r.end - r.start;
  r.waited_ns = r.self_waited_ns = waited;
  bool direct = true;  // in the innermost call or range
  for (size_t i = log.open.size(); i-- > 0;) {
    Row& outer = log.open[i];
    outer.waited_ns += waited;
    if (counts(outer.kind)) {
      if (direct) outer.self_waited_ns += waited;
      direct = false;
    } else if (!outer.device().is_cpu()) {
      outer.covers = true;
    }
  }
}

void Recorder::finish(Log& log, uint64_t now) {
  Row r = log.open.back();
  log.open.pop_back();
  r.end = now;
  if (r.reported) note_kernel(log, r);
  r.self += r.end - r.start;  // less what its children took off before
  r.self_device_ns += r.device_ns;
  r.memory += r.self_memory;
  r.device_memory += r.self_device_memory;
  if (counts(r.kind))
    for (size_t i = log.open.size(); i-- > 0;)
      if (Row& outer = log.open[i]; counts(outer.kind)) {
        outer.self -= r.end - r.start;
        outer.self_device_ns -= r.device_ns;
        outer.memory += r.memory;
        outer.device_memory += r.device_memory;
        break;
      }
  log.rows.push(r);
}

void Recorder::note_memory(Log& log, const Event& e, uint64_t now) {
  const int64_t bytes = static_cast<int64_t>(e.bytes) * (e.kind == EventKind::Free ? -1 : 1);
  log.memory.push({now, e.call_id, reinterpret_cast<uint64_t>(e.address), e.storage, bytes, e.where});
  for (size_t i = log.open.size(); i-- > 0;)
    if (Row& outer = log.open[i]; counts(outer.kind)) {
      (e.where.is_cpu() ? outer.self_memory : outer.self_device_memory) += bytes;
      break;
    }
}

void write_detail(std::string& out, const Log& log, const Row& row, Detail what) {
  if (!row.detail) {
    out += "[]";
    return;
  }
  const int64_t* at = log.details.data() + row.detail - 1;
  const int64_t n = *at++;
  out += '[';
  for (int64_t i = 0; i < n; ++i) {
    if (i) out += ", ";
    at = write_one(out, at, what);
  }
  out += ']';
}

std::vector<Average> averages(const Recorder& r, const AverageKey& key, uint32_t (*top_of)(uint32_t, int)) {
  std::vector<Average> out;
  std::unordered_map<std::string, size_t> found;
  std::unordered_map<const Operator*, const std::string*> names;
  std::string group;
  for (auto& log : r.logs())
    for (size_t i = 0; i < log->rows.size(); ++i) {
      const Row& row = log->rows[i];
      const bool counted = counts(row.kind);
      if (!counted && !row.is_device_work()) continue;
      const std::string*& op_name = names[row.op];
      if (row.op && !op_name) op_name = intern(row.shown_name());
      const std::string* name = row.op ? op_name : row.name;
      const uint32_t stack = key.stack_depth > 0 && top_of ? top_of(row.stack, key.stack_depth) : 0;
      group.assign(reinterpret_cast<const char*>(&name), sizeof name);
      group.append(reinterpret_cast<const char*>(&stack), sizeof stack);
      if (key.by_overload && row.op) group += row.op->schema().overload;
      const size_t fixed = group.size();
      if (key.by_shapes) write_detail(group, *log, row, Detail::Shapes);
      auto [it, fresh] = found.try_emplace(group, out.size());
      if (fresh) {
        Average& a = out.emplace_back();
        a.name = name;
        a.stack = stack;
        a.kind = row.kind;
        a.where = counted ? row.where : row.device();
        a.shapes = group.substr(fixed);
        if (key.by_overload && row.op) a.overload = row.op->schema().overload;
      }
      Average& a = out[it->second];
      ++a.count;
      if (counted) a.total += row.end - row.start, a.self += row.self;
      a.memory += row.memory;
      a.self_memory += row.self_memory;
      a.device_memory += row.device_memory;
      a.self_device_memory += row.self_device_memory;
      a.flops += row.flops;
      a.bytes += row.bytes;
      a.device_total += row.device_time();
      a.device_self += row.self_device_time();
    }
  return out;
}

}  // namespace fc::observe
