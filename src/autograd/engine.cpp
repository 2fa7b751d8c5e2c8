// SPDX-License-Identifier: Apache-2.0
// The backward engine. Iterative: a heap of ready nodes, newest first; a node is ready when every node that sends it
// a gradient has run. Nodes of the CPU run on the calling thread, those of an accelerator on the accelerator's worker,
// which takes over the caller's state; a backward inside of a backward runs where it is called, so that no worker waits
// for another. Several threads may run over one graph, and a hook or a custom function over the one that called it:
// each run keeps its own counts and buffers, hooks are run from the list that is found, and no lock is held across
// either.
#include <condition_variable>
#include <optional>
#include <queue>
#include <unordered_map>

#include "autograd/autograd.h"
#include "autograd/meta.h"
#include "autograd/workers.h"
#include "core/error.h"
#include "core/use.h"
#include "define/calls.h"
#include "dispatch/forward_level.h"
#include "dispatch/joins.h"
#include "dispatch/observe.h"
#include "dispatch/snapshot.h"

namespace fc::autograd {
namespace {

struct State {
  uint32_t waiting_for = 0;
  bool needed = true;  // on a path to a requested input
  bool runs = true;    // and not the end of it
  bool counted = false;
  std::vector<Tensor> buffer;
  std::vector<std::pair<uint32_t, size_t>> captures;  // (input number, position in the answer)
};

struct Newer {
  bool operator()(const Node* a, const Node* b) const { return a->sequence < b->sequence; }
};

class Task;
constinit thread_local Task* current = nullptr;        // whose step runs on this thread
constinit thread_local const Node* running = nullptr;  // whose derivative that is

class Task {
 public:
  Task(const BackwardOptions& o, size_t n_inputs) : options_(o), answers_(n_inputs) {}

  const uint64_t id = next_id();
  bool to_all_leaves() const { return options_.accumulate && answers_.empty(); }
  bool runs(const Node& node) const {
    auto found = state_.find(const_cast<Node*>(&node));
    return found != state_.end() && found->second.needed;
  }
  // Of the node's first gradient (dispatch/joins.h). What looks at gradients one by one must see what the program
  // asked for.
  bool joins_strided(const Node& node) {
    if (node.edges.empty() || !node.edges[0] || node.post_hooks.get() || thread_state().anomaly_mode ||
        is_differentiated())
      return false;
    Locked locked(*this);
    const State& next = state_.find(node.edges[0].node.get())->second;
    const uint32_t nr = node.edges[0].nr;
    if (!next.needed || next.buffer.size() <= nr || !next.buffer[nr].defined()) return false;
    const TensorImpl& waits = next.buffer[nr].impl();
    return !waits.is_sparse() && waits.device().is_cpu() && !(waits.layers() & layer::Python);
  }
  void at_end(std::function<void()> what) {
    Locked locked(*this);
    at_end_.push_back(std::move(what));
  }
  void finish() {
    Current here(this);
    for (size_t i = 0; i < at_end_.size(); ++i) std::exchange(at_end_[i], nullptr)();  // they may add others
  }

  std::vector<Tensor> run(std::vector<Edge>& roots, std::vector<Tensor>&& grads, const std::vector<Edge>& targets) {
    for (size_t i = 0; i < targets.size(); ++i)
      if (targets[i]) state_[targets[i].node.get()].captures.emplace_back(targets[i].nr, i);
    std::vector<Node*> order = count(roots);
    if (!targets.empty()) mark_needed(order, targets);
    for (size_t i = 0; i < roots.size(); ++i) {
      UseScope use;
      grads[i] = fit(std::move(grads[i]), roots[i].node->inputs[roots[i].nr], "the root", i);
      deliver(state_[roots[i].node.get()], *roots[i].node, roots[i].nr, std::move(grads[i]));
    }
    std::vector<Node*> started;
    for (const Edge& r : roots)
      if (state_[r.node.get()].waiting_for == 0) started.push_back(r.node.get());
    std::sort(started.begin(), started.end());
    started.erase(std::unique(started.begin(), started.end()), started.end());
    if (!thread_state().in_backward)
      for (Node* n : order)
        if (is_accelerator(*n)) {
          run_with_workers(started);
          return std::move(answers_);
        }
    InBackward nested;
    for (Node* n : started) ready_.push(n);
    while (!ready_.empty()) {
      Node* node = ready_.top();
      ready_.pop();
      step(*node);
    }
    return std::move(answers_);
  }

 private:
  // The task's own lock, which a run without workers does not need.
  struct Locked {
    explicit Locked(Task& t) : lock(t.mutex_, std::defer_lock) {
      if (t.snapshot_) lock.lock();
    }
    std::unique_lock<std::mutex> lock;
  };
  struct InBackward {
    bool before = std::exchange(thread_state().in_backward, true);
    ~InBackward() { thread_state().in_backward = before; }
  };

  struct Current {
    explicit Current(Task* t) : before(std::exchange(current, t)) {}
    ~Current() { current = before; }
    Task* before;
  };
  static uint64_t next_id() {
    static uint64_t last = 0;
    return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
  }

  static bool is_accelerator(const Node& n) {
    return !n.inputs.empty() && !n.inputs[0].device.is_cpu() && !n.inputs[0].device.is_meta();
  }

  // The calling thread runs what is ready for it and sleeps while only workers have something to do. After an error
  // nothing new is started; the error is thrown when the workers have let go of this task.
  void run_with_workers(const std::vector<Node*>& started) {
    InBackward nested;
    ThreadSnapshot snapshot;
    snapshot_ = &snapshot;
    std::unique_lock lock(mutex_);
    try {
      for (Node* n : started) push(n);
    } catch (...) { error_ = std::current_exception(); }
    for (;;) {
      if (!ready_.empty() && !error_) {
        Node* node = ready_.top();
        ready_.pop();
        lock.unlock();
        attempt([&] { step(*node); });
        lock.lock();
      } else if (at_workers_ > 0) {
        changed_.wait(lock);
      } else {
        break;
      }
    }
    if (error_) std::rethrow_exception(error_);
  }

  void push(Node* node) {  // with the lock held, if there are workers
    if (!snapshot_ || !is_accelerator(*node)) {
      ready_.push(node);
      if (snapshot_) changed_.notify_one();
      return;
    }
    submit(node->inputs[0].device, {node->sequence, &Task::run_at_worker, this, node});
    ++at_workers_;  // after what may throw; the worker counts down with the lock
  }

  static void run_at_worker(void* self, void* node) noexcept {
    Task& task = *static_cast<Task*>(self);
    task.attempt([&] {
      WorkerScope scope(*task.snapshot_);
      task.step(*static_cast<Node*>(node));
    });
    std::lock_guard lock(task.mutex_);
    --task.at_workers_;
    task.changed_.notify_one();  // with the lock held: the task ends as soon as it is let go
  }

  template <class F>
  void attempt(const F& step) noexcept {
    {
      std::lock_guard lock(mutex_);
      if (error_) return;
    }
    try {
      step();
    } catch (...) {
      std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
  }

  // Counts, for every reachable node, how many edges lead to it.
  std::vector<Node*> count(const std::vector<Edge>& roots) {
    std::vector<Node*> order, stack;
    auto visit = [&](Node* n) {
      State& s = state_[n];
      if (s.counted) return;
      s.counted = true;
      order.push_back(n);
      stack.push_back(n);
    };
    for (const Edge& r : roots) visit(r.node.get());
    while (!stack.empty()) {
      Node* n = stack.back();
      stack.pop_back();
      for (const Edge& e : n->edges)
        if (e) {
          visit(e.node.get());
          ++state_[e.node.get()].waiting_for;
        }
    }
    return order;
  }

  // A node is needed if it is captured from or leads to a needed node. Nodes are newer than those they lead to,
  // leaves aside, so one pass from old to new settles it.
  void mark_needed(std::vector<Node*>& order, const std::vector<Edge>& targets) {
    for (Node* n : order) state_[n].needed = false;
    for (const Edge& t : targets)
      if (t) state_[t.node.get()].needed = true;
    std::sort(order.begin(), order.end(), [](Node* a, Node* b) {
      uint64_t x = a->sequence == UINT64_MAX ? 0 : a->sequence + 1, y = b->sequence == UINT64_MAX ? 0 : b->sequence + 1;
      return x < y;
    });
    // Rebuilt view nodes may be younger than their users: repeat until nothing changes (almost always once).
    for (bool changed = true; changed;) {
      changed = false;
      for (Node* n : order) {
        State& s = state_[n];
        if (s.needed) continue;
        for (const Edge& e : n->edges)
          if (e && state_[e.node.get()].needed) {
            s.needed = changed = true;
            break;
          }
      }
    }
    // Where nothing that is needed follows, the gradient is taken and the node stays as it is: it may run another time.
    for (Node* n : order) {
      State& s = state_[n];
      s.runs =
          s.needed && std::ranges::any_of(n->edges, [&](const Edge& e) { return e && state_[e.node.get()].needed; });
    }
  }

  // Adds a gradient to what has arrived. The sum is made without the lock: it calls operators, and those may call
  // Python.
  void deliver(State& s, Node& node, uint32_t nr, Tensor&& g) {
    for (;;) {
      Tensor arrived;
      {
        Locked locked(*this);
        if (s.buffer.size() < node.inputs.size()) s.buffer.resize(node.inputs.size());
        Tensor& slot = s.buffer[nr];
        if (!g.defined()) return;
        if (!slot.defined()) {
          slot = std::move(g);
          return;
        }
        arrived = std::move(slot);
      }
      if (arrived.impl().is_sparse() && !g.impl().is_sparse()) [[unlikely]]
        std::swap(arrived, g);  // what joins a strided gradient is strided
      if (!grad_enabled() && arrived.dtype() == g.dtype() && arrived.impl().is_dense() && sees_alone(arrived) &&
          !(g.impl().layers() & layer::Python))
        g = add_(arrived, g);
      else g = add(arrived, g);
    }
  }

  void step(Node& node) {
    UseScope use;
    Current here(this);
    // Counts, buffers and answers are shared between threads; state_ itself has all its entries by now.
    State& s = state_.find(&node)->second;
    std::vector<Tensor> in;
    {
      Locked locked(*this);
      in = std::move(s.buffer);
    }
    in.resize(node.inputs.size());
    std::vector<Tensor> out;
    if (s.needed) {
      for_each_hook(node.tensor_hooks, [&](const auto& h) { run_hook(node, h, in); });
      for_each_hook(node.retain_hooks, [&](const auto& h) {
        if (in[h.nr].defined()) h.hook->call(in[h.nr]);
      });
      for (auto& [nr, at] : s.captures)
        if (in[nr].defined()) answers_[at] = answers_[at].defined() ? add(answers_[at], in[nr]) : in[nr];
      bool is_leaf_node = node.edges.empty();
      if (is_leaf_node ? options_.accumulate : s.runs) out = apply(node, std::move(in));
    }
    out.resize(node.edges.size());
    for (size_t i = 0; i < node.edges.size(); ++i) {
      const Edge& e = node.edges[i];
      if (!e) continue;
      State& next = state_.find(e.node.get())->second;
      if (out[i].defined() && next.needed)
        deliver(next, *e.node, e.nr, fit(std::move(out[i]), e.node->inputs[e.nr], node, i));
      Locked locked(*this);
      if (--next.waiting_for == 0) push(e.node.get());
    }
  }

  void run_hook(Node& node, const TensorHooks::Entry& h, std::vector<Tensor>& in) {
    if (!in[h.nr].defined()) return;
    Tensor changed = h.hook->call(in[h.nr]);
    if (!changed.defined()) return;
    FC_CHECK(Dims::same(changed.sizes(), in[h.nr].sizes()), "hook has changed the size of value: it was ",
             in[h.nr].sizes(), ", the hook of ", node.name(), " returned ", changed.sizes());
    FC_CHECK(changed.dtype() == in[h.nr].dtype(), "hook has changed the type of value (was ", in[h.nr].dtype(), " got ",
             changed.dtype(), ")");
    in[h.nr] = std::move(changed);
  }

  std::vector<Tensor> apply(Node& node, std::vector<Tensor>&& in) {
    std::vector<Tensor> kept, none;
    for_each_hook(node.pre_hooks, [&](const auto& h) { h.hook->call(none, in); });
    const auto post = node.post_hooks.get() ? node.post_hooks.get()->read() : nullptr;
    if (post) kept = in;
    std::vector<Tensor> out;
    struct Running {  // calls of this node are observed as the derivative of its forward call
      uint64_t id_before;
      const Node* before;
      explicit Running(const Node& n)
          : id_before(std::exchange(thread_state().forward_id, n.call_id)), before(std::exchange(running, &n)) {}
      ~Running() {
        thread_state().forward_id = id_before;
        running = before;
      }
    } here(node);
    std::string name;
    if (watched(EventKind::Range)) [[unlikely]]
      name = node.name();
    RangeScope range(name, "backward");
    try {
      out = node.apply(std::move(in));
    } catch (...) {
      if (thread_state().anomaly_mode) report_anomaly(node);
      throw;
    }
    if (post)
      for (const auto& h : *post) h.hook->call(out, kept);
    if (thread_state().anomaly_mode && thread_state().anomaly_check_nan) check_nan(node, out);
    if (!options_.keep_graph) node.release_saved();
    return out;
  }

  static void report_anomaly(const Node& node) {
    warn(str("Error detected in ", node.name(), ". ",
             node.forward_trace.empty() ? std::string("No forward pass information available. Enable detect anomaly "
                                                      "during forward pass for more information.")
                                        : "Traceback of forward call that caused the error:\n" + node.forward_trace));
  }

  static void check_nan(const Node& node, const std::vector<Tensor>& out) {
    for (size_t i = 0; i < out.size(); ++i) {
      if (!out[i].defined() || out[i].device().is_meta() ||
          !(is_floating(out[i].dtype()) || is_complex(out[i].dtype())))
        continue;
      Tensor any = call<"aten::any", Tensor>(call<"aten::isnan", Tensor>(out[i]));
      if (call<"aten::_local_scalar_dense", Scalar>(any).to_bool()) {
        report_anomaly(node);
        raise<Error>("Function '", node.name(), "' returned nan values in its ", i, "th output.");
      }
    }
  }

  // Makes a gradient fit what it flows into: undoes broadcasting, casts, checks.
  template <class Where>
  Tensor fit(Tensor g, const InputMeta& m, const Where& from, size_t index) {
    if (!g.defined()) return g;
    if (!Dims::same(g.sizes(), m.sizes)) {
      bool reducible = g.sizes().size() >= m.sizes.size();
      for (size_t i = 0; reducible && i < m.sizes.size(); ++i) {
        int64_t have = g.sizes()[g.sizes().size() - 1 - i], want = m.sizes[m.sizes.size() - 1 - i];
        reducible = have == want || want == 1;
      }
      FC_CHECK(reducible, "Function ", name_of(from), " returned an invalid gradient at index ", index, " - got ",
               g.sizes(), " but expected shape compatible with ", m.sizes);
      g = sum_to_size(g, m.sizes);
    }
    if (g.dtype() != m.dtype) {
      if (is_complex(g.dtype()) && !is_complex(m.dtype)) g = call<"aten::real", Tensor>(g);
      if (g.dtype() != m.dtype) g = to_dtype(g, m.dtype);
    }
    FC_CHECK(g.device() == m.device || g.dim() == 0, "Function ", name_of(from),
             " returned an invalid gradient at index ", index, " - expected device ", m.device, " but got ",
             g.device());
    return g;
  }
  static std::string name_of(const Node& n) { return n.name(); }
  static std::string name_of(const char* s) { return s; }

  const BackwardOptions& options_;
  std::unordered_map<Node*, State> state_;
  std::vector<Tensor> answers_;
  std::vector<std::function<void()>> at_end_;
  std::priority_queue<Node*, std::vector<Node*>, Newer> ready_;  // for the calling thread
  // Only with workers:
  const ThreadSnapshot* snapshot_ = nullptr;
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t at_workers_ = 0;  // nodes given to workers that have not come back
  std::exception_ptr error_;
};

}  // namespace

std::vector<Tensor> run_backward(TensorSpan roots, TensorSpan root_grads, TensorSpan inputs, const BackwardOptions& o) {
  std::vector<Edge> edges, targets;
  std::vector<Tensor> grads;
  {
    UseScope use;  // not longer: the run may wait for workers, and its steps are uses of their own
    for (size_t i = 0; i < roots.size(); ++i) {
      edges.push_back(gradient_edge(roots[i]));
      grads.push_back(i < root_grads.size() ? root_grads[i] : Tensor());
      if (!grads[i].defined() && roots[i].numel() == 1 && is_floating(roots[i].dtype())) grads[i] = ones_like(roots[i]);
    }
    for (const Tensor& t : inputs) {
      FC_CHECK(requires_grad(t), "One of the differentiated Tensors does not require grad");
      targets.push_back(gradient_edge(t));
    }
  }
  return run_backward_edges(std::move(edges), std::move(grads), targets, o);
}

std::vector<Tensor> run_backward_edges(std::vector<Edge> roots, std::vector<Tensor> grads,
                                       const std::vector<Edge>& targets, const BackwardOptions& o) {
  FC_CHECK(!thread_state().inference_mode, "backward: cannot run inside inference mode");
  grads.resize(roots.size());
  for (size_t i = 0; i < roots.size(); ++i) {
    UseScope use;
    FC_CHECK(roots[i], "element ", i, " of tensors does not require grad and does not have a grad_fn");
    const InputMeta& root = roots[i].node->inputs[roots[i].nr];
    if (!grads[i].defined()) {
      FC_CHECK(checked_numel(root.sizes) == 1, "grad can be implicitly created only for scalar outputs");
      FC_CHECK(is_floating(root.dtype), "grad can be implicitly created only for real scalar outputs but got ",
               root.dtype);
      grads[i] = fill_(empty_tensor(root.sizes, root.dtype, root.device), 1);
    }
    FC_CHECK(Dims::same(grads[i].sizes(), root.sizes), "Mismatch in shape: grad_output[", i, "] has a shape of ",
             grads[i].sizes(), " and output[", i, "] has a shape of ", root.sizes, ".");
    FC_CHECK(is_complex(grads[i].dtype()) == is_complex(root.dtype),
             "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
             "grad_output[",
             i, "] has a dtype of ", grads[i].dtype(), " and output[", i, "] has a dtype of ", root.dtype, ".");
  }
  GradMode mode(o.create_graph);
  Task task(o, targets.size());
  std::vector<Tensor> answers = task.run(roots, std::move(grads), targets);
  task.finish();
  if (!o.accumulate)
    for (const Tensor& answer : answers)
      FC_CHECK(o.allow_unused || answer.defined(),
               "One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if "
               "this is the desired behavior.");
  return answers;
}

uint64_t current_backward() { return current ? current->id : 0; }
bool backward_to_all_leaves() { return !current || current->to_all_leaves(); }
bool backward_runs(const Node& node) { return current && current->runs(node); }
void at_end_of_backward(std::function<void()> what) {
  FC_CHECK(current, "Final callbacks can only be installed during backward pass.");
  current->at_end(std::move(what));
}

void backward(const Tensor& root, const Tensor& grad, bool keep_graph, bool create_graph) {
  run_backward({&root, 1}, {&grad, 1}, {}, {.keep_graph = keep_graph, .create_graph = create_graph});
}

}  // namespace fc::autograd

namespace fc {
bool gradient_joins_strided() {
  return autograd::current && autograd::running && autograd::current->joins_strided(*autograd::running);
}
}  // namespace fc
