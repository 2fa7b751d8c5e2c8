# SPDX-License-Identifier: Apache-2.0
"""Adam: steps of the gradient's running mean over the root of its running square."""

from __future__ import annotations

from typing import Any

from facula import _C
from facula._tensor import Tensor
from facula.optim.optimizer import (
    ParamsT,
    PerParameter,
    _add_quotient,
    _as,
    _average_square,
    _check_betas,
    _check_forms,
    _count,
    _decay,
    _not_negative,
    _number,
    _one_element,
    _to_scalar,
    _zeros,
)

__all__ = ["Adam"]


class Adam(PerParameter):
    """m = β1 m + (1-β1) g; v = β2 v + (1-β2) g²; p -= lr * m̂ / (√v̂ + eps), where ^ undoes the start from zero.

    decoupled_weight_decay: p shrinks by lr * weight_decay by itself (AdamW); otherwise the decay is part of the gradient.
    """

    _later_options = {
        "amsgrad": False, "maximize": False, "foreach": None, "capturable": False, "differentiable": False,
        "decoupled_weight_decay": False, "fused": None,
    }  # fmt: skip

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        _check_tensor_option("lr", lr, foreach, capturable)
        _not_negative("learning rate", lr)
        _not_negative("epsilon value", eps)
        _check_betas(betas)
        _not_negative("weight_decay value", weight_decay)
        if not all(isinstance(b, float) for b in betas) and not all(isinstance(b, Tensor) for b in betas):
            raise ValueError("betas must be either both floats or both Tensors")
        for i, beta in enumerate(betas):
            _check_tensor_option(f"betas[{i}]", beta, foreach, capturable)
        defaults = {
            "lr": lr, "betas": (_to_scalar(betas[0]), _to_scalar(betas[1])), "eps": eps, "weight_decay": weight_decay,
            "amsgrad": amsgrad, "maximize": maximize, "foreach": foreach, "capturable": capturable,
            "differentiable": differentiable, "fused": fused, "decoupled_weight_decay": decoupled_weight_decay,
        }  # fmt: skip
        super().__init__(params, defaults)
        _check_forms(differentiable, fused, foreach)
        if fused:
            self._step_supports_amp_scaling = True

    def _begin(self, group: dict, p: Tensor) -> dict[str, Any]:
        state = {"step": _number(group, p, 0.0), "exp_avg": _zeros(p), "exp_avg_sq": _zeros(p)}
        return {**state, "max_exp_avg_sq": _zeros(p)} if group["amsgrad"] else state

    def _update_all(self, group: dict, params: list[Tensor], grads: list[Tensor], states: list[dict]) -> bool:
        lists = [[state[name] for state in states] for name in ("exp_avg", "exp_avg_sq")]
        lists.append([state["max_exp_avg_sq"] for state in states] if group["amsgrad"] else [])
        step = _C._functions["_fused_adamw_" if group["decoupled_weight_decay"] else "_fused_adam_"]
        beta1, beta2 = group["betas"]
        step(
            params, grads, *lists, self._count_all(states), lr=float(group["lr"]), beta1=float(beta1), beta2=float(beta2),
            weight_decay=float(group["weight_decay"]), eps=group["eps"], amsgrad=group["amsgrad"], maximize=group["maximize"], **self._scaling(),
        )  # fmt: skip
        return True

    def _update(self, group: dict, p: Tensor, grad: Tensor, state: dict[str, Any]) -> None:
        step, lr, (beta1, beta2) = _count(group, state), _to_scalar(group["lr"]), group["betas"]
        grad = _decay(group, p, grad, lr)
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        mean.lerp_(grad, _as(1 - beta1, grad))
        _average_square(square, grad, beta2)
        if group["amsgrad"]:
            largest = state["max_exp_avg_sq"]
            square = largest.copy_(largest.maximum(square))
        root = (1 - beta2**step) ** 0.5
        _add_quotient(p, -lr / (1 - beta1**step), mean, (square.sqrt() / root).add_(group["eps"]))


def _check_tensor_option(name: str, value: Any, foreach: bool | None, capturable: bool) -> None:
    if isinstance(value, Tensor) and foreach and not capturable:
        raise ValueError(f"{name} as a Tensor is not supported for capturable=False and foreach=True")
    _one_element(name, value)
