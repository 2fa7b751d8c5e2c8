// SPDX-License-Identifier: Apache-2.0
// The engine over Gloo's TCP transport: libfacula_gloo.so.
//
// Two of Gloo's habits shape this file. A message whose size is not what the receiver expects ends the process, so
// sizes are part of every tag: ranks that disagree wait for each other instead, until the time-out. And closing a pair
// does not wake those who wait on it: so `close` shuts the sockets themselves down, through descriptors of our own.
#include <dirent.h>
#include <fcntl.h>
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoallv.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/reduce.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>

#include "distributed/engine.h"

namespace fc::distributed {
namespace {

using gloo::transport::UnboundBuffer;

class StoreForGloo final : public gloo::rendezvous::Store {
 public:
  StoreForGloo(Ref<distributed::Store> store, Duration timeout) : store_(std::move(store)), timeout_(timeout) {}
  void set(const std::string& key, const std::vector<char>& data) override {
    store_->set(key, std::string(data.begin(), data.end()));
  }
  std::vector<char> get(const std::string& key) override {
    const std::string value = store_->get(key);
    return {value.begin(), value.end()};
  }
  void wait(const std::vector<std::string>& keys) override { store_->wait(keys, timeout_); }
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) override {
    store_->wait(keys, timeout);
  }

 private:
  Ref<distributed::Store> store_;
  Duration timeout_;
};

std::set<int> sockets() {  // of this process that are connected
  std::set<int> found;
  DIR* dir = ::opendir("/proc/self/fd");
  if (!dir) return found;
  while (const dirent* e = ::readdir(dir)) {
    const int fd = std::atoi(e->d_name);
    sockaddr_storage peer;
    socklen_t length = sizeof peer;
    if (e->d_name[0] != '.' && ::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) == 0 &&
        (peer.ss_family == AF_INET || peer.ss_family == AF_INET6))
      found.insert(fd);
  }
  ::closedir(dir);
  return found;
}

struct Wide {  // elements of 16 bytes, for Gloo's templates, which look at the size only
  uint64_t half[2];
};
template <class F>
void by_size(size_t item, F&& f) {
  switch (item) {
    case 1: return f(static_cast<uint8_t*>(nullptr));
    case 2: return f(static_cast<uint16_t*>(nullptr));
    case 4: return f(static_cast<uint32_t*>(nullptr));
    case 8: return f(static_cast<uint64_t*>(nullptr));
    default: return f(static_cast<Wide*>(nullptr));
  }
}

auto combine_with(Combine combine, size_t item) {  // as Gloo calls it: out may be either input
  return [combine, item](void* out, const void* a, const void* b, size_t n) {
    if (out == b) return combine(out, a, n);
    if (out != a) std::memcpy(out, a, n * item);
    combine(out, b, n);
  };
}

// What Gloo says, in words for who called.
[[noreturn]] void told(const std::exception& e, Duration timeout) {
  std::string text = e.what();
  if (text.find("imed out") != std::string::npos)
    throw BackendError("no end within the time-out of " + seconds(timeout));
  if (text.find("onnection closed by peer") != std::string::npos || text.find("onnection reset") != std::string::npos ||
      text.find("roken pipe") != std::string::npos)
    throw BackendError("another rank closed the connection: it ended, or failed before this one");
  if (auto at = text.find("] "); text.starts_with('[') && at != std::string::npos) text.erase(0, at + 2);
  throw BackendError(text);
}

constexpr uint8_t kTransferPrefix = 0x20, kScatterPrefix = 0x21;

class GlooTransfer final : public Transfer {
 public:
  GlooTransfer(std::unique_ptr<UnboundBuffer> buffer, bool sends) : buffer_(std::move(buffer)), sends_(sends) {}
  int wait(Duration timeout) override {
    int other = -1;
    try {
      const bool done = sends_ ? buffer_->waitSend(&other, timeout) : buffer_->waitRecv(&other, timeout);
      if (!done) throw BackendError("broken off");
    } catch (const DistError&) { throw; } catch (const std::exception& e) {
      told(e, timeout);
    }
    return other;
  }

 private:
  std::unique_ptr<UnboundBuffer> buffer_;
  bool sends_;
};

class GlooEngine final : public Engine {
 public:
  explicit GlooEngine(const EngineOptions& o) : rank_(o.rank), size_(o.size) {
    static std::mutex one_at_a_time;  // so that the sockets that appear are this engine's
    std::lock_guard lock(one_at_a_time);
    try {
      gloo::transport::tcp::attr attr;
      const char* interface = std::getenv("GLOO_SOCKET_IFNAME");
      if (interface && *interface) attr.iface = interface;
      else attr.hostname = o.address.empty() ? "127.0.0.1" : o.address;
      auto device = gloo::transport::tcp::CreateDevice(attr);
      auto context = std::make_shared<gloo::rendezvous::Context>(rank_, size_);
      context->setTimeout(o.timeout);
      StoreForGloo store(o.store, o.timeout);
      const auto before = sockets();
      context->connectFullMesh(store, device);
      for (int fd : sockets())
        if (!before.contains(fd)) sockets_.push_back(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
      context_ = std::move(context);
    } catch (const Error&) { throw; } catch (const std::exception& e) {
      if (std::string_view(e.what()).find("closed by peer") != std::string_view::npos)
        throw BackendError("gloo: a rank ended while the others were connecting");
      raise<BackendError>("gloo: the ranks could not be connected: ", e.what(),
                          ". GLOO_SOCKET_IFNAME names the network interface where the one that was taken (",
                          o.address.empty() ? "127.0.0.1" : o.address, ") is wrong");
    }
  }
  ~GlooEngine() override { close(); }
  const char* name() const override { return "gloo"; }

  void all_reduce(const Elements& e, const Call& call) override {
    run(call, [&] {
      gloo::AllreduceOptions o(context_);
      by_size(e.item(), [&]<class T>(T*) { o.setOutput(static_cast<T*>(e.data), e.count); });
      o.setReduceFunction(combine_with(e.combine, e.item()));
      o.setTag(call.tag);
      o.setTimeout(call.timeout);
      gloo::allreduce(o);
    });
  }
  void reduce(const Elements& e, int root, const Call& call) override {
    run(call, [&] {
      gloo::ReduceOptions o(context_);
      by_size(e.item(), [&]<class T>(T*) { o.setOutput(static_cast<T*>(e.data), e.count); });
      o.setRoot(root);
      o.setReduceFunction(combine_with(e.combine, e.item()));
      o.setTag(call.tag);
      o.setTimeout(call.timeout);
      gloo::reduce(o);
    });
  }
  // A ring: each part travels once around and is combined with every rank's on its way to its owner.
  void reduce_scatter(const Elements& e, std::span<const size_t> counts, const Call& call) override {
    run(call, [&] {
      std::vector<size_t> begin(counts.size() + 1, 0);
      for (size_t i = 0; i < counts.size(); ++i) begin[i + 1] = begin[i] + counts[i];
      std::vector<char> got(*std::max_element(counts.begin(), counts.end()) * e.item() + 1);
      auto own = context_->createUnboundBuffer(e.data, begin.back() * e.item());
      auto other = context_->createUnboundBuffer(got.data(), got.size());
      const auto slot = gloo::Slot::build(kScatterPrefix, call.tag);
      const int next = (rank_ + 1) % size_, before = (rank_ + size_ - 1) % size_;
      for (int step = 0; step < size_ - 1; ++step) {
        const auto out = static_cast<size_t>((rank_ - step - 1 + size_) % size_);
        const auto in = static_cast<size_t>((rank_ - step - 2 + 2 * size_) % size_);
        const auto s = slot + static_cast<uint8_t>(step % 200);
        if (counts[in]) other->recv(before, s, 0, counts[in] * e.item());
        if (counts[out]) own->send(next, s, begin[out] * e.item(), counts[out] * e.item());
        if (counts[in]) {
          other->waitRecv(call.timeout);
          e.combine(static_cast<char*>(e.data) + begin[in] * e.item(), got.data(), counts[in]);
        }
        if (counts[out]) own->waitSend(call.timeout);
      }
    });
  }
  void all_gather(const void* in, void* out, size_t bytes, const Call& call) override {
    run(call, [&] {
      gloo::AllgatherOptions o(context_);
      o.setInput(static_cast<char*>(const_cast<void*>(in)), bytes);
      o.setOutput(static_cast<char*>(out), bytes * static_cast<size_t>(size_));
      o.setTag(call.tag);
      o.setTimeout(call.timeout);
      gloo::allgather(o);
    });
  }
  void broadcast(void* data, size_t bytes, int root, const Call& call) override {
    run(call, [&] {
      gloo::BroadcastOptions o(context_);
      o.setOutput(static_cast<char*>(data), bytes);
      o.setRoot(root);
      o.setTag(call.tag);
      o.setTimeout(call.timeout);
      gloo::broadcast(o);
    });
  }
  // Parts go between each two ranks in a slot that knows their size.
  void all_to_all(const void* in, std::span<const size_t> in_bytes, void* out, std::span<const size_t> out_bytes,
                  const Call& call) override {
    run(call, [&] {
      std::vector<std::unique_ptr<UnboundBuffer>> sent, got;
      const auto n = static_cast<size_t>(size_), self = static_cast<size_t>(rank_);
      std::vector<char*> from(n), to(n);
      auto *read = static_cast<char*>(const_cast<void*>(in)), *write = static_cast<char*>(out);
      for (size_t r = 0; r < n; ++r) {
        from[r] = read, to[r] = write;
        read += in_bytes[r], write += out_bytes[r];
      }
      if (in_bytes[self] != out_bytes[self])
        throw BackendError("the part for this rank itself has " + std::to_string(in_bytes[self]) +
                           " bytes, its place " + std::to_string(out_bytes[self]));
      for (size_t i = 1; i < n; ++i) {
        const size_t source = (self + n - i) % n;
        if (!out_bytes[source]) continue;
        got.push_back(context_->createUnboundBuffer(to[source], out_bytes[source]));
        got.back()->recv(static_cast<int>(source), part_slot(call.tag, out_bytes[source]));
      }
      for (size_t i = 1; i < n; ++i) {
        const size_t target = (self + i) % n;
        if (!in_bytes[target]) continue;
        sent.push_back(context_->createUnboundBuffer(from[target], in_bytes[target]));
        sent.back()->send(static_cast<int>(target), part_slot(call.tag, in_bytes[target]));
      }
      if (in_bytes[self]) std::memmove(to[self], from[self], in_bytes[self]);
      const auto end = Clock::now() + call.timeout;
      for (auto& b : got) b->waitRecv(end);
      for (auto& b : sent) b->waitSend(end);
    });
  }
  void barrier(const Call& call) override {
    run(call, [&] {
      gloo::BarrierOptions o(context_);
      o.setTag(call.tag);
      o.setTimeout(call.timeout);
      gloo::barrier(o);
    });
  }

  std::unique_ptr<Transfer> send(const void* data, size_t bytes, int to, uint32_t tag) override {
    return transfer(const_cast<void*>(data), bytes, true, [&](UnboundBuffer& b) { b.send(to, part_slot(tag, bytes)); });
  }
  std::unique_ptr<Transfer> recv(void* data, size_t bytes, int from, uint32_t tag) override {
    return transfer(data, bytes, false, [&](UnboundBuffer& b) {
      if (from >= 0) return b.recv(from, part_slot(tag, bytes));
      std::vector<int> others;
      for (int r = 0; r < size_; ++r)
        if (r != rank_) others.push_back(r);
      b.recv(others, part_slot(tag, bytes));
    });
  }

  void close() noexcept override {
    std::lock_guard lock(closing_);
    for (int fd : sockets_) {
      ::shutdown(fd, SHUT_RDWR);
      ::close(fd);
    }
    sockets_.clear();
  }

 private:
  template <class F>
  void run(const Call& call, F&& f) {
    try {
      f();
    } catch (const DistError&) { throw; } catch (const std::exception& e) {
      told(e, call.timeout);
    }
  }
  template <class F>
  std::unique_ptr<Transfer> transfer(void* data, size_t bytes, bool sends, F&& begin) {
    static char nothing;
    auto buffer = context_->createUnboundBuffer(data ? data : &nothing, bytes);
    try {
      begin(*buffer);
    } catch (const std::exception& e) { told(e, Duration(0)); }
    return std::make_unique<GlooTransfer>(std::move(buffer), sends);
  }
  static uint64_t part_slot(uint32_t tag, size_t bytes) {
    uint64_t h = tag ^ (bytes * 0x9e3779b97f4a7c15ull);
    h ^= h >> 32;
    return gloo::Slot::build(kTransferPrefix, static_cast<uint32_t>(h));
  }

  const int rank_, size_;
  std::shared_ptr<gloo::Context> context_;
  std::mutex closing_;
  std::vector<int> sockets_;
};

}  // namespace
}  // namespace fc::distributed

extern "C" [[gnu::visibility("default")]] fc::distributed::Engine* facula_make_engine(
    const fc::distributed::EngineOptions& options) {
  return new fc::distributed::GlooEngine(options);
}
