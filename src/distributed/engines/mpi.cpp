// SPDX-License-Identifier: Apache-2.0
// The engine over MPI: libfacula_mpi.so, for processes that mpirun or srun started.
//
// MPI has no time-outs and cannot be broken off, so every call is the one that does not block, and is tested until it
// is done, its time is over or the group is closed; a request that is given up stays MPI's, with its memory.
#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstring>
#include <mutex>
#include <thread>

#include "distributed/engine.h"

namespace fc::distributed {
namespace {

void check(int status, const char* what) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(status, text, &length);
  throw BackendError(std::string(what) + ": " + std::string(text, static_cast<size_t>(length)));
}

int fits(size_t n) {
  FC_CHECK_AS(ValueError, n <= INT_MAX, "mpi: a part of ", n, " bytes is more than MPI counts: cut the tensor");
  return static_cast<int>(n);
}

// MPI hands a reduction's function no context: one that runs on this thread finds it here.
thread_local Combine running_combine;
void combine_for_mpi(void* with, void* into, int* count, MPI_Datatype*) {
  running_combine(into, with, static_cast<size_t>(*count));
}

void initialise() {
  static std::once_flag once;
  std::call_once(once, [] {
    int is = 0, level = 0;
    MPI_Initialized(&is);
    if (!is) {
      check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level), "MPI_Init_thread");
      std::atexit([] {
        int ended = 0;
        MPI_Finalized(&ended);
        if (!ended) MPI_Finalize();
      });
    } else {
      MPI_Query_thread(&level);
    }
    FC_CHECK_AS(distributed::BackendError, level == MPI_THREAD_MULTIPLE,
                "mpi: this MPI does not allow calls from several threads (MPI_THREAD_MULTIPLE)");
  });
}

class MpiEngine;

class MpiTransfer final : public Transfer {
 public:
  MpiTransfer(MPI_Request request, const MpiEngine& engine) : request_(request), engine_(engine) {}
  int wait(Duration timeout) override;

 private:
  MPI_Request request_;
  const MpiEngine& engine_;
};

class MpiEngine final : public Engine {
 public:
  explicit MpiEngine(const EngineOptions& o) : size_(o.size) {
    initialise();
    // Ranks of the group are found by what they are in MPI's world.
    int world_rank = 0;
    check(MPI_Comm_rank(MPI_COMM_WORLD, &world_rank), "MPI_Comm_rank");
    o.store->set("mpi/" + std::to_string(o.rank), std::to_string(world_rank));
    std::vector<int> ranks;
    for (int r = 0; r < size_; ++r) ranks.push_back(std::atoi(o.store->get("mpi/" + std::to_string(r)).c_str()));
    MPI_Group world, group;
    check(MPI_Comm_group(MPI_COMM_WORLD, &world), "MPI_Comm_group");
    check(MPI_Group_incl(world, size_, ranks.data(), &group), "MPI_Group_incl");
    check(MPI_Comm_create_group(MPI_COMM_WORLD, group, 0, &collectives_), "MPI_Comm_create_group");
    check(MPI_Comm_create_group(MPI_COMM_WORLD, group, 1, &transfers_), "MPI_Comm_create_group");
    MPI_Group_free(&group), MPI_Group_free(&world);
    MPI_Comm_set_errhandler(collectives_, MPI_ERRORS_RETURN), MPI_Comm_set_errhandler(transfers_, MPI_ERRORS_RETURN);
    check(MPI_Op_create(combine_for_mpi, 1, &combine_), "MPI_Op_create");
  }
  ~MpiEngine() override {
    int ended = 0;
    MPI_Finalized(&ended);
    if (ended || given_up_) return;
    MPI_Op_free(&combine_), MPI_Comm_free(&collectives_), MPI_Comm_free(&transfers_);
  }
  const char* name() const override { return "mpi"; }

  void all_reduce(const Elements& e, const Call& call) override {
    Type type(e.item());
    running_combine = e.combine;
    run(call, [&](MPI_Request* r) {
      return MPI_Iallreduce(MPI_IN_PLACE, e.data, fits(e.count), type.get, combine_, collectives_, r);
    });
  }
  void reduce(const Elements& e, int root, const Call& call) override {
    Type type(e.item());
    running_combine = e.combine;
    int rank = 0;
    MPI_Comm_rank(collectives_, &rank);
    run(call, [&](MPI_Request* r) {
      return MPI_Ireduce(rank == root ? MPI_IN_PLACE : e.data, rank == root ? e.data : nullptr, fits(e.count), type.get,
                         combine_, root, collectives_, r);
    });
  }
  void reduce_scatter(const Elements& e, std::span<const size_t> counts, const Call& call) override {
    Type type(e.item());
    running_combine = e.combine;
    int rank = 0;
    MPI_Comm_rank(collectives_, &rank);
    std::vector<int> n;
    size_t begin = 0;
    for (size_t i = 0; i < counts.size(); ++i) {
      n.push_back(fits(counts[i]));
      if (static_cast<int>(i) < rank) begin += counts[i];
    }
    const size_t own = counts[static_cast<size_t>(rank)] * e.item();
    std::vector<char> part(own);
    run(call, [&](MPI_Request* r) {
      return MPI_Ireduce_scatter(e.data, part.data(), n.data(), type.get, combine_, collectives_, r);
    });
    if (own) std::memcpy(static_cast<char*>(e.data) + begin * e.item(), part.data(), own);
  }
  void all_gather(const void* in, void* out, size_t bytes, const Call& call) override {
    run(call, [&](MPI_Request* r) {
      return MPI_Iallgather(in, fits(bytes), MPI_BYTE, out, fits(bytes), MPI_BYTE, collectives_, r);
    });
  }
  void broadcast(void* data, size_t bytes, int root, const Call& call) override {
    run(call, [&](MPI_Request* r) { return MPI_Ibcast(data, fits(bytes), MPI_BYTE, root, collectives_, r); });
  }
  void all_to_all(const void* in, std::span<const size_t> in_bytes, void* out, std::span<const size_t> out_bytes,
                  const Call& call) override {
    auto places = [](std::span<const size_t> bytes, std::vector<int>& counts, std::vector<int>& begins) {
      size_t at = 0;
      for (size_t b : bytes) counts.push_back(fits(b)), begins.push_back(fits(at)), at += b;
    };
    std::vector<int> sent, from, got, to;
    places(in_bytes, sent, from), places(out_bytes, got, to);
    run(call, [&](MPI_Request* r) {
      return MPI_Ialltoallv(in, sent.data(), from.data(), MPI_BYTE, out, got.data(), to.data(), MPI_BYTE, collectives_,
                            r);
    });
  }
  void barrier(const Call& call) override {
    run(call, [&](MPI_Request* r) { return MPI_Ibarrier(collectives_, r); });
  }
  std::unique_ptr<Transfer> send(const void* data, size_t bytes, int to, uint32_t tag) override {
    MPI_Request r;
    check(MPI_Isend(data, fits(bytes), MPI_BYTE, to, static_cast<int>(tag & 0x7fff), transfers_, &r), "MPI_Isend");
    return std::make_unique<MpiTransfer>(r, *this);
  }
  std::unique_ptr<Transfer> recv(void* data, size_t bytes, int from, uint32_t tag) override {
    MPI_Request r;
    check(MPI_Irecv(data, fits(bytes), MPI_BYTE, from < 0 ? MPI_ANY_SOURCE : from, static_cast<int>(tag & 0x7fff),
                    transfers_, &r),
          "MPI_Irecv");
    return std::make_unique<MpiTransfer>(r, *this);
  }
  void close() noexcept override { closed_ = true; }

  // Tests a request until it is done.
  MPI_Status finish(MPI_Request& request, Duration timeout) const {
    const auto begun = Clock::now();
    MPI_Status status{};
    for (int i = 0;; ++i) {
      int done = 0;
      check(MPI_Test(&request, &done, &status), "MPI_Test");
      if (done) return status;
      if (closed_) give_up("the group was closed");
      if (i > 100 && Clock::now() - begun > timeout) give_up("no end within the time-out of " + seconds(timeout));
      if (i > 2000) std::this_thread::sleep_for(std::chrono::microseconds(i > 20000 ? 500 : 20));
    }
  }

 private:
  struct Type {  // elements of a size, for MPI
    explicit Type(size_t item) {
      check(MPI_Type_contiguous(fits(item), MPI_BYTE, &get), "MPI_Type_contiguous");
      check(MPI_Type_commit(&get), "MPI_Type_commit");
    }
    ~Type() { MPI_Type_free(&get); }
    MPI_Datatype get;
  };
  [[noreturn]] void give_up(const std::string& why) const {
    given_up_ = true;
    throw BackendError(why);
  }
  template <class F>
  void run(const Call& call, F&& begin) {
    if (closed_) throw BackendError("the group was closed");
    // Ranks that disagree must not meet: they compare what they are about to call.
    uint32_t tags[2] = {call.tag, ~call.tag};
    MPI_Request request;
    check(MPI_Iallreduce(MPI_IN_PLACE, tags, 2, MPI_UINT32_T, MPI_MAX, collectives_, &request), "MPI_Iallreduce");
    finish(request, call.timeout);
    if (tags[0] != call.tag || tags[1] != ~call.tag) throw BackendError("the ranks call different things");
    check(begin(&request), "MPI");
    finish(request, call.timeout);
  }

  const int size_;
  MPI_Comm collectives_, transfers_;
  MPI_Op combine_;
  std::atomic<bool> closed_{false};
  mutable std::atomic<bool> given_up_{false};
};

int MpiTransfer::wait(Duration timeout) { return engine_.finish(request_, timeout).MPI_SOURCE; }

}  // namespace
}  // namespace fc::distributed

extern "C" [[gnu::visibility("default")]] fc::distributed::Engine* facula_make_engine(
    const fc::distributed::EngineOptions& options) {
  return new fc::distributed::MpiEngine(options);
}
