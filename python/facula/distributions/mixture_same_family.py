# SPDX-License-Identifier: Apache-2.0
"""MixtureSameFamily."""

from __future__ import annotations

import facula as torch
from facula import Tensor
from facula.distributions import constraints
from facula.distributions.categorical import Categorical
from facula.distributions.distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A component, drawn from mixture_distribution, of the last batch dimension of component_distribution."""

    arg_constraints: dict[str, constraints.Constraint] = {}

    def __init__(self, mixture_distribution: Categorical, component_distribution: Distribution, validate_args: bool | None = None):
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution need to be an instance of torch.distributions.Distribution")
        mixture_batch = mixture_distribution.batch_shape
        component_batch = component_distribution.batch_shape[:-1]
        for size1, size2 in zip(reversed(mixture_batch), reversed(component_batch)):
            if size1 != 1 and size2 != 1 and size1 != size2:
                raise ValueError(f"`mixture_distribution.batch_shape` ({mixture_batch}) is not compatible with "
                                 f"`component_distribution.batch_shape`({component_batch})")  # fmt: skip
        components = mixture_distribution.logits.shape[-1]
        if component_distribution.batch_shape[-1] != components:
            raise ValueError(f"`mixture_distribution component` ({components}) does not equal `component_distribution.batch_shape[-1]` "
                             f"({component_distribution.batch_shape[-1]})")  # fmt: skip
        self._num_component = components
        event_shape = component_distribution.event_shape
        self._event_ndims = len(event_shape)
        super().__init__(component_batch, event_shape, validate_args=validate_args)

    @constraints.dependent_property
    def support(self):
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    mixture_distribution = property(lambda self: self._mixture_distribution)
    component_distribution = property(lambda self: self._component_distribution)

    @property
    def mean(self) -> Tensor:
        probs = self._pad_mixture_dimensions(self.mixture_distribution.probs)
        return torch.sum(probs * self.component_distribution.mean, dim=-1 - self._event_ndims)

    @property
    def variance(self) -> Tensor:
        """Of the total: the mean of the variances and the variance of the means."""
        probs = self._pad_mixture_dimensions(self.mixture_distribution.probs)
        within = torch.sum(probs * self.component_distribution.variance, dim=-1 - self._event_ndims)
        away = self.component_distribution.mean - self._pad(self.mean)
        return within + torch.sum(probs * away.pow(2.0), dim=-1 - self._event_ndims)

    def cdf(self, x: Tensor) -> Tensor:
        return torch.sum(self.component_distribution.cdf(self._pad(x)) * self.mixture_distribution.probs, dim=-1)

    def log_prob(self, x: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(x)
        log_prob = self.component_distribution.log_prob(self._pad(x))
        return torch.logsumexp(log_prob + torch.log_softmax(self.mixture_distribution.logits, dim=-1), dim=-1)

    def sample(self, sample_shape=torch.Size()) -> Tensor:
        with torch.no_grad():
            dim = len(sample_shape) + len(self.batch_shape)
            chosen = self.mixture_distribution.sample(sample_shape)
            chosen = chosen.reshape(chosen.shape + (1,) * (len(self.event_shape) + 1))
            samples = self.component_distribution.sample(sample_shape)
            chosen = chosen.expand(chosen.shape[: dim + 1] + self.event_shape)
            return torch.gather(samples, dim, chosen).squeeze(dim)

    def _pad(self, x):
        return x.unsqueeze(-1 - self._event_ndims)

    def _pad_mixture_dimensions(self, x):
        missing = len(self.batch_shape) - len(self.mixture_distribution.batch_shape)
        shape = x.shape
        return x.reshape(shape[:-1] + (1,) * missing + shape[-1:] + (1,) * self._event_ndims)

    def __repr__(self):
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
