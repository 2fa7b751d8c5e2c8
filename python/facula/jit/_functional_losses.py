# SPDX-License-Identifier: Apache-2.0
"""Losses of torch.nn.functional in the language of the script compiler (_functional.py)."""
# ruff: noqa: UP006, UP007, UP035, UP045

import math
import warnings
from typing import Optional, Union

import facula as torch
from facula import Tensor
from facula.jit._builtins import Operators

aten = Operators()


def _reduction(reduction: str) -> int:
    if reduction == "none":
        return 0
    if reduction == "mean":
        return 1
    if reduction == "sum":
        return 2
    raise ValueError(f"{reduction} is not a valid value for reduction")


def _named(reduction: str, size_average: Optional[bool], reduce: Optional[bool]) -> str:
    if size_average is None and reduce is None:
        return reduction
    if reduce is not None and not reduce:
        return "none"
    if size_average is not None and not size_average:
        return "sum"
    return "mean"


def _reduced(losses: Tensor, reduction: str) -> Tensor:
    number = _reduction(reduction)
    if number == 1:
        return torch.mean(losses)
    if number == 2:
        return torch.sum(losses)
    return losses


def _warn_sizes(input: Tensor, target: Tensor) -> None:
    if target.size() != input.size():
        warnings.warn(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). "
            "This will likely lead to incorrect results due to broadcasting. Please ensure they have the same size."
        )


def _weighted(losses: Tensor, weight: Tensor, input: Tensor, reduction: str, over_weight: bool) -> Tensor:
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    losses = losses * weight
    if reduction == "none":
        return losses
    if reduction == "sum":
        return torch.sum(losses)
    if reduction == "mean":
        return torch.sum(losses) / torch.sum(weight) if over_weight else torch.mean(losses)
    raise ValueError(f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'.")


def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False
) -> Tensor:
    return torch.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, _reduction(reduction), zero_infinity)


def cross_entropy(
    input: Tensor, target: Tensor, weight: Optional[Tensor] = None, size_average: Optional[bool] = None, ignore_index: int = -100, reduce: Optional[bool] = None,
    reduction: str = "mean", label_smoothing: float = 0.0,
) -> Tensor:  # fmt: skip
    number = _reduction(_named(reduction, size_average, reduce))
    return aten.cross_entropy_loss(input, target, weight, number, ignore_index, label_smoothing)


def nll_loss(
    input: Tensor, target: Tensor, weight: Optional[Tensor] = None, size_average: Optional[bool] = None, ignore_index: int = -100, reduce: Optional[bool] = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    return aten.nll_loss_nd(input, target, weight, _reduction(_named(reduction, size_average, reduce)), ignore_index)


def mse_loss(
    input: Tensor, target: Tensor, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean", weight: Optional[Tensor] = None
) -> Tensor:
    _warn_sizes(input, target)
    how = _named(reduction, size_average, reduce)
    if weight is None:
        return aten.mse_loss(input, target, _reduction(how))
    return _weighted(aten.mse_loss(input, target, 0), weight, input, how, True)


def l1_loss(
    input: Tensor, target: Tensor, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean", weight: Optional[Tensor] = None
) -> Tensor:
    _warn_sizes(input, target)
    how = _named(reduction, size_average, reduce)
    if weight is None:
        return aten.l1_loss(input, target, _reduction(how))
    return _weighted(aten.l1_loss(input, target, 0), weight, input, how, True)


def smooth_l1_loss(
    input: Tensor, target: Tensor, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean", beta: float = 1.0
) -> Tensor:
    _warn_sizes(input, target)
    return aten.smooth_l1_loss(input, target, _reduction(_named(reduction, size_average, reduce)), beta)


def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Optional[Tensor] = None) -> Tensor:
    _warn_sizes(input, target)
    if weight is None:
        return aten.huber_loss(input, target, _reduction(reduction), delta)
    return _weighted(aten.huber_loss(input, target, 0, delta), weight, input, reduction, False)


def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Optional[Tensor] = None, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean"
) -> Tensor:
    if target.size() != input.size():
        raise ValueError(f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is deprecated. Please ensure they have the same size.")
    return aten.binary_cross_entropy(input, target, weight, _reduction(_named(reduction, size_average, reduce)))


def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Optional[Tensor] = None, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean",
    pos_weight: Optional[Tensor] = None,
) -> Tensor:  # fmt: skip
    if target.size() != input.size():
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    return torch.binary_cross_entropy_with_logits(input, target, weight, pos_weight, _reduction(_named(reduction, size_average, reduce)))


def kl_div(
    input: Tensor, target: Tensor, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean", log_target: bool = False
) -> Tensor:
    if size_average is None and reduce is None:
        if reduction == "batchmean":
            total = torch.kl_div(input, target, 2, log_target=log_target)
            return total / input.size(0) if input.dim() != 0 else total
        if reduction == "mean":
            warnings.warn("reduction: 'mean' divides the total loss by both the batch size and the support size. 'batchmean' divides by the batch size only, as the definition of the divergence does.")
    return torch.kl_div(input, target, _reduction(_named(reduction, size_average, reduce)), log_target=log_target)


def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, size_average: Optional[bool] = None, eps: float = 1e-8, reduce: Optional[bool] = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    return torch.poisson_nll_loss(input, target, log_input, full, eps, _reduction(_named(reduction, size_average, reduce)))


def gaussian_nll_loss(input: Tensor, target: Tensor, var: Union[Tensor, float], full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> Tensor:
    if isinstance(var, float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = var * torch.ones_like(input)
    elif bool(torch.any(var < 0)):
        raise ValueError("var has negative entry/entries")
    if var.size() != input.size():
        if input.size()[:-1] == var.size():
            var = torch.unsqueeze(var, -1)
        else:
            others = 0
            ones = 0
            if input.dim() == var.dim():
                for i in range(input.dim()):
                    if input.size(i) != var.size(i):
                        others += 1
                        ones += var.size(i)
            if others != 1 or ones != 1:
                raise ValueError("var is of incorrect size")
    if reduction != "none" and reduction != "mean" and reduction != "sum":
        raise ValueError(reduction + " is not valid")
    var = var.clone()
    var.detach().clamp_(min=eps)  # its gradient goes past the limit
    loss = 0.5 * (torch.log(var) + (input - target) ** 2 / var)
    if full:
        loss += 0.5 * math.log(2 * math.pi)
    return _reduced(loss, reduction)


def soft_margin_loss(input: Tensor, target: Tensor, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
    return aten.soft_margin_loss(input, target, _reduction(_named(reduction, size_average, reduce)))


def multilabel_margin_loss(input: Tensor, target: Tensor, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
    return aten.multilabel_margin_loss(input, target, _reduction(_named(reduction, size_average, reduce)))


def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Optional[Tensor] = None, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean"
) -> Tensor:
    loss = -(target * aten.log_sigmoid(input) + (1 - target) * aten.log_sigmoid(-input))
    if weight is not None:
        loss = loss * weight
    loss = loss.sum(dim=input.dim() - 1) / input.size(-1)
    return _reduced(loss, _named(reduction, size_average, reduce))


def multi_margin_loss(
    input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Optional[Tensor] = None, size_average: Optional[bool] = None,
    reduce: Optional[bool] = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    if p != 1 and p != 2:
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None:
        if weight.dim() != 1:
            raise ValueError("weight must be one-dimensional")
    return aten.multi_margin_loss(input, target, p, margin, weight, _reduction(_named(reduction, size_average, reduce)))


def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean"
) -> Tensor:
    return torch.hinge_embedding_loss(input, target, margin, _reduction(_named(reduction, size_average, reduce)))


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean"
) -> Tensor:
    return torch.cosine_embedding_loss(input1, input2, target, margin, _reduction(_named(reduction, size_average, reduce)))


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean"
) -> Tensor:
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError(f"margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} ")
    return torch.margin_ranking_loss(input1, input2, target, margin, _reduction(_named(reduction, size_average, reduce)))


def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2, eps: float = 1e-6, swap: bool = False,
    size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    return torch.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, _reduction(_named(reduction, size_average, reduce)))
