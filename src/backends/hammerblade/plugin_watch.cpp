// SPDX-License-Identifier: Apache-2.0
// The backend contract's watcher on the device's own (include/host/facula_hb.h).
#include <vector>

#include "backends/hammerblade/include/host/facula_hb.h"
#include "plugin.h"

namespace hammerblade {
namespace {

// One at a time, under the device's lock.
constinit fc_watcher watcher{};

int64_t line(uint64_t site, char* out, size_t size) { return facula_hb_site(site, out, size); }

void tell_launch(void*, const facula_hb_launch_t* l) {
  const fc_watched_launch told{sizeof told, 0, l->kernel, l->mode, l->ended != 0, l->told, l->lost, line};
  watcher.launch(watcher.context, &told);
}

void tell_accesses(void*, const facula_hb_access_t* all, size_t count) {
  static_assert(FACULA_HB_ATOMIC == static_cast<int>(FC_ACCESS_ATOMIC));
  static_assert(FACULA_HB_FLOAT == static_cast<int>(FC_ACCESS_FLOAT));
  thread_local std::vector<fc_access> batch;
  batch.clear();
  for (const facula_hb_access_t *a = all, *end = all + count; a != end; ++a)
    batch.push_back({a->site, a->address, a->value, a->before, a->tile, a->bytes, a->kind, a->type, 0});
  watcher.accesses(watcher.context, batch.data(), batch.size());
}

}  // namespace

void HammerBlade::watch(fc_context&, const fc_watcher* given) {
  if (const long before = watching_.exchange(0)) facula_hb_unwatch(before);
  if (!given) return;
  if (given->size < sizeof(fc_watcher) || !given->launch || !given->accesses)
    fb::fail("watch: launch and accesses are needed");
  watcher = *given;
  facula_hb_watcher_t own{};
  own.size = sizeof own;
  own.launch = tell_launch;
  own.accesses = tell_accesses;
  const long number = facula_hb_watch(&own);
  if (number < 0) fb::fail(facula_hb_last_error());
  watching_ = number;
}

}  // namespace hammerblade
