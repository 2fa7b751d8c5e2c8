// SPDX-License-Identifier: Apache-2.0
#include "dispatch/infer.h"

namespace fc {
namespace {

constinit thread_local Device inferred{};

struct InferredScope {
  InferredScope() { inferred = {}; }
  ~InferredScope() { inferred = before; }
  InferredScope(const InferredScope&) = delete;
  InferredScope& operator=(const InferredScope&) = delete;
  Device before = inferred;
};

Tensor shadow(const Tensor& t) {
  if (!t.defined()) return {};
  if (inferred.is_cpu()) inferred = t.device();
  Tensor s = empty_strided_tensor(t.sizes(), t.strides(), t.dtype(), Device{Device::Meta, -1});
  if (t.impl().is_wrapped_number()) s.impl().set_wrapped_number(true);
  return s;
}

}  // namespace

Device inferred_device() { return inferred; }

bool infer_results(const Operator& op, const Arg* args, Value* results, Resized* resized) {
  InferredScope of_this_call;
  const size_t n = op.num_args();
  std::vector<Arg> meta(args, args + n);
  std::vector<Tensor> tensors(n);
  std::vector<std::vector<Tensor>> lists(n);
  for (size_t i = 0; i < n; ++i) {
    if (args[i].is_tensor()) {
      tensors[i] = shadow(args[i].tensor());
      meta[i] = tensors[i];
    } else if (args[i].is_tensor_list()) {
      for (const Tensor& t : args[i].tensors()) lists[i].push_back(shadow(t));
      meta[i] = lists[i];
    } else if (args[i].tag() == Tag::Device) {
      meta[i] = Device{Device::Meta, -1};
    }
  }
  const Path path = thread_state().path;
  try {
    ExcludeLayers alone(layer::kAll);
    op.run_kernel(meta.data(), results);
  } catch (const NotImplementedError&) {
    thread_state().path = path;
    return false;
  }
  thread_state().path = path;
  if (!resized) return true;
  for (uint8_t i : op.written_args())
    if (tensors[i].defined() && !Dims::same(tensors[i].sizes(), args[i].tensor().sizes()))
      resized->argument(i, tensors[i].sizes());
  return true;
}

}  // namespace fc
