// SPDX-License-Identifier: Apache-2.0
// The one thread pool. Kernels and the libraries they call share it: with OpenMP it is the OpenMP team, so BLAS and
// oneDNN use the same threads; without (sanitizer builds) it is a small pool of our own. The forked child of a
// process that used several runs on one thread. parallel_for cuts [begin, end) into chunks of at least `grain`; the cut
// depends only on the range and the number of threads, and a nested call runs serially.
#pragma once
#include <cstdint>
#include <memory>
#include <type_traits>

namespace fc {

int num_threads();
void set_num_threads(int n);  // throws on n < 1
int thread_index();           // 0 on the caller
bool in_parallel_region();
const char* thread_pool_name();  // "OpenMP" or "native"

// `body(context, from, to)` may throw; the first exception reaches the caller after all chunks ended.
void run_parallel(int64_t begin, int64_t end, int64_t grain, void (*body)(void*, int64_t, int64_t), void* context);

// BLAS and oneDNN ask OpenMP how many threads to use, and OpenMP answers per calling thread: for its scope this makes
// the answer num_threads(), or 1 if asked for or in deterministic mode, where the order of their sums must not depend
// on it. There is nothing between one thread and all: teams of changing size cost more than they save (see
// run_parallel).
class LibraryThreads {
 public:
  explicit LibraryThreads(bool one = false);
  ~LibraryThreads();
  LibraryThreads(const LibraryThreads&) = delete;
  LibraryThreads& operator=(const LibraryThreads&) = delete;
  int count() const { return count_; }

 private:
  int count_, before_;
};

// torch.use_deterministic_algorithms: library calls then give the same bits for any number of threads, as our own
// kernels always do.
bool deterministic_algorithms();
void set_deterministic_algorithms(bool on);

template <class F>
void parallel_for(int64_t begin, int64_t end, int64_t grain, const F& f) {
  if (begin >= end) return;
  if (end - begin <= grain || num_threads() == 1 || in_parallel_region()) {
    f(begin, end);
    return;
  }
  run_parallel(
      begin, end, grain, [](void* c, int64_t a, int64_t b) { (*static_cast<const F*>(c))(a, b); },
      const_cast<void*>(static_cast<const void*>(std::addressof(f))));
}

}  // namespace fc
