# SPDX-License-Identifier: Apache-2.0
"""Adagrad: gradients over the root of the sum of all squares so far."""

from __future__ import annotations

from typing import Any

from facula import _C
from facula._tensor import Tensor
from facula.sparse import _with_values
from facula.optim.optimizer import ParamsT, PerParameter, _add_quotient, _check_forms, _count, _decay, _number, _options, _to_scalar

__all__ = ["Adagrad"]


class Adagrad(PerParameter):
    """s += g²; p -= lr / (1 + (t-1) * lr_decay) * g / (√s + eps)."""

    _takes_sparse = True
    _later_options = {"foreach": None, "maximize": False, "differentiable": False, "fused": None}

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(params, _options(locals(), "weight_decay initial_accumulator_value foreach maximize differentiable fused"))
        _check_forms(differentiable, fused, foreach)
        if fused:
            self._step_supports_amp_scaling = True
        for group in self.param_groups:
            for p in group["params"]:
                self._state(group, p)

    def share_memory(self) -> None:
        """Moves the state to memory that other processes see."""
        for group in self.param_groups:
            for p in group["params"]:
                for value in self.state[p].values():
                    value.share_memory_()

    def _begin(self, group: dict, p: Tensor) -> dict[str, Any]:
        start = group["initial_accumulator_value"]
        return {"step": _number(group, p, 0.0), "sum": _C._functions["full_like"](p, complex(start, start) if p.is_complex() else start)}

    def _update_all(self, group: dict, params: list[Tensor], grads: list[Tensor], states: list[dict]) -> bool:
        _C._functions["_fused_adagrad_"](
            params, grads, [state["sum"] for state in states], self._count_all(states), lr=float(group["lr"]), lr_decay=group["lr_decay"],
            weight_decay=group["weight_decay"], eps=group["eps"], maximize=group["maximize"], **self._scaling(),
        )  # fmt: skip
        return True

    def _update(self, group: dict, p: Tensor, grad: Tensor, state: dict[str, Any]) -> None:
        step, lr = _count(group, state), _to_scalar(group["lr"])
        if grad.is_sparse:
            if group["weight_decay"] != 0:
                raise RuntimeError("weight_decay option is not compatible with sparse gradients")
            grad = grad.coalesce()
            values = grad.values()
            total = state["sum"].add_(_with_values(grad, values.square()))
            root = total.sparse_mask(grad).values().sqrt_().add_(group["eps"])
            p.add_(_with_values(grad, values / root), alpha=-lr / (1 + (step - 1) * group["lr_decay"]))
            return
        grad = _decay(group, p, grad, lr)
        total = state["sum"].addcmul_(grad, grad)
        _add_quotient(p, -lr / (1 + (step - 1) * group["lr_decay"]), grad, total.sqrt() + group["eps"])
