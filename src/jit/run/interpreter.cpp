// SPDX-License-Identifier: Apache-2.0
#include "jit/run/interpreter.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "core/containers.h"
#include "core/use.h"
#include "dispatch/operator.h"
#include "dispatch/snapshot.h"
#include "jit/run/function.h"
#include "jit/run/nodes.h"

namespace fc::jit {

void (*check_interrupt)() = nullptr;
static constinit thread_local int64_t checks_left = INT64_MAX;
TurnLimit::TurnLimit(int64_t checks) : before_(checks_left) { checks_left = checks; }
TurnLimit::~TurnLimit() { checks_left = before_; }

namespace {

constexpr size_t kMaxFrames = 20000;       // calls within calls
constexpr int kTurnsBetweenChecks = 4096;  // of loops, between two looks for Ctrl-C
constexpr size_t kArguments = 24;          // of an operator, on the stack

struct Frame {
  Ref<const Code> code;
  size_t base;     // its first register
  size_t next;     // instruction
  int32_t result;  // of the caller: where the result goes
};

// What is under way. Counted, because one that waits is kept by the future that it waits for.
class InterpreterState final : public RefCounted {
 public:
  Ref<Future> result;  // null: the caller waits for the run itself

  void begin(const Code& code, std::vector<fc::Value> arguments) {
    FC_CHECK(arguments.size() == code.parameters.size(), code.name, "() takes ", code.parameters.size(),
             " arguments, not ", arguments.size());
    enter(Ref<const Code>(&code), -1);
    for (size_t i = 0; i < arguments.size(); ++i)
      registers_[static_cast<size_t>(code.parameters[i])] = std::move(arguments[i]);
  }

  // Until it is done, or, where it may be left, until it waits: then the future. Throws what the graph throws.
  Future* run(bool may_leave);
  std::vector<fc::Value> results;

 private:
  void enter(Ref<const Code> code, int32_t result) {
    FC_CHECK(frames_.size() < kMaxFrames, "maximum recursion depth exceeded: ", kMaxFrames, " calls within calls");
    const size_t base = registers_.size();
    registers_.resize(base + static_cast<size_t>(code->registers));
    for (size_t i = 0; i < code->constants.size(); ++i) registers_[base + i] = code->constants[i];
    frames_.push_back({std::move(code), base, 0, result});
  }
  void leave();
  void call_operator(const NodeCall& call, fc::Value* r);
  Function& callee(const NodeCall& call, const fc::Value* r) const;
  void call_function(const NodeCall& call, size_t more = 0);
  void leave_entered() noexcept;
  Future* run_impl(bool may_leave);
  [[noreturn]] void rethrow_located();

  std::vector<fc::Value> registers_;
  std::vector<Frame> frames_;
  std::vector<fc::Value> entered_;  // objects of `with`, the innermost last
};

void InterpreterState::call_operator(const NodeCall& call, fc::Value* r) {
  const size_t n = call.prepared.size();
  static_assert(std::is_trivially_copyable_v<Arg> && std::is_trivially_destructible_v<Arg>);
  alignas(Arg) std::byte few[kArguments * sizeof(Arg)];  // only what the call takes is written
  std::vector<Arg> many;
  Arg* args = reinterpret_cast<Arg*>(few);
  if (n > kArguments) [[unlikely]] {
    many = call.prepared;
    args = many.data();
  } else {
    std::uninitialized_copy_n(call.prepared.data(), n, args);
  }
  for (const Operand& o : call.in) {
    const fc::Value& v = r[o.slot];
    if (v.is_tensor()) [[likely]]
      args[o.argument] = Arg(v.tensor());
    else args[o.argument] = pass(v, o.pass);
  }
  if (call.out.size() == 1) [[likely]] {
    fc::Value& out = r[call.out[0]];
    if (!out.is_none()) out = fc::Value();
    call.op->call(args, &out);
  } else {
    std::vector<fc::Value> outs(call.out.size());
    call.op->call(args, outs.data());
    for (size_t i = 0; i < outs.size(); ++i) r[call.out[i]] = std::move(outs[i]);
  }
  if (!call.plain_results) [[unlikely]]
    for (const int32_t out : call.out)
      if (const Tag t = r[out].tag(); t == Tag::DType || t == Tag::Layout || t == Tag::MemoryFormat)
        r[out].set_int(r[out].raw_int());
  for (const int32_t d : call.drop) r[d] = fc::Value();
}

Function& InterpreterState::callee(const NodeCall& call, const fc::Value* r) const {
  if (call.function) return *call.function;
  FC_CHECK(!call.in.empty(), "a call of nothing");
  const fc::Value& first = r[call.in[0].slot];
  if (call.text.empty()) {
    FC_CHECK(first.tag() == Tag::Function, "a call of what is no function");
    return *static_cast<Function*>(first.box());
  }
  FC_CHECK(first.tag() == Tag::Instance, "a call of method '", call.text, "' of a ", to_string(first.tag()));
  const TypeRef type = static_cast<const Instance*>(first.box())->type;
  Function* f = find_method(type, call.text);
  FC_CHECK(f, type->name(), " has no method '", call.text, "'");
  return *f;
}

// `more`: arguments behind the operands, as __exit__ has them.
void InterpreterState::call_function(const NodeCall& call, size_t more) {
  const size_t base = frames_.back().base;
  const Function& f = callee(call, registers_.data() + base);
  const size_t first = !call.function && call.text.empty() ? 1 : 0;  // the function itself is no argument
  Ref<const Code> code = f.get_plan_for({});
  FC_CHECK(call.in.size() - first + more == code->parameters.size(), code->name, "() takes ", code->parameters.size(),
           " arguments, not ", call.in.size() - first + more);
  const Code& into = *code;
  enter(std::move(code), call.out.empty() ? -1 : call.out[0]);
  const size_t there = frames_.back().base;
  for (size_t i = first; i < call.in.size(); ++i)
    registers_[there + static_cast<size_t>(into.parameters[i - first])] = take(call.in[i], registers_.data() + base);
}

// What was entered is left, the innermost first; what that throws is lost beside what was thrown already.
void InterpreterState::leave_entered() noexcept {
  while (!entered_.empty()) {
    const fc::Value object = std::move(entered_.back());
    entered_.pop_back();
    try {
      if (const Function* f = find_method(static_cast<const Instance*>(object.box())->type, "__exit__"))
        fc::jit::run(*f->get_plan_for({}), {object, {}, {}, {}});
    } catch (...) {}
  }
}

// Results to the caller's register, or out. Several are a tuple.
void InterpreterState::leave() {
  Frame frame = std::move(frames_.back());
  frames_.pop_back();
  const Code& code = *frame.code;
  fc::Value* r = registers_.data() + frame.base;
  std::vector<fc::Value> out;
  for (size_t i = 0; i < code.results.size(); ++i)
    out.push_back(take({code.results[i], PassAs::Any, code.result_moves[i]}, r));
  registers_.resize(frame.base);
  if (frames_.empty()) {
    results = std::move(out);
    return;
  }
  if (frame.result < 0) return;
  fc::Value& to = registers_[frames_.back().base + static_cast<size_t>(frame.result)];
  to = out.size() == 1 ? std::move(out[0]) : tuple_value(std::move(out));
}

int64_t floor_div(int64_t a, int64_t b) {
  FC_CHECK(b != 0, "division by 0");
  if (b == -1) return static_cast<int64_t>(-static_cast<uint64_t>(a));
  const int64_t q = a / b;
  return q - ((a % b != 0) && ((a < 0) != (b < 0)));
}
int64_t floor_rest(int64_t a, int64_t b) {
  FC_CHECK(b != 0, "division by 0");
  if (b == -1) return 0;
  const int64_t rest = a % b;
  return rest + (rest != 0 && (rest < 0) != (b < 0) ? b : 0);
}
int64_t wrapped(uint64_t v) { return static_cast<int64_t>(v); }

[[gnu::noinline]] Future* InterpreterState::run_impl(bool may_leave) {
  Frame* f = &frames_.back();
  const Instruction* code = f->code->instructions.data();
  const NodeCall* calls = f->code->calls.data();
  fc::Value* r = registers_.data() + f->base;
  size_t at = f->next;
  int turns = kTurnsBetweenChecks;
  auto reload = [&] {
    f = &frames_.back();
    code = f->code->instructions.data();
    calls = f->code->calls.data();
    r = registers_.data() + f->base;
    at = f->next;
  };
  for (;;) {
    const Instruction& in = code[at];
    f->next = at++;  // of the instruction at hand, for what is thrown
    const auto a = in.a, b = in.b, c = in.c;
#define UNSIGNED(x) static_cast<uint64_t>(r[x].raw_int())
    switch (in.op) {
      case Op::CALL_OP: call_operator(calls[a], r); break;
      case Op::MOVE: r[a] = std::move(r[b]); break;
      case Op::COPY: r[a] = r[b]; break;
      case Op::DROP: r[a] = fc::Value(); break;
      case Op::JF:
        if (!r[a].raw_int()) at = static_cast<size_t>(b);
        break;
      case Op::JMP: at = static_cast<size_t>(a); break;
      case Op::BACK:
        at = static_cast<size_t>(a);
        if (--turns == 0) [[unlikely]] {
          turns = kTurnsBetweenChecks;
          if (checks_left-- == 0) raise<Error>("a loop takes too many turns for what may run while an archive is read");
          if (check_interrupt) {
            const PauseUse pause;
            check_interrupt();
          }
        }
        break;
      case Op::LOOP:
        if (const int64_t turn = r[a].raw_int(); turn < r[a + 1].raw_int() && r[a + 2].raw_int()) {
          r[b].set_int(turn);
          r[a].set_int(turn + 1);
        } else {
          at = static_cast<size_t>(c);
        }
        break;
      case Op::RET:
        leave();
        if (frames_.empty()) return nullptr;
        reload();
        ++at;
        break;
      case Op::CALL:
        call_function(calls[a]);
        reload();
        break;
      case Op::ENTER:
        FC_CHECK(r[calls[a].in[0].slot].tag() == Tag::Instance, "a with of what is no object");
        entered_.push_back(r[calls[a].in[0].slot]);
        call_function(calls[a]);
        reload();
        break;
      case Op::EXIT:
        FC_CHECK(!entered_.empty(), "the end of a with that did not begin");
        call_function(calls[a], 3);
        entered_.pop_back();
        reload();
        break;
      case Op::FORK: {
        const NodeCall& call = calls[a];
        std::vector<fc::Value> arguments;
        for (const Operand& o : call.in) arguments.push_back(take(o, r));
        r[call.out[0]] = future_value(fork(*call.function, std::move(arguments)));
        break;
      }
      case Op::WAIT: {
        FC_CHECK(r[b].tag() == Tag::Future, "aten::wait of what is no Future");
        const fc::Value kept = r[b];
        Future& future = future_of(kept);
        if (!future.done()) {
          if (may_leave) return &future;
          const PauseUse pause;
          while (!future.wait_for(50))
            if (check_interrupt) check_interrupt();
        }
        r[a] = future.value();
        break;
      }
      case Op::ADD_INT: r[a].set_int(wrapped(UNSIGNED(b) + UNSIGNED(c))); break;
      case Op::SUB_INT: r[a].set_int(wrapped(UNSIGNED(b) - UNSIGNED(c))); break;
      case Op::MUL_INT: r[a].set_int(wrapped(UNSIGNED(b) * UNSIGNED(c))); break;
      case Op::FLOORDIV_INT: r[a].set_int(floor_div(r[b].raw_int(), r[c].raw_int())); break;
      case Op::REMAINDER_INT: r[a].set_int(floor_rest(r[b].raw_int(), r[c].raw_int())); break;
      case Op::LT_INT: r[a].set_bool(r[b].raw_int() < r[c].raw_int()); break;
      case Op::LE_INT: r[a].set_bool(r[b].raw_int() <= r[c].raw_int()); break;
      case Op::GT_INT: r[a].set_bool(r[b].raw_int() > r[c].raw_int()); break;
      case Op::GE_INT: r[a].set_bool(r[b].raw_int() >= r[c].raw_int()); break;
      case Op::EQ_INT: r[a].set_bool(r[b].raw_int() == r[c].raw_int()); break;
      case Op::NE_INT: r[a].set_bool(r[b].raw_int() != r[c].raw_int()); break;
      case Op::ADD_FLOAT: r[a].set_double(r[b].raw_double() + r[c].raw_double()); break;
      case Op::SUB_FLOAT: r[a].set_double(r[b].raw_double() - r[c].raw_double()); break;
      case Op::MUL_FLOAT: r[a].set_double(r[b].raw_double() * r[c].raw_double()); break;
      case Op::DIV_FLOAT:
        FC_CHECK(r[c].raw_double() != 0, "division by 0");
        r[a].set_double(r[b].raw_double() / r[c].raw_double());
        break;
      case Op::LT_FLOAT: r[a].set_bool(r[b].raw_double() < r[c].raw_double()); break;
      case Op::LE_FLOAT: r[a].set_bool(r[b].raw_double() <= r[c].raw_double()); break;
      case Op::GT_FLOAT: r[a].set_bool(r[b].raw_double() > r[c].raw_double()); break;
      case Op::GE_FLOAT: r[a].set_bool(r[b].raw_double() >= r[c].raw_double()); break;
      case Op::AND_BOOL: r[a].set_bool(r[b].raw_int() & r[c].raw_int()); break;
      case Op::OR_BOOL: r[a].set_bool(r[b].raw_int() | r[c].raw_int()); break;
      case Op::NOT_BOOL: r[a].set_bool(!r[b].raw_int()); break;
      case Op::IS_NONE: r[a].set_bool(r[b].is_none()); break;
      case Op::IS_SET: r[a].set_bool(!r[b].is_none()); break;
      case Op::LIST_GET:
        visit_list(r[b], [&](auto& items) {
          const auto n = static_cast<int64_t>(items.size());
          const int64_t i = r[c].raw_int() < 0 ? r[c].raw_int() + n : r[c].raw_int();
          if (i < 0 || i >= n) raise<IndexError>("list index out of range");
          r[a] = fc::Value(items[static_cast<size_t>(i)]);
        });
        break;
      case Op::LIST_LEN:
        visit_list(r[b], [&](auto& items) { r[a].set_int(static_cast<int64_t>(items.size())); });
        break;
      case Op::NODE: node_kind(static_cast<size_t>(b)).run(calls[a], r); break;
    }
#undef UNSIGNED
  }
}

// The text that PyTorch gives: the frames, the outermost first, then what failed.
void InterpreterState::rethrow_located() {
  std::string text =
      "The following operation failed in the TorchScript interpreter.\nTraceback of TorchScript (most recent call "
      "last):\n";
  for (const Frame& f : frames_) {
    std::string_view name = f.code->name;
    name.remove_prefix(name.rfind('.') + 1);
    for (const CallSite* s = f.code->sites[f.next].get(); s; s = s->callee.get()) {
      text += s->range.highlight(name);
      name = s->function;
    }
    text += f.code->ranges[f.next].highlight(name);
  }
  try {
    throw;
  } catch (const ScriptError& e) {
    throw ScriptError(text + (e.python_class.empty() ? "RuntimeError" : e.python_class) + ": " + e.last_line + "\n",
                      e.last_line, e.python_class, e.raised);
  } catch (const Error& e) { throw ScriptError(text + "RuntimeError: " + e.message() + "\n", e.message(), "", false); }
}

[[gnu::noinline]] Future* InterpreterState::run(bool may_leave) {
  const UseScope use;
  try {
    return run_impl(may_leave);
  } catch (const Error&) {
    leave_entered();
    rethrow_located();
  } catch (...) {  // Ctrl-C and what Python raised go on as they are
    leave_entered();
    throw;
  }
}

// --- the inter-op pool: as many threads as it was told, that begin when there is work
class Pool {
 public:
  static Pool& it() {
    static Pool& pool = *new Pool;  // never destroyed: its threads sleep till the process ends
    return pool;
  }
  struct Task {
    Ref<InterpreterState> run;
    std::unique_ptr<ThreadSnapshot> state;
  };
  void add(Task task) {
    std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    if (idle_ == 0 && threads_ < size_) {
      ++threads_;
      std::thread(&Pool::work, this).detach();
    }
    change_.notify_one();
  }
  void set_size(int n) {
    std::lock_guard lock(mutex_);
    FC_CHECK(threads_ == 0 && !told_,
             "Error: cannot set number of interop threads after parallel work has started or "
             "set_num_interop_threads called");
    size_ = n;
    told_ = true;
  }
  int size() {
    std::lock_guard lock(mutex_);
    return size_;
  }

 private:
  void work();
  std::mutex mutex_;
  std::condition_variable change_;
  std::deque<Task> tasks_;
  int size_ = static_cast<int>(std::max(1u, std::thread::hardware_concurrency())), threads_ = 0, idle_ = 0;
  bool told_ = false;
};

// Goes on with a run on the pool, when the future that it waits for is done.
struct Resume final : Future::Callback {
  explicit Resume(Pool::Task t) : task(std::move(t)) {}
  Pool::Task task;
  void done(Future&) override { Pool::it().add(std::move(task)); }
};

void Pool::work() {
  for (;;) {
    std::unique_lock lock(mutex_);
    ++idle_;
    change_.wait(lock, [&] { return !tasks_.empty(); });
    --idle_;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    try {
      const WorkerScope state(*task.state);
      InterpreterState& run = *task.run;
      if (Future* waits = run.run(true)) {
        const Ref<Future> kept(waits);
        kept->when_done(std::make_unique<Resume>(std::move(task)));
      } else {
        run.result->set(run.results.size() == 1 ? std::move(run.results[0]) : tuple_value(std::move(run.results)));
      }
    } catch (...) {
      if (task.run) task.run->result->fail(std::current_exception());
    }
  }
}

}  // namespace

std::vector<fc::Value> run(const Code& code, std::vector<fc::Value> arguments) {
  InterpreterState r;
  r.retain_first();
  r.begin(code, std::move(arguments));
  r.run(false);
  return std::move(r.results);
}

Ref<Future> fork(const Function& f, std::vector<fc::Value> arguments) {
  auto r = make_ref<InterpreterState>();
  r->result = make_ref<Future>();
  const Ref<const Code> code = f.get_plan_for({});
  r->begin(*code, std::move(arguments));
  Ref<Future> future = r->result;
  Pool::it().add({std::move(r), std::make_unique<ThreadSnapshot>()});
  return future;
}

void set_interop_threads(int n) {
  FC_CHECK(n >= 1, "set_num_interop_threads expects a positive integer");
  Pool::it().set_size(n);
}
int interop_threads() { return Pool::it().size(); }

}  // namespace fc::jit
