# SPDX-License-Identifier: Apache-2.0
"""HalfCauchy."""

from __future__ import annotations

import math

import facula as torch
from facula import Tensor
from facula.distributions.cauchy import Cauchy
from facula.distributions.half_normal import Folded

__all__ = ["HalfCauchy"]


class HalfCauchy(Folded):
    """The absolute value of a Cauchy variable around 0."""

    base_dist: Cauchy

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None):
        super().__init__(Cauchy(0, scale, validate_args=False), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return torch.full(self._extended_shape(), math.inf, dtype=self.scale.dtype, device=self.scale.device)

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance
