# SPDX-License-Identifier: Apache-2.0
"""Adamax: Adam with the largest gradient in place of the root of the running square."""

from __future__ import annotations

from typing import Any

from facula._tensor import Tensor
from facula.optim.optimizer import ParamsT, PerParameter, _add_quotient, _count, _decay, _number, _options, _to_scalar, _zeros

__all__ = ["Adamax"]


class Adamax(PerParameter):
    """m = β1 m + (1-β1) g; u = max(β2 u, |g| + eps); p -= lr / (1-β1^t) * m / u."""

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        super().__init__(params, _options(locals()))

    def _begin(self, group: dict, p: Tensor) -> dict[str, Any]:
        return {"step": _number(group, p, 0.0), "exp_avg": _zeros(p), "exp_inf": _zeros(p)}

    def _update(self, group: dict, p: Tensor, grad: Tensor, state: dict[str, Any]) -> None:
        step, lr, (beta1, beta2) = _count(group, state), _to_scalar(group["lr"]), group["betas"]
        grad = _decay(group, p, grad, lr)
        mean, largest = state["exp_avg"], state["exp_inf"]
        mean.lerp_(grad, 1 - beta1)
        largest.copy_((largest * beta2).maximum(grad.abs().add_(group["eps"])))
        _add_quotient(p, -lr / (1 - beta1**step), mean, largest)
