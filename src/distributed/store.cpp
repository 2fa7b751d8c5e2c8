// SPDX-License-Identifier: Apache-2.0
#include "distributed/store.h"

#include <condition_variable>
#include <mutex>

#include "distributed/key_table.h"

namespace fc::distributed {

void (*check_interrupt)() = [] {};

std::string seconds(Duration d) {
  const int64_t ms = d.count();
  if (ms % 1000 == 0) return str(ms / 1000, " s");
  return str(ms / 1000, ".", ms % 1000 < 100 ? "0" : "", ms % 1000 < 10 ? "0" : "", ms % 1000, " s");
}

uint64_t monotonic_ns() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count());
}

int64_t Store::clock() { return static_cast<int64_t>(monotonic_ns()); }
void Store::queue_push(const std::string&, const std::string&) {
  raise<NotImplementedError>(describe(), " has no queues: TCPStore and HashStore have");
}
std::string Store::queue_pop(const std::string&, bool) {
  raise<NotImplementedError>(describe(), " has no queues: TCPStore and HashStore have");
}
int64_t Store::queue_length(const std::string&) {
  raise<NotImplementedError>(describe(), " has no queues: TCPStore and HashStore have");
}
Ref<Store> Store::clone() { return Ref<Store>(this); }
void Store::set_timeout(Duration timeout) {
  FC_CHECK_AS(ValueError, timeout.count() > 0, "a store's timeout is longer than nothing");
  timeout_ = timeout;
}

// ---- PrefixStore

PrefixStore::PrefixStore(std::string prefix, Ref<Store> under) : prefix_(std::move(prefix)), under_(std::move(under)) {
  FC_CHECK_AS(TypeError, under_, "PrefixStore: expected a store, not None");
}
std::string PrefixStore::place(const std::string& key) const { return prefix_ + "/" + key; }
Strings PrefixStore::places(const Strings& keys) const {
  Strings out;
  for (auto& k : keys) out.push_back(place(k));
  return out;
}
void PrefixStore::set(const std::string& key, const std::string& value) { under_->set(place(key), value); }
std::string PrefixStore::get(const std::string& key) { return under_->get(place(key)); }
int64_t PrefixStore::add(const std::string& key, int64_t amount) { return under_->add(place(key), amount); }
std::string PrefixStore::compare_set(const std::string& key, const std::string& expected, const std::string& desired) {
  return under_->compare_set(place(key), expected, desired);
}
bool PrefixStore::remove(const std::string& key) { return under_->remove(place(key)); }
bool PrefixStore::check(const Strings& keys) { return under_->check(places(keys)); }
void PrefixStore::wait(const Strings& keys, Duration timeout) { under_->wait(places(keys), timeout); }
int64_t PrefixStore::count() { return under_->count(); }
void PrefixStore::append(const std::string& key, const std::string& value) { under_->append(place(key), value); }
Strings PrefixStore::keys() {
  Strings out;
  for (auto& k : under_->keys())
    if (k.starts_with(prefix_ + "/")) out.push_back(k.substr(prefix_.size() + 1));
  return out;
}
void PrefixStore::queue_push(const std::string& key, const std::string& value) {
  under_->queue_push(place(key), value);
}
std::string PrefixStore::queue_pop(const std::string& key, bool block) { return under_->queue_pop(place(key), block); }
int64_t PrefixStore::queue_length(const std::string& key) { return under_->queue_length(place(key)); }
Ref<Store> PrefixStore::clone() { return make_ref<PrefixStore>(prefix_, under_->clone()); }

// ---- HashStore

namespace {

class HashStore final : public Store {
 public:
  void set(const std::string& key, const std::string& value) override {
    change([&] { table_.set(key, value); });
  }
  std::string get(const std::string& key) override {
    wait({key}, timeout());
    std::lock_guard lock(mutex_);
    const std::string* value = table_.find(key);
    FC_CHECK_AS(distributed::StoreError, value, "store.get: '", key, "' was removed meanwhile");
    return *value;
  }
  int64_t add(const std::string& key, int64_t amount) override {
    return change([&] { return table_.add(key, amount); });
  }
  std::string compare_set(const std::string& key, const std::string& expected, const std::string& desired) override {
    return change([&] { return table_.compare_set(key, expected, desired); });
  }
  bool remove(const std::string& key) override {
    return change([&] { return table_.remove(key); });
  }
  bool check(const Strings& keys) override {
    std::lock_guard lock(mutex_);
    return table_.has(keys);
  }
  void wait(const Strings& keys, Duration timeout) override {
    wait_for([&] { return table_.has(keys); }, timeout,
             [&] { return str("after ", seconds(timeout), " there is still no ", key_list(table_.missing(keys))); });
  }
  int64_t count() override {
    std::lock_guard lock(mutex_);
    return table_.count();
  }
  void append(const std::string& key, const std::string& value) override {
    change([&] { table_.append(key, value); });
  }
  Strings keys() override {
    std::lock_guard lock(mutex_);
    return table_.keys();
  }
  void queue_push(const std::string& key, const std::string& value) override {
    change([&] { table_.push(key, value); });
  }
  std::string queue_pop(const std::string& key, bool block) override {
    std::optional<std::string> value;
    auto take = [&] { return (value = table_.pop(key)).has_value(); };
    if (block) {
      wait_for(take, timeout(), [&] { return str("after ", seconds(timeout()), " queue '", key, "' is still empty"); });
    } else {
      std::lock_guard lock(mutex_);
      FC_CHECK_AS(distributed::QueueEmptyError, take(), "queue '", key, "' is empty");
    }
    return *value;
  }
  int64_t queue_length(const std::string& key) override {
    std::lock_guard lock(mutex_);
    return table_.length(key);
  }
  std::string describe() const override { return "the HashStore"; }

 private:
  template <class F>
  auto change(F&& f) -> decltype(f()) {
    std::lock_guard lock(mutex_);
    changed_.notify_all();
    return f();
  }
  template <class Ready, class Text>
  void wait_for(Ready ready, Duration timeout, Text text) {
    const auto end = Clock::now() + timeout;
    std::unique_lock lock(mutex_);
    while (!ready()) {
      FC_CHECK_AS(distributed::StoreError, Clock::now() < end, "HashStore: ", text());
      changed_.wait_until(lock, std::min(end, Clock::now() + std::chrono::milliseconds(100)));
      lock.unlock();
      check_interrupt();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  KeyTable table_;
};

}  // namespace

Ref<Store> make_hash_store() { return make_ref<HashStore>(); }

}  // namespace fc::distributed
