# SPDX-License-Identifier: Apache-2.0
"""What layers do to their arguments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from facula import _C
from facula.nn.parameter import Parameter

__all__ = ["consume_prefix_in_state_dict_if_present"]

_empty = _C._functions["empty"]


def _ntuple(n, name="parse"):
    def parse(x):
        return tuple(x) if isinstance(x, Iterable) else (x,) * n

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t, n):
    """(1, 2), 2 -> (2, 2, 1, 1): paddings per dimension, in the order of F.pad."""
    return tuple(x for x in reversed(t) for _ in range(n))


def _list_with_default(out_size, defaults):
    """Sizes, with None replaced by the default of the same place from the end."""
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    return [d if v is None else v for v, d in zip(out_size, defaults[-len(out_size) :])]


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Take a prefix, such as DataParallel's "module.", off all keys of a state, in place."""
    for key in [k for k in state_dict if k.startswith(prefix)]:
        state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", {})
    for key in [k for k in metadata if k and (k == prefix.replace(".", "") or k.startswith(prefix))]:
        metadata[key[len(prefix) :]] = metadata.pop(key)


def _add_parameters(module, device, dtype, **shapes):
    """Registers parameters of these shapes, with arbitrary values; None registers none under the name."""
    for name, shape in shapes.items():
        module.register_parameter(name, None if shape is None else Parameter(_empty(shape, device=device, dtype=dtype)))
