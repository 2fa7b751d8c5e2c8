// SPDX-License-Identifier: Apache-2.0
#include "define/autocast.h"

#include <unordered_map>

#include "define/calls.h"
#include "dispatch/checks.h"

namespace fc {
bool (*is_weight)(const Tensor& t) = nullptr;

namespace {

// What the CPU computes in float32; everything else of class Float32 it leaves as it is.
// clang-format off
constexpr const char* wide_on_cpu[] = {
    "avg_pool3d", "max_pool3d", "adaptive_avg_pool3d", "adaptive_max_pool3d", "max_unpool2d", "max_unpool3d",
    "fractional_max_pool2d", "fractional_max_pool3d", "reflection_pad1d", "reflection_pad2d", "replication_pad1d",
    "replication_pad2d", "replication_pad3d", "grid_sampler", "polar", "prod", "quantile", "nanquantile", "stft",
    "cdist", "trace", "view_as_complex", "binary_cross_entropy", "binary_cross_entropy_with_logits", "mse_loss",
    "nll_loss", "nll_loss2d", "nll_loss_nd", "cross_entropy_loss", "l1_loss", "smooth_l1_loss", "huber_loss",
    "kl_div", "ctc_loss", "cosine_embedding_loss", "hinge_embedding_loss", "poisson_nll_loss",
    "margin_ranking_loss", "soft_margin_loss", "triplet_margin_loss", "multi_margin_loss", "multilabel_margin_loss",
    "cholesky", "cholesky_inverse", "cholesky_solve", "inverse", "lu_solve", "orgqr", "ormqr", "pinverse", "geqrf",
    "qr", "svd", "triangular_solve", "linalg_cond", "linalg_matrix_rank", "linalg_solve", "linalg_cholesky",
    "linalg_cholesky_ex", "linalg_svd", "linalg_svdvals", "linalg_eig", "linalg_eigh", "linalg_eigvals",
    "linalg_eigvalsh", "linalg_inv", "linalg_inv_ex", "linalg_householder_product", "linalg_tensorinv",
    "linalg_tensorsolve", "linalg_qr", "linalg_lstsq", "fft_fft", "fft_ifft", "fft_fft2", "fft_ifft2", "fft_fftn",
    "fft_ifftn", "fft_rfft", "fft_irfft", "fft_rfft2", "fft_irfft2", "fft_rfftn", "fft_irfftn", "fft_hfft",
    "fft_ihfft"
};
// clang-format on
// What only other devices compute in the lower type.
constexpr const char* not_lower_on_cpu[] = {"mv", "addmv", "addr", "outer", "ger", "bilinear"};

// The class of an operator on the CPU, where that differs from its row's.
Autocast class_on_cpu(const Operator& op) {
  static const auto& exceptions = *[] {
    auto* classes = new std::unordered_map<const Operator*, Autocast>;
    auto all = [&](const char* name, Autocast c) {
      for (const Operator* o : overloads(str("aten::", name))) classes->emplace(o, c);
    };
    for (const char* name : wide_on_cpu) all(name, Autocast::Float32);
    for (const char* name : not_lower_on_cpu) all(name, Autocast::None);
    for (const Operator* o : all_operators())
      if (o->autocast == Autocast::Float32) classes->emplace(o, Autocast::None);
    return classes;
  }();
  const auto at = exceptions.find(&op);
  return at == exceptions.end() ? op.autocast : at->second;
}

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
  const Autocast kind = device == Device::CPU ? class_on_cpu(op) : op.autocast;
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
