# SPDX-License-Identifier: Apache-2.0
"""Masked functions: what a mask hides counts as the element that changes nothing, the identity of the function. Where all
of a slice is hidden, the result is that identity (NaN of means and variances). mask=None: everything counts."""

from __future__ import annotations

import builtins
import math

import facula as torch


def _plain(op, input, mask):
    """A strided tensor and its mask; a MaskedTensor brings its own."""
    from facula.masked.maskedtensor import MaskedTensor

    if isinstance(input, MaskedTensor):
        mask = input.get_mask() if mask is None else input.get_mask().logical_and(mask)
        input = input.get_data()
    if not isinstance(input, torch.Tensor):
        raise TypeError(f"{op}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    if input.layout is not torch.strided:
        raise ValueError(f"masked {op} expects strided tensor (got {input.layout} tensor)")
    return input, mask


def _spread(input, mask):
    """The mask as truth values of the input's shape."""
    if mask.dim() > input.dim():
        raise IndexError("_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)")
    return mask.expand(input.shape).to(torch.bool)


def _dims(input, dim):
    """The dimensions as a tuple, each once: None and () are all of them."""
    if dim is None or isinstance(dim, (tuple, list)) and not dim:
        return tuple(range(input.dim()))
    given, count = (dim,) if isinstance(dim, int) else tuple(dim), max(input.dim(), 1)
    dims = []
    for d in given:
        if not -count <= d < count:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-count}, {count - 1}], but got {d})")
        if d % count in dims:
            raise RuntimeError(f"dim={d % count} appears multiple times in the list of dims")
        dims.append(d % count)
    return tuple(sorted(dims)) if input.dim() else ()


def _least(op, dtype):
    """The number that no maximum chooses."""
    if dtype.is_floating_point or (dtype.is_complex and op.startswith("log")):
        return -math.inf
    if dtype.is_complex or dtype is torch.bool:
        raise NotImplementedError(f"identity of {op} on {dtype} input")
    return torch.iinfo(dtype).min


def _most(op, dtype):
    least = _least(op, dtype)
    return math.inf if dtype.is_floating_point else torch.iinfo(dtype).max if least is not None else None


def _hidden(input, mask, identity):
    """The input with the identity where the mask hides it. identity(): asked for where there is a mask only."""
    return input if mask is None else torch.where(_spread(input, mask), input, torch.tensor(identity(), dtype=input.dtype, device=input.device))


def _not_empty(op, input, dims):
    for d in dims:
        if input.dim() and input.shape[d] == 0:
            raise IndexError(f"{op}(): Expected reduction dim {d} to have non-zero size.")


def _summed_type(dtype):
    return torch.int64 if not (dtype.is_floating_point or dtype.is_complex) else dtype


def sum(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The sum of the elements that the mask lets through; 0 where it lets none."""
    input, mask = _plain("sum", input, mask)
    dtype = _summed_type(input.dtype) if dtype is None else dtype
    values = _hidden(input, mask, lambda: 0)
    dims = _dims(input, dim)
    return torch.sum(values, dims, keepdim=keepdim, dtype=dtype) if dims else values.to(dtype)


def prod(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The product of the elements that the mask lets through; 1 where it lets none."""
    input, mask = _plain("prod", input, mask)
    values = _hidden(input.to(_summed_type(input.dtype) if dtype is None else dtype), mask, lambda: 1)
    for d in reversed(_dims(input, dim)):
        values = values.prod(d, keepdim=builtins.bool(keepdim))
    return values


def _extreme(op, function, identity, input, dim, keepdim, dtype, mask):
    input, mask = _plain(op, input, mask)
    dims = _dims(input, dim)
    _not_empty(op, input, dims)
    values = _hidden(input, mask, lambda: identity(op, input.dtype)).to(input.dtype if dtype is None else dtype)
    return function(values, dims, keepdim=builtins.bool(keepdim))


def amax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The largest element that the mask lets through."""
    return _extreme("amax", torch.amax, _least, input, dim, keepdim, dtype, mask)


def amin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The smallest element that the mask lets through."""
    return _extreme("amin", torch.amin, _most, input, dim, keepdim, dtype, mask)


def _place(op, function, identity, input, dim, keepdim, dtype, mask):
    input, mask = _plain(op, input, mask)
    if input.is_complex():
        raise TypeError(f"{op}(): does not support complex input")
    if input.dtype is torch.bool and mask is None:
        raise NotImplementedError(f"{op}(): does not support bool input")
    if dim is not None:
        _not_empty(op, input, _dims(input, dim))
    values = _hidden(input, mask, lambda: identity(op, input.dtype)).to(input.dtype if dtype is None else dtype)
    if dim is not None:
        return function(values, dim, builtins.bool(keepdim)).to(values.dtype)
    place = function(values.flatten(), 0)
    return (place.reshape((1,) * input.dim()) if keepdim else place).to(values.dtype)  # as PyTorch's: no int64


def argmax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Where the largest element is that the mask lets through."""
    return _place("argmax", torch.argmax, _least, input, dim, keepdim, dtype, mask)


def argmin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Where the smallest element is that the mask lets through."""
    return _place("argmin", torch.argmin, _most, input, dim, keepdim, dtype, mask)


def _need_real_type(op, input, dtype):
    for what, t in (("Input", input.dtype), ("Optional", dtype)):
        if t is not None and (what == "Optional" or dtype is None) and not (t.is_floating_point or t.is_complex):
            raise ValueError(
                f"{op}(): Could not infer output dtype. {what} dtype must be either a floating point or complex dtype. Got: {t}"
            )


def mean(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The mean of the elements that the mask lets through; NaN where it lets none."""
    input, mask = _plain("mean", input, mask)
    _need_real_type("mean", input, dtype)
    dtype = input.dtype if dtype is None else dtype
    dims = _dims(input, dim)
    if mask is None:
        return torch.mean(input, dims, keepdim=keepdim, dtype=dtype) if dims else input.to(dtype)
    total = sum(input, dim, keepdim=keepdim, dtype=dtype, mask=mask)
    count = sum(torch.ones_like(input, dtype=torch.int64), dim, keepdim=keepdim, mask=mask)
    return (total / count).to(dtype)


def median(input, dim=-1, *, keepdim=False, dtype=None, mask=None):
    """The middle of the elements that the mask lets through (of two the lower one); NaN where it lets none."""
    input, mask = _plain("median", input, mask)
    _not_empty("median", input, _dims(input, dim))
    dtype = input.dtype if dtype is None else dtype
    if not input.dtype.is_floating_point and not input.is_complex():
        if mask is not None and not _spread(input, mask).any(dim).all():
            raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
        values = input.to(dtype if dtype.is_floating_point else torch.float64)
        return median(values, dim, keepdim=keepdim, mask=mask).to(dtype)
    return torch.nanmedian(_hidden(input, mask, lambda: math.nan), dim, builtins.bool(keepdim)).values


def logsumexp(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """log of the sum of exp of the elements that the mask lets through; -inf where it lets none."""
    input, mask = _plain("logsumexp", input, mask)
    dtype = input.dtype if dtype is None else dtype
    values = _hidden(input.to(dtype), mask, lambda: _least("logsumexp", dtype))
    return torch.logsumexp(values, _dims(input, dim), keepdim=builtins.bool(keepdim)).to(dtype)


def logaddexp(input, other, *, dtype=None, input_mask=None, other_mask=None):
    """log(exp(input) + exp(other)), where what a mask hides counts as exp's zero."""
    input, input_mask = _plain("logaddexp", input, input_mask)
    other, other_mask = _plain("logaddexp", other, other_mask)
    dtype = input.dtype if dtype is None else dtype
    left = _hidden(input, input_mask, lambda: _least("logaddexp", input.dtype))
    right = _hidden(other, other_mask, lambda: _least("logaddexp", other.dtype))
    return torch.logaddexp(left, right).to(dtype)


def norm(input, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The vector norm of the elements that the mask lets through; 0 where it lets none (inf for ord=-inf)."""
    input, mask = _plain("norm", input, mask)
    values = _hidden(input, mask, lambda: math.inf if ord == -math.inf else 0)
    return torch.linalg.vector_norm(values, ord, _dims(input, dim), builtins.bool(keepdim), dtype=dtype)


def _spread_of(op, input, dim, unbiased, correction, keepdim, dtype, mask, root):
    input, mask = _plain(op, input, mask)
    if unbiased is not None and correction is not None:
        raise ValueError("Only one of unbiased and correction may be given")
    correction = correction if correction is not None else 0 if unbiased is False else 1
    exact = input.dtype.is_floating_point or input.is_complex()
    dtype = (input.dtype if exact else torch.float32) if dtype is None else dtype
    computed = input.to(dtype) if dtype.is_floating_point or dtype.is_complex else input if exact else input.to(torch.float32)
    dims = _dims(input, dim)
    if mask is None:
        result = torch.var(computed, dims, correction=correction, keepdim=builtins.bool(keepdim)).to(dtype)
        return result.sqrt() if root else result
    count = sum(torch.ones_like(computed, dtype=torch.int64), dims, keepdim=True, mask=mask)
    center = sum(computed, dims, keepdim=True, mask=mask) / count
    away = computed - center
    squares = sum((away * away.conj()) if computed.is_complex() else away * away, dims, keepdim=keepdim, mask=mask)
    left = count.reshape(squares.shape) - correction
    result = squares / left.clamp(min=0)
    return result.to(dtype).sqrt() if root else result.to(dtype)


def var(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The variance of the elements that the mask lets through; NaN where it lets too few."""
    return _spread_of("var", input, dim, unbiased, correction, keepdim, dtype, mask, False)


def std(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The standard deviation of the elements that the mask lets through; NaN where it lets too few."""
    return _spread_of("std", input, dim, unbiased, correction, keepdim, dtype, mask, True)


def _normalised(op, function, identity, input, dim, dtype, mask):
    input, mask = _plain(op, input, mask)
    dtype = input.dtype if dtype is None else dtype
    return function(_hidden(input, mask, lambda: identity("amin" if op == "softmin" else "amax", input.dtype)), dim, dtype=dtype)


def softmax(input, dim, *, dtype=None, mask=None):
    """softmax over the elements that the mask lets through; the others get 0."""
    return _normalised("softmax", torch.nn.functional.softmax, _least, input, dim, dtype, mask)


def log_softmax(input, dim, *, dtype=None, mask=None):
    """log_softmax over the elements that the mask lets through; the others get -inf."""
    return _normalised("log_softmax", torch.nn.functional.log_softmax, _least, input, dim, dtype, mask)


def softmin(input, dim, *, dtype=None, mask=None):
    """softmin over the elements that the mask lets through; the others get 0."""
    return _normalised("softmin", torch.nn.functional.softmin, _most, input, dim, dtype, mask)


def cumsum(input, dim, *, dtype=None, mask=None):
    """Sums so far, of the elements that the mask lets through."""
    input, mask = _plain("cumsum", input, mask)
    return torch.cumsum(_hidden(input, mask, lambda: 0), dim, dtype=dtype).to(input.dtype if dtype is None else dtype)


def cumprod(input, dim, *, dtype=None, mask=None):
    """Products so far, of the elements that the mask lets through."""
    input, mask = _plain("cumprod", input, mask)
    return torch.cumprod(_hidden(input, mask, lambda: 1), dim, dtype=dtype).to(input.dtype if dtype is None else dtype)


def normalize(input, ord, dim, *, eps=1e-12, dtype=None, mask=None):
    """The elements that the mask lets through, divided by their norm (eps, if that is less); the others are 0."""
    input, mask = _plain("normalize", input, mask)
    dtype = input.dtype if dtype is None else dtype
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return _hidden(input, mask, lambda: 0) / length.clamp(min=eps)
