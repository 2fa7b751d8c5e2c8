// SPDX-License-Identifier: Apache-2.0
#include "define/autocast.h"

#include <unordered_map>

#include "define/calls.h"
#include "dispatch/checks.h"

namespace fc {
bool (*is_weight)(const Tensor& t) = nullptr;

namespace {

// Casts of weights. Made and dropped by hand: a thread's end is too late to free tensors.
struct Cast {
  Tensor weight, cast;
  uint32_t version;
};
using Casts = std::unordered_map<const TensorImpl*, Cast>;
constinit thread_local Casts* casts = nullptr;
constinit thread_local bool keeps_casts = true;

Tensor cast_weight(const Tensor& t, DType to) {
  if (!keeps_casts || !grad_enabled() || t.dtype() != DType::Float32 || !is_weight || !is_weight(t))
    return to_dtype(t, to);
  if (!casts) casts = new Casts;
  Cast& c = (*casts)[&t.impl()];
  if (!c.cast.defined() || c.cast.dtype() != to || c.version != t.impl().version())
    c = {t, to_dtype(t, to), t.impl().version()};
  return c.cast;
}

bool eligible(const Tensor& t, int device_type) {
  return t.defined() && t.device().type == device_type && is_floating(t.dtype()) && t.dtype() != DType::Float64 &&
         !is_barebones(t.dtype());
}

void autocast_layer(void*, const Operator& op, LayerSet below, const Arg* args, Value* results) {
  int device = op.pick_device(args);
  DType lower = autocast_dtype(device);
  const Autocast kind = device == Device::CPU ? op.cpu_autocast : op.autocast;
  if (kind == Autocast::None || lower == DType::Undefined) {
    redispatch(op, below, args, results);
    return;
  }
  DType to = kind == Autocast::Lower ? lower : DType::Float32;
  if (kind == Autocast::Promote) {  // the widest of what is there; one type needs no cast
    to = lower;
    for_each_tensor(args, op.tensor_args(), [&](const Tensor& t, size_t) {
      if (eligible(t, device) && t.dtype() == DType::Float32) to = DType::Float32;
    });
  }
  ExcludeLayers guard(layer::Autocast);
  size_t n = op.num_args();
  std::vector<Arg> cast_args(args, args + n);
  std::vector<Tensor> singles(n);
  std::vector<std::vector<Tensor>> lists(n);
  auto cast = [&](const Tensor& t) {
    if (!eligible(t, device) || t.dtype() == to) return t;
    return to == lower ? cast_weight(t, to) : to_dtype(t, to);
  };
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
  if (!any) clear_autocast_casts();
}

DType autocast_dtype(int device_type) {
  int8_t t = thread_state().autocast_dtype[device_type];
  return t ? static_cast<DType>(t - 1) : DType::Undefined;
}

bool autocast_keeps_casts() { return keeps_casts; }
void set_autocast_keeps_casts(bool on) { keeps_casts = on; }
void clear_autocast_casts() { delete std::exchange(casts, nullptr); }

}  // namespace fc
