# SPDX-License-Identifier: Apache-2.0
"""Parametrizations that models use: orthogonal matrices, weights by length and direction, weights of norm one."""

from __future__ import annotations

from enum import Enum, auto

from facula import _C
from facula._tensor import Tensor
from facula.autograd.forward_modes import no_grad
from facula.functional import finfo
from facula.nn import functional as F
from facula.nn.modules.module import Module
from facula.nn.utils import parametrize
from facula.nn.utils.spectral_norm import _channel_dim
from facula.nn.utils.weight_norm import _norm_except_dim
from facula.nn.utils.weight_norm import _weight_norm as _of_length

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]

_ops = _C._functions


def _linalg():
    from facula import linalg

    return linalg


def _is_orthogonal(Q):
    n, k = Q.shape[-2:]
    identity = _ops["eye"](k, dtype=Q.dtype, device=Q.device)
    return bool(((Q.mH @ Q - identity).abs() <= 10 * n * finfo(Q.dtype).eps + 1e-5 * identity).all())


def _make_orthogonal(A):
    """The orthogonal factor of A whose triangular one has a positive diagonal."""
    Q, R = _linalg().qr(A)
    return Q * R.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _OrthMaps(Enum):
    matrix_exp = auto()
    cayley = auto()
    householder = auto()


class _Orthogonal(Module):
    """An orthogonal matrix of any matrix; with use_trivialization relative to a base, so that it can be assigned."""

    def __init__(self, weight, orthogonal_map, *, use_trivialization=True):
        super().__init__()
        if weight.is_complex() and orthogonal_map == _OrthMaps.householder:
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        flip = X.size(-2) < X.size(-1)
        X = X.mT if flip else X
        n, k = X.shape[-2:]
        if self.orthogonal_map == _OrthMaps.householder:
            A = X.tril(-1)
            tau = 2 / (1 + (A * A).sum(dim=-2))
            Q = _linalg().householder_product(A, tau) * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        else:
            X = X.tril()
            if n != k:
                X = _ops["cat"]([X, X.new_zeros(n, n - k).expand(*X.shape[:-2], -1, -1)], -1)
            A = X - X.mH  # skew: its exponential and its Cayley transform are orthogonal
            if self.orthogonal_map == _OrthMaps.matrix_exp:
                Q = _ops["matrix_exp"](A)
            else:
                identity = _ops["eye"](n, dtype=A.dtype, device=A.device)
                Q = _linalg().solve(identity - A / 2, identity + A / 2)
            Q = Q[..., :k]
        if hasattr(self, "base"):
            Q = self.base @ Q
        return Q.mT if flip else Q

    @no_grad()
    def right_inverse(self, Q: Tensor) -> Tensor:
        if Q.shape != self.shape:
            raise ValueError(f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}.")
        given = Q
        flip = Q.size(-2) < Q.size(-1)
        Q = Q.mT if flip else Q
        n, k = Q.shape[-2:]
        if not hasattr(self, "base"):
            if self.orthogonal_map != _OrthMaps.householder:
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential or the Cayley parametrizations when use_trivialization=False."
                )
            A, tau = _ops["geqrf"](Q)
            diagonal = A.diagonal(dim1=-2, dim2=-1)
            diagonal.sign_()
            diagonal[tau == 0] *= -1
            return A.mT if flip else A
        if n != k:
            Q = _make_orthogonal(_ops["cat"]([Q, _ops["randn"](*Q.shape[:-2], n, n - k, dtype=Q.dtype, device=Q.device)], -1))
        else:
            Q = Q.clone() if _is_orthogonal(Q) else _make_orthogonal(Q)
        self.base = Q
        start = given.new_zeros(given.shape)
        start.diagonal(dim1=-2, dim2=-1).fill_(-1)
        return start


def orthogonal(module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True) -> Module:
    """Keep a matrix orthogonal; orthogonal_map: "matrix_exp", "cayley" or "householder"."""
    weight = _tensor(module, name)
    if weight.dim() < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.dim()} dimensions.")
    if orthogonal_map is None:
        orthogonal_map = "matrix_exp" if weight.size(-2) == weight.size(-1) or weight.is_complex() else "householder"
    kind = getattr(_OrthMaps, orthogonal_map, None)
    if kind is None:
        raise ValueError(f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}')
    return parametrize.register_parametrization(
        module, name, _Orthogonal(weight, kind, use_trivialization=use_trivialization), unsafe=True
    )


def _tensor(module, name):
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return weight


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g, weight_v):
        return _of_length(weight_v, weight_g, self.dim)

    def right_inverse(self, weight):
        return _norm_except_dim(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Train a weight as a length, original0, and a direction, original1 (Salimans and Kingma, 2016)."""

    def takes_old_states(state_dict, prefix, *_):
        old = [f"{prefix}{name}_g", f"{prefix}{name}_v"]
        if all(key in state_dict for key in old):
            for i, key in enumerate(old):
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(key)

    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)
    module._register_load_state_dict_pre_hook(takes_old_states)
    return module


class _SpectralNorm(Module):
    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        rank = weight.dim()
        if not -rank <= dim < rank:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{rank}, {rank - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
        self.dim = dim % rank
        self.eps = eps
        if rank > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._matrix(weight)
            u, v = (matrix.new_empty(n).normal_(0, 1) for n in matrix.shape)
            self.register_buffer("_u", F.normalize(u, dim=0, eps=eps))
            self.register_buffer("_v", F.normalize(v, dim=0, eps=eps))
            self._power_method(matrix, 15)

    def _matrix(self, weight):
        return (weight.movedim(self.dim, 0) if self.dim != 0 else weight).flatten(1)

    @no_grad()
    def _power_method(self, matrix, n_power_iterations):
        for _ in range(n_power_iterations):
            F.normalize(matrix.mv(self._v), dim=0, eps=self.eps, out=self._u)
            F.normalize(matrix.H.mv(self._u), dim=0, eps=self.eps, out=self._v)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.dim() == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()  # the graph keeps these, and the buffers go on
        return weight / _ops["vdot"](u, matrix.mv(v))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None) -> Module:
    """Divide a weight by its largest singular value (Miyato and others, 2018); dim: that of the output channels."""
    weight = _tensor(module, name)
    return parametrize.register_parametrization(
        module, name, _SpectralNorm(weight, n_power_iterations, _channel_dim(module, dim), eps)
    )
