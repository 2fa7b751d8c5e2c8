# SPDX-License-Identifier: Apache-2.0
"""Singular values and principal components of matrices that are close to a low rank, by random projection."""

from facula import _C
from facula._tensor import Tensor


def _need_matrices(name, A):
    if not isinstance(A, Tensor) or A.dim() < 2:
        raise TypeError(f"{name}: a tensor of matrices is expected, got {A.dim()} dimensions" if isinstance(A, Tensor)
                        else f"{name}: a tensor of matrices is expected, got {type(A).__name__}")  # fmt: skip


def _basis(A, q, rounds):
    """Orthonormal columns that span most of the range of A (Halko, Martinsson, Tropp 2009)."""
    f = _C._functions
    Q = f["linalg_qr"](A @ f["randn"]([A.shape[-1], q], dtype=A.dtype, device=A.device))[0]
    for _ in range(rounds):
        Q = f["linalg_qr"](A.mH @ Q)[0]
        Q = f["linalg_qr"](A @ Q)[0]
    return Q


def svd_lowrank(A, q=6, niter=2, M=None):
    """U, S and V of rank q whose product U diag(S) V^H is close to A, or to A - M."""
    _need_matrices("svd_lowrank", A)
    q = 6 if q is None else q
    if not 0 <= q <= min(A.shape[-2:]):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(A.shape[-2:])}")
    if niter is None:
        niter = 2
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    if M is not None:
        A = A - M.broadcast_to(A.shape)
    wide = A.shape[-2] < A.shape[-1]
    if wide:
        A = A.mH
    Q = _basis(A, q, niter)
    U, S, Vh = _C._functions["linalg_svd"](Q.mH @ A, full_matrices=False)
    U, V = Q @ U, Vh.mH
    return (V, S, U) if wide else (U, S, V)


def pca_lowrank(A, q=None, center=True, niter=2):
    """The principal components of the rows of A: svd_lowrank after subtracting the mean of each column, if center."""
    _need_matrices("pca_lowrank", A)
    m, n = A.shape[-2:]
    q = min(6, m, n) if q is None else q
    if not 0 <= q <= min(m, n):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(dim=-2, keepdim=True) if center else A, q, niter)
