# SPDX-License-Identifier: Apache-2.0
"""Adam: steps of the gradient's running mean over the root of its running square."""

from __future__ import annotations

from typing import Any

from facula import _C
from facula._tensor import Tensor
from facula.optim.optimizer import (
    ParamsT,
    PerParameter,
    _begin_step,
    _check_forms,
    _count,
    _decayed,
    _not_negative,
    _one_element,
    _to_scalar,
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
        state = {"step": _begin_step(group), "exp_avg": _C._functions["zeros_like"](p), "exp_avg_sq": _C._functions["zeros_like"](p)}
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = _C._functions["zeros_like"](p)
        return state

    def _update(self, group: dict, p: Tensor, grad: Tensor, state: dict[str, Any]) -> None:
        step, lr, (beta1, beta2) = _count(group, state), _to_scalar(group["lr"]), group["betas"]
        if group["decoupled_weight_decay"]:
            if group["weight_decay"] != 0:
                p.mul_(1 - lr * group["weight_decay"])
        else:
            grad = _decayed(grad, p, group["weight_decay"])
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        mean.lerp_(grad, _as(1 - beta1, grad))
        square.mul_(beta2).add_(grad * grad * (1 - beta2)) if isinstance(beta2, Tensor) else square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        if group["amsgrad"]:
            largest = state["max_exp_avg_sq"]
            before = largest.clone() if group["differentiable"] else largest
            square = largest.copy_(before.maximum(square))
        size, root = lr / (1 - beta1**step), (1 - beta2**step) ** 0.5
        denominator = (square.sqrt() / root).add_(group["eps"])
        if isinstance(size, Tensor):
            p.addcdiv_(mean * -size.to(mean.dtype), denominator)
        else:
            p.addcdiv_(mean, denominator, value=-size)


def _as(value: Any, like: Tensor) -> Any:
    return value.to(like.dtype) if isinstance(value, Tensor) else value


def _check_tensor_option(name: str, value: Any, foreach: bool | None, capturable: bool) -> None:
    if isinstance(value, Tensor) and foreach and not capturable:
        raise ValueError(f"{name} as a Tensor is not supported for capturable=False and foreach=True")
    _one_element(name, value)


def _check_betas(betas) -> None:
    for i, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {beta}")
