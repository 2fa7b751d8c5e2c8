// SPDX-License-Identifier: Apache-2.0
#include "distributed/group.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "core/signals.h"
#include "define/calls.h"
#include "dispatch/layers.h"
#include "dispatch/observe.h"
#include "distributed/monitor.h"
#include "distributed/schedule.h"
#include "distributed/staged.h"

namespace fc::distributed {
namespace {

std::string dims(const Tensor& t) { return str(t.sizes()); }

// Divides by the number of ranks, where the op is an average.
void divide(const Staged& s, size_t first, size_t count, ReduceOp op, int size) {
  if (op != ReduceOp::Average || count == 0) return;
  Tensor part = make_view(s.buffer(), Dims{static_cast<int64_t>(count)}, Dims{1},
                          s.buffer().offset() + static_cast<int64_t>(first));
  call<"aten::div_.Scalar", Tensor>(part, Scalar(static_cast<int64_t>(size)));
}

struct WorkerState {  // of the group's thread: what runs there is no step of the program's
  ThreadState plain() {
    ThreadState s;
    s.grad_mode = false;
    return s;
  }
  StateScope scope{plain()};
};

// A call that failed may be under way in an engine that cannot break it off: its memory stays.
void abandon(std::function<void(Engine&, const Call&)> run) {
  static std::mutex mutex;
  static auto& kept = *new std::vector<std::function<void(Engine&, const Call&)>>;
  std::lock_guard lock(mutex);
  kept.push_back(std::move(run));
}

std::exception_ptr make_error(const std::string& text) { return std::make_exception_ptr(BackendError(text)); }

int64_t rows_of(const Tensor& t) { return t.dim() ? t.size(0) : 1; }

}  // namespace

ProcessGroup::ProcessGroup(GroupOptions options, std::unique_ptr<Engine> engine, Ref<Store> store,
                           std::shared_ptr<Monitor> monitor)
    : options_(std::move(options)),
      pid_(getpid()),
      engine_(std::move(engine)),
      store_(std::move(store)),
      monitor_(std::move(monitor)),
      timeout_ms_(options_.timeout.count()) {
  if (monitor_) monitor_->watch(this);
  thread_ = std::thread([this] { work_through(); });
}

ProcessGroup::~ProcessGroup() {
  if (getpid() != pid_) {  // a child has no thread to join, and the sockets are its parent's
    thread_.detach();
    (void)engine_.release();
    if (monitor_) new std::shared_ptr<Monitor>(std::move(monitor_));  // kept: its thread is the parent's
    return;
  }
  shut_down();
}

void ProcessGroup::shut_down() noexcept {
  if (getpid() != pid_) return;
  {
    std::lock_guard lock(mutex_);
    if (shut_) return;
    shut_ = true;
    closing_ = true;
  }
  changed_.notify_all();
  if (monitor_) monitor_->forget(this);
  thread_.join();
  {
    std::unique_lock lock(mutex_);
    if (transfers_) engine_->close();
    changed_.wait(lock, [this] { return transfers_ == 0; });
  }
  engine_->close();
}

Duration ProcessGroup::timeout() const { return Duration(timeout_ms_); }
void ProcessGroup::set_timeout(Duration timeout) {
  FC_CHECK_AS(ValueError, timeout.count() > 0, "a group's timeout is longer than nothing");
  timeout_ms_ = timeout.count();
}

std::exception_ptr ProcessGroup::failure() const {
  std::lock_guard lock(mutex_);
  if (!failure_.empty()) return make_error(failure_);
  return closing_ ? make_error(str("group '", name(), "' was destroyed")) : nullptr;
}

void ProcessGroup::check_usable(const char* op) const {
  FC_CHECK_AS(distributed::DistError, getpid() == pid_, op, ": group '", name(),
              "' was made before a fork; processes are made by torchrun, or init_process_group is called in the child");
  if (auto error = failure()) std::rethrow_exception(error);
}

void ProcessGroup::check_root(const char* op, int root) const {
  FC_CHECK_AS(ValueError, root >= 0 && root < size(), op, ": rank ", root, " is not in group '", name(), "' of ",
              size());
}

void ProcessGroup::fail(const std::string& why) noexcept {
  {
    std::lock_guard lock(mutex_);
    if (!failure_.empty() || closing_) return;
    failure_ = why;
  }
  engine_->close();
}

Ref<Work> ProcessGroup::submit(Header header, int64_t bytes, const Site& site, Run run) {
  header.where = site.where;
  Job job;
  job.timeout = site.timeout.count() > 0 ? site.timeout : timeout();
  job.run = std::move(run);
  job.record.bytes = bytes;
  Ref<Work> work;
  {
    std::lock_guard lock(mutex_);  // the sequence is the order in the queue
    header.sequence = ++sequence_;
    work = make_ref<Work>(header.op);
    job.work = work;
    job.record.header = std::move(header);
    recorder_.add(job.record);
    if (schedule_is_recorded()) note(job.record.header, bytes, work);
    jobs_.push_back(std::move(job));
  }
  changed_.notify_all();
  return work;
}

void ProcessGroup::note(const Header& header, int64_t bytes, const Ref<Work>& work) const {
  note_call({name(), options_.engine, ranks(), header, bytes, monotonic_ns(), work});
}

void ProcessGroup::work_through() {
  hold_signals_on_worker();
  WorkerState state;
  for (;;) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return closing_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    carry_out(job);
  }
}

void ProcessGroup::carry_out(Job& job) {
  const Header& header = job.record.header;
  std::string failed;
  {
    std::lock_guard lock(mutex_);
    failed = failure_;
  }
  std::exception_ptr error;
  if (!failed.empty()) {
    error = make_error(failed);
  } else {
    job.work->begin();
    recorder_.update(header.sequence, Record::Running);
    std::string range_name, about;  // without the number, since profiles keep each text once
    if (watched(EventKind::Range)) {
      range_name = str(options_.engine, ":", header.op);
      about = str("group '", name(), "': ", header.text());
    }
    try {
      const RangeScope range(range_name, about);
      if (options_.compare_calls && size() > 1) compare_before(header, job.timeout);
      job.run(*engine_, {header.tag(), job.timeout});
    } catch (const std::exception& e) {
      recorder_.update(header.sequence, Record::Failed);
      fail(find_cause(header, e.what()));
      error = failure();
      abandon(std::move(job.run));
    }
  }
  if (!error) recorder_.update(header.sequence, Record::Done);
  job.run = nullptr;  // gives up the tensors before anybody hears that the call has ended
  job.work->end(error);
}

void ProcessGroup::compare_before(const Header& header, Duration timeout) {
  constexpr size_t kText = 248;
  struct Line {
    uint32_t tag;
    char text[kText + 4];
  } mine{header.tag(), {}};
  const std::string text = header.text();
  std::copy_n(text.data(), std::min(text.size(), kText), mine.text);
  std::vector<Line> all(static_cast<size_t>(size()));
  Header question;  // the same on all ranks, whatever they are about to call
  question.sequence = header.sequence;
  question.op = "compare";
  engine_->all_gather(&mine, all.data(), sizeof mine, {question.tag(), timeout});
  if (std::all_of(all.begin(), all.end(), [&](auto& l) { return l.tag == mine.tag; })) return;
  std::string what = str("the ranks of group '", name(), "' disagree about call number ", header.sequence, ":");
  for (int r = 0; r < size(); ++r) {
    all[static_cast<size_t>(r)].text[kText] = 0;
    what += str("\n  rank ", r, " called ", static_cast<const char*>(all[static_cast<size_t>(r)].text));
  }
  throw BackendError(what);
}

std::string ProcessGroup::find_cause(const Header& header, const std::string& error) {
  std::string known;
  {
    std::lock_guard lock(mutex_);
    known = failure_;  // the monitor's word explains more than a broken connection
  }
  if (!known.empty()) return known;
  if (error.find("disagree about call") != std::string::npos) return error;
  const std::string text = str("group '", name(), "' (", options_.engine, "): ", error, "\n  in call ");
  if (!monitor_) return text + header.text();
  // After a time-out everybody is there and answers; a closed connection means that somebody is not.
  const bool closed = error.find("closed the connection") != std::string::npos;
  return text + explain(header, rank(), monitor_->ask(*this, std::chrono::milliseconds(closed ? 1200 : 3000)));
}

// ---- collectives

Ref<Work> ProcessGroup::all_reduce(const Tensors& tensors, ReduceOp op, const Site& site) {
  check_usable("all_reduce");
  check_tensors("all_reduce", tensors, Staged::ReadWrite);
  FC_CHECK_AS(ValueError, !tensors.empty(), "all_reduce: no tensor was given");
  const Combine combine = combine_function(op, tensors[0].dtype());
  FC_CHECK_AS(ValueError, op != ReduceOp::Average || is_floating(tensors[0].dtype()) || is_complex(tensors[0].dtype()),
              "ReduceOp.AVG is not defined for ", to_string(tensors[0].dtype()));
  auto s = std::make_shared<Staged>(tensors, Staged::ReadWrite);
  return submit({0, "all_reduce", s->dtype(), s->numel(), name_of(op), {}}, static_cast<int64_t>(s->bytes()), site,
                [s, combine, op, n = size()](Engine& e, const Call& call) {
                  const auto count = static_cast<size_t>(s->numel());
                  if (count) e.all_reduce({s->data(), count, s->dtype(), op, combine}, call);
                  divide(*s, 0, count, op, n);
                  s->write_back();
                });
}

Ref<Work> ProcessGroup::reduce(const Tensor& tensor, int root, ReduceOp op, const Site& site) {
  check_usable("reduce");
  check_tensors("reduce", {tensor}, Staged::ReadWrite);
  check_root("reduce", root);
  const Combine combine = combine_function(op, tensor.dtype());
  // Others' tensors stay as they are, so the engine works on a copy of theirs.
  const bool mine = root == rank();
  Tensor at = mine ? tensor : clone(detach(tensor), MemoryFormat::Contiguous);
  auto s = std::make_shared<Staged>(Tensors{at}, Staged::ReadWrite);
  return submit({0, "reduce", s->dtype(), s->numel(), str(name_of(op), " to ", root), {}},
                static_cast<int64_t>(s->bytes()), site,
                [s, combine, op, root, mine, n = size()](Engine& e, const Call& call) {
                  const auto count = static_cast<size_t>(s->numel());
                  if (count) e.reduce({s->data(), count, s->dtype(), op, combine}, root, call);
                  if (!mine) return;
                  divide(*s, 0, count, op, n);
                  s->write_back();
                });
}

Ref<Work> ProcessGroup::broadcast(const Tensors& tensors, int root, const Site& site) {
  check_usable("broadcast");
  check_tensors("broadcast", tensors, Staged::ReadWrite);
  FC_CHECK_AS(ValueError, !tensors.empty(), "broadcast: no tensor was given");
  check_root("broadcast", root);
  const bool mine = root == rank();
  auto s = std::make_shared<Staged>(tensors, mine ? Staged::Read : Staged::Write);
  return submit({0, "broadcast", s->dtype(), s->numel(), str("from ", root), {}}, static_cast<int64_t>(s->bytes()),
                site, [s, root](Engine& e, const Call& call) {
                  if (s->bytes()) e.broadcast(s->data(), s->bytes(), root, call);
                  s->write_back();
                });
}

namespace {

// Outputs and inputs of calls that move a part to or from every rank must be of one size.
void check_parts(const char* op, const char* what, const std::vector<Tensor>& parts, const Tensor& one, int size) {
  FC_CHECK_AS(ValueError, static_cast<int>(parts.size()) == size, op, ": expected ", size, " ", what,
              ", one for each rank, got ", parts.size());
  for (auto& p : parts) {
    FC_CHECK_AS(ValueError, p.dtype() == one.dtype(), op, ": inputs are ", to_string(one.dtype()), ", outputs ",
                to_string(p.dtype()));
    FC_CHECK_AS(ValueError, p.numel() == one.numel(), op, ": each part has ", one.numel(), " elements ", dims(one),
                ", one of the ", what, " has ", p.numel(), " ", dims(p));
  }
}

}  // namespace

Ref<Work> ProcessGroup::all_gather(const Tensors& outputs, const Tensor& input, const Site& site) {
  check_usable("all_gather");
  check_tensors("all_gather", {input}, Staged::Read);
  check_tensors("all_gather", outputs, Staged::Write);
  if (outputs.size() == 1 && size() != 1) {
    FC_CHECK_AS(ValueError, outputs[0].dtype() == input.dtype(), "all_gather: the input is ", to_string(input.dtype()),
                ", the output ", to_string(outputs[0].dtype()));
    FC_CHECK_AS(ValueError, outputs[0].numel() == input.numel() * size(), "all_gather: ", size(), " inputs of ",
                input.numel(), " elements do not fill an output of ", outputs[0].numel());
  } else {
    check_parts("all_gather", "outputs", outputs, input, size());
  }
  auto in = std::make_shared<Staged>(Tensors{input}, Staged::Read);
  auto out = std::make_shared<Staged>(outputs, Staged::Write);
  return submit({0, "all_gather", in->dtype(), in->numel(), {}, {}}, static_cast<int64_t>(out->bytes()), site,
                [in, out](Engine& e, const Call& call) {
                  if (in->bytes()) e.all_gather(in->data(), out->data(), in->bytes(), call);
                  out->write_back();
                });
}

Ref<Work> ProcessGroup::gather(const Tensors& outputs, const Tensor& input, int root, const Site& site) {
  check_usable("gather");
  check_root("gather", root);
  check_tensors("gather", {input}, Staged::Read);
  check_tensors("gather", outputs, Staged::Write);
  const bool mine = root == rank();
  if (mine) check_parts("gather", "outputs", outputs, input, size());
  FC_CHECK_AS(ValueError, mine || outputs.empty(), "gather: only rank ", root, ", the destination, gives outputs");
  auto in = std::make_shared<Staged>(Tensors{input}, Staged::Read);
  auto out = mine ? std::make_shared<Staged>(outputs, Staged::Write) : std::make_shared<Staged>();
  return submit({0, "gather", in->dtype(), in->numel(), str("to ", root), {}}, static_cast<int64_t>(in->bytes()), site,
                [in, out, root, mine, n = static_cast<size_t>(size())](Engine& e, const Call& call) {
                  std::vector<size_t> sent(n, 0), got(n, mine ? in->bytes() : 0);
                  sent[static_cast<size_t>(root)] = in->bytes();
                  e.all_to_all(in->data(), sent, out->data(), got, call);
                  out->write_back();
                });
}

Ref<Work> ProcessGroup::scatter(const Tensor& output, const Tensors& inputs, int root, const Site& site) {
  check_usable("scatter");
  check_root("scatter", root);
  check_tensors("scatter", {output}, Staged::Write);
  check_tensors("scatter", inputs, Staged::Read);
  const bool mine = root == rank();
  if (mine) check_parts("scatter", "inputs", inputs, output, size());
  FC_CHECK_AS(ValueError, mine || inputs.empty(), "scatter: only rank ", root, ", the source, gives inputs");
  auto out = std::make_shared<Staged>(Tensors{output}, Staged::Write);
  auto in = mine ? std::make_shared<Staged>(inputs, Staged::Read) : std::make_shared<Staged>();
  return submit({0, "scatter", out->dtype(), out->numel(), str("from ", root), {}}, static_cast<int64_t>(out->bytes()),
                site, [in, out, root, mine, n = static_cast<size_t>(size())](Engine& e, const Call& call) {
                  std::vector<size_t> sent(n, mine ? out->bytes() : 0), got(n, 0);
                  got[static_cast<size_t>(root)] = out->bytes();
                  e.all_to_all(in->data(), sent, out->data(), got, call);
                  out->write_back();
                });
}

Ref<Work> ProcessGroup::reduce_scatter(const Tensor& output, const Tensors& inputs, ReduceOp op, const Site& site) {
  check_usable("reduce_scatter");
  check_tensors("reduce_scatter", {output}, Staged::Write);
  check_tensors("reduce_scatter", inputs, Staged::Read);
  std::vector<size_t> counts;
  if (inputs.size() == 1 && size() != 1) {
    FC_CHECK_AS(ValueError, inputs[0].numel() == output.numel() * size(), "reduce_scatter: an input of ",
                inputs[0].numel(), " elements does not give ", size(), " outputs of ", output.numel());
    counts.assign(static_cast<size_t>(size()), static_cast<size_t>(output.numel()));
  } else {
    FC_CHECK_AS(ValueError, static_cast<int>(inputs.size()) == size(), "reduce_scatter: expected ", size(),
                " inputs, one for each rank, got ", inputs.size());
    for (auto& i : inputs) counts.push_back(static_cast<size_t>(i.numel()));
    FC_CHECK_AS(ValueError, inputs[static_cast<size_t>(rank())].numel() == output.numel(),
                "reduce_scatter: the output has ", output.numel(), " elements, this rank's input ",
                inputs[static_cast<size_t>(rank())].numel());
  }
  FC_CHECK_AS(ValueError, inputs[0].dtype() == output.dtype(), "reduce_scatter: inputs are ",
              to_string(inputs[0].dtype()), ", the output ", to_string(output.dtype()));
  const Combine combine = combine_function(op, output.dtype());
  // The engine combines in place, and inputs stay as they are.
  Tensors copies;
  for (auto& i : inputs) copies.push_back(inputs.size() == 1 ? clone(detach(i), MemoryFormat::Contiguous) : i);
  auto in = std::make_shared<Staged>(copies, Staged::Read);
  auto out = std::make_shared<Staged>(Tensors{output}, Staged::Write);
  return submit(
      {0, "reduce_scatter", in->dtype(), in->numel(), name_of(op), {}}, static_cast<int64_t>(in->bytes()), site,
      [in, out, counts, combine, op, r = rank(), n = size()](Engine& e, const Call& call) {
        const size_t item = item_size(in->dtype());
        if (in->numel())
          e.reduce_scatter({in->data(), static_cast<size_t>(in->numel()), in->dtype(), op, combine}, counts, call);
        size_t at = 0;
        for (int i = 0; i < r; ++i) at += counts[static_cast<size_t>(i)];
        divide(*in, at, counts[static_cast<size_t>(r)], op, n);
        if (out->bytes()) std::memcpy(out->data(), static_cast<char*>(in->data()) + at * item, out->bytes());
        out->write_back();
      });
}

Ref<Work> ProcessGroup::all_to_all(const Tensors& outputs, const Tensors& inputs, const Site& site) {
  check_usable("all_to_all");
  check_tensors("all_to_all", inputs, Staged::Read);
  check_tensors("all_to_all", outputs, Staged::Write);
  for (auto* list : {&outputs, &inputs})
    FC_CHECK_AS(ValueError, static_cast<int>(list->size()) == size(), "all_to_all: expected ", size(),
                " tensors, one for each rank, got ", list->size());
  FC_CHECK_AS(ValueError, inputs[0].dtype() == outputs[0].dtype(), "all_to_all: inputs are ",
              to_string(inputs[0].dtype()), ", outputs ", to_string(outputs[0].dtype()));
  std::vector<size_t> sent, got;
  for (auto& t : inputs) sent.push_back(static_cast<size_t>(t.numel()) * item_size(t.dtype()));
  for (auto& t : outputs) got.push_back(static_cast<size_t>(t.numel()) * item_size(t.dtype()));
  auto in = std::make_shared<Staged>(inputs, Staged::Read);
  auto out = std::make_shared<Staged>(outputs, Staged::Write);
  return submit({0, "all_to_all", in->dtype(), -1, {}, {}}, static_cast<int64_t>(in->bytes()), site,
                [in, out, sent, got](Engine& e, const Call& call) {
                  e.all_to_all(in->data(), sent, out->data(), got, call);
                  out->write_back();
                });
}

Ref<Work> ProcessGroup::all_to_all_single(const Tensor& output, const Tensor& input, const Sizes& output_rows,
                                          const Sizes& input_rows, const Site& site) {
  check_usable("all_to_all_single");
  check_tensors("all_to_all_single", {input}, Staged::Read);
  check_tensors("all_to_all_single", {output}, Staged::Write);
  FC_CHECK_AS(ValueError, input.dtype() == output.dtype(), "all_to_all_single: the input is ", to_string(input.dtype()),
              ", the output ", to_string(output.dtype()));
  auto bytes = [&](const Tensor& t, const Sizes& given, const char* what) {
    const int64_t all = rows_of(t);
    Sizes rows = given;
    if (rows.empty()) {
      FC_CHECK_AS(ValueError, all % size() == 0, "all_to_all_single: ", all, " rows of the ", what, " do not go into ",
                  size(), " equal parts");
      rows.assign(static_cast<size_t>(size()), all / size());
    }
    FC_CHECK_AS(ValueError, static_cast<int>(rows.size()) == size(), "all_to_all_single: ", rows.size(),
                " splits of the ", what, " for ", size(), " ranks");
    int64_t sum = 0;
    for (int64_t r : rows) {
      FC_CHECK_AS(ValueError, r >= 0 && r <= all, "all_to_all_single: a split of ", r, " rows");
      sum += r;
    }
    FC_CHECK_AS(ValueError, sum == all, "all_to_all_single: the splits of the ", what, " are ", sum, " rows of ", all);
    const size_t row = all ? static_cast<size_t>(t.numel() / all) * item_size(t.dtype()) : 0;
    std::vector<size_t> out;
    for (int64_t r : rows) out.push_back(static_cast<size_t>(r) * row);
    return out;
  };
  auto sent = bytes(input, input_rows, "input"), got = bytes(output, output_rows, "output");
  auto in = std::make_shared<Staged>(Tensors{input}, Staged::Read);
  auto out = std::make_shared<Staged>(Tensors{output}, Staged::Write);
  const bool equal = input_rows.empty() && output_rows.empty();
  return submit({0, "all_to_all_single", in->dtype(), equal ? in->numel() : -1, {}, {}},
                static_cast<int64_t>(in->bytes()), site, [in, out, sent, got](Engine& e, const Call& call) {
                  e.all_to_all(in->data(), sent, out->data(), got, call);
                  out->write_back();
                });
}

Ref<Work> ProcessGroup::barrier(const Site& site) {
  check_usable("barrier");
  return submit({0, "barrier", DType::Undefined, 0, {}, {}}, 0, site,
                [](Engine& e, const Call& call) { e.barrier(call); });
}

// ---- between two ranks: begun at once, waited for on a thread each, since they may end in any order

Ref<Work> ProcessGroup::transfer(const char* op, const Tensor& tensor, int peer, uint32_t tag, const Site& site,
                                 bool sends) {
  check_usable(op);
  check_tensors(op, {tensor}, sends ? Staged::Read : Staged::Write);
  FC_CHECK_AS(ValueError, peer != rank(), op, ": rank ", peer, " is this process itself");
  if (peer != -1 || sends) check_root(op, peer);
  auto s = std::make_shared<Staged>(Tensors{tensor}, sends ? Staged::Read : Staged::Write);
  Header header{
      0, op, s->dtype(), s->numel(), str(sends ? "to " : "from ", peer, tag ? str(", tag ", tag) : ""), site.where};
  Ref<Work> work = make_ref<Work>(op);
  if (schedule_is_recorded()) note(header, static_cast<int64_t>(s->bytes()), work);
  std::shared_ptr<Transfer> t =
      sends ? engine_->send(s->data(), s->bytes(), peer, tag) : engine_->recv(s->data(), s->bytes(), peer, tag);
  const Duration timeout = site.timeout.count() > 0 ? site.timeout : this->timeout();
  {
    std::lock_guard lock(mutex_);
    ++transfers_;
  }
  auto wait = [this, s, t, work, timeout, header]() mutable {
    hold_signals_on_worker();
    WorkerState state;
    std::exception_ptr error;
    int source = -1;
    try {
      source = t->wait(timeout);
      s->write_back();
    } catch (const std::exception& e) {
      fail(str("group '", name(), "' (", options_.engine, "): ", e.what(), "\n  in ", header.text()));
      error = failure();
      if (!error) error = make_error(e.what());
    }
    t.reset(), s.reset();
    work->end(error, source);
    std::lock_guard lock(mutex_);  // the last thing that touches the group, which may wait for it to end
    --transfers_;
    changed_.notify_all();
  };
  try {
    std::thread(std::move(wait)).detach();
  } catch (const std::system_error&) {
    std::lock_guard lock(mutex_);
    --transfers_;
    raise<DistError>(op, ": no threads are left");
  }
  return work;
}

Ref<Work> ProcessGroup::send(const Tensor& tensor, int to, uint32_t tag, const Site& site) {
  return transfer("send", tensor, to, tag, site, true);
}
Ref<Work> ProcessGroup::recv(const Tensor& tensor, int from, uint32_t tag, const Site& site) {
  return transfer("recv", tensor, from, tag, site, false);
}

// ---- making groups

namespace {

void meet(Store& store, const GroupOptions& o) {
  const int size = static_cast<int>(o.ranks.size());
  auto key = [](int rank) { return str("rank/", rank); };
  const std::string mine = str(size, " ", std::random_device()(), ".", getpid());
  const std::string there = store.compare_set(key(o.rank), "", mine);
  FC_CHECK_AS(distributed::DistError, there == mine, "group '", o.name, "': two processes say that they are rank ",
              o.rank);
  const auto end = Clock::now() + o.timeout;
  for (int r = 0; r < size; ++r) {
    const auto left = std::chrono::ceil<Duration>(end - Clock::now());
    try {
      store.wait({key(r)}, std::max(left, Duration(1)));
    } catch (const distributed::StoreError&) {
      std::string late;
      int count = 0;
      for (int i = r; i < size; ++i)
        if (!store.check({key(i)}) && ++count <= 8) late += str(late.empty() ? "" : ", ", i);
      raise<distributed::DistError>("group '", o.name, "': after ", seconds(o.timeout), " ", count, " of ", size,
                                    " ranks have not come: ", late, count > 8 ? " …" : "");
    }
    const int its_size = std::atoi(store.get(key(r)).c_str());
    FC_CHECK_AS(distributed::DistError, its_size == size, "group '", o.name, "': rank ", o.rank, " was told of ", size,
                " ranks, rank ", r, " of ", its_size);
  }
}

}  // namespace

Ref<ProcessGroup> make_group(GroupOptions options, Ref<Store> store, const std::string& address,
                             std::shared_ptr<Monitor> monitor) {
  const int size = static_cast<int>(options.ranks.size());
  FC_CHECK_AS(ValueError, size > 0 && options.rank >= 0 && options.rank < size, "rank ", options.rank,
              " is none of a group of ", size);
  FC_CHECK_AS(ValueError, options.timeout.count() > 0, "a group's timeout is longer than nothing");
  std::unique_ptr<Engine> engine;
  if (size > 1) {
    FC_CHECK_AS(TypeError, store, "a group of several ranks needs a store");
    meet(*store, options);
    engine = make_engine(options.engine, {options.rank, size, store, options.timeout, address});
  } else {
    engine = make_self_engine();
  }
  return make_ref<ProcessGroup>(std::move(options), std::move(engine), std::move(store), std::move(monitor));
}

}  // namespace fc::distributed
