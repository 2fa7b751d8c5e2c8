// SPDX-License-Identifier: Apache-2.0
// One loaded backend, for the files of this folder.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "backends/plugin/plugin.h"
#include "core/error.h"
#include "dispatch/operator.h"

namespace fc::plugin {

class Backend;

// An operator that a backend computes by itself.
struct FastPath {
  Backend& backend;
  Operator& op;
  std::string name;
};

// Memory of one backend. Freed blocks are kept by device, stream and size, and reused in stream order.
class CachingAllocator final : public Allocator {
 public:
  explicit CachingAllocator(Backend& backend) : backend_(backend) {}
  Block allocate(size_t bytes, Device device) override;
  void release(void* data, size_t bytes) noexcept;
  int device_of(const void* data);  // the device number whose block holds this address
  void empty(int device);
  MemoryStats stats(int device);

 private:
  struct Key {
    size_t bytes;
    void* stream;
    int device;
    auto operator<=>(const Key&) const = default;
  };
  void* from_cache(const Key& key);
  void give_back(void* data, const Key& key) noexcept;  // to the backend

  Backend& backend_;
  std::mutex mutex_;
  std::map<Key, std::vector<void*>> cache_;
  std::map<const void*, Key> live_;
  std::unordered_map<int, MemoryStats> stats_;
};

class Backend {
 public:
  Backend(const fc_backend& c, std::string origin) : c(c), origin(std::move(origin)), allocator(*this) {}

  fc_backend c;  // entries that the library's struct was too short for are null
  std::string origin;
  std::string name;
  int device_type = -1;
  CachingAllocator allocator;
  std::vector<std::unique_ptr<FastPath>> fast_paths;

  bool claims(const fc_query& q);  // asks once per query; a claim without a function is none

 private:
  struct QueryHash {
    size_t operator()(const fc_query& q) const;
  };
  struct QuerySame {
    bool operator()(const fc_query& a, const fc_query& b) const;
  };
  std::mutex mutex_;
  std::unordered_map<fc_query, bool, QueryHash, QuerySame> answers_;
  uint32_t empty_claims_ = 0;  // families that were claimed without a function, as bits: warned once each
};

// A context for one call: made, passed as &scope.context, and asked to raise if the status is not FC_OK. Workspace
// that the call took goes back when the scope ends.
class CallScope {
 public:
  CallScope(Backend& backend, int device);
  ~CallScope();
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

  void check(int status, std::string_view call) {
    if (status != FC_OK) [[unlikely]]
      fail(status, call);
  }
  [[noreturn]] void fail(int status, std::string_view call);
  const char* message() const { return message_; }
  void* workspace(size_t bytes) noexcept;

  fc_context context;

 private:
  Backend& backend_;
  std::vector<std::pair<void*, size_t>> workspace_;
  char message_[1024];
};

Backend* find_backend(int device_type);  // null if none
Backend& backend_of(Device device);      // throws
void* stream_of(int device_type, int index);

void install_families(Backend& b) noexcept;
std::vector<std::string> collect_operators(Backend& b);  // fills fast_paths; returns names that are no operators
void install_operators(Backend& b);                      // its fast_paths

}  // namespace fc::plugin
