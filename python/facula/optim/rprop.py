# SPDX-License-Identifier: Apache-2.0
"""Rprop: steps by the signs of gradients only."""

from __future__ import annotations

from typing import Any

from facula import _C
from facula._tensor import Tensor
from facula.optim.optimizer import ParamsT, PerParameter, _count, _number, _options, _to_scalar, _zeros

__all__ = ["Rprop"]


class Rprop(PerParameter):
    """Every element has a step size that grows while its gradient keeps its sign and shrinks when it changes.

    etas: by what a size shrinks and grows; step_sizes: the smallest and the largest.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        options = _options(locals(), "foreach maximize differentiable capturable")
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, options)

    def _begin(self, group: dict, p: Tensor) -> dict[str, Any]:
        lr = float(_to_scalar(group["lr"]))
        size = _C._functions["full_like"](p, complex(lr, lr) if p.is_complex() else lr)
        return {"step": _number(group, p, 0.0), "prev": _zeros(p), "step_size": size}

    def _update(self, group: dict, p: Tensor, grad: Tensor, state: dict[str, Any]) -> None:
        _count(group, state)
        (shrink, grow), previous, size = group["etas"], state["prev"], state["step_size"]
        agree = grad * previous
        factor = _C._functions["ones_like"](size).masked_fill(agree > 0, grow).masked_fill(agree < 0, shrink)
        size.mul_(factor).clamp_(*group["step_sizes"])
        grad = grad.masked_fill(agree < 0, 0)
        p.addcmul_(grad.sign(), size, value=-1)
        previous.copy_(grad)
