// SPDX-License-Identifier: Apache-2.0
// The engine over NCCL: libfacula_nccl.so. It is compiled against CUDA's toolkit and loads NCCL and CUDA's runtime when
// it is first asked for, so a build that has it runs where they are not.
//
// An engine's memory is the host's: it passes through buffers on the process's GPU (number LOCAL_RANK of the machine).
// Everything is enqueued on a stream, and the stream is looked at until it is done, its time is over or the group is
// closed; then the communicator is aborted. Reductions that NCCL lacks are gathered and combined here.
#include <dlfcn.h>
#include <nccl.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>

#include "distributed/engine.h"

#define FC_TEXT_OF(x) #x
#define FC_TEXT(x) FC_TEXT_OF(x)

namespace fc::distributed {
namespace {

// clang-format off
#define FC_CUDA(X)                                                                                                    \
  X(cudaError_t, cudaGetDeviceCount, (int*)) X(cudaError_t, cudaSetDevice, (int))                                     \
  X(cudaError_t, cudaMalloc, (void**, size_t)) X(cudaError_t, cudaFree, (void*))                                      \
  X(cudaError_t, cudaMemcpyAsync, (void*, const void*, size_t, cudaMemcpyKind, cudaStream_t))                         \
  X(cudaError_t, cudaStreamCreateWithFlags, (cudaStream_t*, unsigned)) X(cudaError_t, cudaStreamDestroy, (cudaStream_t)) \
  X(cudaError_t, cudaStreamQuery, (cudaStream_t)) X(cudaError_t, cudaStreamSynchronize, (cudaStream_t))               \
  X(const char*, cudaGetErrorString, (cudaError_t))
#define FC_NCCL(X)                                                                                                    \
  X(ncclResult_t, ncclGetUniqueId, (ncclUniqueId*))                                                                   \
  X(ncclResult_t, ncclCommInitRankConfig, (ncclComm_t*, int, ncclUniqueId, int, ncclConfig_t*))                       \
  X(ncclResult_t, ncclCommGetAsyncError, (ncclComm_t, ncclResult_t*)) X(ncclResult_t, ncclCommFinalize, (ncclComm_t)) \
  X(ncclResult_t, ncclCommDestroy, (ncclComm_t)) X(ncclResult_t, ncclCommAbort, (ncclComm_t))                         \
  X(const char*, ncclGetErrorString, (ncclResult_t)) X(const char*, ncclGetLastError, (ncclComm_t))                   \
  X(ncclResult_t, ncclAllReduce, (const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, cudaStream_t)) \
  X(ncclResult_t, ncclReduce, (const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, int, ncclComm_t, cudaStream_t)) \
  X(ncclResult_t, ncclAllGather, (const void*, void*, size_t, ncclDataType_t, ncclComm_t, cudaStream_t))              \
  X(ncclResult_t, ncclBroadcast, (const void*, void*, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t))         \
  X(ncclResult_t, ncclSend, (const void*, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t))                     \
  X(ncclResult_t, ncclRecv, (void*, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t))                           \
  X(ncclResult_t, ncclGroupStart, ()) X(ncclResult_t, ncclGroupEnd, ())
// clang-format on

constexpr const char* runtime_library = "libcudart.so." FC_TEXT(FC_CUDA_MAJOR);
constexpr const char* nccl_library = "libnccl.so.2";

struct Api {
#define X(result, name, arguments) result(*name) arguments = nullptr;
  FC_CUDA(X)
  FC_NCCL(X)
#undef X
  int devices = 0;
  std::string missing;  // why it cannot be used; empty: it can

  Api() {
    void *runtime, *nccl;
    if (!open(runtime_library, "CUDA's runtime", &runtime) || !open(nccl_library, "NCCL", &nccl)) return;
#define X(result, name, arguments) \
  if (!find(runtime, runtime_library, #name, reinterpret_cast<void**>(&name))) return;
    FC_CUDA(X)
#undef X
#define X(result, name, arguments) \
  if (!find(nccl, nccl_library, #name, reinterpret_cast<void**>(&name))) return;
    FC_NCCL(X)
#undef X
    const cudaError_t status = cudaGetDeviceCount(&devices);
    if (status != cudaSuccess) missing = std::string("CUDA finds no GPU: ") + cudaGetErrorString(status);
    else if (devices < 1) missing = "CUDA finds no GPU";
  }

 private:
  bool open(const char* file, const char* what, void** library) {
    *library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!*library) missing = std::string(what) + " cannot be loaded: " + ::dlerror();
    return *library;
  }
  bool find(void* library, const char* file, const char* name, void** function) {
    *function = ::dlsym(library, name);
    if (!*function) missing = std::string(file) + " is too old: it has no " + name;
    return *function;
  }
};

const Api& api() {
  static const Api& loaded = *new Api;
  return loaded;
}

void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) throw BackendError(std::string(what) + ": " + api().cudaGetErrorString(status));
}

// The process's GPU: CUDA knows it for each thread.
void use_device(int rank) {
  const char* local = std::getenv("LOCAL_RANK");
  check(api().cudaSetDevice((local && *local ? std::max(0, std::atoi(local)) : rank) % api().devices),
        "nccl: choosing a GPU");
}

// A communicator with a stream and memory on the GPU; for one thread at a time.
class Communicator {
 public:
  Communicator(Store& store, const std::string& key, int rank, int size, Duration timeout,
               const std::atomic<bool>& closed)
      : closed_(closed) {
    ncclUniqueId id;
    if (rank == 0) {
      check(api().ncclGetUniqueId(&id), "ncclGetUniqueId");
      store.set(key, std::string(id.internal, sizeof id.internal));
    } else {
      store.wait({key}, timeout);
      const std::string told = store.get(key);
      FC_CHECK_AS(distributed::BackendError, told.size() == sizeof id.internal, "nccl: the store has no id of NCCL's");
      std::memcpy(id.internal, told.data(), sizeof id.internal);
    }
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    begin_waiting(timeout);
    distributed::check(api().cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "nccl: a stream");
    try {
      check(api().ncclCommInitRankConfig(&comm_, size, id, rank, &config), "ncclCommInitRank");
    } catch (...) {
      release();
      throw;
    }
  }
  ~Communicator() { release(); }
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  void begin(Duration timeout) {
    if (!comm_) throw BackendError("the group was closed");
    begin_waiting(timeout);
  }
  ncclComm_t get() const { return comm_; }
  cudaStream_t stream() const { return stream_; }

  // Memory on the GPU: of two, as large as the largest so far.
  void* memory(int which, size_t bytes) {
    Buffer& b = buffers_[which];
    if (b.bytes < bytes) {
      if (b.data) api().cudaFree(b.data);
      b = {};
      distributed::check(api().cudaMalloc(&b.data, bytes), "nccl: memory of the GPU");
      b.bytes = bytes;
    }
    return b.data;
  }
  void* put(int which, const void* from, size_t bytes, size_t room = 0) {
    void* to = memory(which, std::max(bytes, room));
    if (bytes)
      distributed::check(api().cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_), "nccl: to the GPU");
    return to;
  }
  void take(void* to, const void* from, size_t bytes) {  // after `finish`
    if (!bytes) return;
    distributed::check(api().cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_), "nccl: from the GPU");
    distributed::check(api().cudaStreamSynchronize(stream_), "nccl: from the GPU");
  }

  // What a call of NCCL gave: such calls go on in the background, and the next one waits for their end.
  void check(ncclResult_t result, const char* what) {
    for (int i = 0; result == ncclInProgress && comm_; ++i) {
      look(i);
      const ncclResult_t asked = api().ncclCommGetAsyncError(comm_, &result);
      if (asked != ncclSuccess) result = asked;
    }
    if (result != ncclSuccess) give_up(std::string(what) + ": " + api().ncclGetErrorString(result) + said_last(comm_));
  }
  void finish() {
    for (int i = 0;; ++i) {
      const cudaError_t status = api().cudaStreamQuery(stream_);
      if (status == cudaSuccess) return;
      if (status != cudaErrorNotReady) give_up(std::string("nccl: ") + api().cudaGetErrorString(status));
      ncclResult_t error = ncclSuccess;
      api().ncclCommGetAsyncError(comm_, &error);
      if (error != ncclSuccess && error != ncclInProgress)
        give_up(std::string("nccl: ") + api().ncclGetErrorString(error) + said_last(comm_));
      look(i);
    }
  }

 private:
  struct Buffer {
    void* data = nullptr;
    size_t bytes = 0;
  };
  static std::string said_last(ncclComm_t comm) {
    const char* said = api().ncclGetLastError(comm);
    return said && *said ? std::string(" (") + said + ")" : "";
  }
  void begin_waiting(Duration timeout) {
    timeout_ = timeout;
    deadline_ = Clock::now() + timeout;
  }
  void look(int i) {  // whether to go on waiting
    if (closed_) give_up("the group was closed");
    if (Clock::now() > deadline_) give_up("no end within the time-out of " + seconds(timeout_));
    if (i > 2000) std::this_thread::sleep_for(std::chrono::microseconds(i > 20000 ? 500 : 20));
  }
  [[noreturn]] void give_up(const std::string& why) {
    if (comm_) api().ncclCommAbort(comm_);
    comm_ = nullptr;
    throw BackendError(why);
  }
  void release() noexcept {
    if (comm_ && api().ncclCommFinalize(comm_) <= ncclInProgress) {  // others may still read what this rank sent
      const auto end = Clock::now() + std::chrono::seconds(2);
      ncclResult_t state = ncclInProgress;
      while (state == ncclInProgress && Clock::now() < end) {
        if (api().ncclCommGetAsyncError(comm_, &state) != ncclSuccess) break;
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
      if (state == ncclSuccess) api().ncclCommDestroy(comm_);
      else api().ncclCommAbort(comm_);
    } else if (comm_) {
      api().ncclCommAbort(comm_);
    }
    comm_ = nullptr;
    for (Buffer& b : buffers_)
      if (b.data) api().cudaFree(b.data);
    if (stream_) api().cudaStreamDestroy(stream_);
  }

  const std::atomic<bool>& closed_;
  ncclComm_t comm_ = nullptr;
  cudaStream_t stream_ = nullptr;
  Duration timeout_{};
  Clock::time_point deadline_;
  Buffer buffers_[2];
};

// NCCL's name of an element type and a reduction; false: it has none. A complex number's sum is that of its parts.
bool known(const Elements& e, ncclDataType_t* type, ncclRedOp_t* op, size_t* each) {
  *each = 1;
  switch (e.dtype) {
    case DType::Float32: *type = ncclFloat32; break;
    case DType::Float64: *type = ncclFloat64; break;
    case DType::Float16: *type = ncclFloat16; break;
    case DType::BFloat16: *type = ncclBfloat16; break;
    case DType::Int8: *type = ncclInt8; break;
    case DType::UInt8: *type = ncclUint8; break;
    case DType::Int32: *type = ncclInt32; break;
    case DType::Int64: *type = ncclInt64; break;
    case DType::Complex64: *type = ncclFloat32, *each = 2; break;
    case DType::Complex128: *type = ncclFloat64, *each = 2; break;
    default: return false;
  }
  switch (e.op) {
    case ReduceOp::Sum:
    case ReduceOp::Average: *op = ncclSum; return true;
    case ReduceOp::Product: *op = ncclProd; return *each == 1;
    case ReduceOp::Min: *op = ncclMin; return *each == 1;
    case ReduceOp::Max: *op = ncclMax; return *each == 1;
    default: return false;
  }
}

// Sends or receptions between two ranks with one tag, in the order in which they were begun.
struct Channel {
  std::mutex mutex;
  std::condition_variable changed;
  uint64_t begun = 0, served = 0;
  std::unique_ptr<Communicator> communicator;
};

class NcclEngine final : public Engine {
 public:
  explicit NcclEngine(const EngineOptions& o) : rank_(o.rank), size_(o.size), store_(o.store->clone()) {
    use_device(rank_);
    all_ = std::make_unique<Communicator>(*store_, "nccl", rank_, size_, o.timeout, closed_);
  }
  const char* name() const override { return "nccl"; }

  void all_reduce(const Elements& e, const Call& call) override {
    begin(call);
    ncclDataType_t type;
    ncclRedOp_t op;
    size_t each;
    if (!known(e, &type, &op, &each)) return combine_all(e);
    void* data = all_->put(0, e.data, e.count * e.item());
    all_->check(api().ncclAllReduce(data, data, e.count * each, type, op, all_->get(), all_->stream()),
                "ncclAllReduce");
    all_->finish();
    all_->take(e.data, data, e.count * e.item());
  }
  void reduce(const Elements& e, int root, const Call& call) override {
    begin(call);
    ncclDataType_t type;
    ncclRedOp_t op;
    size_t each;
    if (!known(e, &type, &op, &each)) return combine_all(e);
    void* data = all_->put(0, e.data, e.count * e.item());
    all_->check(api().ncclReduce(data, data, e.count * each, type, op, root, all_->get(), all_->stream()),
                "ncclReduce");
    all_->finish();
    if (rank_ == root) all_->take(e.data, data, e.count * e.item());
  }
  void reduce_scatter(const Elements& e, std::span<const size_t> counts, const Call& call) override {
    begin(call);
    ncclDataType_t type;
    ncclRedOp_t op;
    size_t each, at = 0, mine = 0;
    if (!known(e, &type, &op, &each)) return combine_all(e);
    char* data = static_cast<char*>(all_->put(0, e.data, e.count * e.item()));
    all_->check(api().ncclGroupStart(), "ncclGroupStart");
    for (int r = 0; r < size_; ++r) {  // parts may differ in size
      const size_t count = counts[static_cast<size_t>(r)];
      if (r == rank_) mine = at;
      char* part = data + at * e.item();
      if (count)
        all_->check(api().ncclReduce(part, part, count * each, type, op, r, all_->get(), all_->stream()), "ncclReduce");
      at += count;
    }
    all_->check(api().ncclGroupEnd(), "ncclGroupEnd");
    all_->finish();
    all_->take(static_cast<char*>(e.data) + mine * e.item(), data + mine * e.item(),
               counts[static_cast<size_t>(rank_)] * e.item());
  }
  void all_gather(const void* in, void* out, size_t bytes, const Call& call) override {
    begin(call);
    gather(in, out, bytes);
  }
  void broadcast(void* data, size_t bytes, int root, const Call& call) override {
    begin(call);
    void* there = all_->put(0, data, rank_ == root ? bytes : 0, bytes);
    all_->check(api().ncclBroadcast(there, there, bytes, ncclUint8, root, all_->get(), all_->stream()),
                "ncclBroadcast");
    all_->finish();
    if (rank_ != root) all_->take(data, there, bytes);
  }
  void all_to_all(const void* in, std::span<const size_t> in_bytes, void* out, std::span<const size_t> out_bytes,
                  const Call& call) override {
    begin(call);
    size_t sent = 0, got = 0;
    for (size_t b : in_bytes) sent += b;
    for (size_t b : out_bytes) got += b;
    char* from = static_cast<char*>(all_->put(0, in, sent));
    char* const to = static_cast<char*>(all_->memory(1, got));
    char* part = to;
    all_->check(api().ncclGroupStart(), "ncclGroupStart");
    for (int r = 0; r < size_; ++r) {
      const size_t send = in_bytes[static_cast<size_t>(r)], recv = out_bytes[static_cast<size_t>(r)];
      if (send) all_->check(api().ncclSend(from, send, ncclUint8, r, all_->get(), all_->stream()), "ncclSend");
      if (recv) all_->check(api().ncclRecv(part, recv, ncclUint8, r, all_->get(), all_->stream()), "ncclRecv");
      from += send, part += recv;
    }
    all_->check(api().ncclGroupEnd(), "ncclGroupEnd");
    all_->finish();
    all_->take(out, to, got);
  }
  void barrier(const Call& call) override { begin(call); }
  std::unique_ptr<Transfer> send(const void* data, size_t bytes, int to, uint32_t tag) override {
    return std::make_unique<NcclTransfer>(*this, const_cast<void*>(data), bytes, to, tag, true);
  }
  std::unique_ptr<Transfer> recv(void* data, size_t bytes, int from, uint32_t tag) override {
    FC_CHECK_AS(ValueError, from >= 0, "nccl: recv names the rank that sends; 'gloo' and 'mpi' take from any");
    return std::make_unique<NcclTransfer>(*this, data, bytes, from, tag, false);
  }
  void close() noexcept override { closed_ = true; }

 private:
  class NcclTransfer final : public Transfer {
   public:
    NcclTransfer(NcclEngine& engine, void* data, size_t bytes, int peer, uint32_t tag, bool sends)
        : engine_(engine), data_(data), bytes_(bytes), peer_(peer), tag_(tag), sends_(sends) {
      std::lock_guard lock(engine.mutex_);
      auto& found = engine.channels_[{sends ? engine.rank_ : peer, sends ? peer : engine.rank_, tag}];
      if (!found) found = std::make_shared<Channel>();
      channel_ = found;
      turn_ = channel_->begun++;
    }
    int wait(Duration timeout) override {
      const auto end = Clock::now() + timeout;
      std::unique_lock lock(channel_->mutex);
      while (channel_->served != turn_) {
        if (engine_.closed_) throw BackendError("the group was closed");
        if (Clock::now() > end) throw BackendError("no end within the time-out of " + seconds(timeout));
        channel_->changed.wait_for(lock, std::chrono::milliseconds(50));
      }
      struct Next {
        Channel& channel;
        ~Next() {
          ++channel.served;
          channel.changed.notify_all();
        }
      } const next{*channel_};
      move(timeout);
      return peer_;
    }

   private:
    void move(Duration timeout) {
      use_device(engine_.rank_);
      if (!channel_->communicator) {
        const int from = sends_ ? engine_.rank_ : peer_, to = sends_ ? peer_ : engine_.rank_;
        const Ref<Store> store = engine_.store_->clone();
        channel_->communicator = std::make_unique<Communicator>(
            *store, "nccl/" + std::to_string(from) + "-" + std::to_string(to) + "/" + std::to_string(tag_),
            sends_ ? 0 : 1, 2, timeout, engine_.closed_);
      }
      Communicator& c = *channel_->communicator;
      c.begin(timeout);
      if (!bytes_) return;
      if (sends_) {
        const void* there = c.put(0, data_, bytes_);
        c.check(api().ncclSend(there, bytes_, ncclUint8, 1, c.get(), c.stream()), "ncclSend");
        c.finish();
      } else {
        void* there = c.memory(0, bytes_);
        c.check(api().ncclRecv(there, bytes_, ncclUint8, 0, c.get(), c.stream()), "ncclRecv");
        c.finish();
        c.take(data_, there, bytes_);
      }
    }

    NcclEngine& engine_;
    void* const data_;
    const size_t bytes_;
    const int peer_;
    const uint32_t tag_;
    const bool sends_;
    std::shared_ptr<Channel> channel_;
    uint64_t turn_;
  };

  // Ranks that disagree must not meet: they compare what they are about to call.
  void begin(const Call& call) {
    if (closed_) throw BackendError("the group was closed");
    use_device(rank_);
    all_->begin(call.timeout);
    uint32_t tags[2] = {call.tag, ~call.tag};
    void* there = all_->put(0, tags, sizeof tags);
    all_->check(api().ncclAllReduce(there, there, 2, ncclUint32, ncclMax, all_->get(), all_->stream()),
                "ncclAllReduce");
    all_->finish();
    all_->take(tags, there, sizeof tags);
    if (tags[0] != call.tag || tags[1] != ~call.tag) throw BackendError("the ranks call different things");
  }
  void gather(const void* in, void* out, size_t bytes) {
    const void* mine = all_->put(0, in, bytes);
    void* there = all_->memory(1, bytes * static_cast<size_t>(size_));
    all_->check(api().ncclAllGather(mine, there, bytes, ncclUint8, all_->get(), all_->stream()), "ncclAllGather");
    all_->finish();
    all_->take(out, there, bytes * static_cast<size_t>(size_));
  }
  void combine_all(const Elements& e) {
    const size_t bytes = e.count * e.item();
    std::vector<char> parts(bytes * static_cast<size_t>(size_));
    gather(e.data, parts.data(), bytes);
    std::memcpy(e.data, parts.data(), bytes);
    for (int r = 1; r < size_; ++r) e.combine(e.data, parts.data() + bytes * static_cast<size_t>(r), e.count);
  }

  const int rank_, size_;
  const Ref<Store> store_;
  std::atomic<bool> closed_{false};
  std::unique_ptr<Communicator> all_;
  std::mutex mutex_;
  std::map<std::tuple<int, int, uint32_t>, std::shared_ptr<Channel>> channels_;
};

}  // namespace
}  // namespace fc::distributed

extern "C" [[gnu::visibility("default")]] const char* facula_engine_missing() {
  const std::string& missing = fc::distributed::api().missing;
  return missing.empty() ? nullptr : missing.c_str();
}

extern "C" [[gnu::visibility("default")]] fc::distributed::Engine* facula_make_engine(
    const fc::distributed::EngineOptions& options) {
  return new fc::distributed::NcclEngine(options);
}
