// SPDX-License-Identifier: Apache-2.0
// Rows as Chrome's trace format, with the categories and argument names of PyTorch's traces, so that tools made for
// those read them too; without white space, which was a tenth of it. Times are microseconds with three digits behind
// the point. Launches of other devices are rows of a process of their own, as long as the device says it worked.
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/device.h"
#include "observe/recorder.h"

namespace fc::observe {
namespace {

class Text {
 public:
  Text(WriteFn write, void* context) : write_(write), context_(context) { buffer.reserve(kFull + 4096); }
  void flush() {
    write_(context_, buffer.data(), buffer.size());
    buffer.clear();
  }
  void flush_if_full() {
    if (buffer.size() > kFull) flush();
  }
  Text& operator<<(std::string_view s) {
    buffer += s;
    return *this;
  }
  Text& operator<<(char c) {
    buffer += c;
    return *this;
  }
  template <class N>
  requires std::is_integral_v<N> Text& operator<<(N n) {
    char digits[24];
    buffer.append(digits, std::to_chars(digits, digits + sizeof digits, n).ptr);
    return *this;
  }
  void time(uint64_t ns) {
    *this << ns / 1000;
    const auto rest = static_cast<unsigned>(ns % 1000);
    const char digits[] = {'.', static_cast<char>('0' + rest / 100), static_cast<char>('0' + rest / 10 % 10),
                           static_cast<char>('0' + rest % 10)};
    buffer.append(digits, 4);
  }
  void quoted(std::string_view s) {
    buffer += '"';
    for (const char c : s) {
      if (c == '"' || c == '\\') (buffer += '\\') += c;
      else if (static_cast<unsigned char>(c) >= 0x20) buffer += c;
      else {
        constexpr char hex[] = "0123456789abcdef";
        buffer += "\\u00";
        buffer += hex[c >> 4];
        buffer += hex[c & 15];
      }
    }
    buffer += '"';
  }
  std::string buffer;

 private:
  static constexpr size_t kFull = 1 << 20;
  WriteFn write_;
  void* context_;
};

std::string_view category(const Row& r) {
  switch (r.kind) {
    case EventKind::Call: return "cpu_op";
    case EventKind::Range: return r.text && *r.text == "backward" ? "cpu_op" : "user_annotation";
    case EventKind::Copy: return "gpu_memcpy";
    case EventKind::Fill: return "gpu_memset";
    case EventKind::Library: return "library";
    default: return "kernel";
  }
}

class Trace {
 public:
  Trace(const Recorder& r, std::string (*stack_text)(uint32_t), std::span<const Span> functions, WriteFn write,
        void* context)
      : r_(r), stack_text_(stack_text), functions_(functions), out_(write, context), pid_(getpid()) {}

  void write(std::string_view metadata) {
    out_ << "{\"schemaVersion\":1,\"displayTimeUnit\":\"ms\", ";
    if (!metadata.empty()) out_ << metadata << ',';
    out_ << "\"traceEvents\":[\n";
    find_forward();
    for (auto& log : r_.logs()) {
      name("thread_name", pid_, log->thread, log->thread == static_cast<uint64_t>(pid_) ? "main thread" : "thread");
      for (size_t i = 0; i < log->rows.size(); ++i)
        if (const Row& r = log->rows[i]; !on_device(r)) {
          row(*log, r, pid_, log->thread, r.start, r.end - r.start);
          if (r.kind == EventKind::Range && r.forward) flow(*log, r);
        }
    }
    devices();
    functions();
    memory();
    name("process_name", pid_, 0, "facula");
    for (auto& [device, number] : devices_) {
      name("process_name", number, 0, device);
      name("thread_name", number, 0, "work");
    }
    // Every event but this one is followed by a comma.
    out_ << "{\"ph\":\"i\",\"s\":\"g\",\"name\":\"Record Window End\",\"pid\":" << pid_ << ",\"tid\":0,\"ts\":";
    out_.time(r_.stopped());
    out_ << "}\n]}\n";
    out_.flush();
  }

 private:
  struct Position {
    uint64_t thread, start;
  };

  static bool on_device(const Row& r) {
    return r.kind != EventKind::Call && r.kind != EventKind::Range && !r.device().is_cpu();
  }

  // Work of a device is shown when it can have run at the earliest: after it was asked for, and after what came before
  // it. Spans of one track may not overlap.
  void devices() {
    std::vector<std::pair<const Log*, const Row*>> work;
    for (auto& log : r_.logs())
      for (size_t i = 0; i < log->rows.size(); ++i)
        if (on_device(log->rows[i]) && !log->rows[i].covers) work.emplace_back(log.get(), &log->rows[i]);
    std::ranges::stable_sort(work, {}, [](const auto& w) { return w.second->start; });
    std::map<int64_t, uint64_t> free;  // by process: from when on
    for (auto& [log, r] : work) {
      const int64_t process = process_of(r->device());
      const uint64_t start = std::max(r->start, free[process]), took = r->device_ns ? r->device_ns : r->end - r->start;
      row(*log, *r, process, 0, start, took);
      free[process] = start + took;
    }
  }

  void find_forward() {  // the calls that some node of backward belongs to
    for (auto& log : r_.logs())
      for (size_t i = 0; i < log->rows.size(); ++i)
        if (const Row& r = log->rows[i]; r.kind == EventKind::Range && r.forward) forward_.try_emplace(r.forward);
    if (forward_.empty()) return;
    for (auto& log : r_.logs())
      for (size_t i = 0; i < log->rows.size(); ++i) {
        const Row& r = log->rows[i];
        if (r.kind != EventKind::Call) continue;
        if (auto it = forward_.find(r.id); it != forward_.end()) it->second = {log->thread, r.start};
      }
  }

  void name(std::string_view what, int64_t pid, uint64_t tid, std::string_view given) {
    out_ << "{\"ph\":\"M\",\"name\":\"" << what << "\",\"pid\":" << pid << ",\"tid\":" << tid << ",\"args\":{\"name\":";
    out_.quoted(given);
    out_ << "}},\n";
  }

  int64_t process_of(Device d) {  // devices get numbers of their own, above the process's
    std::string text = str(d);
    auto [it, fresh] = devices_.try_emplace(std::move(text), 0);
    if (fresh) it->second = pid_ + static_cast<int64_t>(devices_.size());
    return it->second;
  }

  void head(std::string_view phase, std::string_view cat, int64_t pid, uint64_t tid, uint64_t ts) {
    out_ << "{\"ph\":\"" << phase << "\",\"cat\":\"" << cat << "\",\"pid\":" << pid << ",\"tid\":" << tid << ",\"ts\":";
    out_.time(ts);
  }

  void row(const Log& log, const Row& r, int64_t pid, uint64_t tid, uint64_t start, uint64_t took) {
    head("X", category(r), pid, tid, start);
    out_ << ",\"dur\":";
    out_.time(took);
    out_ << ",\"name\":";
    out_.quoted(r.shown_name());
    out_ << ",\"args\":{\"External id\":" << r.id;
    if (r.parent) out_ << ",\"Parent id\":" << r.parent;
    if (r.forward) out_ << ",\"Forward id\":" << r.forward;
    if (r.op) {
      if (!r.op->schema().overload.empty()) {
        out_ << ",\"Overload\":";
        out_.quoted(r.op->schema().overload);
      }
      if (r.path != Path::Family && r.path != Path::Kernel) out_ << ",\"Path\":\"" << to_string(r.path) << '"';
    } else if (r.text) {
      out_ << ",\"About\":";
      out_.quoted(*r.text);
    }
    if (r.failed) out_ << ",\"Failed\":true";
    if (r.bytes) out_ << ",\"Bytes\":" << r.bytes;
    if (r.flops) out_ << ",\"Flops\":" << r.flops;
    if (r.device_ns && !on_device(r)) {
      out_ << ",\"Device time (us)\":";
      out_.time(r.device_ns);
    }
    if (r.detail) {
      constexpr std::pair<const char*, Detail> details[] = {{"Input Dims", Detail::Shapes},
                                                            {"Input Strides", Detail::Strides},
                                                            {"Input type", Detail::Types},
                                                            {"Concrete Inputs", Detail::Values}};
      for (auto& [key, what] : details) {
        out_ << ",\"" << key << "\":";
        write_detail(out_.buffer, log, r, what);
      }
    }
    if (r.stack && stack_text_) {
      out_ << ",\"Call stack\":";
      out_.quoted(stack_text_(r.stack));
    }
    out_ << "}},\n";
    out_.flush_if_full();
  }

  void functions() {
    for (size_t i = 0; i < functions_.size(); ++i) {
      const Span& f = functions_[i];
      head("X", "python_function", pid_, f.thread, f.start);
      out_ << ",\"dur\":";
      out_.time(f.end - f.start);
      out_ << ",\"name\":";
      out_.quoted(*f.name);
      out_ << ",\"args\":{\"Python id\":" << i + 1;
      if (f.parent) out_ << ",\"Python parent id\":" << f.parent;
      out_ << "}},\n";
      out_.flush_if_full();
    }
  }

  void flow(const Log& log, const Row& backward) {
    const Position& forward = forward_.at(backward.forward);
    if (!forward.start) return;
    head("s", "fwdbwd", pid_, forward.thread, forward.start);
    out_ << ",\"name\":\"fwdbwd\",\"id\":" << backward.id << "},\n";
    head("f", "fwdbwd", pid_, log.thread, backward.start);
    out_ << ",\"name\":\"fwdbwd\",\"id\":" << backward.id << ",\"bp\":\"e\"},\n";
  }

  void memory() {
    std::vector<std::pair<uint64_t, const MemoryRow*>> changes;  // of all threads, since totals are
    for (auto& log : r_.logs())
      for (size_t i = 0; i < log->memory.size(); ++i) changes.emplace_back(log->thread, &log->memory[i]);
    std::ranges::stable_sort(changes, {}, [](const auto& change) { return change.second->time; });
    std::map<std::pair<int, int>, int64_t> totals;
    for (auto& [thread, m] : changes) {
      const int type = m->where.type, index = m->where.index;
      const int64_t total = totals[{type, index}] += m->bytes;
      head("i", "cpu_instant_event", pid_, thread, m->time);
      out_ << ",\"s\":\"t\",\"name\":\"[memory]\",\"args\":{\"Total Allocated\":" << total << ",\"Bytes\":" << m->bytes
           << ",\"Addr\":" << m->address << ",\"Device Type\":" << type << ",\"Device Id\":" << index
           << ",\"External id\":" << m->call << "}},\n";
      out_.flush_if_full();
    }
  }

  const Recorder& r_;
  std::string (*stack_text_)(uint32_t);
  std::span<const Span> functions_;
  Text out_;
  int64_t pid_;
  std::unordered_map<uint64_t, Position> forward_;
  std::map<std::string, int64_t> devices_;
};

}  // namespace

void write_trace(const Recorder& r, std::string_view metadata, std::string (*stack_text)(uint32_t),
                 std::span<const Span> functions, WriteFn write, void* context) {
  Trace(r, stack_text, functions, write, context).write(metadata);
}

}  // namespace fc::observe
