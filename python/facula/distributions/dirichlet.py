# SPDX-License-Identifier: Apache-2.0
"""Dirichlet."""

from __future__ import annotations

import facula as torch
from facula import Tensor
from facula.distributions import constraints
from facula.distributions.exp_family import ExponentialFamily

__all__ = ["Dirichlet"]


class Dirichlet(ExponentialFamily):
    """Probabilities of several outcomes, after as many of each as concentration says."""

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Tensor, validate_args: bool | None = None):
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape=()) -> Tensor:
        return _DirichletSample.apply(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return (torch.xlogy(self.concentration - 1.0, value).sum(-1) + torch.lgamma(self.concentration.sum(-1))
                - torch.lgamma(self.concentration).sum(-1))  # fmt: skip

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        less = (self.concentration - 1).clamp(min=0.0)
        mode = less / less.sum(-1, True)
        flat = (self.concentration < 1).all(dim=-1)  # all of the mass is at the corners
        corner = torch.nn.functional.one_hot(mode.nan_to_num().argmax(dim=-1), self.concentration.shape[-1]).to(mode)
        return torch.where(flat.unsqueeze(-1), corner, mode)

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def entropy(self) -> Tensor:
        k, a = self.concentration.size(-1), self.concentration
        total = a.sum(-1)
        return (torch.lgamma(a).sum(-1) - torch.lgamma(total) - (k - total) * torch.digamma(total)
                - ((a - 1.0) * torch.digamma(a)).sum(-1))  # fmt: skip

    @property
    def _natural_params(self):
        return (self.concentration,)

    def _log_normalizer(self, x):
        return x.lgamma().sum(-1) - torch.lgamma(x.sum(-1))


class _DirichletSample(torch.autograd.Function):
    """A sample, and how it moves when the concentration does."""

    @staticmethod
    def forward(ctx, concentration):
        x = torch._sample_dirichlet(concentration)
        ctx.save_for_backward(x, concentration)
        return x

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        x, concentration = ctx.saved_tensors
        total = concentration.sum(-1, True).expand_as(concentration)
        slope = torch._dirichlet_grad(x, concentration, total)
        return slope * (grad - (x * grad).sum(-1, True))
