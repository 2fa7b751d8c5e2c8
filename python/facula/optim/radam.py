# SPDX-License-Identifier: Apache-2.0
"""RAdam: Adam that trusts its running square only once enough steps have been seen."""

from __future__ import annotations

from typing import Any

from facula import _C
from facula._tensor import Tensor
from facula.optim.optimizer import ParamsT, PerParameter, _average_square, _count, _decay, _number, _options, _to_scalar, _zeros

__all__ = ["RAdam"]


class RAdam(PerParameter):
    """Adam whose adaptive step is rectified by its variance; while that is unknown (ρ_t <= 5), momentum alone."""

    _later_options = {**PerParameter._later_options, "decoupled_weight_decay": False}

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, _options(locals(), "maximize foreach capturable decoupled_weight_decay differentiable"))

    def _begin(self, group: dict, p: Tensor) -> dict[str, Any]:
        return {"step": _number(group, p, 0.0), "exp_avg": _zeros(p), "exp_avg_sq": _zeros(p)}

    def _update(self, group: dict, p: Tensor, grad: Tensor, state: dict[str, Any]) -> None:
        step, lr, (beta1, beta2) = _count(group, state), _to_scalar(group["lr"]), group["betas"]
        grad = _decay(group, p, grad, lr)
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        mean.lerp_(grad, 1 - beta1)
        _average_square(square, grad, beta2)
        correction = 1 - beta2**step
        most = 2 / (1 - beta2) - 1
        length = most - 2 * step * beta2**step / correction  # of the average so far
        update = mean / (1 - beta1**step) * lr

        def rectified():
            variance = (length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length)
            return update * (correction**0.5 / (square.sqrt() + group["eps"])) * variance**0.5

        if group["capturable"]:
            update = _C._functions["where"](length > 5.0, rectified(), update)
        elif length > 5.0:
            update = rectified()
        p.sub_(update)
