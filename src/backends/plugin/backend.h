// SPDX-License-Identifier: Apache-2.0
// One loaded backend, for the files of this folder.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <unordered_map>

#include "backends/plugin/plugin.h"
#include "core/device_record.h"
#include "core/error.h"
#include "dispatch/operator.h"

namespace fc::plugin {

class Backend;
inline int index_of(Device d) { return d.index > 0 ? d.index : 0; }

// An operator that a backend computes by itself. Stays once it was offered; `name` is null while it is not.
struct FastPath {
  Backend& backend;
  Operator& op;
  const char* name;  // the backend's own pointer; read and written atomically
  const char* offered() const { return __atomic_load_n(&name, __ATOMIC_ACQUIRE); }
};

// Memory of one backend. Freed blocks are kept by device, stream and size, and reused in stream order; exact memory is
// given back at once.
struct DeviceBlock {  // the host's notes on a block, as long as it holds the block
  struct Key {
    size_t bytes;
    void* stream;
    int device;
    auto operator<=>(const Key&) const = default;
  };
  Backend& backend;
  Key key;
  void* data;
  size_t requested = 0;                          // 0: nobody uses it
  DeviceBlock *next = nullptr, *last = nullptr;  // among those in use, or among free ones of this key
  DeviceBlock* beside = nullptr;                 // workspace of the same call
};
class CachingAllocator final : public Allocator {
 public:
  CachingAllocator(Backend& backend, int devices) : backend_(backend), stats_(static_cast<size_t>(devices)) {}
  Block allocate(size_t bytes, Device device) override;
  DeviceBlock* take(size_t bytes, Device device);
  void release(DeviceBlock* block) noexcept;
  void empty(int device);
  MemoryStats stats(int device);
  void reset_peak(int device);
  std::vector<MemoryBlock> snapshot(int device);

 private:
  using Key = DeviceBlock::Key;
  DeviceBlock* from_cache(const Key& key);      // null: none; with the lock held
  DeviceBlock* from_backend(const Key& key);    // throws
  void give_back(DeviceBlock* block) noexcept;  // to the backend
  MemoryStats& count(int device) { return stats_[static_cast<size_t>(device)]; }

  Backend& backend_;
  std::mutex mutex_;
  std::map<Key, DeviceBlock*> cache_;
  DeviceBlock* in_use_ = nullptr;
  std::vector<MemoryStats> stats_;
};

// What a device reported after the fact, until it is raised.
class DeferredErrors {
 public:
  void add(int device, void* stream, int status, std::string message);
  // Throws the first one of that device and stream (null: of any of its streams).
  void raise(const Backend& backend, int device, void* stream, bool all_streams) {
    if (__atomic_load_n(&any_, __ATOMIC_ACQUIRE)) [[unlikely]]
      raise_one(backend, device, stream, all_streams);
  }

 private:
  struct Error {
    int device;
    void* stream;
    int status;
    std::string message;
  };
  void raise_one(const Backend& backend, int device, void* stream, bool all_streams);
  std::mutex mutex_;
  std::vector<Error> errors_;
  bool any_ = false;
};

class Backend final : public DeviceRecord {
 public:
  Backend(const fc_backend& c, std::string origin);

  void copy_bytes(void* dst, Device dst_device, const void* src, Device src_device, size_t bytes,
                  bool non_blocking) override;
  void synchronise(Device device) override;
  MemoryStats memory_stats(Device device) override { return cache.stats(index_of(device)); }
  void reset_peak(Device device) override { cache.reset_peak(index_of(device)); }
  void empty_cache(Device device) override { cache.empty(index_of(device)); }
  MemoryInfo memory_info(Device device) override;
  std::vector<MemoryBlock> memory_blocks(Device device) override { return cache.snapshot(index_of(device)); }
  Block pinned(size_t bytes, Device device) override;
  bool has_streams() const override { return c.stream_create != nullptr; }
  void* create_stream(Device device) override;
  void destroy_stream(Device device, void* stream) override;
  void* create_event(Device device) override;
  void destroy_event(Device device, void* event) override;
  void record_event(Device device, void* event) override;
  void wait_event(Device device, void* event) override;
  bool event_done(Device device, void* event) override;
  void synchronise_event(Device device, void* event) override;
  double event_elapsed(Device device, void* start, void* end) override;

  const fc_backend c;  // entries that the library's struct was too short for are null
  const std::string origin, own_name;
  CachingAllocator cache;
  DeferredErrors errors;

  bool claims(const fc_query& q);  // asks once per query and epoch; a claim without a function is none
  void ask_anew();                 // forgets the answers, reads the list of operators again

  // Its list of operators: paths for those that are new, which install_operators makes known. Returns names of none.
  std::vector<std::string> read_operators();
  void install_operators();
  std::vector<std::string> operator_names();

 private:
  struct QueryHash {
    size_t operator()(const fc_query& q) const;
  };
  struct QuerySame {
    bool operator()(const fc_query& a, const fc_query& b) const;
  };
  std::mutex mutex_;
  std::unordered_map<fc_query, bool, QueryHash, QuerySame> answers_;
  uint64_t epoch_ = 0;         // of the answers: one that was asked for before a change is not kept
  uint32_t empty_claims_ = 0;  // families that were claimed without a function, as bits: warned once each
  std::vector<std::unique_ptr<FastPath>> paths_;
  std::set<std::string> told_unknown_;  // operators that were offered and do not exist
  size_t installed_ = 0;                // of paths_
};

class ResultMaker {  // what make_result and make_view reach in a call that has results
 public:
  virtual int make_result(int32_t result, int32_t item, int32_t dtype, IntSpan sizes, fc_tensor* made) = 0;
  virtual int make_view(int32_t result, int32_t item, int32_t arg, int32_t arg_item, int64_t byte_offset, IntSpan sizes,
                        const int64_t* byte_strides) = 0;

 protected:
  ~ResultMaker() = default;
};

// A context for one call: made, passed as &scope.context, and asked to raise if the status is not FC_OK. Workspace
// that the call took goes back when the scope ends. Scopes of a thread nest; the host's functions find theirs among
// them, so a context that is used too late or elsewhere is noticed and never followed.
class CallScope {
 public:
  CallScope(Backend& backend, int device, ResultMaker* results = nullptr);
  ~CallScope();
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

  void check(int status, std::string_view call) {
    if (status != FC_OK) [[unlikely]]
      fail(status, call);
  }
  [[noreturn]] void fail(int status, std::string_view call);
  const char* message() {
    message_[sizeof message_ - 1] = 0;  // a backend may have filled all of it
    return message_;
  }
  void* workspace(size_t bytes) noexcept;
  Device device() const { return {static_cast<int8_t>(backend_.type), static_cast<int8_t>(context.device)}; }
  ResultMaker* results() const { return results_; }
  static CallScope* find(const fc_context* context);  // null: not of this thread, or over

  fc_context context;

 private:
  Backend& backend_;
  ResultMaker* results_;
  CallScope* outer_;
  DeviceBlock* workspace_ = nullptr;
  char message_[1024];
};

[[noreturn]] void raise_status(const Backend& b, int device, int status, std::string_view call, const char* message);

void tell_watchers(Backend& fresh);      // of accesses, if there are any
Backend* find_backend(int device_type);  // null: none, or the device is no backend's
Backend& backend_of(Device device);      // throws

void fill_families(Backend& b);
bool has_function(const fc_backend& c, fc_family family);
std::vector<std::string> function_lines(Backend& b);

// The C form of tensors, values and texts, and what it points to. Room for a usual call is inside.
template <class T, size_t n>
class Room {
 public:
  T* take(size_t count) {  // all at once: what is taken stays where it is
    if (count <= n) return inline_;
    more_ = std::make_unique_for_overwrite<T[]>(count);
    return more_.get();
  }

 private:
  T inline_[n];
  std::unique_ptr<T[]> more_;
};
class Arguments {
 public:
  // Room for that many results besides; further tensors may be described afterwards.
  Arguments(const Arg* args, size_t n, std::span<const Value> results);
  const fc_value* data() const { return values_; }
  fc_value* results() const { return results_; }

 private:
  struct Needs {
    size_t tensors = 0, dims = 0, numbers = 0, letters = 0;
    void add(const Tensor& t);
    void add(const Arg& a);
  };
  fc_value convert(const Arg& a);
  fc_tensor tensor(const Tensor& t);

  Room<fc_value, 16> value_room_;
  Room<fc_tensor, 12> tensor_room_;
  Room<int64_t, 48> stride_room_;
  Room<fc_number, 4> number_room_;
  Room<char, 64> letter_room_;
  fc_value *values_, *results_;
  fc_tensor* tensors_;
  int64_t* strides_;
  fc_number* numbers_;
  char* letters_;
};

}  // namespace fc::plugin
