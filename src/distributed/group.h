// SPDX-License-Identifier: Apache-2.0
// A process group: ranks that call the same collectives in the same order, an engine that moves the bytes, and a thread
// that carries the calls out one after the other. Calls only begin here; their Work ends.
//
// Tensors may lie on any device and have any strides: what the engine cannot read or write in place passes through host
// memory. Until a call's Work has ended its tensors' elements are the group's; the group keeps their memory.
//
// The first failure breaks the group: its connections close, so that other ranks fail soon, and every call under way or
// to come gives that error. Calls are for any thread of the process that made the group; a forked child's throw.
#pragma once
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "core/tensor.h"
#include "distributed/engine.h"
#include "distributed/record.h"
#include "distributed/reduce.h"
#include "distributed/work.h"

namespace fc::distributed {

class Monitor;
class Staged;

struct GroupOptions {
  std::string name;
  std::string engine;      // "gloo"
  std::vector<int> ranks;  // of the group's members in the default group
  int rank = 0;            // in this group
  Duration timeout = std::chrono::minutes(30);
  bool compare_calls = false;  // before each collective
};

class ProcessGroup : public RefCounted {
 public:
  using Tensors = std::vector<Tensor>;
  using Sizes = std::vector<int64_t>;

  // The store is the group's own; `monitor` (may be null) looks after its members.
  ProcessGroup(GroupOptions options, std::unique_ptr<Engine> engine, Ref<Store> store,
               std::shared_ptr<Monitor> monitor);
  ~ProcessGroup() override;

  const std::string& name() const { return options_.name; }
  const std::string& engine_name() const { return options_.engine; }
  const std::vector<int>& ranks() const { return options_.ranks; }
  int rank() const { return options_.rank; }
  int size() const { return static_cast<int>(options_.ranks.size()); }
  const Ref<Store>& store() const { return store_; }
  const std::shared_ptr<Monitor>& monitor() const { return monitor_; }
  Duration timeout() const;
  void set_timeout(Duration timeout);
  uint64_t sequence() const { return sequence_; }  // collectives so far
  std::vector<Record> last_calls() const { return recorder_.last(); }
  const Recorder& recorder() const { return recorder_; }

  // `where` is the caller's line. A timeout of 0 is the group's. Lists have one tensor for each rank of the group;
  // those that only the root needs are empty elsewhere.
  struct Site {
    std::string where;
    Duration timeout{0};
  };
  Ref<Work> all_reduce(const Tensors& tensors, ReduceOp op, const Site& site);
  Ref<Work> reduce(const Tensor& tensor, int root, ReduceOp op, const Site& site);
  Ref<Work> broadcast(const Tensors& tensors, int root, const Site& site);
  Ref<Work> all_gather(const Tensors& outputs, const Tensor& input, const Site& site);  // or one output for all parts
  Ref<Work> gather(const Tensors& outputs, const Tensor& input, int root, const Site& site);
  Ref<Work> scatter(const Tensor& output, const Tensors& inputs, int root, const Site& site);
  Ref<Work> reduce_scatter(const Tensor& output, const Tensors& inputs, ReduceOp op, const Site& site);
  Ref<Work> all_to_all(const Tensors& outputs, const Tensors& inputs, const Site& site);
  // Rows of the first dimension for each rank; empty: equal parts.
  Ref<Work> all_to_all_single(const Tensor& output, const Tensor& input, const Sizes& output_rows,
                              const Sizes& input_rows, const Site& site);
  Ref<Work> barrier(const Site& site);
  Ref<Work> send(const Tensor& tensor, int to, uint32_t tag, const Site& site);
  Ref<Work> recv(const Tensor& tensor, int from, uint32_t tag, const Site& site);  // -1: from any

  void fail(const std::string& why) noexcept;  // breaks the group, from any thread
  // Lets calls under way end, then closes; later calls throw. Once; called by the destructor otherwise.
  void shut_down() noexcept;

 private:
  struct Job {
    Ref<Work> work;
    Record record;
    Duration timeout;
    std::function<void(Engine&, const Call&)> run;
  };
  using Run = std::function<void(Engine&, const Call&)>;

  void check_usable(const char* op) const;  // throws why not
  void check_root(const char* op, int root) const;
  void note(const Header& header, int64_t bytes, const Ref<Work>& work) const;  // into the schedule
  Ref<Work> submit(Header header, int64_t bytes, const Site& site, Run run);
  Ref<Work> transfer(const char* op, const Tensor& tensor, int peer, uint32_t tag, const Site& site, bool sends);
  void work_through();  // the thread
  void carry_out(Job& job);
  void compare_before(const Header& header, Duration timeout);
  std::string find_cause(const Header& header, const std::string& error);
  std::exception_ptr failure() const;

  const GroupOptions options_;
  const int pid_;
  std::unique_ptr<Engine> engine_;
  Ref<Store> store_;
  std::shared_ptr<Monitor> monitor_;
  Recorder recorder_;
  std::atomic<uint64_t> sequence_{0};
  std::atomic<int64_t> timeout_ms_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  std::string failure_;  // why the group is broken; empty: it is not
  bool closing_ = false, shut_ = false;
  int transfers_ = 0;
  std::thread thread_;
};

// Meets the other ranks in the store, connects and starts. Throws what names the ranks that are late, that exist twice
// or think the group has another size.
Ref<ProcessGroup> make_group(GroupOptions options, Ref<Store> store, const std::string& address,
                             std::shared_ptr<Monitor> monitor);

}  // namespace fc::distributed
