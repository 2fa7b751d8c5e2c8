# SPDX-License-Identifier: Apache-2.0
"""GeneralizedPareto."""

from __future__ import annotations

import math

import facula as torch
from facula import Tensor
from facula.distributions import constraints
from facula.distributions.distribution import Distribution
from facula.distributions.utils import broadcast_all

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """What exceeds a high threshold loc: exponential for concentration 0, heavier above, bounded below."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True

    def __init__(self, loc, scale, concentration, validate_args=None):
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.size(), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        upper = torch.where(self.concentration < 0, self.loc - self.scale / self.concentration, math.inf)
        return constraints.interval(self.loc, upper)

    def _z(self, x):
        return (x - self.loc) / self.scale

    def _exponential(self):
        """Where concentration is as good as 0, and a concentration that can be divided by."""
        near = torch.isclose(self.concentration, torch.zeros_like(self.concentration))
        return near, torch.where(near, torch.ones_like(self.concentration), self.concentration)

    def rsample(self, sample_shape=torch.Size()) -> Tensor:
        u = torch.rand(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device)
        return self.icdf(u)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z = self._z(value)
        near, safe = self._exponential()
        return -torch.log(self.scale) + torch.where(near, -z, -(1 + 1 / safe) * torch.log1p(safe * z))

    def log_survival_function(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z = self._z(value)
        near, safe = self._exponential()
        return torch.where(near, -z, -torch.log1p(safe * z) / safe)

    def log_cdf(self, value: Tensor) -> Tensor:
        return torch.log1p(-torch.exp(self.log_survival_function(value)))

    def cdf(self, value: Tensor) -> Tensor:
        return torch.exp(self.log_cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        near, safe = self._exponential()
        log_left = torch.log1p(-value)
        return self.loc + self.scale * torch.where(near, -log_left, torch.expm1(-safe * log_left) / safe)

    @property
    def mean(self) -> Tensor:
        return torch.where(self.concentration < 1, self.loc + self.scale / (1 - self.concentration), math.inf)

    @property
    def variance(self) -> Tensor:
        c = self.concentration
        return torch.where(c < 0.5, self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c)), math.inf)

    @property
    def mode(self) -> Tensor:
        return self.loc

    def entropy(self) -> Tensor:
        return torch.log(self.scale) + self.concentration + 1
