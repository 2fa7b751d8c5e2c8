# SPDX-License-Identifier: Apache-2.0
"""Initial values of parameters. Every function fills its tensor in place, outside of the graph, and returns it."""

from __future__ import annotations

import functools
import math
import warnings

from facula import _C
from facula._tensor import Tensor
from facula.autograd.forward_modes import no_grad
from facula.overrides import handle_torch_function, has_torch_function_unary

__all__ = [
    "calculate_gain", "uniform_", "normal_", "trunc_normal_", "constant_", "ones_", "zeros_", "eye_", "dirac_",
    "xavier_uniform_", "xavier_normal_", "kaiming_uniform_", "kaiming_normal_", "orthogonal_", "sparse_", "uniform", "normal",
    "constant", "eye", "dirac", "xavier_uniform", "xavier_normal", "kaiming_uniform", "kaiming_normal", "orthogonal", "sparse",
]  # fmt: skip

_LINEAR = ("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "sigmoid")
_GAINS = {**dict.fromkeys(_LINEAR, 1), "tanh": 5 / 3, "relu": math.sqrt(2), "selu": 3 / 4}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor by which weights before a nonlinearity are scaled; param: the slope of leaky_relu."""
    if nonlinearity in _GAINS:
        return _GAINS[nonlinearity]
    if nonlinearity != "leaky_relu":
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    if param is None:
        param = 0.01
    if isinstance(param, bool) or not isinstance(param, (int, float)):
        raise ValueError(f"negative_slope {param} not a valid number")
    return math.sqrt(2 / (1 + param**2))


def _overridable(function):
    """Tensors of classes with __torch_function__ see the call."""

    @functools.wraps(function)
    def front(tensor, *args, **kwargs):
        if has_torch_function_unary(tensor):
            return handle_torch_function(front, (tensor,), tensor, *args, **kwargs)
        with no_grad():
            return function(tensor, *args, **kwargs)

    return front


@_overridable
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator=None) -> Tensor:
    """Evenly between a and b."""
    return tensor.uniform_(a, b, generator=generator)


def _unseen(name):
    """A method of tensors that fills them, outside of the graph."""

    def fill(tensor, *args, generator=None):
        with no_grad():
            return getattr(tensor, name)(*args, generator=generator) if generator is not None else getattr(tensor, name)(*args)

    return fill


_no_grad_uniform_, _no_grad_normal_, _no_grad_fill_, _no_grad_zero_ = map(_unseen, ("uniform_", "normal_", "fill_", "zero_"))


@_overridable
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator=None) -> Tensor:
    """From a normal distribution."""
    return tensor.normal_(mean, std, generator=generator)


@_overridable
def constant_(tensor: Tensor, val: float) -> Tensor:
    """All val."""
    return tensor.fill_(val)


@no_grad()
def ones_(tensor: Tensor) -> Tensor:
    """All one."""
    return tensor.fill_(1.0)


@no_grad()
def zeros_(tensor: Tensor) -> Tensor:
    """All zero."""
    return tensor.zero_()


@no_grad()
def trunc_normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator=None) -> Tensor:
    """From a normal distribution without what is below a or above b."""
    if tensor.is_meta:
        return tensor
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be incorrect.", stacklevel=3
        )

    def below(x):
        return (1 + math.erf((x - mean) / std / math.sqrt(2))) / 2

    where, empty_like = _C._functions["where"], _C._functions["empty_like"]
    if below(b) - below(a) > 0.3:  # enough of them hit: draw again what is outside
        low, high = (tensor.new_tensor(x, device="cpu").item() for x in (a, b))
        values = tensor.normal_(mean, std, generator=generator)
        while True:
            outside = (values < low) | (values > high)
            if not outside.any():
                break
            values = where(outside, empty_like(values).normal_(mean, std, generator=generator), values)
        return tensor if values is tensor else tensor.copy_(values)

    # Few hit: draw evenly inside and keep each with the probability that the density there has relative to its peak.
    peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
    odds = empty_like(tensor)

    def refused(candidates):
        log_density = candidates.clone().sub_(mean).div_(std).pow_(2).mul_(-0.5).sub_(peak)
        return odds.uniform_(generator=generator).log_().gt(log_density)

    values = tensor.uniform_(a, b, generator=generator)
    pending = refused(values)
    while pending.any():
        candidates = empty_like(tensor).uniform_(a, b, generator=generator)
        values = where(pending, candidates, values)
        pending = pending & refused(candidates)
    return tensor if values is tensor else tensor.copy_(values)


@no_grad()
def eye_(tensor: Tensor) -> Tensor:
    """The identity matrix."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    tensor.zero_().diagonal().fill_(1)
    return tensor


@no_grad()
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Kernels of convolutions that keep as many channels as they can."""
    if tensor.dim() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.size(0) % groups:
        raise ValueError("dim 0 must be divisible by groups")
    if tensor.is_meta:
        return tensor
    per_group = tensor.size(0) // groups
    centre = tuple(n // 2 for n in tensor.shape[2:])
    tensor.zero_()
    for g in range(groups):
        for c in range(min(per_group, tensor.size(1))):
            tensor[(g * per_group + c, c, *centre)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor):
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.size(1) * field, tensor.size(0) * field


def _calculate_correct_fan(tensor, mode):
    modes = ["fan_in", "fan_out"]
    mode = mode.lower()
    if mode not in modes:
        raise ValueError(f"Mode {mode} not supported, please use one of {modes}")
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode)]


def _xavier_std(tensor, gain):
    return gain * math.sqrt(2 / sum(_calculate_fan_in_and_fan_out(tensor)))


@no_grad()
def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator=None) -> Tensor:
    """Evenly, so that variances are kept in both directions (Glorot and Bengio, 2010)."""
    bound = math.sqrt(3) * _xavier_std(tensor, gain)
    return tensor.uniform_(-bound, bound, generator=generator)


@no_grad()
def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator=None) -> Tensor:
    """From a normal distribution, so that variances are kept in both directions (Glorot and Bengio, 2010)."""
    return tensor.normal_(0.0, _xavier_std(tensor, gain), generator=generator)


def _kaiming_std(tensor, a, mode, nonlinearity):
    return calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))


def _nothing_to_do(tensor):
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=4)
        return True
    return False


@_overridable
def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator=None
) -> Tensor:
    """Evenly, so that the variance is kept behind a rectifier of slope a (He and others, 2015)."""
    if _nothing_to_do(tensor):
        return tensor
    bound = math.sqrt(3) * _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor.uniform_(-bound, bound, generator=generator)


@no_grad()
def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator=None
) -> Tensor:
    """From a normal distribution, so that the variance is kept behind a rectifier of slope a (He and others, 2015)."""
    if _nothing_to_do(tensor):
        return tensor
    return tensor.normal_(0, _kaiming_std(tensor, a, mode, nonlinearity), generator=generator)


@no_grad()
def orthogonal_(tensor: Tensor, gain: float = 1, generator=None) -> Tensor:
    """An orthogonal matrix (of the first dimension by all others), drawn evenly and scaled."""
    if tensor.dim() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0 or tensor.is_meta:
        return tensor
    from facula import linalg

    rows = tensor.size(0)
    columns = tensor.numel() // rows
    drawn = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
    q, r = linalg.qr(drawn.t() if rows < columns else drawn)
    q = q * r.diagonal().sign()  # a decomposition that is unique, so that the draw is even
    tensor.view(rows, columns).copy_(q.t() if rows < columns else q)
    return tensor.mul_(gain)


@no_grad()
def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator=None) -> Tensor:
    """From a normal distribution, with the same share of zeros in every column."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    if tensor.is_meta:
        return tensor
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    tensor.normal_(0, std, generator=generator)
    for column in range(columns):
        tensor[_C._functions["randperm"](rows)[:zeros], column] = 0
    return tensor


def _old_name(function):
    new = function.__name__
    old = new[:-1]

    def front(*args, **kwargs):
        warnings.warn(f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new}`.", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    front.__name__ = front.__qualname__ = old
    front.__doc__ = f"The old name of {new}."
    return front


uniform, normal, constant, eye, dirac = map(_old_name, (uniform_, normal_, constant_, eye_, dirac_))
xavier_uniform, xavier_normal, kaiming_uniform, kaiming_normal = map(
    _old_name, (xavier_uniform_, xavier_normal_, kaiming_uniform_, kaiming_normal_)
)
orthogonal, sparse = map(_old_name, (orthogonal_, sparse_))
