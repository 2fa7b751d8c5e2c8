# SPDX-License-Identifier: Apache-2.0
"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from facula import _C
from facula._tensor import Tensor
from facula.optim.optimizer import ParamsT, PerParameter, _add, _check_forms, _decay, _options, _to_scalar

__all__ = ["SGD"]


class SGD(PerParameter):
    """Stochastic gradient descent, with momentum: v = momentum * v + (1 - dampening) * g; p -= lr * v."""

    _takes_sparse = True
    _complex_as_real = False
    _records_foreach = True
    _later_options = {"nesterov": False, "maximize": False, "foreach": None, "differentiable": False, "fused": False}

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        options = _options(locals())
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, options)
        _check_forms(differentiable, fused, foreach)
        if fused:
            self._step_supports_amp_scaling = True

    def _has_state(self, group: dict) -> bool:
        return group["momentum"] != 0

    def _update_all(self, group: dict, params: list[Tensor], grads: list[Tensor], states: list[dict]) -> bool:
        buffers: list[Tensor] = []
        first = False
        if group["momentum"] != 0:
            missing = sum("momentum_buffer" not in state for state in states)
            if missing not in (0, len(states)):
                return False
            first = missing > 0
            if first and float(getattr(self, "found_inf", None) or 0) != 0:
                return True  # the step is left out
            for p, state in zip(params, states, strict=True):
                if first:
                    state["momentum_buffer"] = _C._functions["empty_like"](p)
                buffers.append(state["momentum_buffer"])
        _C._functions["_fused_sgd_"](
            params, grads, buffers, weight_decay=float(group["weight_decay"]), momentum=group["momentum"], lr=float(group["lr"]),
            dampening=group["dampening"], nesterov=group["nesterov"], maximize=group["maximize"], is_first_step=first, **self._scaling(),
        )  # fmt: skip
        return True

    def _update(self, group: dict, p: Tensor, grad: Tensor, state: dict[str, Any]) -> None:
        momentum = group["momentum"]
        grad = _decay(group, p, grad, None)
        if momentum != 0:
            buffer = state.get("momentum_buffer")
            if buffer is None:
                buffer = state["momentum_buffer"] = grad.detach().clone()
            else:
                buffer.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
            grad = grad.add(buffer, alpha=momentum) if group["nesterov"] else buffer
        _add(p, -_to_scalar(group["lr"]), grad)
