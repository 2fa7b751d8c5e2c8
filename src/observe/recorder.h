// SPDX-License-Identifier: Apache-2.0
// The profiler's memory: an observer that keeps one compact row per call, range, launch, copy, fill and library call,
// and one per allocation and free. Each thread writes to a log of its own, behind a lock of one byte that only a reader
// ever contends for. Rows are kept until the recorder is dropped; they may be read once it has stopped.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/spin.h"
#include "dispatch/observe.h"

namespace fc::observe {

struct RecorderOptions {
  bool shapes = false;   // of arguments
  bool memory = false;   // allocations and frees
  bool flops = false;    // and the bytes that a call's tensors hold
  bool stacks = false;   // where in the program a call is made
  bool devices = true;   // launches, copies, fills of devices that are not the CPU
  bool kernels = false;  // the same of the CPU, and library calls
  Watch where = Watch::Process;
};

struct Row {
  uint64_t start = 0, end = 0;  // nanoseconds of the monotonic clock
  uint64_t self = 0;            // without the calls and ranges inside
  uint64_t id = 0, parent = 0, forward = 0;
  const Operator* op = nullptr;
  const std::string *name = nullptr, *text = nullptr;  // where there is no operator; kept for ever
  int64_t memory = 0, self_memory = 0;                 // allocated less freed, on the CPU
  int64_t device_memory = 0, self_device_memory = 0;   // on other devices
  uint64_t bytes = 0;  // moved by a launch or copy; of a call: what its tensors hold, without views
  int64_t flops = 0;
  uint64_t device_ns = 0, self_device_ns = 0;
  uint64_t waited_ns = 0, self_waited_ns = 0;  // for kernels of devices that tell no time of their own
  uint32_t detail = 0;                         // where the arguments begin in Log::details, plus one; 0: not kept
  uint32_t stack = 0;                          // a number of the stack source's; 0: none
  EventKind kind{};
  Path path{};
  bool failed = false;
  bool reported = false;  // a launch that its backend told of
  bool covers = false;    // around such a one: what the backend was asked for
  Device where{}, from{};

  Device device() const { return where.is_cpu() ? from : where; }
  // What a device ran, once: a launch, copy or fill there.
  bool is_device_work() const {
    return kind != EventKind::Call && kind != EventKind::Range && kind != EventKind::Library && !covers &&
           !device().is_cpu();
  }
  // Of the device: what it tells, or how long its kernels were waited for.
  uint64_t device_time() const { return device_ns + waited_ns; }
  uint64_t self_device_time() const { return self_device_ns + self_waited_ns; }

  std::string_view shown_name() const;  // "aten::add", a range's, "map add"
};
struct MemoryRow {
  uint64_t time, call, address, storage;
  int64_t bytes;  // negative: freed
  Device where;
};

// A growing sequence that never moves what it holds.
template <class T>
class Chunks {
 public:
  void push(const T& v) {
    if (size_ % kChunk == 0) chunks_.push_back(std::make_unique_for_overwrite<T[]>(kChunk));
    chunks_.back()[size_++ % kChunk] = v;
  }
  size_t size() const { return size_; }
  const T& operator[](size_t i) const { return chunks_[i / kChunk][i % kChunk]; }

 private:
  static constexpr size_t kChunk = 1024;
  std::vector<std::unique_ptr<T[]>> chunks_;
  size_t size_ = 0;
};

struct Log {  // of one thread
  uint64_t thread = 0;
  SpinLock lock;
  Chunks<Row> rows;  // in the order in which they ended
  Chunks<MemoryRow> memory;
  std::vector<int64_t> details;
  uint32_t recent[64] = {};  // by hash: Row::detail of arguments that were kept lately
  std::vector<Row> open;
};

class Recorder final : public Observer {
 public:
  explicit Recorder(const RecorderOptions& options);
  void start();
  void stop();  // rows that are open end here
  void see(const Event& e) noexcept override;

  const RecorderOptions& options() const { return options_; }
  const std::vector<std::unique_ptr<Log>>& logs() const;  // throws before stop
  uint64_t started() const { return started_; }
  uint64_t stopped() const { return stopped_; }
  size_t size() const;                     // rows of all kinds
  uint64_t lost() const { return lost_; }  // events for which there was no memory

 private:
  Log* log_here();  // null: it was stopped meanwhile
  void begin(Log& log, const Event& e, uint32_t stack);
  void end(Log& log, const Event& e, uint64_t now);
  void finish(Log& log, uint64_t now);  // the innermost open row
  void note_kernel(Log& log, Row& r);   // that a backend reported: to what is open around it
  void note_memory(Log& log, const Event& e, uint64_t now);

  RecorderOptions options_;
  uint64_t number_;  // of this recorder, never used again
  uint64_t registration_ = 0, started_ = 0, stopped_ = 0, lost_ = 0;
  SpinLock lock_;  // of logs_
  std::vector<std::unique_ptr<Log>> logs_;
};

uint64_t now_ns();
const std::string* intern(std::string_view text);  // kept for ever

// Arguments of a row as text: "[[2, 3], [], [4]]" of shapes, or of types or numbers.
enum class Detail : uint8_t { Shapes, Strides, Types, Values };
void write_detail(std::string& out, const Log& log, const Row& row, Detail what);

// Who knows the program's stack: returns a number for the stack of the calling thread. Set by the Python front.
extern uint32_t (*stack_source)();

// --- what is made of the rows
struct AverageKey {
  bool by_shapes = false;
  int stack_depth = 0;  // 0: not by stack
  bool by_overload = false;
};
struct Average {
  const std::string* name;
  std::string overload, shapes;
  uint32_t stack = 0;
  int64_t count = 0, memory = 0, self_memory = 0, device_memory = 0, self_device_memory = 0, flops = 0;
  uint64_t total = 0, self = 0, device_total = 0, device_self = 0, bytes = 0;
  Device where{};
  EventKind kind{};
};
// Calls, ranges and what devices ran, by name; `top_of(stack, depth)` gives stacks that agree in their top the same
// number.
std::vector<Average> averages(const Recorder& r, const AverageKey& key,
                              uint32_t (*top_of)(uint32_t stack, int depth) = nullptr);

// A call of a function of the program's own language, which a trace shows around what it called.
struct Span {
  uint64_t thread, start, end;
  const std::string* name;  // somebody else's
  uint64_t parent;          // its number among all spans, from 1 on; 0: none
};

// Chrome's trace format, which Perfetto reads, in pieces. `stack_text` may be null. Metadata is JSON text: the members
// of an object without the braces.
using WriteFn = void (*)(void* context, const char* data, size_t bytes);
void write_trace(const Recorder& r, std::string_view metadata, std::string (*stack_text)(uint32_t),
                 std::span<const Span> functions, WriteFn write, void* context);

}  // namespace fc::observe
