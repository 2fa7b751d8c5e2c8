# SPDX-License-Identifier: Apache-2.0
"""NegativeBinomial."""

from __future__ import annotations

import facula as torch
import facula.nn.functional as F
from facula import Tensor
from facula.distributions import constraints
from facula.distributions.distribution import Distribution, ProbsOrLogits
from facula.distributions.gamma import Gamma
from facula.distributions.utils import lazy_property

__all__ = ["NegativeBinomial"]


class NegativeBinomial(ProbsOrLogits, Distribution):
    """Successes, each with probability probs, before total_count failures."""

    arg_constraints = {"total_count": constraints.greater_than_eq(0), "probs": constraints.half_open_interval(0.0, 1.0), "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(self, total_count: Tensor | float, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None):
        self._take_probs_or_logits(probs, logits, total_count=total_count)
        super().__init__(self._param.size(), validate_args=validate_args)

    mean = property(lambda self: self.total_count * torch.exp(self.logits))
    mode = property(lambda self: ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0))
    variance = property(lambda self: self.mean / torch.sigmoid(-self.logits))

    @lazy_property
    def _gamma(self) -> Gamma:
        return Gamma(concentration=self.total_count, rate=torch.exp(-self.logits), validate_args=False)

    def sample(self, sample_shape=torch.Size()) -> Tensor:
        with torch.no_grad():
            return torch.poisson(self._gamma.sample(sample_shape=sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        unnormalized = self.total_count * F.logsigmoid(-self.logits) + value * F.logsigmoid(self.logits)
        ways = -torch.lgamma(self.total_count + value) + torch.lgamma(1.0 + value) + torch.lgamma(self.total_count)
        return unnormalized - ways.masked_fill(self.total_count + value == 0.0, 0.0)
