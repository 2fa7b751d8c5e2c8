// SPDX-License-Identifier: Apache-2.0
// What moves bytes between the processes of one group: Gloo, MPI, or what somebody else brings. An engine knows memory
// on the host, counts and ranks of its group, nothing of tensors; ProcessGroup (group.h) brings tensors to it.
//
// Collectives are called from one thread at a time, in the same order on every rank, and return when this rank's part
// is done. Calls that disagree between ranks carry different tags and must not meet: the engine waits for its partners
// until the time-out. send and recv only begin, may come from any thread, and are waited for on any thread. `close` is
// for any thread at any time: every call under way or to come throws soon.
//
// A library brings an engine by exporting
//     extern "C" fc::distributed::Engine* facula_make_engine(const fc::distributed::EngineOptions&)
// which throws what fc::Error derives from; libfacula_NAME.so beside libfacula is found as NAME. Where an engine may be
// unable to work on a machine, the library also exports
//     extern "C" const char* facula_engine_missing()
// which says what is missing; null: nothing.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <facula/dtype.h>

#include "distributed/store.h"

namespace fc::distributed {

// into[i] = into[i] op with[i]; the memory is disjoint.
using Combine = void (*)(void* into, const void* with, size_t count);

struct Call {
  uint32_t tag;
  Duration timeout;
};

// Numbered as in PyTorch. Average is a sum, which the group divides afterwards.
enum class ReduceOp : uint8_t { Sum, Average, Product, Min, Max, BitAnd, BitOr, BitXor };

struct Elements {  // what a reduction combines
  void* data;
  size_t count;
  DType dtype;
  ReduceOp op;
  Combine combine;  // does `op` on `dtype`, for engines that have no such function
  size_t item() const { return item_size(dtype); }
};

class Transfer {  // a send or recv under way; its memory stays where it is until it has ended
 public:
  virtual ~Transfer() = default;
  virtual int wait(Duration timeout) = 0;  // the other rank; throws when it failed
};

struct EngineOptions {
  int rank, size;
  Ref<Store> store;  // of this group alone, shared by its ranks
  Duration timeout;
  std::string address;  // of this process for the others; empty: the engine finds one
};

class Engine {
 public:
  virtual ~Engine() = default;
  virtual const char* name() const = 0;

  virtual void all_reduce(const Elements& e, const Call& call) = 0;
  virtual void reduce(const Elements& e, int root, const Call& call) = 0;  // others' data are left undefined
  // e holds a part for each rank, of counts[rank] elements; this rank's part is combined in place, others' undefined.
  virtual void reduce_scatter(const Elements& e, std::span<const size_t> counts, const Call& call) = 0;
  virtual void all_gather(const void* in, void* out, size_t bytes, const Call& call) = 0;  // of one rank
  virtual void broadcast(void* data, size_t bytes, int root, const Call& call) = 0;
  // Parts for each rank, and from each, one after the other; in_bytes on one rank are out_bytes on the other.
  virtual void all_to_all(const void* in, std::span<const size_t> in_bytes, void* out,
                          std::span<const size_t> out_bytes, const Call& call) = 0;
  virtual void barrier(const Call& call) = 0;
  virtual std::unique_ptr<Transfer> send(const void* data, size_t bytes, int to, uint32_t tag) = 0;
  virtual std::unique_ptr<Transfer> recv(void* data, size_t bytes, int from, uint32_t tag) = 0;  // -1: from any
  virtual void close() noexcept = 0;
};

using MakeEngine = Engine* (*)(const EngineOptions&);
// By name: one that was added, else libfacula_NAME.so. Throws with the package to install where there is none.
std::unique_ptr<Engine> make_engine(const std::string& name, const EngineOptions& options);
void add_engine(const std::string& name, MakeEngine make);  // throws where the name is taken
void load_engine(const std::string& name, const std::string& path);
// Why there is none: ". Install …"; empty: there is one.
std::string engine_missing(const std::string& name);
std::unique_ptr<Engine> make_self_engine();  // of a group of one rank, which needs nobody

}  // namespace fc::distributed
