// SPDX-License-Identifier: Apache-2.0
// The counted fallback: arguments are copied to the CPU, the CPU's kernel runs, results and mutated arguments are
// copied back. Every use is counted; a mode turns it into a warning (once per operator and device since the mode was
// set) or an error.
#include "dispatch/fallback.h"

#include <map>
#include <mutex>
#include <set>

#include "core/generator.h"
#include "dispatch/call.h"
#include "dispatch/operator.h"

namespace fc {
namespace {

struct Counts {
  std::mutex mutex;
  std::map<std::pair<const Operator*, int>, uint64_t> counts;
  std::set<std::pair<const Operator*, int>> warned;          // since the mode was set
  std::map<std::string, std::string, std::less<>> notes;     // of types of devices
  uint8_t mode = static_cast<uint8_t>(FallbackMode::Count);  // read without the lock
};
Counts& counts() {
  static Counts& c = *new Counts;
  return c;
}

Tensor to_device(const Tensor& t, Device device) {
  if (!t.defined() || t.device() == device) return t;
  // Memory with holes or repeated elements is not copied as it lies.
  Tensor copy = t.impl().is_dense() ? empty_strided_tensor(t.sizes(), t.strides(), t.dtype(), device)
                                    : empty_tensor(t.sizes(), t.dtype(), device);
  call<"aten::copy_", Tensor>(copy, t, false);
  if (t.impl().is_wrapped_number()) copy.impl().set_wrapped_number(true);
  return copy;
}

std::string note_of(const Operator& op, std::string_view device_type) {
  Counts& c = counts();
  std::lock_guard lock(c.mutex);
  const auto found = c.notes.find(device_type);
  if (found == c.notes.end()) return {};
  std::string note = str(": ", found->second);
  if (const size_t at = note.find("{}"); at != note.npos)
    note.replace(at, 2, op.name(), op.name().find(':') + 2, std::string::npos);
  return note;
}

}  // namespace

void set_fallback_note(std::string device_type, std::string note) {
  Counts& c = counts();
  std::lock_guard lock(c.mutex);
  c.notes[std::move(device_type)] = std::move(note);
}

void set_fallback_mode(FallbackMode mode) {
  Counts& c = counts();
  std::lock_guard lock(c.mutex);
  c.warned.clear();
  __atomic_store_n(&c.mode, static_cast<uint8_t>(mode), __ATOMIC_RELAXED);
}
FallbackMode fallback_mode() { return static_cast<FallbackMode>(__atomic_load_n(&counts().mode, __ATOMIC_RELAXED)); }

std::vector<FallbackCount> fallback_counts() {
  Counts& c = counts();
  std::lock_guard lock(c.mutex);
  std::vector<FallbackCount> out;
  for (auto& [key, n] : c.counts) out.push_back({key.first->name(), key.second, n});
  return out;
}

void reset_fallback_counts() {
  Counts& c = counts();
  std::lock_guard lock(c.mutex);
  c.counts.clear();
}

void count_fallback(const Operator& op, int device_type) {
  Counts& c = counts();
  FallbackMode mode = fallback_mode();
  bool first_warning = false;
  {
    std::lock_guard lock(c.mutex);
    ++c.counts[{&op, device_type}];
    if (mode == FallbackMode::Warn) first_warning = c.warned.insert({&op, device_type}).second;
  }
  thread_state().path = Path::Fallback;
  std::string_view name = device_type_name(device_type);
  FC_CHECK_AS(NotImplementedError, mode != FallbackMode::Error, "The operator '", op.name(),
              "' has no kernel for the '", name, "' device, and falling back to the CPU is switched off",
              note_of(op, name));
  if (first_warning)
    warn(str(
        "The operator '", op.name(), "' has no kernel for the '", name,
        "' device; this operator (and only it) runs on the CPU. facula.backends.fallback_counts() says how often."));
}

void run_on_cpu(const Operator& op, int device_type, const Arg* args, Value* results) {
  count_fallback(op, device_type);
  Device target{static_cast<int8_t>(device_type), 0};
  size_t n = op.num_args();
  std::vector<Arg> cpu_args(args, args + n);
  std::vector<Tensor> singles(n);
  std::vector<std::vector<Tensor>> lists(n);
  for (size_t i = 0; i < n; ++i) {
    if (args[i].is_tensor() && args[i].tensor().defined()) {
      if (args[i].tensor().device().type == device_type) target = args[i].tensor().device();
      singles[i] = to_device(args[i].tensor(), Device{});
      cpu_args[i] = singles[i];
    } else if (args[i].is_tensor_list()) {
      for (const Tensor& t : args[i].tensors()) {
        if (t.defined() && t.device().type == device_type) target = t.device();
        lists[i].push_back(to_device(t, Device{}));
      }
      cpu_args[i] = lists[i];
    } else if (args[i].tag() == Tag::Device) {
      target = args[i].device();
      cpu_args[i] = Device{};
    }
  }
  Ref<CpuGenerator> generator;
  for (size_t i = 0; i < n; ++i)
    if (op.schema().parameters[i].type.kind == Kind::Generator) {
      generator = host_generator(op.name(), target, args[i].generator());
      cpu_args[i] = static_cast<Generator*>(generator.get());
    }
  op.run_kernel(cpu_args.data(), results);
  thread_state().path = Path::Fallback;

  // Mutated arguments: the CPU copy's content (and size, for out=) goes back into the caller's tensor.
  auto write_back = [&](const Tensor& mine, const Tensor& theirs) {
    if (!Dims::same(mine.sizes(), theirs.sizes())) resize_tensor(theirs, mine.sizes());
    call<"aten::copy_", Tensor>(theirs, mine, false);
  };
  for (size_t i = 0; i < n; ++i) {
    if (!op.schema().parameters[i].alias.write) continue;
    if (args[i].is_tensor() && args[i].tensor().defined()) write_back(singles[i], args[i].tensor());
    else if (args[i].is_tensor_list())
      for (size_t j = 0; j < lists[i].size(); ++j) write_back(lists[i][j], args[i].tensors()[j]);
  }
  for (size_t r = 0; r < op.num_results(); ++r) {
    char set = op.schema().returns[r].alias.set;
    bool done = false;
    for (size_t i = 0; set && i < n; ++i)  // a returned alias is the caller's own tensor
      if (op.schema().parameters[i].alias.set == set && args[i].is_tensor()) {
        results[r] = Value(Tensor(args[i].tensor()));
        done = true;
      }
    if (done) continue;
    if (results[r].is_tensor()) {
      results[r] = to_device(results[r].take_tensor(), target);
    } else if (results[r].tag() == Tag::TensorList) {
      std::vector<Tensor> out;
      for (const Tensor& t : results[r].arg().tensors()) out.push_back(to_device(t, target));
      results[r] = Value(std::move(out));
    }
  }
}

}  // namespace fc
