// SPDX-License-Identifier: Apache-2.0
// Connectionist temporal classification: the likelihood of a sequence of labels, summed over all ways of placing them
// in a longer sequence with blanks between.
#include "plan/ctc.h"

#include "define/row.h"
#include "ops/register.h"
#include "plan/loss.h"

namespace fc {
namespace {

using Two = std::tuple<Tensor, Tensor>;

Two forward_meta(const Tensor& log_probs, const Tensor& targets, IntSpan inputs, IntSpan lengths, int64_t blank, bool) {
  const Ctc c = plan_ctc(log_probs, targets, inputs, lengths, blank);
  return {empty_tensor(Dims{c.batch}, log_probs.dtype(), log_probs.device()),
          empty_tensor(Dims{c.batch, c.steps, 2 * c.longest + 1}, log_probs.dtype(), log_probs.device())};
}
Tensor backward_meta(const Tensor&, const Tensor& log_probs, const Tensor&, IntSpan, IntSpan, const Tensor&,
                     const Tensor&, int64_t, bool) {
  return empty_tensor(log_probs.sizes(), log_probs.dtype(), log_probs.device());
}

Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, IntSpan inputs, IntSpan lengths, int64_t blank,
                int64_t reduction, bool zero_infinity) {
  const bool batched = log_probs.dim() == 3;
  Tensor loss = std::get<0>(call<"aten::_ctc_loss", Two>(
      batched ? log_probs : unsqueeze(log_probs, 1), batched || targets.dim() == 2 ? targets : unsqueeze(targets, 0),
      inputs, lengths, blank, zero_infinity));
  if (zero_infinity) loss = where(call<"aten::isinf", Tensor>(loss), zeros_like(loss), loss);
  if (reduction == kReduceSum) return sum(loss);
  if (reduction == kReduceMean) {
    Tensor by = empty_tensor(Dims{static_cast<int64_t>(lengths.size())}, DType::Int64, Device{});
    for (size_t i = 0; i < lengths.size(); ++i) by.data_as<int64_t>()[i] = std::max<int64_t>(lengths[i], 1);
    by = call<"aten::to.device", Tensor>(by, loss.device(), loss.dtype(), false, false, nullptr);
    return call<"aten::mean", Tensor>(div(loss, by), std::optional<DType>());
  }
  return batched ? loss : squeeze(loss, 0);
}
std::vector<int64_t> numbers(const Tensor& t) {
  FC_CHECK(is_integral(t.dtype(), false) && t.dim() <= 1,
           "ctc_loss: input_lengths and target_lengths must be integral vectors");
  Tensor dense = contiguous(
      call<"aten::to.device", Tensor>(t, Device{}, DType::Int64, false, false, std::optional<MemoryFormat>()));
  const auto* v = dense.data_as<int64_t>();
  return {v, v + dense.numel()};
}
Tensor ctc_loss_tensors(const Tensor& log_probs, const Tensor& targets, const Tensor& inputs, const Tensor& lengths,
                        int64_t blank, int64_t reduction, bool zero_infinity) {
  return ctc_loss(log_probs, targets, numbers(inputs), numbers(lengths), blank, reduction, zero_infinity);
}

constexpr OpDef defs[] = {
    {.schema = "_ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0, "
               "bool zero_infinity=False) -> (Tensor, Tensor)",
     .meta = kernel<&forward_meta>(),
     .saves = "log_probs targets input_lengths target_lengths blank zero_infinity result result1",
     .grad =
         [](Grad& g) {
           const Tensor log_probs = g.in(0), targets = g.in(1), loss = g.result(0), alpha = g.result(1);
           g.set(0,
                 call<"aten::_ctc_loss_backward", Tensor>(g.out(), log_probs, targets, g.arg(2).ints(), g.arg(3).ints(),
                                                          loss, alpha, g.arg(4).integer(), g.arg(5).boolean()));
         },
     .differentiable_results = 1,
     .devices = Devices::Any,
     .hidden = true},
    {.schema = "_ctc_loss_backward(Tensor grad, Tensor log_probs, Tensor targets, int[] input_lengths, int[] "
               "target_lengths, Tensor neg_log_likelihood, Tensor log_alpha, int blank, bool zero_infinity=False) -> "
               "Tensor",
     .meta = kernel<&backward_meta>(),
     .devices = Devices::Any,
     .hidden = true},
    {.schema = "ctc_loss.IntList(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int "
               "blank=0, int reduction=1, bool zero_infinity=False) -> Tensor",
     .doc = "The negative log-likelihood of label sequences under CTC.",
     .composite = kernel<&ctc_loss>(),
     .autocast = Autocast::Float32,
     .cpu_autocast = Autocast::Float32,
     .devices = Devices::Any},
    {.schema = "ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int "
               "blank=0, int reduction=1, bool zero_infinity=False) -> Tensor",
     .doc = "The negative log-likelihood of label sequences under CTC.",
     .composite = kernel<&ctc_loss_tensors>(),
     .autocast = Autocast::Float32,
     .cpu_autocast = Autocast::Float32,
     .devices = Devices::Any},
};

}  // namespace

void define_ctc() { define_all(defs); }

}  // namespace fc
