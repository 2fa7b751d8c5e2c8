// SPDX-License-Identifier: Apache-2.0
#include "runtime.h"

#include <mutex>

#include "autograd/autograd.h"
#include "backends/cpu/register.h"
#include "backends/plugin/plugin.h"
#include "core/arena.h"
#include "core/use.h"
#include "define/autocast.h"
#include "dispatch/checks.h"
#include "dispatch/forward_level.h"
#include "dispatch/observe.h"
#include "dispatch/route.h"
#include "dispatch/snapshot.h"
#include "dispatch/sparse.h"
#include "ops/register.h"

namespace fc {

void initialise() {
  static std::once_flag once;
  std::call_once(once, [] {
    arena::watch_forks();  // first: its lock is taken last
    watch_forks();
    define_all_operators();
    cpu::register_cpu();
    register_null();
    hand_device_choices();
    hand_forward_level();
    autograd::install_layers();
    install_autocast_layer();
    install_device_layer();
    install_sparse_layer();
    install_observe_layers();
    install_route_layer();
  });
}

}  // namespace fc
