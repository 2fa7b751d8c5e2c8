// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>

#include "core/error.h"
#include "jit/ir/check.h"
#include "jit/passes/pass.h"
#include "jit/passes/passes.h"

namespace fc::jit {
namespace {

thread_local PassWatcher watcher;
#ifdef NDEBUG
std::atomic<bool> checks = false;
#else
std::atomic<bool> checks = true;
#endif

void dump(const Pass& p, const char* title, const Graph& g) {
  if (title && logs(p.file, LogLevel::Dump)) log(p.file, LogLevel::Dump, str(title, "\n", g.text()));
}

bool run_one(Graph& g, const Pass& p, const PassContext* settings) {
  PassContext context(p);
  if (settings) {
    context.shapes = settings->shapes;
    context.effects = settings->effects;
    context.smallest = settings->smallest;
    context.lengths = settings->lengths;
  }
  dump(p, p.before, g);
  std::string before;
  const bool watched = static_cast<bool>(watcher);
  if (watched) before = g.text();
  const auto start = std::chrono::steady_clock::now();
  const bool changed = p.run(g, context);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (checks.load(std::memory_order_relaxed)) {
    try {
      check(g);
    } catch (const Error& e) { raise<Error>("after pass ", p.name, ": ", e.message()); }
  }
  dump(p, p.after, g);
  if (changed && p.then) context.run(p.then, g);
  if (watched && watcher) watcher(p, before, g.text(), took.count());
  return changed;
}

struct Added {
  std::mutex lock;
  std::deque<Pass> rows;
  std::deque<std::string> names;
};
Added& added() {
  static auto* a = new Added;
  return *a;
}

}  // namespace

bool run_passes(Graph& g, std::span<const Pass* const> rows, const PassContext* settings) {
  Ref<Graph> keep(&g);
  bool changed = false;
  for (const Pass* p : rows) changed = run_one(g, *p, settings) || changed;
  return changed;
}

bool PassContext::run(std::string_view name, Graph& g) const {
  const Pass* p = find_pass(name);
  FC_CHECK(p, "there is no pass ", name);
  return run_pass(g, *p);
}

void watch_passes(PassWatcher w) { watcher = std::move(w); }
void check_after_passes(bool on) { checks = on; }

std::vector<const Pass*> all_passes() {
  std::vector<const Pass*> out;
  for (const Pass& p : pass_table()) out.push_back(&p);
  std::lock_guard hold(added().lock);
  for (const Pass& p : added().rows) out.push_back(&p);
  return out;
}

const Pass* find_pass(std::string_view name) {
  auto named = [&](const Pass& p) { return name == p.name || (p.python && name == p.python); };
  for (const Pass& p : pass_table())
    if (named(p)) return &p;
  std::lock_guard hold(added().lock);
  for (const Pass& p : added().rows)
    if (named(p)) return &p;
  return nullptr;
}

const Pass& add_pass(const Pass& p) {
  FC_CHECK_AS(ValueError, p.name && *p.name && p.run, "a pass has a name and a function");
  FC_CHECK_AS(ValueError, !find_pass(p.name), "there is a pass ", p.name, " already");
  Added& a = added();
  std::lock_guard hold(a.lock);
  auto keep = [&](const char* text) { return text ? a.names.emplace_back(text).c_str() : nullptr; };
  Pass own = p;
  own.name = keep(p.name);
  own.file = keep(p.file ? p.file : p.name);
  own.python = keep(p.python);
  own.before = keep(p.before);
  own.after = keep(p.after);
  own.then = keep(p.then);
  return a.rows.emplace_back(own);
}

}  // namespace fc::jit
