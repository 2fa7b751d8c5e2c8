# SPDX-License-Identifier: Apache-2.0
"""HalfNormal, and what absolute values of symmetric variables share."""

from __future__ import annotations

import math

import facula as torch
from facula import Tensor
from facula.distributions import constraints
from facula.distributions.distribution import Distribution
from facula.distributions.normal import Normal
from facula.distributions.transformed_distribution import TransformedDistribution
from facula.distributions.transforms import AbsTransform

__all__ = ["HalfNormal"]


class Folded(TransformedDistribution):
    """The absolute value of a variable that is symmetric around 0."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, base: Distribution, validate_args: bool | None = None):
        super().__init__(base, AbsTransform(), validate_args=validate_args)

    scale = property(lambda self: self.base_dist.scale)

    @property
    def mode(self) -> Tensor:
        return torch.zeros_like(self.scale)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return torch.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Tensor) -> Tensor:
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(Folded):
    """The absolute value of a Normal with mean 0."""

    base_dist: Normal

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None):
        super().__init__(Normal(0, scale, validate_args=False), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2) * (1 - 2 / math.pi)
