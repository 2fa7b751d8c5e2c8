// SPDX-License-Identifier: Apache-2.0
// softmax, log_softmax and logsumexp: rows when the dimension is the last one, columns otherwise. Half types
// are widened first.
#include <algorithm>

#include "backends/cpu/register.h"
#include "backends/cpu/rows.h"
#include "core/threads.h"
#include "define/calls.h"
#include "dispatch/call.h"
#include "plan/reduce.h"

namespace fc::cpu {

namespace {

constexpr int64_t kGrain = 2048;   // elements per thread at least
constexpr int64_t kColumns = 256;  // columns per piece of work at most

struct Split {
  int64_t outer = 1, n = 1, inner = 1;
  Split(const Tensor& t, int64_t dim) : Split(t, dim, dim) {}
  Split(const Tensor& t, int64_t first, int64_t last) {
    for (int64_t d = 0; d < t.dim(); ++d) (d < first ? outer : d <= last ? n : inner) *= t.size(d);
  }
};

// rows(first, count) for the last dimension, columns(offset, m) otherwise.
template <class Rows, class Columns>
void split_work(const Split& s, const Rows& rows, const Columns& columns) {
  if (s.inner == 1) {
    parallel_for(0, s.outer, std::max<int64_t>(kGrain / s.n, 1),
                 [&](int64_t from, int64_t to) { rows(from, to - from); });
    return;
  }
  // Whole lines of the cache, and a piece for every thread.
  const int64_t share = s.outer * s.inner / num_threads() / 32 * 32, width = std::clamp<int64_t>(share, 32, kColumns);
  const int64_t pieces = (s.inner + width - 1) / width;
  parallel_for(0, s.outer * pieces, std::max<int64_t>(kGrain / (s.n * std::min(s.inner, width)), 1),
               [&](int64_t from, int64_t to) {
                 for (int64_t i = from; i < to; ++i) {
                   int64_t column = i % pieces * width;
                   columns(i / pieces * s.n * s.inner + column, std::min(width, s.inner - column));
                 }
               });
}

DType checked_type(const char* op, const Tensor& t) {
  FC_CHECK_AS(NotImplementedError, is_floating(t.dtype()) && !is_barebones(t.dtype()), "\"", op,
              "_cpu\" not implemented for '", info(t.dtype()).legacy, "'");
  return compute_type(t.dtype());
}

// A contiguous tensor in the compute type.
Tensor widen(const Tensor& t, DType type) {
  return t.dtype() == type && t.is_contiguous() ? t : contiguous(to_dtype(t, type));
}

template <bool log>
Tensor softmax(const Tensor& self, int64_t dim, bool half_to_float) {
  const char* op = log ? "log_softmax" : "softmax";
  dim = wrap_dim(dim, self.dim(), op);
  const DType type = checked_type(op, self);
  FC_CHECK(!half_to_float, op, " with half to float conversion is not supported on CPU");
  Tensor x = widen(self, type), y = empty_tensor(x.sizes(), type, Device{});
  if (x.numel() == 0) return to_dtype(y, self.dtype());
  const Split s(x, dim);
  const RowKernels& k = row_kernels(type);
  const int64_t item = static_cast<int64_t>(item_size(type));
  auto at = [&](const Tensor& t, int64_t i) { return static_cast<char*>(t.data()) + i * item; };
  split_work(
      s, [&](int64_t row, int64_t count) { k.softmax(at(x, row * s.n), at(y, row * s.n), count, s.n, log); },
      [&](int64_t i, int64_t m) { k.softmax_columns(at(x, i), at(y, i), s.n, s.inner, m, log); });
  return y.dtype() == self.dtype() ? y : to_dtype(y, self.dtype());
}

// All contiguous and of one type, not empty; dx may be g itself.
void backward_into(const Tensor& dx, const Tensor& g, const Tensor& y, int64_t dim, bool log) {
  const Split s(y, dim);
  const RowKernels& k = row_kernels(y.dtype());
  const int64_t item = static_cast<int64_t>(item_size(y.dtype()));
  auto at = [&](const Tensor& t, int64_t i) { return static_cast<char*>(t.data()) + i * item; };
  split_work(
      s,
      [&](int64_t row, int64_t count) {
        k.softmax_backward(at(g, row * s.n), at(y, row * s.n), at(dx, row * s.n), count, s.n, log);
      },
      [&](int64_t i, int64_t m) { k.softmax_columns_backward(at(g, i), at(y, i), at(dx, i), s.n, s.inner, m, log); });
}

template <bool log>
Tensor softmax_backward(const Tensor& grad, const Tensor& output, int64_t dim, DType input_dtype) {
  dim = wrap_dim(dim, grad.dim(), "softmax");
  FC_CHECK(Dims::same(grad.sizes(), output.sizes()), "softmax backward: grad_output ", grad.sizes(), " and output ",
           output.sizes(), " differ in shape");
  const DType type = checked_type("softmax_backward", output);
  Tensor g = widen(grad, type), y = widen(output, type), dx = empty_tensor(y.sizes(), type, Device{});
  if (y.numel() > 0) backward_into(dx, g, y, dim, log);
  return dx.dtype() == input_dtype ? dx : to_dtype(dx, input_dtype);
}

// In place of the gradient, where it lies as the rows are read; otherwise the way of all devices.
void log_softmax_backward_in_place(void* general, const Operator& op, const Arg* args, Value* results) {
  const Tensor &g = args[0].tensor(), &y = args[1].tensor();
  const bool rows = y.dtype() == g.dtype() && (g.dtype() == DType::Float32 || g.dtype() == DType::Float64) &&
                    g.is_contiguous() && y.is_contiguous() && Dims::same(g.sizes(), y.sizes()) && y.device().is_cpu();
  if (!rows || g.numel() == 0 || y.impl().storage().get() == g.impl().storage().get()) {
    const Kernel& k = static_cast<const Operator*>(general)->all_devices();
    k.fn(k.context, op, args, results);
    return;
  }
  backward_into(g, g, y, wrap_dim(args[2].integer(), g.dim(), "softmax"), true);
  results[0] = Value(g);
}

// Over one dimension, or several one after the other, of float32 and float64: one pass, and nothing is written between.
void logsumexp(void* general, const Operator& op, const Arg* args, Value* results) {
  const Tensor& self = args[0].tensor();
  const DimSet reduced = reduced_dims("logsumexp", args[1], self.dim());
  const Dims dims = reduced_list(reduced, self.dim());
  const bool one_run = !dims.empty() && dims[dims.size() - 1] - dims[0] + 1 == static_cast<int64_t>(dims.size());
  if ((self.dtype() != DType::Float32 && self.dtype() != DType::Float64) || !one_run || self.numel() == 0) {
    const Kernel& k = static_cast<const Operator*>(general)->all_devices();
    k.fn(k.context, op, args, results);
    return;
  }
  const Tensor x = contiguous(self);
  const Tensor y = empty_tensor(reduced_sizes(self.sizes(), reduced, args[2].boolean()), self.dtype(), Device{});
  const Split s(x, dims[0], dims[dims.size() - 1]);
  const RowKernels& k = row_kernels(x.dtype());
  const int64_t item = static_cast<int64_t>(item_size(x.dtype()));
  auto at = [&](const Tensor& t, int64_t i) { return static_cast<char*>(t.data()) + i * item; };
  split_work(
      s, [&](int64_t row, int64_t count) { k.logsumexp(at(x, row * s.n), at(y, row), count, s.n); },
      [&](int64_t i, int64_t m) {
        const int64_t to = i / (s.n * s.inner) * s.inner + i % s.inner;
        k.logsumexp_columns(at(x, i), at(y, to), s.n, s.inner, m);
      });
  results[0] = Value(y);
}

}  // namespace

void register_softmax() {
  Operator* lse = find_operator("aten::logsumexp");
  lse->set_kernel(Device::CPU, {&logsumexp, lse});
  set_cpu_kernel("aten::_softmax", kernel<&softmax<false>>());
  set_cpu_kernel("aten::_log_softmax", kernel<&softmax<true>>());
  set_cpu_kernel("aten::_softmax_backward_data", kernel<&softmax_backward<false>>());
  set_cpu_kernel("aten::_log_softmax_backward_data", kernel<&softmax_backward<true>>());
  Operator* in_place = find_operator("facula::log_softmax_backward_");
  in_place->set_kernel(Device::CPU, {&log_softmax_backward_in_place, in_place});
}

}  // namespace fc::cpu
