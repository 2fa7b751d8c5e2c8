# SPDX-License-Identifier: Apache-2.0
"""Where parameters and values may lie. A constraint's check(value) tells it for every element of the batch; event_dim is the
number of dimensions on the right that are judged together."""

from __future__ import annotations

import facula as torch

__all__ = [
    "Constraint", "boolean", "cat", "corr_cholesky", "dependent", "dependent_property", "greater_than", "greater_than_eq",
    "independent", "integer_interval", "interval", "half_open_interval", "is_dependent", "less_than", "lower_cholesky",
    "lower_triangular", "MixtureSameFamilyConstraint", "multinomial", "nonnegative", "nonnegative_integer", "one_hot", "positive",
    "positive_semidefinite", "positive_definite", "positive_integer", "real", "real_vector", "simplex", "square", "stack",
    "symmetric", "unit_interval",
]  # fmt: skip


class Constraint:
    """A region over which variables are valid."""

    is_discrete = False
    event_dim = 0

    def check(self, value):
        """A tensor of bools, true where the value is inside."""
        raise NotImplementedError

    def __repr__(self):
        return type(self).__name__.lstrip("_") + "()"


class _Dependent(Constraint):
    """A region that depends on other variables: nothing can be checked."""

    def __init__(self, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        self._is_discrete, self._event_dim = is_discrete, event_dim
        super().__init__()

    def _known(self, what):
        value = getattr(self, "_" + what)
        if value is NotImplemented:
            raise NotImplementedError(f".{what} cannot be determined statically")
        return value

    is_discrete = property(lambda self: self._known("is_discrete"))
    event_dim = property(lambda self: self._known("event_dim"))

    def __call__(self, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        """The same with more known: constraints.dependent(event_dim=1)."""
        if is_discrete is NotImplemented:
            is_discrete = self._is_discrete
        if event_dim is NotImplemented:
            event_dim = self._event_dim
        return _Dependent(is_discrete=is_discrete, event_dim=event_dim)

    def check(self, x):
        raise ValueError("Cannot determine validity of dependent constraint")


def is_dependent(constraint) -> bool:
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property whose value is a constraint, and that counts as a dependent one on the class. With or without arguments:

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self): ...
    """

    def __init__(self, fn=None, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        super().__init__(fn)
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def __call__(self, fn):
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


class _IndependentConstraint(Constraint):
    """Another constraint, over which the last dimensions of the batch are judged together."""

    def __init__(self, base_constraint, reinterpreted_batch_ndims):
        assert isinstance(base_constraint, Constraint)
        assert isinstance(reinterpreted_batch_ndims, int) and reinterpreted_batch_ndims >= 0
        self.base_constraint, self.reinterpreted_batch_ndims = base_constraint, reinterpreted_batch_ndims

    is_discrete = property(lambda self: self.base_constraint.is_discrete)
    event_dim = property(lambda self: self.base_constraint.event_dim + self.reinterpreted_batch_ndims)

    def check(self, value):
        result = self.base_constraint.check(value)
        if result.dim() < self.reinterpreted_batch_ndims:
            expected = self.base_constraint.event_dim + self.reinterpreted_batch_ndims
            raise ValueError(f"Expected value.dim() >= {expected} but got {value.dim()}")
        return result.reshape(result.shape[: result.dim() - self.reinterpreted_batch_ndims] + (-1,)).all(-1)

    def __repr__(self):
        return f"IndependentConstraint({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """The support of a mixture: inside that of every component."""

    def __init__(self, base_constraint):
        assert isinstance(base_constraint, Constraint)
        self.base_constraint = base_constraint

    is_discrete = property(lambda self: self.base_constraint.is_discrete)
    event_dim = property(lambda self: self.base_constraint.event_dim)

    def check(self, value):
        component = value.unsqueeze(-1 - self.event_dim)
        result = self.base_constraint.check(component)
        if value.dim() < self.event_dim:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        first_event = value.dim() - self.event_dim
        return result.reshape(result.shape[:first_event] + (-1,)).all(-1)

    def __repr__(self):
        return f"MixtureSameFamilyConstraint({self.base_constraint!r})"


class _Boolean(Constraint):
    is_discrete = True

    def check(self, value):
        return (value == 0) | (value == 1)


class _OneHot(Constraint):
    is_discrete, event_dim = True, 1

    def check(self, value):
        return ((value == 0) | (value == 1)).all(-1) & value.sum(-1).eq(1)


class _Bounded(Constraint):
    """Between bounds, each of which is a number or a tensor. A subclass says by _inside which ends belong to it."""

    def __init__(self, lower_bound=None, upper_bound=None):
        self.lower_bound, self.upper_bound = lower_bound, upper_bound
        super().__init__()

    def check(self, value):
        return self._inside(value, self.lower_bound, self.upper_bound)

    def __repr__(self):
        bounds = ", ".join(f"{k}={v}" for k, v in vars(self).items() if v is not None)
        return f"{type(self).__name__.lstrip('_')}({bounds})"


class _LowerBounded(_Bounded):
    def __init__(self, lower_bound):
        super().__init__(lower_bound=lower_bound)


class _UpperBounded(_Bounded):
    def __init__(self, upper_bound):
        super().__init__(upper_bound=upper_bound)


class _IntegerInterval(_Bounded):
    is_discrete = True

    def __init__(self, lower_bound, upper_bound):
        super().__init__(lower_bound, upper_bound)

    def _inside(self, value, low, high):
        return (value % 1 == 0) & (low <= value) & (value <= high)


class _IntegerLessThan(_UpperBounded):
    is_discrete = True

    def _inside(self, value, low, high):
        return (value % 1 == 0) & (value <= high)


class _IntegerGreaterThan(_LowerBounded):
    is_discrete = True

    def _inside(self, value, low, high):
        return (value % 1 == 0) & (value >= low)


class _Real(Constraint):
    def check(self, value):
        return value == value  # false for NaN only


class _GreaterThan(_LowerBounded):
    def _inside(self, value, low, high):
        return low < value


class _GreaterThanEq(_LowerBounded):
    def _inside(self, value, low, high):
        return low <= value


class _LessThan(_UpperBounded):
    def _inside(self, value, low, high):
        return value < high


class _Interval(_Bounded):
    def __init__(self, lower_bound, upper_bound):
        super().__init__(lower_bound, upper_bound)

    def _inside(self, value, low, high):
        return (low <= value) & (value <= high)


class _HalfOpenInterval(_Interval):
    def _inside(self, value, low, high):
        return (low <= value) & (value < high)


class _Simplex(Constraint):
    """Not negative, with sum 1."""

    event_dim = 1

    def check(self, value):
        return torch.all(value >= 0, dim=-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(Constraint):
    """Counts with a given sum."""

    is_discrete, event_dim = True, 1

    def __init__(self, upper_bound):
        self.upper_bound = upper_bound

    def check(self, x):
        return (x >= 0).all(dim=-1) & (x.sum(dim=-1) <= self.upper_bound)


class _LowerTriangular(Constraint):
    event_dim = 2

    def check(self, value):
        return (value.tril() == value).view(value.shape[:-2] + (-1,)).min(-1)[0]


class _LowerCholesky(Constraint):
    """Lower triangular with a positive diagonal."""

    event_dim = 2

    def check(self, value):
        return lower_triangular.check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).min(-1)[0]


class _CorrCholesky(Constraint):
    """Lower triangular with a positive diagonal and rows of length 1: the Cholesky factor of a correlation matrix."""

    event_dim = 2

    def check(self, value):
        tolerance = torch.finfo(value.dtype).eps * value.size(-1) * 10
        length = torch.linalg.norm(value.detach(), dim=-1)
        return lower_cholesky.check(value) & (length - 1).abs().le(tolerance).all(dim=-1)


class _Square(Constraint):
    event_dim = 2

    def check(self, value):
        return torch.full(value.shape[:-2], value.shape[-2] == value.shape[-1], dtype=torch.bool, device=value.device)


class _Symmetric(_Square):
    def check(self, value):
        square_check = super().check(value)
        return torch.isclose(value, value.mT, atol=1e-6).all(-2).all(-1) if square_check.all() else square_check


class _PositiveSemidefinite(_Symmetric):
    def check(self, value):
        sym_check = super().check(value)
        return torch.linalg.eigvalsh(value).ge(0).all(-1) if sym_check.all() else sym_check


class _PositiveDefinite(_Symmetric):
    def check(self, value):
        sym_check = super().check(value)
        return torch.linalg.cholesky_ex(value).info.eq(0) if sym_check.all() else sym_check


class _Cat(Constraint):
    """Constraints for consecutive ranges of one dimension."""

    def __init__(self, cseq, dim=0, lengths=None):
        assert all(isinstance(c, Constraint) for c in cseq)
        self.cseq, self.dim = list(cseq), dim
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        assert len(self.lengths) == len(self.cseq)

    is_discrete = property(lambda self: any(c.is_discrete for c in self.cseq))
    event_dim = property(lambda self: max(c.event_dim for c in self.cseq))

    def check(self, value):
        assert -value.dim() <= self.dim < value.dim()
        start, checks = 0, []
        for constr, length in zip(self.cseq, self.lengths):
            checks.append(constr.check(value.narrow(self.dim, start, length)))
            start += length
        return torch.cat(checks, self.dim)


class _Stack(Constraint):
    """A constraint for each index of one dimension."""

    def __init__(self, cseq, dim=0):
        assert all(isinstance(c, Constraint) for c in cseq)
        self.cseq, self.dim = list(cseq), dim

    @property
    def is_discrete(self):
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self):
        dim = max(c.event_dim for c in self.cseq)
        return dim + 1 if self.dim + dim < 0 else dim

    def check(self, value):
        assert -value.dim() <= self.dim < value.dim()
        slices = [value.select(self.dim, i) for i in range(value.size(self.dim))]
        return torch.stack([constr.check(v) for v, constr in zip(slices, self.cseq)], self.dim)



dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
cat = _Cat
stack = _Stack
