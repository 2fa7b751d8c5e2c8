# SPDX-License-Identifier: Apache-2.0
"""Averaged stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from facula import _C
from facula._tensor import Tensor
from facula.optim.optimizer import ParamsT, PerParameter, _add, _count, _decay, _number, _options, _step_dtype, _to_scalar, _zeros

__all__ = ["ASGD"]


class ASGD(PerParameter):
    """Gradient descent with a rate η that falls, and the mean `ax` of the parameters from step t0 on in its state.

    η_t = lr / (1 + lambd * lr * t)^alpha; the parameters decay by lambd * η in each step.
    """

    _numbers = ("step", "eta", "mu")

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        super().__init__(params, _options(locals()))

    def _begin(self, group: dict, p: Tensor) -> dict[str, Any]:
        eta = _C._tensor(_to_scalar(group["lr"]), _step_dtype(), p.device, True).detach()
        return {"step": _number(group, p, 0.0), "eta": eta, "mu": _number(group, p, 1.0), "ax": _zeros(p)}

    def _update(self, group: dict, p: Tensor, grad: Tensor, state: dict[str, Any]) -> None:
        step, lr, lambd = _count(group, state), _to_scalar(group["lr"]), group["lambd"]
        eta, mu, mean = state["eta"], state["mu"], state["ax"]
        grad = _decay(group, p, grad, lr)
        rate = eta if group["capturable"] else eta.item()
        p.mul_(1 - lambd * rate)
        _add(p, -rate, grad)
        if group["capturable"] or mu.item() != 1:
            mean.add_((p - mean) * mu)
        else:
            mean.copy_(p)
        eta.copy_(_C._tensor(lr / (1 + lambd * lr * step) ** group["alpha"], None, None, False))
        past = step - group["t0"]
        mu.copy_(1 / past.clamp(min=1) if isinstance(past, Tensor) else _C._tensor(1 / max(1, past), None, None, False))
