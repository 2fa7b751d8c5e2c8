// SPDX-License-Identifier: Apache-2.0
#include "autograd/workers.h"

#include <pthread.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <queue>
#include <thread>
#include <utility>

namespace fc::autograd {
namespace {

class Worker {
 public:
  Worker() {
    std::thread([this] { work(); }).detach();  // sleeps until the process ends
  }
  void submit(const WorkerJob& job) {
    {
      std::lock_guard lock(mutex_);
      jobs_.push(job);
    }
    wake_.notify_one();
  }

 private:
  struct Later {
    bool operator()(const WorkerJob& a, const WorkerJob& b) const { return a.priority < b.priority; }
  };
  void work() {
    for (;;) {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return !jobs_.empty(); });
      WorkerJob job = jobs_.top();
      jobs_.pop();
      lock.unlock();
      job.run(job.task, job.node);
    }
  }
  std::mutex mutex_;
  std::condition_variable wake_;
  std::priority_queue<WorkerJob, std::vector<WorkerJob>, Later> jobs_;
};

struct Workers {
  std::mutex mutex;
  std::map<std::pair<int, int>, Worker*> by_device;
};
// Never destroyed: a worker may sleep on it. A forked child has none of its parent's threads and starts afresh.
Workers* workers = nullptr;
void start() { workers = new Workers; }

}  // namespace

void submit(Device device, const WorkerJob& job) {
  static std::once_flag once;
  std::call_once(once, [] {
    start();
    pthread_atfork(nullptr, nullptr, start);
  });
  Worker* worker;
  {
    std::lock_guard lock(workers->mutex);
    Worker*& slot = workers->by_device[{device.type, device.index}];
    if (!slot) slot = new Worker;
    worker = slot;
  }
  worker->submit(job);
}

}  // namespace fc::autograd
