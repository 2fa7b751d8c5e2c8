// SPDX-License-Identifier: Apache-2.0
#include "dispatch/checks.h"

namespace fc {
namespace {

bool is_cpu_number(const Tensor& t) { return t.device().is_cpu() && t.dim() == 0; }

void devices_layer(void*, const Operator& op, LayerSet below, const Arg* args, Value* results) {
  check_devices(op, args);
  redispatch(op, below, args, results);
}

}  // namespace

void check_devices(const Operator& op, const Arg* args) {
  if (op.devices == Devices::Any) return;
  const bool numbers = op.devices == Devices::Numbers;
  const Tensor* first = nullptr;
  for_each_tensor(args, op.tensor_args(), [&](const Tensor& t, size_t) {
    if (!first || (numbers && is_cpu_number(*first))) first = &t;
  });
  if (!first) return;  // no tensor at all
  for_each_tensor(args, op.tensor_args(), [&](const Tensor& t, size_t i) {
    if (t.device() == first->device() || (numbers && is_cpu_number(t))) return;
    raise<Error>(op.schema().name, ": Expected all tensors to be on the same device, but found at least two devices, ",
                 first->device(), " and ", t.device(), "! (argument '", op.schema().parameters[i].name, "')");
  });
}

void install_device_layer() { set_layer_handler(layer::Devices, {devices_layer, nullptr, "devices"}); }

void check_writes(const Operator& op, const Arg* args) {
  const char* name = op.schema().name.c_str();
  for_each_tensor(args, op.written_args(), [&](const Tensor& out, size_t) {
    FC_CHECK(!out.impl().is_inference() || thread_state().inference_mode,
             "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get a "
             "normal tensor before doing inplace update.");
    if (op.writes == Writes::Geometry) return;
    check_writable(name, out);
    if (op.writes == Writes::OneValue) return;
    check_written_once(name, out);
    for_each_tensor(args, op.tensor_args(), [&](const Tensor& in, size_t i) {
      if (!op.schema().parameters[i].alias.write) check_overlap(name, out, in);
    });
  });
}

void check_writable(const char* op, const Tensor& t) {
  FC_CHECK(!t.impl().storage()->read_only(), op,
           ": cannot write to this tensor: its memory is read-only (of a NumPy array, buffer or DLPack tensor that is "
           "not writable). clone() the tensor first.");
  t.impl().storage()->about_to_change();
}

void check_written_once(const char* op, const Tensor& out) {
  if (out.impl().is_dense() || out.numel() == 0 || out.impl().is_sparse()) return;
  for (size_t i = 0; i < out.sizes().size(); ++i)
    FC_CHECK(out.sizes()[i] <= 1 || out.strides()[i] != 0, op,
             ": unsupported operation: more than one element of the written-to tensor refers to a single memory "
             "location. Please clone() the tensor before performing the operation.");
}

void check_overlap(const char* op, const Tensor& out, const Tensor& in) {
  if (out.same(in) || out.impl().storage().get() != in.impl().storage().get()) return;
  if (out.numel() == 0 || in.numel() == 0) return;
  bool same =
      out.offset() == in.offset() && Dims::same(out.sizes(), in.sizes()) && Dims::same(out.strides(), in.strides());
  if (same) return;
  auto range = [](const Tensor& t) {
    int64_t item = static_cast<int64_t>(item_size(t.dtype())), lo = t.offset() * item, hi = lo + item;
    for (size_t i = 0; i < t.sizes().size(); ++i) hi += (t.sizes()[i] - 1) * t.strides()[i] * item;
    return std::pair(lo, hi);
  };
  auto [a, b] = range(out);
  auto [c, d] = range(in);
  if (b <= c || d <= a) return;
  if (!out.impl().is_dense() || !in.impl().is_dense()) return;  // undecided: PyTorch lets these pass as well
  raise<Error>(op,
               ": unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
               "single memory location. Please clone() the tensor before performing the operation.");
}

}  // namespace fc
