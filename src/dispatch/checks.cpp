// SPDX-License-Identifier: Apache-2.0
#include "dispatch/checks.h"

namespace fc {
namespace {

// Whether elements of both are in one place; what only might be is not, as in PyTorch. `same_is_fine`: exactly the same
// elements in the same order do not count.
bool overlap(const Tensor& x, const Tensor& y, bool same_is_fine) {
  if (x.impl().storage().get() != y.impl().storage().get() || x.impl().is_sparse()) return false;
  if (x.numel() == 0 || y.numel() == 0) return false;
  if (x.offset() == y.offset() && Dims::same(x.sizes(), y.sizes()) && Dims::same(x.strides(), y.strides()))
    return !same_is_fine;
  auto range = [](const Tensor& t) {
    int64_t item = static_cast<int64_t>(item_size(t.dtype())), lo = t.offset() * item, hi = lo + item;
    for (size_t i = 0; i < t.sizes().size(); ++i) hi += (t.sizes()[i] - 1) * t.strides()[i] * item;
    return std::pair(lo, hi);
  };
  auto [a, b] = range(x);
  auto [c, d] = range(y);
  return a < d && c < b && x.impl().is_dense() && y.impl().is_dense();
}

void warn_of_repetition(const char* op) {
  warn(str("Use of ", op,
           " on expanded tensors is deprecated. Please clone() the tensor before performing this operation. This also "
           "applies to advanced indexing e.g. tensor[mask] = scalar"));
}

// Throws if two results are to be written to one place.
void check_apart(const Operator& op, const Arg* args) {
  const auto written = op.written_args();
  for (size_t i = 0; i < written.size(); ++i)
    for (size_t j = i + 1; j < written.size(); ++j) {
      const Arg &a = args[written[i]], &b = args[written[j]];
      if (!a.is_tensor() || !b.is_tensor() || !a.tensor().defined() || !b.tensor().defined()) continue;
      const Tensor &x = a.tensor(), &y = b.tensor();
      const auto name = [&](size_t k) -> const std::string& { return op.schema().parameters[written[k]].name; };
      FC_CHECK_AS(ValueError, !overlap(x, y, false), op.schema().name, "(): the `", name(i), "` and `", name(j),
                  "` out= tensors must not overlap.");
    }
}

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
    if (!op.may_repeat) check_written_once(name, out);
    else if (repeats(out)) warn_of_repetition(name);
    for_each_tensor(args, op.tensor_args(), [&](const Tensor& in, size_t i) {
      if (op.schema().parameters[i].alias.write) return;
      // The one value that masked_fill_ and its like write: as good as a number, and where it lies it stays.
      if (op.may_repeat && op.devices == Devices::Numbers && in.dim() == 0) return;
      const bool apart = op.writes == Writes::Apart || (op.writes == Writes::FromSelf && i != 0);
      check_overlap(name, out, in, apart);
    });
  });
  if (op.written_args().size() > 1) check_apart(op, args);
}

void check_writable(const char* op, const Tensor& t) {
  FC_CHECK(!t.impl().storage()->read_only(), op,
           ": cannot write to this tensor: its memory is read-only (of a NumPy array, buffer or DLPack tensor that is "
           "not writable). clone() the tensor first.");
  t.impl().storage()->about_to_change();
}

bool repeats(const Tensor& out) {
  if (out.impl().is_dense() || out.numel() == 0 || out.impl().is_sparse()) return false;
  for (size_t i = 0; i < out.sizes().size(); ++i)
    if (out.sizes()[i] > 1 && out.strides()[i] == 0) return true;
  return false;
}

void check_written_once(const char* op, const Tensor& out) {
  FC_CHECK(!repeats(out), op,
           ": unsupported operation: more than one element of the written-to tensor refers to a single memory "
           "location. Please clone() the tensor before performing the operation.");
}

void check_overlap(const char* op, const Tensor& out, const Tensor& in, bool apart) {
  FC_CHECK(!overlap(out, in, !apart), op,
           ": unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
           "memory location. Please clone() the tensor before performing the operation.");
}

}  // namespace fc
