# SPDX-License-Identifier: Apache-2.0
"""LogisticNormal."""

from __future__ import annotations

from facula import Tensor
from facula.distributions import constraints
from facula.distributions.independent import Independent
from facula.distributions.normal import Normal
from facula.distributions.transformed_distribution import TransformedDistribution
from facula.distributions.transforms import StickBreakingTransform

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    """Normal variables, broken off a stick: a simplex with one more element."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True
    base_dist: Independent

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None):
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    loc = property(lambda self: self.base_dist.base_dist.loc)
    scale = property(lambda self: self.base_dist.base_dist.scale)
