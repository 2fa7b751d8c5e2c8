# SPDX-License-Identifier: Apache-2.0
"""Adafactor: running squares of matrices kept as a row and a column."""

from __future__ import annotations

from typing import Any

from facula import finfo
from facula._tensor import Tensor
from facula.optim.optimizer import ParamsT, PerParameter, _count, _number, _one_element, _to_scalar, _zeros

__all__ = ["Adafactor"]


class Adafactor(PerParameter):
    """Gradients over the root of a running square v, relative to the size of the parameter.

    Of the last two dimensions only the means of v along each are kept; their product over the mean of all stands for v.
    The rate is max(eps[1], rms(p)) * min(lr, 1/√t); updates whose root mean square is above d are scaled down to d.
    """

    _later_options = {"foreach": None}

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        _one_element("lr", lr)
        if not lr >= 0.0:
            raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
        if not beta2_decay <= 0.0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None and not eps[0] >= 0.0:
            raise ValueError(f"epsilon1 should be >= 0 but is: {eps[0]}")
        if not eps[1] >= 0.0:
            raise ValueError(f"epsilon2 should be >= 0 but is: {eps[1]}")
        if not d >= 1.0:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        if not weight_decay >= 0.0:
            raise ValueError(f"weight_decay should be >= 0 but is: {weight_decay}")
        defaults = {
            "lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _begin(self, group: dict, p: Tensor) -> dict[str, Any]:
        if p.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        step, grad = _number(group, p, 0.0), p.grad
        if grad.dim() < 2:
            return {"step": step, "variance": _zeros(grad)}
        return {"step": step, "row_var": _zeros(grad[..., :1].contiguous()), "col_var": _zeros(grad[..., :1, :].contiguous())}

    def _update(self, group: dict, p: Tensor, grad: Tensor, state: dict[str, Any]) -> None:
        step, lr, (tiny, least) = _count(group, state), _to_scalar(group["lr"]), group["eps"]
        tiny = finfo(p.dtype).eps if tiny is None else tiny
        weight = step ** group["beta2_decay"]
        rate = max(least, _rms(p)) * min(lr, 1 / step**0.5)
        if group["weight_decay"] != 0:
            p.mul_(1 - lr * group["weight_decay"])
        if grad.dim() > 1:
            squares = grad.square()
            row = state["row_var"].lerp_(squares.mean(-1, keepdim=True), weight)
            column = state["col_var"].lerp_(squares.mean(-2, keepdim=True), weight)
            variance = (row @ column).div_(row.mean(-2, keepdim=True).clamp_(min=tiny))
        else:
            variance = state["variance"].lerp_(grad.square(), weight)
        update = variance.clamp(min=tiny * tiny).rsqrt_().mul_(grad)
        p.add_(update, alpha=-rate / max(1.0, _rms(update) / group["d"]))


def _rms(x: Tensor) -> float:
    return x.norm(2).item() / x.numel() ** 0.5
