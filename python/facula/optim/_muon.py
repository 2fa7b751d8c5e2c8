# SPDX-License-Identifier: Apache-2.0
"""Muon: momentum, made orthogonal."""

from __future__ import annotations

from typing import Any

from facula import _C
from facula._tensor import Tensor
from facula.optim.optimizer import ParamsT, PerParameter, _one_element, _to_scalar, _zeros

__all__ = ["Muon"]

_RATIOS = {
    "original": lambda rows, columns: max(1, rows / columns) ** 0.5,
    "match_rms_adamw": lambda rows, columns: 0.2 * max(rows, columns) ** 0.5,
    "spectral_unclamped": lambda rows, columns: (rows / columns) ** 0.5,
}


def _orthogonal(x: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float) -> Tensor:
    """Nearly the orthogonal factor of a matrix: Newton-Schulz steps with a polynomial of degree five, in bfloat16."""
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    addmm = _C._functions["addmm"]
    a, b, c = coefficients
    tall = x.size(0) > x.size(1)
    x = x.to(_C.bfloat16, copy=True)
    x = x.T if tall else x
    x.div_(x.norm().clamp(min=eps))  # no singular value above 1
    for _ in range(steps):
        gram = x @ x.T
        x = addmm(x, addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x


class Muon(PerParameter):
    """Steps of the gradient's running mean with all its singular values made nearly one; for matrices only.

    adjust_lr_fn: how lr follows the shape: "original" (also None), "match_rms_adamw" or "spectral_unclamped".
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        _one_element("lr", lr)
        for name, value in (("Learning rate", lr), ("momentum", momentum), ("weight decay", weight_decay)):
            if not value >= 0.0:
                raise ValueError(f"{name} should be >= 0 but is: {value}")
        if adjust_lr_fn is not None and adjust_lr_fn not in _RATIOS:
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        defaults = {
            "lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov,
            "ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps, "adjust_lr_fn": adjust_lr_fn,
        }  # fmt: skip
        super().__init__(params, defaults)
        for group in self.param_groups:
            for p in group["params"]:
                if p.dim() != 2:
                    raise ValueError(f"Muon only supports 2D parameters whereas we found a parameter with size: {p.size()}")

    _later_options: dict[str, Any] = {}

    def _begin(self, group: dict, p: Tensor) -> dict[str, Any]:
        if p.is_complex():
            raise RuntimeError("Muon does not support complex parameters")
        return {"momentum_buffer": _zeros(p.grad)}

    def _update(self, group: dict, p: Tensor, grad: Tensor, state: dict[str, Any]) -> None:
        lr, momentum = _to_scalar(group["lr"]), group["momentum"]
        mean = state["momentum_buffer"].lerp_(grad, 1 - momentum)
        update = grad.lerp(mean, momentum) if group["nesterov"] else mean
        update = _orthogonal(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
        p.mul_(1 - lr * group["weight_decay"])
        p.add_(update, alpha=-lr * _RATIOS[group["adjust_lr_fn"] or "original"](*p.shape))
