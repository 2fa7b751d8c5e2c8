# SPDX-License-Identifier: Apache-2.0
"""Names of torch._C that Python code of packages reaches for, and that are no part of Facula's own module of C."""

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


def _log_api_usage_once(event):
    """Packages tell which of their parts are used; nobody listens."""


def _get_tracing_state():
    """What records a trace: nothing does."""
    return None


_C._log_api_usage_once, _C._get_tracing_state = _log_api_usage_once, _get_tracing_state
_C.DispatchKey, _C.DispatchKeySet, _C._ExcludeDispatchKeyGuard = DispatchKey, DispatchKeySet, _ExcludeDispatchKeyGuard
