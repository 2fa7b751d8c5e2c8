# SPDX-License-Identifier: Apache-2.0
"""torch.signal.windows: M numbers that rise and fall, computed in float64 and rounded once.

A symmetric window (sym=True, for filters) ends as it begins; a periodic one is the symmetric window of M + 1 numbers
without its last, for spectra.
"""

import math
import operator

import facula as torch

__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann", "kaiser", "nuttall",
]  # fmt: skip


def _window(name, shape, M, sym, dtype, layout, device, requires_grad):
    """shape(k, n) at k = 0, 1 … M - 1; n is the number of steps in which the window comes back to where it began."""
    M, dtype = operator.index(M), torch.get_default_dtype() if dtype is None else dtype
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout is not torch.strided:
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    if dtype not in (torch.float32, torch.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
    k = torch.arange(M, dtype=torch.float64, device=device)
    return shape(k, M if not sym and M > 1 else max(M - 1, 0)).to(dtype).requires_grad_(requires_grad)


def bartlett(M, *, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    """A triangle from zero to zero."""
    return _window("bartlett", lambda k, n: 1 - (2 * k / n - 1).abs() if n else k + 1, M, sym, dtype, layout, device, requires_grad)


def cosine(M, *, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    """Half a period of a sine, taken in the middle of each step."""
    return _window("cosine", lambda k, n: ((k + 0.5) * (math.pi / (n + 1))).sin(), M, sym, dtype, layout, device, requires_grad)


def exponential(M, *, center=None, tau=1.0, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    """Falls by e in tau steps to both sides of the center."""
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")

    def shape(k, n):
        return ((k - (n / 2 if center is None else center)).abs() / -tau).exp()

    return _window("exponential", shape, M, sym, dtype, layout, device, requires_grad)


def gaussian(M, *, std=1.0, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    """The normal density with this standard deviation, one at its center."""
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    return _window("gaussian", lambda k, n: (((k - n / 2) / std) ** 2 / -2).exp(), M, sym, dtype, layout, device, requires_grad)


def kaiser(M, *, beta=12.0, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    """Kaiser's: nearly the one with the most energy in its main lobe, whose width grows with beta."""
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")

    def shape(k, n):
        if n == 0:
            return k + 1
        # exp(x) i0e(x) is i0(x), which has no float64 beyond 713.
        inside = (1 - (2 * k / n - 1) ** 2).sqrt() * beta
        return torch.special.i0e(inside) * (inside - beta).exp() / torch.special.i0e(torch.tensor(float(beta), dtype=k.dtype, device=k.device))

    return _window("kaiser", shape, M, sym, dtype, layout, device, requires_grad)


def general_cosine(M, *, a, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    """A sum of cosines of 0, 1, 2 … periods with alternating signs and the coefficients a."""
    if not isinstance(a, (list, tuple)):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    return _cosines("general_cosine", a, M, sym, dtype, layout, device, requires_grad)


def _cosines(name, a, M, sym, dtype, layout, device, requires_grad):
    def shape(k, n):
        if n == 0:
            return k + 1
        return sum((c * (-1) ** i * (k * (2 * math.pi * i / n)).cos() for i, c in enumerate(a)), torch.zeros_like(k))

    return _window(name, shape, M, sym, dtype, layout, device, requires_grad)


def general_hamming(M, *, alpha=0.54, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    """alpha less 1 - alpha of a cosine."""
    return _cosines("general_hamming", (alpha, 1 - alpha), M, sym, dtype, layout, device, requires_grad)


def hamming(M, *, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    """A raised cosine that does not reach zero."""
    return _cosines("hamming", (0.54, 0.46), M, sym, dtype, layout, device, requires_grad)


def hann(M, *, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    """A raised cosine from zero to zero."""
    return _cosines("hann", (0.5, 0.5), M, sym, dtype, layout, device, requires_grad)


def blackman(M, *, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    """Three terms of a sum of cosines."""
    return _cosines("blackman", (0.42, 0.5, 0.08), M, sym, dtype, layout, device, requires_grad)


def nuttall(M, *, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    """Four terms of a sum of cosines, with side lobes below -93 dB."""
    return _cosines("nuttall", (0.3635819, 0.4891775, 0.1365995, 0.0106411), M, sym, dtype, layout, device, requires_grad)
