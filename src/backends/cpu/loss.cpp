// SPDX-License-Identifier: Apache-2.0
// nll_loss and its gradient, and mse_loss in one pass. Totals run in double, in the order of the targets or of blocks.
#include "plan/loss.h"

#include "backends/cpu/register.h"
#include "backends/cpu/rows.h"
#include "core/threads.h"
#include "define/calls.h"
#include "dispatch/call.h"

namespace fc::cpu {
namespace {

[[noreturn, gnu::cold]] void out_of_bounds(int64_t target) {
  raise<IndexError>("nll_loss: Target ", target, " is out of bounds.");
}

// Calls f(index of the target, its class, index of that class's element in the input) for every target that is not
// ignored.
template <class F>
void each_target(const Tensor& target, const ClassShape& s, int64_t ignore_index, const F& f) {
  const int64_t *t = target.data_as<int64_t>(), n = target.numel();
  for (int64_t i = 0, sample = 0; i < n; ++sample)
    for (int64_t inner = 0; inner < s.s; ++inner, ++i) {
      if (t[i] == ignore_index) continue;
      if (t[i] < 0 || t[i] >= s.c) out_of_bounds(t[i]);
      f(i, t[i], (sample * s.c + t[i]) * s.s + inner);
    }
}

void check_type(const Tensor& self) {
  FC_CHECK_AS(NotImplementedError, is_floating(self.dtype()) && !is_barebones(self.dtype()),
              "\"nll_loss_cpu\" not implemented for '", info(self.dtype()).legacy, "'");
}

Tensor wide(const Tensor& t, DType type) { return t.defined() ? contiguous(to_dtype(t, type)) : t; }

template <class T>
void forward(const Tensor& x, const Tensor& target, const Tensor& weight, const ClassShape& s, int64_t ignore_index,
             T* each, double& total, double& total_weight) {
  const T* values = x.data_as<T>();
  const T* w = weight.defined() ? weight.data_as<T>() : nullptr;
  each_target(target, s, ignore_index, [&](int64_t i, int64_t c, int64_t at) {
    T scale = w ? w[c] : T(1), loss = -scale * values[at];
    if (each) each[i] = loss;
    total += static_cast<double>(loss);
    total_weight += static_cast<double>(scale);
  });
}

std::tuple<Tensor, Tensor> nll_forward(const Tensor& self, const Tensor& target, const Tensor& weight,
                                       int64_t reduction, int64_t ignore_index) {
  const ClassShape s = check_nll(self, target, weight, reduction);
  check_type(self);
  const DType type = compute_type(self.dtype());
  Tensor x = wide(self, type), t = wide(target, DType::Int64), w = wide(weight, type);
  Tensor each =
      reduction == kReduceNone ? zeros(self.dim() > 1 ? Dims(target.sizes()) : Dims{}, type, Device{}) : Tensor();
  double total = 0, total_weight = 0;
  if (type == DType::Float64)
    forward(x, t, w, s, ignore_index, each.defined() ? each.data_as<double>() : nullptr, total, total_weight);
  else forward(x, t, w, s, ignore_index, each.defined() ? each.data_as<float>() : nullptr, total, total_weight);
  Tensor result = each.defined()
                      ? to_dtype(each, self.dtype())
                      : full({}, reduction == kReduceMean ? total / total_weight : total, self.dtype(), Device{});
  return {result, full({}, each.defined() ? 0.0 : total_weight, self.dtype(), Device{})};
}

template <class T>
void backward(const Tensor& g, const Tensor& target, const Tensor& weight, const ClassShape& s, int64_t reduction,
              int64_t ignore_index, double total_weight, const Tensor& dx) {
  const T* grad = g.data_as<T>();
  const T* w = weight.defined() ? weight.data_as<T>() : nullptr;
  T* out = dx.data_as<T>();
  const T scale = reduction == kReduceMean ? static_cast<T>(1 / total_weight) : T(1);
  each_target(target, s, ignore_index, [&](int64_t i, int64_t c, int64_t at) {
    out[at] = -(w ? w[c] : T(1)) * scale * grad[reduction == kReduceNone ? i : 0];
  });
}

Tensor nll_backward(const Tensor& grad, const Tensor& self, const Tensor& target, const Tensor& weight,
                    int64_t reduction, int64_t ignore_index, const Tensor& total_weight) {
  const ClassShape s = check_nll(self, target, weight, reduction);
  check_type(self);
  const DType type = compute_type(self.dtype());
  FC_CHECK(grad.numel() == (reduction == kReduceNone ? target.numel() : 1), "nll_loss_backward: grad_output has ",
           grad.numel(), " elements, the loss has another number");
  Tensor g = wide(grad, type), t = wide(target, DType::Int64), w = wide(weight, type),
         dx = zeros(self.sizes(), type, Device{});
  const double total = call<"aten::_local_scalar_dense", Scalar>(total_weight).to_double();
  if (type == DType::Float64) backward<double>(g, t, w, s, reduction, ignore_index, total, dx);
  else backward<float>(g, t, w, s, reduction, ignore_index, total, dx);
  return to_dtype(dx, self.dtype());
}

// Dense tensors that lie alike are read once; anything else goes the general way, through operators.
void mse_loss(void* general, const Operator& op, const Arg* args, Value* results) {
  const Tensor &a = args[0].tensor(), &b = args[1].tensor();
  const int64_t reduction = args[2].integer(), n = a.numel();
  if ((reduction != kReduceMean && reduction != kReduceSum) || n == 0 || a.dtype() != b.dtype() ||
      (a.dtype() != DType::Float32 && a.dtype() != DType::Float64) || !a.device().is_cpu() || !b.device().is_cpu() ||
      !Dims::same(a.sizes(), b.sizes()) || !Dims::same(a.strides(), b.strides()) || !a.impl().is_dense()) {
    const Kernel& k = static_cast<const Operator*>(general)->all_devices();
    k.fn(k.context, op, args, results);
    return;
  }
  constexpr int64_t kBlock = 4096;
  const RowKernels& k = row_kernels(a.dtype());
  const int64_t blocks = (n + kBlock - 1) / kBlock, item = static_cast<int64_t>(item_size(a.dtype()));
  const char *from = a.data_as<char>(), *to = b.data_as<char>();
  double total = 0;
  if (blocks == 1) {
    total = k.squared_distance(from, to, n);
  } else {
    Tensor parts = empty_tensor(Dims{blocks}, DType::Float64, Device{});
    auto* part = parts.data_as<double>();
    parallel_for(0, blocks, 8, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i)
        part[i] =
            k.squared_distance(from + i * kBlock * item, to + i * kBlock * item, std::min(kBlock, n - i * kBlock));
    });
    for (int64_t i = 0; i < blocks; ++i) total += part[i];
  }
  results[0] = Value(full({}, reduction == kReduceMean ? total / static_cast<double>(n) : total, a.dtype(), Device{}));
}

}  // namespace

void register_loss() {
  Operator* mse = find_operator("aten::mse_loss");
  mse->set_kernel(Device::CPU, {&mse_loss, mse});
  for (const char* op : {"aten::nll_loss_forward", "aten::nll_loss2d_forward"})
    set_cpu_kernel(op, kernel<&nll_forward>());
  for (const char* op : {"aten::nll_loss_backward", "aten::nll_loss2d_backward"})
    set_cpu_kernel(op, kernel<&nll_backward>());
}

}  // namespace fc::cpu
