// SPDX-License-Identifier: Apache-2.0
// A pass changes a graph and keeps what it computes. It is a function and a row; what all passes share is done by
// run_passes: the dumps of PYTORCH_JIT_LOG_LEVEL, the rules of ir/check.h (debug builds), the record for the viewer. A
// pass itself only asks its context before each rewrite and says what it did.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/format.h"
#include "jit/ir/graph.h"
#include "jit/log.h"

namespace fc::jit {

class PassContext;

struct Pass {
  const char* name;                   // "EliminateDeadCode"
  const char* file;                   // "dead_code_elimination": of log lines and the rewrite limit
  const char* python;                 // "_jit_pass_dce"; null: PyTorch hides it, it is found by its name
  bool (*run)(Graph&, PassContext&);  // true: it changed something
  const char* before = nullptr;       // title of the dump before it, and after it; null: none
  const char* after = nullptr;
  const char* then = nullptr;  // what runs behind it and its dump, if it changed something; a row's name
  void* data = nullptr;        // of a pass that a library or Python added
};

class PassContext {
 public:
  explicit PassContext(const Pass& p) : pass_(p), updates_(logs(p.file, LogLevel::Update)) {}
  const Pass& pass() const { return pass_; }

  // Before each rewrite: whether PYTORCH_JIT_OPT_LIMIT leaves one.
  bool allowed() const { return allow_rewrite(pass_.file); }
  template <class... Parts>
  void update(const Parts&... parts) const {
    if (updates_) [[unlikely]]
      log(pass_.file, LogLevel::Update, str(parts...));
  }
  bool wants_updates() const { return updates_; }
  bool run(std::string_view name, Graph& g) const;  // another pass, with all that goes with it

  bool shapes = true;    // peephole: rules that trust static shapes
  bool effects = false;  // dead code: nodes with side effects go too
  size_t smallest = 2;   // autodiff subgraphs: operations of one
  bool lengths = false;  // list idioms: lengths of lists that branches tell

 private:
  const Pass& pass_;
  bool updates_;
};

// Runs rows in order; true: one of them changed the graph. If one throws, the graph is as that one left it.
bool run_passes(Graph& g, std::span<const Pass* const> rows, const PassContext* settings = nullptr);
inline bool run_pass(Graph& g, const Pass& p) {
  const Pass* one = &p;
  return run_passes(g, {&one, 1});
}

// --- the table (passes.cpp), and what was added to it
std::vector<const Pass*> all_passes();
const Pass* find_pass(std::string_view name);  // by name or Python's name; null: none
const Pass& add_pass(const Pass& p);           // copies the row, names are kept; throws ValueError if the name exists

// What a viewer sees: called after each pass with the texts before and after; null: nobody looks.
using PassWatcher =
    std::function<void(const Pass&, const std::string& before, const std::string& after, double seconds)>;
void watch_passes(PassWatcher watcher);  // of this thread
void check_after_passes(bool on);        // the rules after every pass, also in a release build

}  // namespace fc::jit
