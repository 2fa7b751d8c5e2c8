// SPDX-License-Identifier: Apache-2.0
// Finding engines by name, and the engine of one who is alone.
#include "distributed/engine.h"

#include <dlfcn.h>

#include <cstring>
#include <map>
#include <mutex>

namespace fc::distributed {
namespace {

struct Known {
  std::mutex mutex;
  std::map<std::string, MakeEngine> engines;
};
Known& known() {
  static Known& k = *new Known;
  return k;
}

MakeEngine open_library(const std::string& path, std::string& why) {
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* made = library ? ::dlsym(library, "facula_make_engine") : nullptr;
  if (!made) {
    why = ::dlerror();
  } else if (void* ask = ::dlsym(library, "facula_engine_missing")) {
    const char* missing = reinterpret_cast<const char* (*)()>(ask)();
    if (missing) why = missing, made = nullptr;
  }
  return reinterpret_cast<MakeEngine>(made);
}

std::string beside_us(const std::string& name) {  // engines lie beside libfacula
  Dl_info info;
  std::string path = ::dladdr(reinterpret_cast<void*>(&beside_us), &info) && info.dli_fname ? info.dli_fname : "";
  path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1);
  return path + "libfacula_" + name + ".so";
}

MakeEngine find(const std::string& name, std::string& why) {
  std::lock_guard lock(known().mutex);
  auto at = known().engines.find(name);
  if (at != known().engines.end()) return at->second;
  if (name.find('/') != std::string::npos) return nullptr;
  MakeEngine made = open_library(beside_us(name), why);
  if (made) known().engines[name] = made;
  return made;
}

std::string how_to_get(const std::string& name) {
  if (name == "gloo") return ". Install libgloo-dev (Debian) and build again: USE_GLOO is on where it is found";
  if (name == "mpi") return ". Install libopenmpi-dev or libmpich-dev (Debian) and build again with USE_MPI=1";
  if (name == "nccl")
    return ". It needs a GPU of NVIDIA's, CUDA's runtime and NCCL, and a build with CUDA's toolkit: USE_NCCL is on "
           "where "
           "nccl.h is found";
  return ". torch.distributed.Backend.register_backend adds one";
}

std::string with_reason(const std::string& name, const std::string& why) {
  return how_to_get(name) + (why.empty() ? "" : " (" + why + ")");
}

class SelfTransfer final : public Transfer {
 public:
  int wait(Duration) override { return 0; }
};

class SelfEngine final : public Engine {
 public:
  const char* name() const override { return "self"; }
  void all_reduce(const Elements&, const Call&) override {}
  void reduce(const Elements&, int, const Call&) override {}
  void reduce_scatter(const Elements&, std::span<const size_t>, const Call&) override {}
  void all_gather(const void* in, void* out, size_t bytes, const Call&) override {
    if (bytes) std::memmove(out, in, bytes);
  }
  void broadcast(void*, size_t, int, const Call&) override {}
  void all_to_all(const void* in, std::span<const size_t> in_bytes, void* out, std::span<const size_t>,
                  const Call&) override {
    if (in_bytes[0]) std::memmove(out, in, in_bytes[0]);
  }
  void barrier(const Call&) override {}
  std::unique_ptr<Transfer> send(const void*, size_t, int, uint32_t) override { nobody(); }
  std::unique_ptr<Transfer> recv(void*, size_t, int, uint32_t) override { nobody(); }
  void close() noexcept override {}

 private:
  [[noreturn]] static void nobody() { raise<ValueError>("send and recv: this group has no other rank"); }
};

}  // namespace

std::unique_ptr<Engine> make_engine(const std::string& name, const EngineOptions& options) {
  std::string why;
  MakeEngine make = find(name, why);
  FC_CHECK(make, "backend '", name, "' is not available here", with_reason(name, why));
  return std::unique_ptr<Engine>(make(options));
}

void add_engine(const std::string& name, MakeEngine make) {
  std::lock_guard lock(known().mutex);
  FC_CHECK_AS(ValueError, known().engines.emplace(name, make).second, "backend '", name, "' exists");
}

void load_engine(const std::string& name, const std::string& path) {
  std::string why;
  MakeEngine make = open_library(path, why);
  FC_CHECK(make, "backend '", name, "': ", why);
  add_engine(name, make);
}

std::string engine_missing(const std::string& name) {
  std::string why;
  return find(name, why) ? std::string() : with_reason(name, why);
}

std::unique_ptr<Engine> make_self_engine() { return std::make_unique<SelfEngine>(); }

}  // namespace fc::distributed
