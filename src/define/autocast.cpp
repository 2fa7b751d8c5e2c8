// SPDX-License-Identifier: Apache-2.0
#include "define/autocast.h"

#include "define/calls.h"

namespace fc {
namespace {

bool eligible(const Tensor& t, int device_type) {
  return t.defined() && t.device().type == device_type && is_floating(t.dtype()) && t.dtype() != DType::Float64 &&
         !is_barebones(t.dtype());
}

void autocast_layer(void*, const Operator& op, LayerSet below, const Arg* args, Value* results) {
  int device = op.pick_device(args);
  DType lower = autocast_dtype(device);
  if (op.autocast == Autocast::None || lower == DType::Undefined) {
    redispatch(op, below, args, results);
    return;
  }
  DType to = op.autocast == Autocast::Lower ? lower : DType::Float32;
  if (op.autocast == Autocast::Promote) {  // the widest of what is there; one type needs no cast
    to = lower;
    for (size_t i = 0; i < op.num_args(); ++i)
      if (args[i].is_tensor() && eligible(args[i].tensor(), device) && args[i].tensor().dtype() == DType::Float32)
        to = DType::Float32;
  }
  ExcludeLayers guard(layer::Autocast);
  size_t n = op.num_args();
  std::vector<Arg> cast_args(args, args + n);
  std::vector<Tensor> singles(n);
  std::vector<std::vector<Tensor>> lists(n);
  auto cast = [&](const Tensor& t) { return eligible(t, device) && t.dtype() != to ? to_dtype(t, to) : t; };
  for (size_t i = 0; i < n; ++i) {
    if (op.schema().parameters[i].alias.write) continue;
    if (args[i].is_tensor()) {
      singles[i] = cast(args[i].tensor());
      cast_args[i] = singles[i];
    } else if (args[i].is_tensor_list()) {
      for (const Tensor& t : args[i].tensors()) lists[i].push_back(cast(t));
      cast_args[i] = lists[i];
    }
  }
  redispatch(op, below, cast_args.data(), results);
}

}  // namespace

void install_autocast_layer() { set_layer_handler(layer::Autocast, {autocast_layer, nullptr, "autocast"}); }

void set_autocast(int device_type, DType lower) {
  ThreadState& s = thread_state();
  s.autocast_dtype[device_type] = static_cast<int8_t>(lower == DType::Undefined ? 0 : static_cast<int>(lower) + 1);
  bool any = false;
  for (int8_t t : s.autocast_dtype) any |= t != 0;
  s.include = any ? s.include | layer::Autocast : s.include & ~layer::Autocast;
}

DType autocast_dtype(int device_type) {
  int8_t t = thread_state().autocast_dtype[device_type];
  return t ? static_cast<DType>(t - 1) : DType::Undefined;
}

}  // namespace fc
