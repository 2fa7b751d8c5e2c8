# SPDX-License-Identifier: Apache-2.0
"""OneHotCategorical and OneHotCategoricalStraightThrough."""

from __future__ import annotations

import facula as torch
from facula import Tensor
from facula.distributions import constraints
from facula.distributions.categorical import Categorical
from facula.distributions.distribution import Distribution

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(Distribution):
    """A vector with a 1 at the index that Categorical would give."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None):
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    def _new(self, *args, **kwargs):
        return self._categorical._new(*args, **kwargs)

    _param = property(lambda self: self._categorical._param)
    probs = property(lambda self: self._categorical.probs)
    logits = property(lambda self: self._categorical.logits)
    mean = property(lambda self: self._categorical.probs)
    variance = property(lambda self: self._categorical.probs * (1 - self._categorical.probs))
    param_shape = property(lambda self: self._categorical.param_shape)

    @property
    def mode(self) -> Tensor:
        probs = self._categorical.probs
        return torch.nn.functional.one_hot(probs.argmax(dim=-1), num_classes=probs.shape[-1]).to(probs)

    def sample(self, sample_shape=torch.Size()) -> Tensor:
        probs = self._categorical.probs
        return torch.nn.functional.one_hot(self._categorical.sample(torch.Size(sample_shape)), self._categorical._num_events).to(probs)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        n = self.event_shape[0]
        values = torch.eye(n, dtype=self._param.dtype, device=self._param.device).view((n,) + (1,) * len(self.batch_shape) + (n,))
        return values.expand((n,) + self.batch_shape + (n,)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """The same; gradients of samples go to the probabilities as if the samples were those."""

    has_rsample = True

    def rsample(self, sample_shape=torch.Size()) -> Tensor:
        probs = self._categorical.probs  # computed once, so that it can be a cached part of the graph
        return self.sample(sample_shape) + (probs - probs.detach())
