# SPDX-License-Identifier: Apache-2.0
"""MultivariateNormal."""

from __future__ import annotations

import math

import facula as torch
from facula import Tensor
from facula.distributions import constraints
from facula.distributions.distribution import Distribution
from facula.distributions.utils import _standard_normal, lazy_property

__all__ = ["MultivariateNormal"]


def _batch_mv(bmat, bvec):
    """Matrices times vectors, with batches that broadcast."""
    return torch.matmul(bmat, bvec.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(bL, bx):
    """x (L Lᵀ)⁻¹ x for batches that broadcast; a batch of x larger than that of L is solved as columns, so that no L is copied."""
    n = bx.size(-1)
    batch = torch.broadcast_shapes(bL.shape[:-2], bx.shape[:-1])
    outer = len(batch) - (bL.dim() - 2)
    # Sizes where L repeats go to the columns of one system.
    shape = (1,) * outer + tuple(bL.shape[:-2])
    x = bx.expand(batch + (n,))
    repeated = [d for d in range(len(batch)) if shape[d] == 1]
    kept = [d for d in range(len(batch)) if shape[d] != 1]
    columns = x.permute(*kept, len(batch), *repeated).reshape([batch[d] for d in kept] + [n, -1])
    matrices = bL.reshape([batch[d] for d in kept] + [n, n])
    squares = torch.linalg.solve_triangular(matrices, columns, upper=False).pow(2).sum(-2)
    squares = squares.reshape([batch[d] for d in kept] + [batch[d] for d in repeated])
    order = kept + repeated
    return squares.permute([order.index(d) for d in range(len(batch))])


def _precision_to_scale_tril(P):
    """The lower triangular L with L Lᵀ = P⁻¹: the Cholesky factor of P turned around twice."""
    flipped = torch.linalg.cholesky(torch.flip(P, (-2, -1)))
    upper = torch.transpose(torch.flip(flipped, (-2, -1)), -2, -1)
    return torch.linalg.solve_triangular(upper, torch.eye(P.shape[-1], dtype=P.dtype, device=P.device), upper=False)


class MultivariateNormal(Distribution):
    """The Gaussian of vectors, by its covariance, its inverse, or the covariance's Cholesky factor."""

    arg_constraints = {"loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite,
                       "precision_matrix": constraints.positive_definite, "scale_tril": constraints.lower_cholesky}  # fmt: skip
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc: Tensor, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None,
                 scale_tril: Tensor | None = None, validate_args: bool | None = None):  # fmt: skip
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        given = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix, "scale_tril": scale_tril}
        given = {name: value for name, value in given.items() if value is not None}
        if len(given) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        ((name, matrix),) = given.items()
        if matrix.dim() < 2:
            raise ValueError(f"{name} must be at least two-dimensional, with optional leading batch dimensions")
        batch_shape = torch.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand(batch_shape + (-1, -1)))
        self.loc = loc.expand(batch_shape + (-1,))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = torch.linalg.cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(matrix)

    @lazy_property
    def scale_tril(self) -> Tensor:
        return self._unbroadcasted_scale_tril.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        covariance = torch.matmul(self._unbroadcasted_scale_tril, self._unbroadcasted_scale_tril.mT)
        return covariance.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        return torch.cholesky_inverse(self._unbroadcasted_scale_tril).expand(self._batch_shape + self._event_shape + self._event_shape)

    mean = property(lambda self: self.loc)
    mode = property(lambda self: self.loc)

    @property
    def variance(self) -> Tensor:
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape=torch.Size()) -> Tensor:
        eps = _standard_normal(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, eps)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        distance = _batch_mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - self._half_log_det()

    def _half_log_det(self):
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def entropy(self) -> Tensor:
        entropy = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._half_log_det()
        return entropy.expand(self._batch_shape) if self._batch_shape else entropy
