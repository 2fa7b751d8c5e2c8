// SPDX-License-Identifier: Apache-2.0
// nll_loss, cross_entropy of rows and their gradients, and mse_loss in one pass. Totals run in double, in the order of
// the targets or of blocks.
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

// (loss, total weight) of the logarithms of probabilities that log_of<T>() says: of (index of the target, index of the
// element).
template <class LogOf>
std::tuple<Tensor, Tensor> reduced(const Tensor& self, const Tensor& target, const Tensor& weight, const ClassShape& s,
                                   int64_t reduction, int64_t ignore_index, const LogOf& log_of) {
  const DType type = compute_type(self.dtype());
  const Tensor t = wide(target, DType::Int64), w = wide(weight, type);
  Tensor each =
      reduction == kReduceNone ? zeros(self.dim() > 1 ? Dims(target.sizes()) : Dims{}, type, Device{}) : Tensor();
  double total = 0, total_weight = 0;
  auto add_up = [&]<class T>(T*) {
    const auto log = log_of.template operator()<T>();
    const T* weights = w.defined() ? w.data_as<T>() : nullptr;
    T* losses = each.defined() ? each.data_as<T>() : nullptr;
    each_target(t, s, ignore_index, [&](int64_t i, int64_t c, int64_t at) {
      const T scale = weights ? weights[c] : T(1), loss = -scale * log(i, at);
      if (losses) losses[i] = loss;
      total += static_cast<double>(loss);
      total_weight += static_cast<double>(scale);
    });
  };
  if (type == DType::Float64) add_up(static_cast<double*>(nullptr));
  else add_up(static_cast<float*>(nullptr));
  Tensor result = each.defined()
                      ? to_dtype(each, self.dtype())
                      : full({}, reduction == kReduceMean ? total / total_weight : total, self.dtype(), Device{});
  return {result, full({}, each.defined() ? 0.0 : total_weight, self.dtype(), Device{})};
}

std::tuple<Tensor, Tensor> nll_forward(const Tensor& self, const Tensor& target, const Tensor& weight,
                                       int64_t reduction, int64_t ignore_index) {
  const ClassShape s = check_nll(self, target, weight, reduction);
  check_type(self);
  const Tensor x = wide(self, compute_type(self.dtype()));
  return reduced(self, target, weight, s, reduction, ignore_index,
                 [&]<class T>() { return [values = x.data_as<T>()](int64_t, int64_t at) { return values[at]; }; });
}

// f(index of the target, index of its element, gradient of its logarithm) of every target that is not ignored.
template <class T, class F>
void each_slope(const Tensor& g, const Tensor& target, const Tensor& weight, const ClassShape& s, int64_t reduction,
                int64_t ignore_index, double total_weight, const F& f) {
  const T* grad = g.data_as<T>();
  const T* w = weight.defined() ? weight.data_as<T>() : nullptr;
  const T scale = reduction == kReduceMean ? static_cast<T>(1 / total_weight) : T(1);
  each_target(target, s, ignore_index, [&](int64_t i, int64_t c, int64_t at) {
    f(i, at, -(w ? w[c] : T(1)) * scale * grad[reduction == kReduceNone ? i : 0]);
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
  auto write = [&]<class T>(T* out) {
    each_slope<T>(g, t, w, s, reduction, ignore_index, total, [&](int64_t, int64_t at, T slope) { out[at] = slope; });
  };
  if (type == DType::Float64) write(dx.data_as<double>());
  else write(dx.data_as<float>());
  return to_dtype(dx, self.dtype());
}

// Cross-entropy of rows of logits. What log_softmax would subtract from a row is kept for the gradient instead of what
// it would return: nothing as large as the logits is written.
template <class F>
void each_row(const Tensor& logits, const F& f) {
  const int64_t classes = logits.size(1), row = classes * static_cast<int64_t>(item_size(logits.dtype()));
  parallel_for(0, logits.size(0), std::max<int64_t>(2048 / classes, 1), [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) f(i, logits.data_as<char>() + i * row, classes);
  });
}

std::tuple<Tensor, Tensor, Tensor> cross_entropy_rows(const Tensor& self, const Tensor& target, const Tensor& weight,
                                                      int64_t reduction, int64_t ignore_index) {
  const ClassShape s = check_cross_entropy_rows(self, target, weight, reduction);
  const Tensor x = contiguous(self), terms = empty_tensor(Dims{s.n, 2}, self.dtype(), Device{});
  const RowKernels& k = row_kernels(self.dtype());
  each_row(x, [&](int64_t i, const char* logits, int64_t n) {
    k.softmax_terms(logits, terms.data_as<char>() + 2 * i * static_cast<int64_t>(item_size(self.dtype())), 1, n);
  });
  auto [loss, total] = reduced(self, target, weight, s, reduction, ignore_index, [&]<class T>() {
    return [values = x.data_as<T>(), term = terms.data_as<T>()](int64_t i, int64_t at) {
      return values[at] - term[2 * i] - term[2 * i + 1];
    };
  });
  return {loss, total, terms};
}

Tensor cross_entropy_rows_backward(const Tensor& grad, const Tensor& self, const Tensor& target, const Tensor& weight,
                                   int64_t reduction, int64_t ignore_index, const Tensor& total_weight,
                                   const Tensor& terms) {
  const ClassShape s = check_cross_entropy_rows(self, target, weight, reduction);
  FC_CHECK(grad.numel() == (reduction == kReduceNone ? target.numel() : 1) && grad.dtype() == self.dtype(),
           "cross_entropy backward: grad_output is ", info(grad.dtype()).name, grad.sizes(), ", the loss is not");
  FC_CHECK(terms.dtype() == self.dtype() && Dims::same(terms.sizes(), Dims{s.n, 2}) && terms.is_contiguous(),
           "cross_entropy backward: the terms are not those of these logits");
  const Tensor g = contiguous(grad), t = wide(target, DType::Int64), w = wide(weight, self.dtype());
  const Tensor x = contiguous(self), dx = empty_tensor(x.sizes(), x.dtype(), Device{});
  const double total = call<"aten::_local_scalar_dense", Scalar>(total_weight).to_double();
  const RowKernels& k = row_kernels(x.dtype());
  auto write = [&]<class T>(T* out) {
    const Tensor slopes = zeros(Dims{s.n}, x.dtype(), Device{});
    T* slope = slopes.data_as<T>();
    each_slope<T>(g, t, w, s, reduction, ignore_index, total, [&](int64_t i, int64_t, T d) { slope[i] = d; });
    each_row(x, [&](int64_t i, const char* logits, int64_t n) {
      k.scaled_softmax(logits, out + i * n, n, terms.data_as<T>() + 2 * i, -static_cast<double>(slope[i]));
    });
    each_target(t, s, ignore_index, [&](int64_t i, int64_t, int64_t at) { out[at] += slope[i]; });
  };
  if (x.dtype() == DType::Float64) write(dx.data_as<double>());
  else write(dx.data_as<float>());
  return dx;
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
  set_cpu_kernel("facula::cross_entropy_rows", kernel<&cross_entropy_rows>());
  set_cpu_kernel("facula::cross_entropy_rows_backward", kernel<&cross_entropy_rows_backward>());
}

}  // namespace fc::cpu
