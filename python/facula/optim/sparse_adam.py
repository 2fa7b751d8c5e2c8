# SPDX-License-Identifier: Apache-2.0
"""Adam for sparse gradients."""

from __future__ import annotations

from typing import Any

from facula._tensor import Tensor
from facula.optim.optimizer import ParamsT, PerParameter, _check_betas, _one_element, _to_scalar, _zeros
from facula.sparse import _with_values

__all__ = ["SparseAdam"]


class SparseAdam(PerParameter):
    """Adam that changes only the elements that a sparse gradient has, and only their part of the averages."""

    _later_options: dict[str, Any] = {}
    _numbers = ()  # the step is a plain number

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        _one_element("lr", lr)
        for name, value in (("learning rate", lr), ("epsilon value", eps)):
            if not value > 0.0:
                raise ValueError(f"Invalid {name}: {value}")
        _check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        sparse = [i for i, p in enumerate(p for group in self.param_groups for p in group["params"]) if p.is_sparse]
        if sparse:
            raise ValueError(f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors")

    def _begin(self, group: dict, p: Tensor) -> dict[str, Any]:
        return {"step": 0, "exp_avg": _zeros(p), "exp_avg_sq": _zeros(p)}

    def _step_of_group(self, group: dict, params: list[Tensor], grads: list[Tensor], states: list[dict]) -> None:
        for grad, state in zip(grads, states, strict=True):
            if not grad.is_sparse:
                raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
            state["step"] += 1
        sparse_adam(
            params, grads, *([s[name] for s in states] for name in ("exp_avg", "exp_avg_sq", "step")), eps=group["eps"],
            beta1=group["betas"][0], beta2=group["betas"][1], lr=_to_scalar(group["lr"]), maximize=group["maximize"],
        )  # fmt: skip


def sparse_adam(
    params: list[Tensor], grads: list[Tensor], exp_avgs: list[Tensor], exp_avg_sqs: list[Tensor], state_steps: list[int],
    *, eps: float, beta1: float, beta2: float, lr: float | Tensor, maximize: bool,
) -> None:  # fmt: skip
    """One step of SparseAdam over lists of parameters, gradients and parts of their state."""
    for p, given, average, square, step in zip(params, grads, exp_avgs, exp_avg_sqs, state_steps, strict=True):
        grad = (-given if maximize else given).coalesce()
        values = grad.values()
        if values.numel() == 0:
            continue
        old_average, old_square = average.sparse_mask(grad).values(), square.sparse_mask(grad).values()
        change, square_change = (values - old_average) * (1 - beta1), (values.square() - old_square) * (1 - beta2)
        average.add_(_with_values(grad, change))
        square.add_(_with_values(grad, square_change))
        rate = lr * (1 - beta2**step) ** 0.5 / (1 - beta1**step)
        p.add_(_with_values(grad, -rate * (old_average + change) / ((old_square + square_change).sqrt() + eps)))
