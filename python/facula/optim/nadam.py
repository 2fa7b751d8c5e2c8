# SPDX-License-Identifier: Apache-2.0
"""NAdam: Adam with Nesterov's momentum."""

from __future__ import annotations

from typing import Any

from facula._tensor import Tensor
from facula.optim.optimizer import (
    ParamsT,
    PerParameter,
    _add_quotient,
    _average_square,
    _count,
    _decay,
    _number,
    _to_scalar,
    _value,
    _options,
    _zeros,
)

__all__ = ["NAdam"]


class NAdam(PerParameter):
    """Adam that looks one step ahead, with a momentum µ that grows: µ_t = β1 (1 - 0.96^(t * momentum_decay) / 2)."""

    _later_options = {**PerParameter._later_options, "decoupled_weight_decay": False}
    _numbers = ("step", "mu_product")

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, _options(locals(), "maximize foreach capturable differentiable"))

    def _begin(self, group: dict, p: Tensor) -> dict[str, Any]:
        return {"step": _number(group, p, 0.0), "mu_product": _number(group, p, 1.0), "exp_avg": _zeros(p), "exp_avg_sq": _zeros(p)}

    def _update(self, group: dict, p: Tensor, grad: Tensor, state: dict[str, Any]) -> None:
        step, lr, (beta1, beta2) = _count(group, state), _to_scalar(group["lr"]), group["betas"]
        grad = _decay(group, p, grad, lr)
        mu, next_mu = (beta1 * (1.0 - 0.5 * 0.96 ** (t * group["momentum_decay"])) for t in (step, step + 1))
        state["mu_product"] *= mu
        product = _value(group, state["mu_product"])
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        mean.lerp_(grad, 1 - beta1)
        _average_square(square, grad, beta2)
        denominator = (square / (1 - beta2**step)).sqrt() + group["eps"]
        _add_quotient(p, -lr * (1.0 - mu) / (1.0 - product), grad, denominator)
        _add_quotient(p, -lr * next_mu / (1.0 - product * next_mu), mean, denominator)
