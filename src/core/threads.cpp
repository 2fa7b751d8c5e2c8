// SPDX-License-Identifier: Apache-2.0
#include "core/threads.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <utility>

#include "core/control_group.h"
#include "core/error.h"
#include "core/instruction_set.h"
#include "core/signals.h"
#include "core/waiting.h"
#include "core/watch.h"

#if defined(_OPENMP)
#include <omp.h>
#else
#include <condition_variable>
#include <thread>
#include <vector>
#endif

namespace fc {
namespace {

int wanted = 0;         // 0: not decided yet
bool has_team = false;  // this process has started workers
bool alone = false;     // the process that this is a fork of had
bool deterministic = false;
thread_local bool inside = false;
thread_local int index_here = 0;

int available_cores() {
  cpu_set_t set;
  const bool told = sched_getaffinity(0, sizeof set, &set) == 0;
  const int cores = std::max(1, told ? CPU_COUNT(&set) : static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
  const double quota = cpu_quota();
  return quota > 0 && quota < cores ? std::max(1, static_cast<int>(quota)) : cores;
}

int initial_threads() {
  for (const char* name : {"FACULA_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"})
    if (const char* text = getenv(name))
      if (int n = atoi(text); n > 0) return n;
  return available_cores();
}

void note_team() { __atomic_store_n(&has_team, true, __ATOMIC_RELAXED); }

// libgomp's workers do not survive a fork, and waiting for them hangs: the child of a process that had some works
// alone.
void after_fork_in_child() {
  inside = false;
  if (!has_team) return;
  alone = true;
  wanted = 1;
#if defined(_OPENMP)
  omp_set_num_threads(1);
#endif
}
void watch_forks_once() {
  static std::once_flag once;
  std::call_once(once, [] {
#if defined(_OPENMP)
    // Another package may have brought Intel's OpenMP, which holds its locks over a fork, and does so from its first
    // call on: it has to be in order again before after_fork_in_child calls it.
    omp_get_max_threads();
#endif
    pthread_atfork(nullptr, nullptr, after_fork_in_child);
  });
}

struct FirstError {
  std::mutex mutex;
  std::exception_ptr error;
  void keep() {
    std::lock_guard lock(mutex);
    if (!error) error = std::current_exception();
  }
};

struct Job {
  int64_t begin, end, chunk;
  void (*body)(void*, int64_t, int64_t);
  void* context;
  FirstError* error;
  uint64_t mode = float_mode();  // the caller's
  void run(int part) const {
    set_float_mode(mode);
    int64_t from = begin + part * chunk, to = std::min(end, from + chunk);
    if (from >= to) return;
    inside = true;
    int before = std::exchange(index_here, part);
    try {
      body(context, from, to);
    } catch (...) { error->keep(); }
    index_here = before;
    inside = false;
  }
};

// Beside other work a thread that is woken gets a processor only when another's turn ends, after milliseconds, and a
// loop of microseconds is faster without it. So the caller looks how long it waits for the others: after a wait out of
// all proportion to its own part it takes all parts of small loops itself for a while, the longer the more often that
// happens. Loops are cut as before, so results do not depend on it.
class Lateness {
 public:
  static int64_t now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  bool expected(int64_t at) const { return at < alone_until_.load(std::memory_order_relaxed); }
  void learn(int64_t own, int64_t waited, int64_t at) {
    const int64_t before = pause_.load(std::memory_order_relaxed);
    if (waited > kLate + 4 * own) {
      pause_.store(std::min(2 * before, kLongest), std::memory_order_relaxed);
      alone_until_.store(at + before, std::memory_order_relaxed);
    } else if (before > kShortest) {
      pause_.store(std::max(before / 2, kShortest), std::memory_order_relaxed);
    }
  }

 private:
  static constexpr int64_t kLate = 300'000, kShortest = 2'000'000, kLongest = 128'000'000;  // nanoseconds
  std::atomic<int64_t> alone_until_ = 0, pause_ = kShortest;
};
constinit Lateness lateness;
// The wait that observers see: from the end of the caller's own part on.
class ToldWait {
 public:
  void begin() {
    if (watched(EventKind::Library)) [[unlikely]]
      told_ = begin_wait_hook();
  }
  ~ToldWait() {
    if (told_) [[unlikely]]
      end_wait_hook(told_);
  }

 private:
  void* told_ = nullptr;
};
constexpr int64_t kSmallLoop = 32;  // times the grain, which is what is worth a thread at all

#if !defined(_OPENMP)
// Workers sleep on a condition variable; part k of a job belongs to worker k, the caller is worker 0.
class Pool {
 public:
  int64_t run(const Job& job, int parts, ToldWait& wait) {  // when the caller's own part ended
    std::unique_lock lock(use_);
    {
      std::lock_guard guard(mutex_);
      while (static_cast<int>(workers_.size()) < parts - 1) {
        int id = static_cast<int>(workers_.size()) + 1;
        workers_.emplace_back([this, id] {
          hold_signals_on_worker();
          work(id);
        });
      }
      job_ = &job;
      parts_ = parts;
      pending_ = parts - 1;
      ++round_;
    }
    wake_.notify_all();
    job.run(0);
    const int64_t own_end = Lateness::now();
    wait.begin();
    std::unique_lock guard(mutex_);
    done_.wait(guard, [&] { return pending_ == 0; });
    return own_end;
  }

 private:
  void work(int id) {
    uint64_t seen = 0;
    for (;;) {
      std::unique_lock guard(mutex_);
      wake_.wait(guard, [&] { return round_ != seen; });
      seen = round_;
      if (id >= parts_) continue;
      const Job* job = job_;
      guard.unlock();
      job->run(id);
      guard.lock();
      if (--pending_ == 0) done_.notify_one();
    }
  }
  std::mutex use_, mutex_;
  std::condition_variable wake_, done_;
  std::vector<std::thread> workers_;
  const Job* job_ = nullptr;
  int parts_ = 0, pending_ = 0;
  uint64_t round_ = 0;
};
Pool& pool() {
  static Pool& p = *new Pool;  // workers sleep until the process ends
  return p;
}
#endif

}  // namespace

void* (*begin_wait_hook)() = nullptr;
void (*end_wait_hook)(void*) noexcept = nullptr;

int num_threads() {
  int n = __atomic_load_n(&wanted, __ATOMIC_RELAXED);
  if (n == 0) {
    static std::once_flag once;
    std::call_once(once, [] { set_num_threads(initial_threads()); });
    n = __atomic_load_n(&wanted, __ATOMIC_RELAXED);
  }
  return n;
}

void set_num_threads(int n) {
  FC_CHECK(n > 0, "set_num_threads expects a positive integer, got ", n);
  watch_forks_once();
  if (alone) n = 1;
  __atomic_store_n(&wanted, n, __ATOMIC_RELAXED);
#if defined(_OPENMP)
  omp_set_num_threads(n);
#endif
}

int thread_index() { return index_here; }
bool in_parallel_region() { return inside; }

const char* thread_pool_name() {
#if defined(_OPENMP)
  return "OpenMP";
#else
  return "native";
#endif
}

bool deterministic_algorithms() { return __atomic_load_n(&deterministic, __ATOMIC_RELAXED); }
void set_deterministic_algorithms(bool on) { __atomic_store_n(&deterministic, on, __ATOMIC_RELAXED); }

#if defined(_OPENMP)
LibraryThreads::LibraryThreads(bool one)
    : count_(one || deterministic_algorithms() ? 1 : num_threads()), before_(omp_get_max_threads()) {
  if (count_ != before_) omp_set_num_threads(count_);
  if (count_ > 1) note_team();
}
LibraryThreads::~LibraryThreads() {
  if (omp_get_max_threads() != before_) omp_set_num_threads(before_);
}
#else
LibraryThreads::LibraryThreads(bool) : count_(1), before_(1) {}
LibraryThreads::~LibraryThreads() = default;
#endif

void run_parallel(int64_t begin, int64_t end, int64_t grain, void (*body)(void*, int64_t, int64_t), void* context) {
  const int64_t n = end - begin;
  const int team = num_threads();
  const int parts = static_cast<int>(std::min<int64_t>(team, (n + grain - 1) / std::max<int64_t>(grain, 1)));
  if (parts <= 1) {
    body(context, begin, end);
    return;
  }
  note_team();
  FirstError error;
  Job job{begin, end, (n + parts - 1) / parts, body, context, &error};
  const int64_t start = Lateness::now();
  if (n <= kSmallLoop * grain && lateness.expected(start)) {
    for (int part = 0; part < parts; ++part) job.run(part);
  } else {
    int64_t own_end = start;
    ToldWait wait;
#if defined(_OPENMP)
    // Always the whole team, even for two parts: libgomp ends the threads that a smaller team leaves over and starts
    // new ones for the next larger team, which takes a hundred times as long as the barrier that idle threads cost.
#pragma omp parallel num_threads(team)
    {
      const int self = omp_get_thread_num();
      if (self != 0) hold_signals_on_worker();
      for (int part = self; part < parts; part += omp_get_num_threads()) job.run(part);
      if (self == 0) {
        own_end = Lateness::now();
        wait.begin();
      }
    }
#else
    own_end = pool().run(job, parts, wait);
#endif
    const int64_t end_of_all = Lateness::now();
    lateness.learn(own_end - start, end_of_all - own_end, end_of_all);
  }
  if (error.error) std::rethrow_exception(error.error);
}

}  // namespace fc
