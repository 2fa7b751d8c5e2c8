# SPDX-License-Identifier: Apache-2.0
"""The base class of all distributions."""

from __future__ import annotations

import warnings

import facula as torch
from facula import Tensor
from facula.distributions import constraints
from facula.distributions.utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits

__all__ = ["Distribution"]


class Distribution:
    """A batch of independent distributions (batch_shape) of variables of one shape (event_shape).

    A subclass sets its parameters as attributes of the names in arg_constraints, all of them broadcast to batch_shape and the
    dimensions that belong to their constraint, and then calls __init__. validate_args (on, unless Python runs with -O) checks
    parameters and values against their constraints.
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions made from now on check their arguments."""
        if value not in [True, False]:
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape=torch.Size(), event_shape=torch.Size(), validate_args: bool | None = None):
        self._batch_shape, self._event_shape = batch_shape, event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()

    def _check_parameters(self):
        try:
            arg_constraints = self.arg_constraints
        except NotImplementedError:
            arg_constraints = {}
            warnings.warn(f"{type(self)} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or initialize the distribution "
                          "with `validate_args=False` to turn off validation.", stacklevel=4)  # fmt: skip
        for name, constraint in arg_constraints.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property):
                continue  # follows from one that is checked
            value = getattr(self, name)
            if not constraint.check(value).all():
                raise ValueError(f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution {self!r} "
                                 f"to satisfy the constraint {constraint!r}, but found invalid values:\n{value}")  # fmt: skip

    def _get_checked_instance(self, cls, _instance=None):
        """For an expand() that is written for cls: the object to fill, unless a subclass with an __init__ of its own would be left half made."""
        if _instance is None and type(self).__init__ != cls.__init__:
            name = type(self).__name__
            raise NotImplementedError(f"Subclass {name} of {cls.__name__} that defines a custom __init__ method must also define a custom .expand() method.")
        return type(self).__new__(type(self)) if _instance is None else _instance

    def expand(self, batch_shape, _instance=None):
        """The same distribution for a larger batch; parameters are expanded, not copied. _instance: fill this object instead."""
        new = type(self).__new__(type(self)) if _instance is None else _instance
        batch_shape = torch.Size(batch_shape)
        for name, value in self.__dict__.items():
            if name in self.arg_constraints:
                event_dim = self.arg_constraints[name].event_dim
                value = value.expand(batch_shape + value.shape[value.dim() - event_dim :])
            elif isinstance(getattr(type(self), name, None), lazy_property):
                continue  # to be computed again
            elif isinstance(value, Distribution):
                value = self._expand_part(value, batch_shape)
            new.__dict__[name] = value
        new._batch_shape = batch_shape
        return new

    def _expand_part(self, part: Distribution, batch_shape) -> Distribution:
        """A distribution that this one is made of, for a larger batch of this one; dimensions that only it has stay."""
        return part.expand(batch_shape + part.batch_shape[len(self._batch_shape) :])

    @property
    def batch_shape(self) -> torch.Size:
        """The shape over which parameters are batched."""
        return self._batch_shape

    @property
    def event_shape(self) -> torch.Size:
        """The shape of one sample of one member of the batch."""
        return self._event_shape

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        """The constraint of each parameter, by name."""
        raise NotImplementedError

    @property
    def support(self) -> constraints.Constraint:
        """Where values lie."""
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Tensor:
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        return self.variance.sqrt()

    def sample(self, sample_shape=torch.Size()) -> Tensor:
        """Samples of the shape sample_shape + batch_shape + event_shape, without a history."""
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=torch.Size()) -> Tensor:
        """Samples that are differentiable functions of the parameters."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        warnings.warn("sample_n(n) will be deprecated. Use .sample((n,)) instead.", UserWarning, stacklevel=2)
        return self.sample(torch.Size((n,)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density or mass at a value."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Every value of a discrete distribution, along a new first dimension."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        return torch.exp(self.entropy())

    def _extended_shape(self, sample_shape=torch.Size()) -> torch.Size:
        return torch.Size(tuple(sample_shape) + tuple(self._batch_shape) + tuple(self._event_shape))

    def _enumerated(self, values: Tensor, expand: bool) -> Tensor:
        """Values of one dimension, with a dimension for each of the batch: its size if expand, else 1."""
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1,) + tuple(self._batch_shape)) if expand else values

    def _validate_sample(self, value):
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        event = value.dim() - len(self._event_shape)
        if value.shape[event:] != self._event_shape:
            raise ValueError(f"The right-most size of value must match event_shape: {value.size()} vs {self._event_shape}.")
        expected = self._batch_shape + self._event_shape
        for i, j in zip(reversed(value.size()), reversed(expected)):
            if i != 1 and j != 1 and i != j:
                raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {value.size()} vs {expected}.")
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(f"{type(self)} does not define `support` to enable sample validation. Please initialize the distribution with "
                          "`validate_args=False` to turn off validation.", stacklevel=3)  # fmt: skip
            return
        if not support.check(value).all():
            raise ValueError(f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the support "
                             f"({support!r}) of the distribution {self!r}, but found invalid values:\n{value}")  # fmt: skip

    def __repr__(self):
        shown = [name for name in self.arg_constraints if name in self.__dict__]
        parts = [f"{n}: {self.__dict__[n] if self.__dict__[n].numel() == 1 else self.__dict__[n].size()}" for n in shown]
        return f"{type(self).__name__}({', '.join(parts)})"


class ProbsOrLogits:
    """For a distribution whose parameter is given as probs or as logits: the other is computed when it is asked for.
    _is_binary: log-odds of an event each; else log-probabilities along the last dimension."""

    _is_binary = True

    def _take_probs_or_logits(self, probs, logits, **beside):
        """Sets self.probs or self.logits, broadcast with other parameters, which get its type; or normalised."""
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        name, value = ("logits", logits) if probs is None else ("probs", probs)
        if self._is_binary:
            *others, value = broadcast_all(*beside.values(), value)
            for other, given in zip(beside, others):
                setattr(self, other, given.type_as(value))
        elif value.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        else:
            value = value / value.sum(-1, keepdim=True) if name == "probs" else value - value.logsumexp(dim=-1, keepdim=True)
        setattr(self, name, value)

    @property
    def _param(self):
        return self.__dict__["probs"] if "probs" in self.__dict__ else self.logits

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs, is_binary=self._is_binary)

    @lazy_property
    def probs(self) -> Tensor:
        return logits_to_probs(self.logits, is_binary=self._is_binary)

    @property
    def param_shape(self) -> torch.Size:
        return self._param.size()

    def _new(self, *args, **kwargs):
        return self._param.new(*args, **kwargs)
