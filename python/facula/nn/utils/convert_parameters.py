# SPDX-License-Identifier: Apache-2.0
"""Parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

from facula import _C
from facula._tensor import Tensor
from facula.functional import typename


def _on_one_device(parameters):
    parameters = list(parameters)
    if len({p.device for p in parameters}) > 1:
        raise TypeError("Found two parameters on different devices, this is currently not supported.")
    return parameters


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All elements of all parameters, end to end."""
    return _C._functions["cat"]([p.view(-1) for p in _on_one_device(parameters)])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Make the parameters' data views of a vector."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {typename(vec)}")
    at = 0
    for parameter in _on_one_device(parameters):
        n = parameter.numel()
        parameter.data = vec[at : at + n].view_as(parameter).data
        at += n
