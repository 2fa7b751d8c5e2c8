# SPDX-License-Identifier: Apache-2.0
"""Chi2."""

from __future__ import annotations

from facula import Tensor
from facula.distributions import constraints
from facula.distributions.gamma import Gamma

__all__ = ["Chi2"]


class Chi2(Gamma):
    """The sum of the squares of df standard normal variables."""

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df: Tensor | float, validate_args: bool | None = None):
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = super().expand(batch_shape, _instance)
        new.concentration, new.rate = self.concentration.expand(new._batch_shape), self.rate.expand(new._batch_shape)
        return new

    @property
    def df(self) -> Tensor:
        return self.concentration * 2
