# SPDX-License-Identifier: Apache-2.0
"""PyTorch's names of dispatcher layers, as far as Python code of packages handles them: those of autocast."""

import contextlib
import enum

from facula import _C
from facula.amp import autocast

__all__ = ["DispatchKey", "DispatchKeySet"]


class DispatchKey(enum.Enum):
    """A layer's name."""

    AutocastCPU = "cpu"
    AutocastCUDA = "cuda"
    AutocastXPU = "xpu"


class DispatchKeySet:
    """Several layers."""

    def __init__(self, *keys):
        self._keys = frozenset(keys)

    def __or__(self, other):
        return DispatchKeySet(*self._keys, *other._keys)

    def has(self, key):
        return key in self._keys


@contextlib.contextmanager
def _ExcludeDispatchKeyGuard(keys):
    """Without these layers, for a `with`."""
    with autocast("cpu", enabled=False) if keys.has(DispatchKey.AutocastCPU) else contextlib.nullcontext():
        yield


_C.DispatchKey, _C.DispatchKeySet, _C._ExcludeDispatchKeyGuard = DispatchKey, DispatchKeySet, _ExcludeDispatchKeyGuard
