// SPDX-License-Identifier: Apache-2.0
// A backend's fast paths by operator name. The operator's own shape rule, run on the meta device, says what the
// results look like; the backend only computes. A call that it declines goes the way it would have gone without it.
#include <deque>

#include "backends/plugin/backend.h"
#include "dispatch/family_table.h"
#include "dispatch/observe.h"

namespace fc::plugin {
namespace {

// The C form of a call's arguments, and what it points to.
class Arguments {
 public:
  Arguments(const Arg* args, size_t n) {
    for (size_t i = 0; i < n; ++i) values_.push_back(convert(args[i]));
  }
  const fc_value* data() const { return values_.data(); }
  fc_tensor tensor(const Tensor& t) {
    const Dims& strides = strides_.emplace_back(ByteStrides(t).dims());
    return {t.data(), t.sizes().data(), strides.data(), static_cast<int32_t>(t.dtype()), static_cast<int32_t>(t.dim())};
  }

 private:
  fc_value convert(const Arg& a) {
    fc_value v{};
    v.tag = FC_TAG_OTHER;
    auto list = [&](int32_t tag, auto*& slot, auto span) {
      v.tag = tag;
      v.n = static_cast<int32_t>(span.size());
      slot = span.data();
    };
    switch (a.tag()) {
      case Tag::None: v.tag = FC_TAG_NONE; break;
      case Tag::Tensor:
        v.tag = a.tensor().defined() ? FC_TAG_TENSOR : FC_TAG_NONE;
        if (a.tensor().defined()) v.u.tensor = tensors_.emplace_back(1, tensor(a.tensor())).data();
        break;
      case Tag::Bool:
        v.tag = FC_TAG_BOOL;
        v.u.i = a.boolean();
        break;
      case Tag::Int:
        v.tag = FC_TAG_INT;
        v.u.i = a.integer();
        break;
      case Tag::Double:
        v.tag = FC_TAG_DOUBLE;
        v.u.d = a.real();
        break;
      case Tag::Scalar:
        v.tag = FC_TAG_NUMBER;
        v.u.number = &numbers_.emplace_back(to_number(a.scalar()));
        break;
      case Tag::String: list(FC_TAG_STRING, v.u.text, a.text()); break;
      case Tag::DType:
        v.tag = FC_TAG_DTYPE;
        v.u.i = static_cast<int64_t>(a.dtype());
        break;
      case Tag::IntList: list(FC_TAG_INTS, v.u.ints, a.ints()); break;
      case Tag::DoubleList: list(FC_TAG_DOUBLES, v.u.doubles, a.doubles()); break;
      case Tag::TensorList: {
        std::vector<fc_tensor>& many = tensors_.emplace_back();
        for (const Tensor& t : a.tensors()) many.push_back(t.defined() ? tensor(t) : fc_tensor{});
        list(FC_TAG_TENSORS, v.u.tensor, std::span<const fc_tensor>(many));
        break;
      }
      default: break;
    }
    return v;
  }

  std::vector<fc_value> values_;
  std::deque<std::vector<fc_tensor>> tensors_;
  std::deque<Dims> strides_;
  std::deque<fc_number> numbers_;
};

// Results as the shape rule makes them, with memory on the device. False: the operator has no such rule, or returns
// something else than new tensors.
bool make_results(const Operator& op, Device device, const Arg* args, Value* results) {
  const Kernel& rule = op.kernel(Device::Meta) ? op.kernel(Device::Meta) : op.all_devices();
  if (!rule || op.is_out || op.is_in_place || op.is_view) return false;
  size_t n = op.num_args();
  std::vector<Arg> meta(args, args + n);
  std::deque<Tensor> tensors;
  std::deque<std::vector<Tensor>> lists;
  auto shadow = [](const Tensor& t) {
    return t.defined() ? empty_strided_tensor(t.sizes(), t.strides(), t.dtype(), Device{Device::Meta, -1}) : Tensor();
  };
  for (size_t i = 0; i < n; ++i) {
    if (args[i].is_tensor()) meta[i] = tensors.emplace_back(shadow(args[i].tensor()));
    if (args[i].is_tensor_list()) {
      std::vector<Tensor>& list = lists.emplace_back();
      for (const Tensor& t : args[i].tensors()) list.push_back(shadow(t));
      meta[i] = list;
    }
  }
  rule.fn(rule.context, op, meta.data(), results);
  for (size_t r = 0; r < op.num_results(); ++r) {
    if (!results[r].is_tensor() || results[r].is_none()) return false;
    const Tensor& t = results[r].tensor();
    results[r] = Value(empty_strided_tensor(t.sizes(), t.strides(), t.dtype(), device));
  }
  return true;
}

uint64_t bytes_of(const Tensor& t) { return t.defined() ? static_cast<uint64_t>(t.numel()) * item_size(t.dtype()) : 0; }

void run(void* context, const Operator& op, const Arg* args, Value* results) {
  const auto& path = *static_cast<const FastPath*>(context);
  Backend& b = path.backend;
  Device device{static_cast<int8_t>(b.device_type), 0};
  bool all_here = true;
  auto look = [&](const Tensor& t) {
    if (!t.defined()) return;
    if (t.device().type == device.type) device = t.device();
    else all_here = false;
  };
  for (size_t i = 0; i < op.num_args(); ++i) {
    if (args[i].is_tensor()) look(args[i].tensor());
    if (args[i].is_tensor_list())
      for (const Tensor& t : args[i].tensors()) look(t);
  }
  if (all_here && make_results(op, device, args, results)) {
    Arguments c_args(args, op.num_args());
    std::vector<fc_tensor> c_results;
    for (size_t r = 0; r < op.num_results(); ++r) c_results.push_back(c_args.tensor(results[r].tensor()));
    EventScope told(EventKind::Launch, [&](Event& e) {
      e.name = path.name;
      e.where = device;
      for (size_t i = 0; i < op.num_args(); ++i) {
        if (args[i].is_tensor()) e.bytes += bytes_of(args[i].tensor());
        if (args[i].is_tensor_list())
          for (const Tensor& t : args[i].tensors()) e.bytes += bytes_of(t);
      }
      for (size_t r = 0; r < op.num_results(); ++r) e.bytes += bytes_of(results[r].tensor());
    });
    CallScope s(b, device.index);
    int status =
        b.c.run_operator(b.c.self, &s.context, path.name.c_str(), c_args.data(), static_cast<int32_t>(op.num_args()),
                         c_results.data(), static_cast<int32_t>(c_results.size()));
    if (status == FC_OK) return;
    if (status != FC_UNSUPPORTED) s.fail(status, path.name);
  }
  for (size_t r = 0; r < op.num_results(); ++r) results[r] = Value();
  op.run_without_kernel(b.device_type, args, results);
}

}  // namespace

std::vector<std::string> collect_operators(Backend& b) {
  std::vector<std::string> unknown;
  for (const char* const* name = b.c.operators; name && *name; ++name) {
    if (Operator* op = find_operator(*name)) b.fast_paths.emplace_back(new FastPath{b, *op, *name});
    else unknown.emplace_back(*name);
  }
  return unknown;
}

void install_operators(Backend& b) {
  for (auto& path : b.fast_paths) path->op.set_kernel(b.device_type, {run, path.get()});
}

}  // namespace fc::plugin
