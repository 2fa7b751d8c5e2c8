# SPDX-License-Identifier: Apache-2.0
"""Adam for sparse gradients."""

from __future__ import annotations

from typing import Any

from facula._tensor import Tensor
from facula.optim.optimizer import Optimizer, ParamsT, _check_betas, _one_element

__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    """Adam that changes only the elements that a sparse gradient has. There are no sparse tensors here yet: a step says so."""

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

    def step(self, closure: Any = None) -> Any:
        """Refuses gradients that are not sparse, as every gradient here is."""
        loss = None if closure is None else closure()
        if any(p.grad is not None for group in self.param_groups for p in group["params"]):
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        return loss
