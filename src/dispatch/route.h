// SPDX-License-Identifier: Apache-2.0
// Routes: who may answer a call in its kernel's place, with another device's result perhaps. A route stands below
// autograd and above the kernel, so results have the history that the operator's own rule gives them, and composite
// operators come as their parts. Of several routes the newest that applies to the thread is asked. What it calls is
// observed like any call and reaches no route.
#pragma once
#include "dispatch/observe.h"

namespace fc {

class Router : public RefCounted {
 public:
  // Fills the results, or goes on: redispatch(op, below, args, results). Any thread may call it; it may throw.
  virtual void route(const Operator& op, LayerSet below, const Arg* args, Value* results) = 0;
};

// From now on, until stop_routing(what this returned). After stop no call begins to be routed; one that another thread
// is routing goes on, and holds the router until it ends. The child of a fork has the routes of its parent.
uint64_t start_routing(Ref<Router> router, Watch where = Watch::Thread);
void stop_routing(uint64_t registration) noexcept;

class RouteScope {
 public:
  explicit RouteScope(Ref<Router> r, Watch where = Watch::Thread) : registration_(start_routing(std::move(r), where)) {}
  ~RouteScope() { stop_routing(registration_); }
  RouteScope(const RouteScope&) = delete;
  RouteScope& operator=(const RouteScope&) = delete;

 private:
  uint64_t registration_;
};

void install_route_layer();  // once, at start-up

}  // namespace fc
