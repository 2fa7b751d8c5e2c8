// SPDX-License-Identifier: Apache-2.0
// The value profiler: an observer that follows versions of memory through calls and adds up, by call path, which bytes
// were written, read and computed for nothing. It knows no device by name: what is not on the host it copies there to
// look at.
//
// Threads: start, stop and what reads the results belong to one thread at a time; see() runs anywhere, under the
// engine's own lock, which is never held while code of others runs.
#pragma once
#include <mutex>
#include <string>

#include "dispatch/observe.h"
#include "observe/values/accesses.h"
#include "observe/values/regions.h"

namespace fc::observe::values {

struct Tally {
  uint64_t bytes = 0, calls = 0;
};

// A call path: an operator called by one stack of the program, or something that it does inside.
struct Node {
  uint32_t parent = 0;
  const Operator* op = nullptr;
  const std::string* name = nullptr;  // of what is no operator: "fill", "map add", a library's routine
  EventKind kind{};
  uint32_t stack = 0, forward = 0;     // of the program (recorder.h); forward: of the call whose backward this is
  uint32_t native = 0;                 // in compiled code (native.h), of its first call
  const std::string* scope = nullptr;  // modules and ranges around it, outermost first: "Net.layer1.0 / my part"
  Device where{};
  uint64_t calls = 0, ns = 0;
  uint64_t looked = 0;             // calls whose values were looked at
  uint64_t written = 0, read = 0;  // bytes
  uint64_t judged = 0;             // of the written ones, those of calls that were looked at
  uint64_t known = 0;              // bytes written over known ones, so that it can be said whether they changed
  uint64_t unchanged = 0;          // of them, by elements
  uint64_t unchanged_bytes = 0;    // by single bytes, as GVProf counts
  uint64_t tiles = 0;              // of `known`, told by digests of tiles
  uint64_t object = 0;             // bytes of the storages written to
  std::array<Tally, kPatterns> found{};
  std::string tensor;               // the first one it wrote: "float32 [2, 3]"
  DType narrow = DType::Undefined;  // of the last heavy type
  double number = 0, slope = 0, base = 0, frequent = 0;
};

// From who wrote to who reads or writes next; `object` is the node that allocated the memory.
struct EdgeKey {
  uint32_t from, to, object;
  bool write;
  bool operator==(const EdgeKey&) const = default;
};
struct Edge {
  uint64_t bytes = 0, unchanged = 0, object = 0, count = 0;
};
struct EdgeHash {
  size_t operator()(const EdgeKey& k) const {
    return (k.from * 0x9e3779b97f4a7c15U ^ k.to) * 0xbf58476d1ce4e5b9U ^ (k.object << 1 | k.write);
  }
};

struct Totals {
  uint64_t events = 0, looked_bytes = 0, copied_bytes = 0, own_ns = 0, started = 0, stopped = 0;
  uint64_t watched_before = 0, ns = 0;  // watched, before the last start and in all
  uint64_t crowded = 0;                 // storages with too many pieces, whose details were dropped
  uint64_t lost = 0;                    // events for which there was no memory
  uint64_t skipped = 0;                 // calls that the budget left out
};

class Engine final : public Observer {
 public:
  explicit Engine(const Options& options);
  ~Engine() override;
  void start(Watch where, bool children);
  void stop();
  void see(const Event& e) noexcept override;
  // For a backend of this device type that can tell single accesses; null where they are not asked for
  // (Options::instructions). Taken back from it before the engine ends.
  const fc_watcher* watcher(int device_type);
  const Accesses* accesses() const { return accesses_.get(); }
  void ignore(const Tensor& t);  // no finding is about this tensor's storage

  const Options& options() const { return options_; }
  std::vector<Node> nodes() const;  // the first stands for what was there before and outside
  std::vector<std::pair<EdgeKey, Edge>> edges() const;
  Totals totals() const;

 private:
  struct Frame;
  struct Lane;
  struct Pending;
  Lane& lane_here();
  Lane* lane_if_known() const;
  uint32_t child(uint32_t parent, const Operator* op, const std::string* name, EventKind kind, const Lane& lane,
                 Device d);
  void begin(Lane& lane, const Event& e, uint32_t stack, uint64_t now);
  void end(Lane& lane, const Event& e, uint64_t now);
  void memory(Lane& lane, const Event& e, uint32_t stack);
  void begin_kernel(Lane& lane, Frame& f, const Event& e);
  void end_kernel(Lane& lane, Frame& f, const Event& e);
  void begin_leaf(Lane& lane, Frame& f, const Event& e);
  void end_leaf(Lane& lane, Frame& f, const Event& e);
  void take_pieces(Lane& lane, uint32_t node, const Event& e, Device d);
  void know(const Storage& s);
  void know(const Tensor& t);  // its storage, if it is older than the profile
  void mark_read(Lane& lane, uint32_t node, const View& v, Device d, bool accumulates);
  Pending prepare(const View& v, Device d, bool selects);
  void write(Lane& lane, uint32_t node, Pending& p, const Event& e, const View* source);
  void write_selected(Lane& lane, uint32_t node, Pending& p, const View& mask);
  void unknown_write(uint32_t node, const View& v, Device d, bool counts = true);
  void crowd(StorageRecord& r, uint32_t node, const Runs& runs);
  void retire(const Segment& s, End how, bool quiet);
  void free_storage(uint64_t id, bool quiet = false);
  void add_values(Node& n, const Content& c, uint64_t bytes, uint32_t of);
  uint64_t find_twin(StorageRecord& r, uint64_t base, uint64_t bytes, const Content& content, uint64_t version);
  Tally& found(uint32_t node, Pattern p);
  void find_identity(Frame& f, const Event& e);
  uint64_t call_key(const Event& e, bool& usable);
  bool sampled(Node& n);
  void forget_memory();  // all is unknown from here on, as at the start
  void forget();         // that, and what threads are in the middle of
  bool wants(Pattern p) const { return options_.patterns & bit(p); }

  struct Watched {  // a backend's watcher is told this
    Engine* engine;
    int device;
    fc_watcher watcher;
  };

  Options options_;
  std::unique_ptr<Accesses> accesses_;
  std::map<int, std::unique_ptr<Watched>> watched_;
  uint64_t number_;
  uint64_t registration_ = 0;
  mutable std::mutex mutex_;
  std::vector<Node> nodes_;
  std::unordered_map<uint64_t, std::vector<uint32_t>> children_;  // by hash
  std::unordered_map<EdgeKey, Edge, EdgeHash> edges_;
  Storages storages_;
  std::unordered_map<uint64_t, std::unique_ptr<Lane>> lanes_;  // by thread
  struct Place {
    uint64_t storage = 0, base = 0, version = 0;
  };
  std::unordered_map<uint64_t, Place> by_hash_;     // content: where it is, or was
  std::unordered_map<uint64_t, uint64_t> moved_;    // content and device: it was copied there before
  std::unordered_map<uint64_t, uint64_t> answers_;  // by call_key: version of the answer
  std::unordered_set<uint64_t> ended_;              // versions of which a part ended unread
  std::unordered_set<uint64_t> changed_;            // versions that were overwritten, of those that somebody asks for
  std::unordered_map<uint64_t, uint32_t> forward_;  // stacks of calls, by call_id
  uint64_t version_ = 0;
  Totals totals_;
};

}  // namespace fc::observe::values
