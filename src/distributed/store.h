// SPDX-License-Identifier: Apache-2.0
// A store is the small table of keys and bytes through which processes find each other. Keys and values are any bytes.
//
// Every call is for any thread. What waits for a key does so until the store's timeout (or the call's) and then throws
// StoreError; it ends early with what `check_interrupt` throws. A store is used in the process that made it: after a
// fork the child's calls throw.
#pragma once
#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/ref.h"

namespace fc::distributed {

using Duration = std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using Strings = std::vector<std::string>;

struct DistError : Error {
  using Error::Error;
  const char* kind() const noexcept override { return "DistError"; }
};
struct BackendError : DistError {  // an engine failed
  using DistError::DistError;
  const char* kind() const noexcept override { return "DistBackendError"; }
};
struct NetworkError : DistError {
  using DistError::DistError;
  const char* kind() const noexcept override { return "DistNetworkError"; }
};
struct StoreError : DistError {
  using DistError::DistError;
  const char* kind() const noexcept override { return "DistStoreError"; }
};
struct QueueEmptyError : DistError {
  using DistError::DistError;
  const char* kind() const noexcept override { return "DistQueueEmptyError"; }
};

// Hook of the Python front: throws when the program was interrupted. Called by whoever waits, every tenth of a second,
// on the program's thread and without locks of ours.
extern void (*check_interrupt)();

std::string seconds(Duration d);  // "1.5 s"
uint64_t monotonic_ns();

class Store : public RefCounted {
 public:
  static constexpr Duration kDefaultTimeout = std::chrono::minutes(5);

  virtual void set(const std::string& key, const std::string& value) = 0;
  virtual std::string get(const std::string& key) = 0;  // waits until the key is there
  virtual int64_t add(const std::string& key, int64_t amount) = 0;
  // Sets the value if it is `expected`, or if there is none and `expected` is empty; what is there then.
  virtual std::string compare_set(const std::string& key, const std::string& expected, const std::string& desired) = 0;
  virtual bool remove(const std::string& key) = 0;
  virtual bool check(const Strings& keys) = 0;
  virtual void wait(const Strings& keys, Duration timeout) = 0;
  virtual int64_t count() = 0;
  virtual void append(const std::string& key, const std::string& value) = 0;
  virtual Strings keys() = 0;
  virtual void queue_push(const std::string& key, const std::string& value);
  virtual std::string queue_pop(const std::string& key, bool block);
  virtual int64_t queue_length(const std::string& key);
  // The monotonic clock, in nanoseconds, of whoever holds the table: what processes set their clocks by.
  virtual int64_t clock();
  // The same table for another thread, so that neither waits for the other.
  virtual Ref<Store> clone();
  // This process as the table's holder sees it, by which others may reach it: "127.0.0.1".
  virtual std::string own_address() const { return "127.0.0.1"; }
  virtual std::string describe() const = 0;  // "the store at 127.0.0.1:29500"

  virtual Duration timeout() const { return timeout_; }
  virtual void set_timeout(Duration timeout);
  void wait(const Strings& keys) { wait(keys, timeout()); }

 protected:
  Duration timeout_ = kDefaultTimeout;
};

// Keys of another store below a prefix.
class PrefixStore final : public Store {
 public:
  PrefixStore(std::string prefix, Ref<Store> under);
  void set(const std::string& key, const std::string& value) override;
  std::string get(const std::string& key) override;
  int64_t add(const std::string& key, int64_t amount) override;
  std::string compare_set(const std::string& key, const std::string& expected, const std::string& desired) override;
  bool remove(const std::string& key) override;
  bool check(const Strings& keys) override;
  using Store::wait;
  void wait(const Strings& keys, Duration timeout) override;
  int64_t count() override;
  void append(const std::string& key, const std::string& value) override;
  Strings keys() override;
  void queue_push(const std::string& key, const std::string& value) override;
  std::string queue_pop(const std::string& key, bool block) override;
  int64_t queue_length(const std::string& key) override;
  int64_t clock() override { return under_->clock(); }
  Ref<Store> clone() override;
  std::string own_address() const override { return under_->own_address(); }
  std::string describe() const override { return under_->describe(); }
  Duration timeout() const override { return under_->timeout(); }
  void set_timeout(Duration timeout) override { under_->set_timeout(timeout); }

  const Ref<Store>& under() const { return under_; }
  const std::string& prefix() const { return prefix_; }

 private:
  std::string place(const std::string& key) const;
  Strings places(const Strings& keys) const;
  std::string prefix_;
  Ref<Store> under_;
};

Ref<Store> make_hash_store();  // for threads of one process
// For processes that share a file system. The last of those who have it open removes the file.
Ref<Store> make_file_store(const std::string& path);

}  // namespace fc::distributed
