// SPDX-License-Identifier: Apache-2.0
// Watching calls: where profilers and logs hang. An observer sees every operator call of its thread at two places,
// where the call enters (above all other layers) and next to its kernel, each before and after. One id joins them:
// a call's events and its kernel's have the same call_id, and the calls of its backward have it as forward_id.
// Composite operators have no kernel of their own; their parts are calls with ids of their own.
#pragma once
#include "dispatch/operator.h"

namespace fc {

struct Observation {
  enum Where : uint8_t { Call, Kernel };
  Where where;
  bool begin;
  const Operator& op;
  uint64_t call_id;
  uint64_t forward_id;  // 0 outside backward
};

class Observer {
 public:
  virtual void see(const Observation& o) noexcept = 0;

 protected:
  ~Observer() = default;
};

// Watches this thread's calls for a scope; workers that take over the thread's state (StateScope) are watched too, so
// the observer must be able to run on several threads then. An inner scope's observer sees the calls alone.
class ObserveScope {
 public:
  explicit ObserveScope(Observer& o);
  ~ObserveScope();
  ObserveScope(const ObserveScope&) = delete;
  ObserveScope& operator=(const ObserveScope&) = delete;

 private:
  Observer* observer_before_;
  IncludeLayers layers_;
};

void install_observe_layers();  // once, at start-up

}  // namespace fc
