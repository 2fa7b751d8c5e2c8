# SPDX-License-Identifier: Apache-2.0
"""RMSprop: gradients over the root of their running square."""

from __future__ import annotations

from typing import Any

from facula._tensor import Tensor
from facula.optim.optimizer import ParamsT, PerParameter, _add, _add_quotient, _average_square, _count, _decay, _number, _options, _to_scalar, _zeros

__all__ = ["RMSprop"]


class RMSprop(PerParameter):
    """v = α v + (1-α) g²; p -= lr * g / (√v + eps). centered: v less the square of the running mean; momentum as in SGD."""

    _later_options = {**PerParameter._later_options, "momentum": 0, "centered": False}

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, _options(locals(), "alpha eps centered weight_decay capturable foreach maximize differentiable"))

    def _begin(self, group: dict, p: Tensor) -> dict[str, Any]:
        state = {"step": _number(group, p, 0.0), "square_avg": _zeros(p)}
        if group["momentum"] > 0:
            state["momentum_buffer"] = _zeros(p)
        if group["centered"]:
            state["grad_avg"] = _zeros(p)
        return state

    def _update(self, group: dict, p: Tensor, grad: Tensor, state: dict[str, Any]) -> None:
        _count(group, state)
        lr = _to_scalar(group["lr"])
        grad = _decay(group, p, grad, lr)
        variance = _average_square(state["square_avg"], grad, group["alpha"])
        if group["centered"]:
            mean = state["grad_avg"].lerp_(grad, 1 - group["alpha"])
            variance = variance.addcmul(mean, mean, value=-1)
        deviation = variance.sqrt() + group["eps"]
        if group["momentum"] > 0:
            _add(p, -lr, state["momentum_buffer"].mul_(group["momentum"]).addcdiv_(grad, deviation))
        else:
            _add_quotient(p, -lr, grad, deviation)
