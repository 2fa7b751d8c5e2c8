# SPDX-License-Identifier: Apache-2.0
"""Gradients kept from growing too large."""

from __future__ import annotations

import types
import warnings
from collections.abc import Iterable

from facula import _C
from facula._tensor import Tensor
from facula.autograd.forward_modes import no_grad

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_"]

_ops = _C._functions


def _listed(tensors):
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _groups(tensors):
    """Lists of tensors on one device and of one type, as operators over lists take them."""
    found = {}
    for t in tensors:
        found.setdefault((t.device, t.dtype), []).append(t)
    return found.values()


def _over_list(name, foreach):
    """An operator over lists; None where foreach=False asks for single calls."""
    return None if foreach is False else _ops[name]


@no_grad()
def _get_total_norm(
    tensors: Tensor | Iterable[Tensor], norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """The norm of all elements of all tensors together."""
    tensors, norm_type = _listed(tensors), float(norm_type)
    vector_norm = _ops["linalg_vector_norm"]
    if not tensors:
        return _ops["zeros"](())
    together = _over_list("_foreach_norm", foreach)
    norms = [n for group in _groups(tensors) for n in (together(group, norm_type) if together else [vector_norm(t, norm_type) for t in group])]
    total = vector_norm(_ops["stack"]([n.to(tensors[0].device) for n in norms]), norm_type)
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be clipped. To disable this "
            "error and scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return total


@no_grad()
def _clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale gradients, in place, so that a total norm above max_norm comes down to it."""
    grads = [p.grad for p in _listed(parameters) if p.grad is not None]
    factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)  # multiplied even where it is 1: no wait for its value
    together = _over_list("_foreach_mul_", foreach)
    for group in _groups(grads):
        scale = factor.to(group[0].device)
        if together:
            together(group, scale)
            continue
        for grad in group:
            grad.mul_(scale)


@no_grad()
def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:  # fmt: skip
    """Scale gradients, in place, so that their total norm is at most max_norm; returns the norm before."""
    generator = isinstance(parameters, types.GeneratorType)
    parameters = _listed(parameters)
    if generator and not parameters:
        warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=3)
    grads = [p.grad for p in parameters if p.grad is not None]
    total = _get_total_norm(grads, norm_type, error_if_nonfinite, foreach)
    _clip_grads_with_norm_(parameters, max_norm, total, foreach)
    return total


def clip_grad_norm(
    parameters: Tensor | Iterable[Tensor], max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:  # fmt: skip
    """The old name of clip_grad_norm_."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.", FutureWarning, stacklevel=2
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@no_grad()
def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None:
    """Limit every element of the gradients to ±clip_value, in place."""
    clip_value = float(clip_value)
    for parameter in _listed(parameters):
        if parameter.grad is not None:
            parameter.grad.clamp_(min=-clip_value, max=clip_value)
