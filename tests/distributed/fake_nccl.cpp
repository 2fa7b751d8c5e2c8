// SPDX-License-Identifier: Apache-2.0
// Stands in for NCCL and CUDA's runtime where there is no GPU, so that the engine over them runs: streams are threads
// that do what was enqueued in its order, "device" memory is the host's, and ranks meet in a file in memory that the
// communicator's id names. What never comes is waited for until the communicator is aborted. FAKE_GPUS: how many
// devices there are.
#include <fcntl.h>
#include <nccl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr size_t room = size_t{8} << 20;  // of a rank's part, and of a message
constexpr int most = 8;

struct Table {                    // in the file, for all ranks
  std::atomic<uint64_t> came[2];  // at a barrier, alternately
  struct Mail {
    std::atomic<uint64_t> bytes;  // plus one; 0: empty
  } mail[most][most];
  char parts[1];
};
constexpr size_t table_bytes = sizeof(Table) + room * (most + most * most);

struct Stream {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> jobs;
  bool busy = false, ends = false;
  std::thread thread{[this] { work(); }};

  void work() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [this] { return ends || !jobs.empty(); });
      if (jobs.empty()) return;
      auto job = std::move(jobs.front());
      jobs.pop_front();
      busy = true;
      lock.unlock();
      job();
      lock.lock();
      busy = false;
      changed.notify_all();
    }
  }
  void add(std::function<void()> job) {
    std::lock_guard lock(mutex);
    jobs.push_back(std::move(job));
    changed.notify_all();
  }
};

}  // namespace

struct ncclComm {
  Table* table = nullptr;
  int rank = 0, size = 0;
  uint64_t barriers = 0;
  std::atomic<bool> aborted{false};

  char* part(int r) const { return table->parts + room * static_cast<size_t>(r); }
  char* mail(int from, int to) const { return table->parts + room * static_cast<size_t>(most + from * most + to); }
  bool until(const std::function<bool()>& there) const {
    while (!there()) {
      if (aborted) return false;
      usleep(50);
    }
    return true;
  }
  bool meet() {
    const uint64_t turn = barriers / 2 + 1;
    auto& came = table->came[barriers++ % 2];
    ++came;
    return until([&] { return came >= turn * static_cast<uint64_t>(size); });
  }
  // Everybody's bytes are there while `use` runs.
  void together(const void* mine, size_t bytes, const std::function<void()>& use) {
    if (bytes > room) abort();
    memcpy(part(rank), mine, bytes);
    if (!meet()) return;
    use();
    meet();
  }
};

namespace {

thread_local int grouped = 0;
thread_local std::vector<std::function<void()>> sends, receptions, others;
thread_local cudaStream_t group_stream;
std::mutex table_mutex;

Stream& stream_of(cudaStream_t s) { return *reinterpret_cast<Stream*>(s); }

void enqueue(std::vector<std::function<void()>>& list, cudaStream_t stream, std::function<void()> job) {
  if (!grouped) return stream_of(stream).add(std::move(job));
  list.push_back(std::move(job));
  group_stream = stream;
}

size_t size_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8: return 1;
    case ncclFloat16:
    case ncclBfloat16: return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32: return 4;
    default: return 8;
  }
}

struct Bfloat {
  uint16_t bits;
  operator float() const {
    const uint32_t wide = uint32_t{bits} << 16;
    float f;
    memcpy(&f, &wide, 4);
    return f;
  }
  Bfloat& operator=(float f) {
    uint32_t wide;
    memcpy(&wide, &f, 4);
    bits = static_cast<uint16_t>((wide + 0x7fff + (wide >> 16 & 1)) >> 16);
    return *this;
  }
};

template <class T, class Wide>
void combine(void* into, const void* with, size_t n, ncclRedOp_t op) {
  T* a = static_cast<T*>(into);
  const T* b = static_cast<const T*>(with);
  for (size_t i = 0; i < n; ++i) {
    const Wide x = static_cast<Wide>(a[i]), y = static_cast<Wide>(b[i]);
    a[i] = static_cast<Wide>(op == ncclSum    ? x + y
                             : op == ncclProd ? x * y
                             : op == ncclMin  ? std::min(x, y)
                                              : std::max(x, y));
  }
}

void combine(void* into, const void* with, size_t n, ncclDataType_t type, ncclRedOp_t op) {
  switch (type) {
    case ncclInt8: return combine<int8_t, int>(into, with, n, op);
    case ncclUint8: return combine<uint8_t, unsigned>(into, with, n, op);
    case ncclInt32: return combine<int32_t, int64_t>(into, with, n, op);
    case ncclUint32: return combine<uint32_t, uint64_t>(into, with, n, op);
    case ncclInt64: return combine<int64_t, int64_t>(into, with, n, op);
    case ncclFloat16: return combine<_Float16, float>(into, with, n, op);
    case ncclBfloat16: return combine<Bfloat, float>(into, with, n, op);
    case ncclFloat32: return combine<float, float>(into, with, n, op);
    default: return combine<double, double>(into, with, n, op);
  }
}

ncclResult_t reduce(const void* in, void* out, size_t n, ncclDataType_t type, ncclRedOp_t op, int root, ncclComm_t c,
                    cudaStream_t stream) {
  enqueue(others, stream, [=] {
    const size_t bytes = n * size_of(type);
    c->together(in, bytes, [&] {
      if (root >= 0 && root != c->rank) return;
      std::vector<char> sum(c->part(0), c->part(0) + bytes);
      for (int r = 1; r < c->size; ++r) combine(sum.data(), c->part(r), n, type, op);
      memcpy(out, sum.data(), bytes);
    });
  });
  return ncclSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* n) {
  const char* told = getenv("FAKE_GPUS");
  *n = told ? atoi(told) : most;
  return *n ? cudaSuccess : cudaErrorNoDevice;
}
cudaError_t cudaSetDevice(int device) { return device < most ? cudaSuccess : cudaErrorInvalidDevice; }
cudaError_t cudaMalloc(void** p, size_t n) { return (*p = malloc(n)) ? cudaSuccess : cudaErrorMemoryAllocation; }
cudaError_t cudaFree(void* p) {
  free(p);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t n, cudaMemcpyKind kind, cudaStream_t stream) {
  if (kind == cudaMemcpyDeviceToHost) {
    stream_of(stream).add([=] { memcpy(to, from, n); });
  } else {  // what a program's memory holds is taken at once
    std::vector<char> held(static_cast<const char*>(from), static_cast<const char*>(from) + n);
    stream_of(stream).add([to, held = std::move(held)] { memcpy(to, held.data(), held.size()); });
  }
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = reinterpret_cast<cudaStream_t>(new Stream);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  Stream& s = stream_of(stream);
  {
    std::lock_guard lock(s.mutex);
    s.ends = true;
    s.changed.notify_all();
  }
  s.thread.join();
  delete &s;
  return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  Stream& s = stream_of(stream);
  std::lock_guard lock(s.mutex);
  return s.busy || !s.jobs.empty() ? cudaErrorNotReady : cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  Stream& s = stream_of(stream);
  std::unique_lock lock(s.mutex);
  s.changed.wait(lock, [&] { return !s.busy && s.jobs.empty(); });
  return cudaSuccess;
}
const char* cudaGetErrorString(cudaError_t e) {
  return e == cudaErrorNoDevice ? "no CUDA-capable device is detected" : "a fake error";
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  snprintf(id->internal, sizeof id->internal, "/dev/shm/facula_fake_nccl_%d_%08x", getpid(), std::random_device()());
  return ncclSuccess;
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int size, ncclUniqueId id, int rank, ncclConfig_t* config) {
  if (size > most || config->blocking != 0) return ncclInvalidArgument;
  const int file = open(id.internal, O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, static_cast<off_t>(table_bytes))) return ncclSystemError;
  void* there = mmap(nullptr, table_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (there == MAP_FAILED) return ncclSystemError;
  auto* made = new ncclComm;
  made->table = static_cast<Table*>(there);
  made->rank = rank;
  made->size = size;
  *comm = made;
  const std::string path = id.internal;
  std::thread([made, path] {  // whoever has met needs the name no longer
    if (made->meet() && made->rank == 0) unlink(path.c_str());
  })
      .join();
  return ncclSuccess;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* error) {
  *error = ncclSuccess;
  return ncclSuccess;
}
ncclResult_t ncclCommFinalize(ncclComm_t) { return ncclSuccess; }
ncclResult_t ncclCommDestroy(ncclComm_t comm) { return ncclCommAbort(comm); }
ncclResult_t ncclCommAbort(ncclComm_t comm) {  // jobs may still look at it
  comm->aborted = true;
  return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t) { return "a fake error of NCCL"; }
const char* ncclGetLastError(ncclComm_t) { return ""; }

ncclResult_t ncclAllReduce(const void* in, void* out, size_t n, ncclDataType_t type, ncclRedOp_t op, ncclComm_t c,
                           cudaStream_t stream) {
  return reduce(in, out, n, type, op, -1, c, stream);
}
ncclResult_t ncclReduce(const void* in, void* out, size_t n, ncclDataType_t type, ncclRedOp_t op, int root,
                        ncclComm_t c, cudaStream_t stream) {
  return reduce(in, out, n, type, op, root, c, stream);
}
ncclResult_t ncclAllGather(const void* in, void* out, size_t n, ncclDataType_t type, ncclComm_t c,
                           cudaStream_t stream) {
  enqueue(others, stream, [=] {
    const size_t bytes = n * size_of(type);
    c->together(in, bytes, [&] {
      for (int r = 0; r < c->size; ++r)
        memcpy(static_cast<char*>(out) + bytes * static_cast<size_t>(r), c->part(r), bytes);
    });
  });
  return ncclSuccess;
}
ncclResult_t ncclBroadcast(const void* in, void* out, size_t n, ncclDataType_t type, int root, ncclComm_t c,
                           cudaStream_t stream) {
  enqueue(others, stream, [=] {
    const size_t bytes = n * size_of(type);
    c->together(in, bytes, [&] { memcpy(out, c->part(root), bytes); });
  });
  return ncclSuccess;
}
ncclResult_t ncclSend(const void* in, size_t n, ncclDataType_t type, int peer, ncclComm_t c, cudaStream_t stream) {
  enqueue(sends, stream, [=] {
    auto& state = c->table->mail[c->rank][peer].bytes;
    const size_t bytes = n * size_of(type);
    if (bytes > room) abort();
    if (!c->until([&] { return state == 0; })) return;
    memcpy(c->mail(c->rank, peer), in, bytes);
    state = bytes + 1;
  });
  return ncclSuccess;
}
ncclResult_t ncclRecv(void* out, size_t n, ncclDataType_t type, int peer, ncclComm_t c, cudaStream_t stream) {
  enqueue(receptions, stream, [=] {
    auto& state = c->table->mail[peer][c->rank].bytes;
    if (!c->until([&] { return state != 0; })) return;
    if (state != n * size_of(type) + 1) abort();
    memcpy(out, c->mail(peer, c->rank), n * size_of(type));
    state = 0;
  });
  return ncclSuccess;
}
ncclResult_t ncclGroupStart() {
  ++grouped;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  if (--grouped) return ncclSuccess;
  for (auto* list : {&others, &sends, &receptions}) {
    for (auto& job : *list) stream_of(group_stream).add(std::move(job));
    list->clear();
  }
  return ncclSuccess;
}

}  // extern "C"
