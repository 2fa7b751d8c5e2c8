# SPDX-License-Identifier: Apache-2.0
"""Adadelta: steps in the units of the parameters, without a learning rate to choose."""

from __future__ import annotations

from typing import Any

from facula._tensor import Tensor
from facula.optim.optimizer import ParamsT, PerParameter, _add, _average_square, _count, _decay, _number, _options, _to_scalar, _zeros

__all__ = ["Adadelta"]


class Adadelta(PerParameter):
    """v = ρ v + (1-ρ) g²; Δ = √(u + eps) / √(v + eps) * g; u = ρ u + (1-ρ) Δ²; p -= lr Δ."""

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        options = _options(locals(), "maximize capturable foreach differentiable")
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        super().__init__(params, options)

    def _begin(self, group: dict, p: Tensor) -> dict[str, Any]:
        return {"step": _number(group, p, 0.0), "square_avg": _zeros(p), "acc_delta": _zeros(p)}

    def _update(self, group: dict, p: Tensor, grad: Tensor, state: dict[str, Any]) -> None:
        _count(group, state)
        lr, eps, rho = _to_scalar(group["lr"]), group["eps"], group["rho"]
        grad = _decay(group, p, grad, lr)
        square = _average_square(state["square_avg"], grad, rho)
        delta = (state["acc_delta"] + eps).sqrt() / (square + eps).sqrt() * grad
        _average_square(state["acc_delta"], delta, rho)
        _add(p, -lr, delta)
