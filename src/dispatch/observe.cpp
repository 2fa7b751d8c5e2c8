// SPDX-License-Identifier: Apache-2.0
#include "dispatch/observe.h"

#include <utility>

namespace fc {
namespace {

void tell(const Operator& op, Observation::Where where, bool begin) {
  const ThreadState& s = thread_state();
  if (s.observer) s.observer->see({where, begin, op, s.call_id, s.forward_id});
}

// The end is told also when the call throws.
struct Told {
  const Operator& op;
  Observation::Where where;
  Told(const Operator& o, Observation::Where w) : op(o), where(w) { tell(op, where, true); }
  ~Told() { tell(op, where, false); }
};

void observe_call(void*, const Operator& op, LayerSet below, const Arg* args, Value* results) {
  struct Id {
    uint64_t before = std::exchange(thread_state().call_id, new_call_id());
    ~Id() { thread_state().call_id = before; }
  } id;
  Told told(op, Observation::Call);
  redispatch(op, below, args, results);
}

void observe_kernel(void*, const Operator& op, LayerSet below, const Arg* args, Value* results) {
  Told told(op, Observation::Kernel);
  redispatch(op, below, args, results);
}

}  // namespace

ObserveScope::ObserveScope(Observer& o)
    : observer_before_(std::exchange(thread_state().observer, &o)), layers_(layer::Observe | layer::ObserveKernel) {}
ObserveScope::~ObserveScope() { thread_state().observer = observer_before_; }

void install_observe_layers() {
  set_layer_handler(layer::Observe, {observe_call, nullptr, "observe call"});
  set_layer_handler(layer::ObserveKernel, {observe_kernel, nullptr, "observe kernel"});
}

}  // namespace fc
