// SPDX-License-Identifier: Apache-2.0
#include "distributed/monitor.h"

#include <unistd.h>

#include <algorithm>

#include "core/signals.h"
#include "distributed/group.h"

namespace fc::distributed {
namespace {

constexpr char kLeft[] = "left", kDead[] = "dead", kRequests[] = "requests";

std::string beat_key(int rank) { return str("beat/", rank); }
std::string calls_key(const ProcessGroup& group, int rank) { return str("calls/", group.name(), "/", rank); }

}  // namespace

Monitor::Monitor(Ref<Store> store, int rank, int size, bool beats)
    : store_(std::move(store)),
      rank_(rank),
      size_(size),
      pid_(getpid()),
      beats_(beats && size > 1),
      watched_((rank + 1) % size),
      last_heard_(Clock::now()),
      last_look_(last_heard_) {
  store_->set_timeout(kSilence);
  if (beats_) store_->set(beat_key(rank_), str(++beat_));  // others can tell from the first moment on
  thread_ = std::thread([this] { run(); });
}

Monitor::~Monitor() {
  if (getpid() != pid_) {  // a child has no thread to join
    thread_.detach();
    return;
  }
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
  try {
    if (beats_) store_->set(beat_key(rank_), kLeft);
  } catch (const std::exception&) {  // the store has left first
  }
}

void Monitor::watch(ProcessGroup* group) {
  std::lock_guard lock(mutex_);
  groups_.push_back(group);
}
void Monitor::forget(ProcessGroup* group) {
  std::lock_guard lock(mutex_);
  std::erase(groups_, group);
}

void Monitor::run() {
  hold_signals_on_worker();
  bool store_is_there = true;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (changed_.wait_for(lock, kBeat, [this] { return stop_; })) return;
    }
    if (!store_is_there) continue;
    const auto begun = Clock::now();
    try {
      look();
    } catch (const std::exception&) {
      store_is_there = false;
      // Silence: a process that was stopped. Otherwise whoever held it has left, or died as its connections tell.
      if (beats_ && Clock::now() - begun >= kSilence)
        fail_all(store_->describe() +
                 " does not answer: the process that holds it was stopped, or its machine cannot be reached");
    }
  }
}

void Monitor::look() {
  const auto now = Clock::now();
  if (now - last_look_ > kSilence / 2) last_heard_ = now;  // this process was stopped itself
  last_look_ = now;
  if (beats_) {
    store_->set(beat_key(rank_), str(++beat_));
    if (store_->check({kDead})) {
      const std::string word = store_->get(kDead);  // "3 has not been heard of …"
      declare_dead(std::atoi(word.c_str()), "rank " + word);
    }
    if (watched_ != rank_) {
      const std::string key = beat_key(watched_);
      const std::string word = store_->check({key}) ? store_->get(key) : "";
      if (word == kLeft) {
        watched_ = (watched_ + 1) % size_;
        last_word_.clear(), last_heard_ = now;
      } else if (word != last_word_) {
        last_word_ = word, last_heard_ = now;
      } else if (!word.empty() && now - last_heard_ > kSilence) {
        const std::string text = str(watched_, " has not been heard of for ", seconds(kSilence),
                                     ": its process was stopped, or its machine cannot be reached");
        store_->compare_set(kDead, "", text);
        declare_dead(watched_, "rank " + text);
      }
    }
  }
  const int64_t requests = store_->add(kRequests, 0);
  if (requests != requests_) answer(requests_ = requests);
}

void Monitor::answer(int64_t request) {
  std::lock_guard lock(mutex_);  // no group ends meanwhile
  for (ProcessGroup* g : groups_) store_->set(calls_key(*g, g->rank()), str(request, "\n", g->recorder().encode()));
}

void Monitor::fail_all(const std::string& why) {
  std::lock_guard lock(mutex_);
  for (ProcessGroup* g : groups_) g->fail(why);
}

void Monitor::declare_dead(int rank, const std::string& why) {
  std::lock_guard lock(mutex_);
  for (ProcessGroup* g : groups_)
    if (std::find(g->ranks().begin(), g->ranks().end(), rank) != g->ranks().end()) g->fail(why);
}

std::vector<std::optional<std::vector<Record>>> Monitor::ask(const ProcessGroup& group, Duration patience) {
  std::vector<std::optional<std::vector<Record>>> answers(static_cast<size_t>(group.size()));
  try {
    Ref<Store> store = store_->clone();
    const int64_t request = store->add(kRequests, 1);
    store->set(calls_key(group, group.rank()), str(request, "\n", group.recorder().encode()));
    const auto end = Clock::now() + patience;
    for (bool all = false; !all && Clock::now() < end;) {
      all = true;
      for (int r = 0; r < group.size(); ++r) {
        auto& answer = answers[static_cast<size_t>(r)];
        const std::string key = calls_key(group, r);
        if (answer) continue;
        if (store->check({key})) {
          const std::string text = store->get(key);
          if (std::atoll(text.c_str()) >= request) answer = Recorder::decode(text.substr(text.find('\n') + 1));
        }
        all &= answer.has_value();
      }
      if (!all) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  } catch (const std::exception&) {  // without the store nobody can be asked
  }
  return answers;
}

}  // namespace fc::distributed
