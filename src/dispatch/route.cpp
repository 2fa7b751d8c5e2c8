// SPDX-License-Identifier: Apache-2.0
#include "dispatch/route.h"

#include <pthread.h>

#include <algorithm>
#include <mutex>
#include <vector>

namespace fc {
namespace {

struct Entry {
  Ref<Router> router;
  uint64_t group;  // 0: all threads
  uint64_t id;
};
struct Routes {
  std::mutex mutex;  // never held while a router runs or is destroyed
  std::vector<Entry> entries;
  uint64_t last_id = 0;
};
Routes& routes() {
  static Routes& r = *new Routes;
  return r;
}

Ref<Router> newest() {
  Routes& r = routes();
  const uint64_t group = thread_state().watch_group;
  std::lock_guard lock(r.mutex);
  auto it = std::find_if(r.entries.rbegin(), r.entries.rend(),
                         [&](const Entry& e) { return e.group == 0 || e.group == group; });
  return it == r.entries.rend() ? nullptr : it->router;
}

void route_call(void*, const Operator& op, LayerSet below, const Arg* args, Value* results) {
  const Ref<Router> router = newest();
  if (!router) {
    redispatch(op, below, args, results);
    return;
  }
  ExcludeLayers not_again(layer::Route);
  router->route(op, below, args, results);
}

}  // namespace

uint64_t start_routing(Ref<Router> router, Watch where) {
  Routes& r = routes();
  std::lock_guard lock(r.mutex);
  r.entries.push_back({std::move(router), where == Watch::Process ? 0 : own_watch_group(), ++r.last_id});
  set_process_layers(layer::Route, true);
  return r.last_id;
}

void stop_routing(uint64_t id) noexcept {
  Routes& r = routes();
  Ref<Router> gone;  // dropped without the lock
  std::lock_guard lock(r.mutex);
  auto it = std::ranges::find(r.entries, id, &Entry::id);
  if (it == r.entries.end()) return;
  gone.swap(it->router);
  r.entries.erase(it);
  set_process_layers(layer::Route, !r.entries.empty());
}

void install_route_layer() {
  set_layer_handler(layer::Route, {route_call, nullptr, "route"});
  pthread_atfork([] { routes().mutex.lock(); }, [] { routes().mutex.unlock(); }, [] { routes().mutex.unlock(); });
}

}  // namespace fc
