# SPDX-License-Identifier: Apache-2.0
"""Names of torch._C that Python code of packages reaches for, and that are no part of Facula's own module of C."""

import contextlib
import enum
import importlib.machinery
import sys
import types

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


def _vmap():
    return sys.modules.get("facula.func._vmap")  # without it nothing is batched


def is_batchedtensor(tensor):
    """Whether a tensor stands for all samples of torch.vmap."""
    return _vmap() is not None and isinstance(tensor, _vmap().Batched)


def get_unwrapped(tensor):
    """The tensor with all samples."""
    return tensor.value


def get_dynamic_layer_stack_depth():
    """How many calls of torch.vmap are under way."""
    return 0 if _vmap() is None else len(_vmap().stack.levels)


def _functorch():
    """torch._C._functorch, which is imported by this name."""
    module = types.ModuleType("facula._C._functorch", "What wraps tensors inside of torch.func.")
    module.__spec__ = importlib.machinery.ModuleSpec(module.__name__, None)
    module.is_batchedtensor = module.is_functorch_wrapped_tensor = is_batchedtensor
    module.get_unwrapped, module.get_dynamic_layer_stack_depth = get_unwrapped, get_dynamic_layer_stack_depth
    sys.modules[module.__name__] = module
    return module


_C._functorch = _functorch()


def _log_api_usage_once(event):
    """Packages tell which of their parts are used; nobody listens."""


def _get_tracing_state():
    """What records a trace: nothing does."""
    return None


_C._log_api_usage_once, _C._get_tracing_state = _log_api_usage_once, _get_tracing_state
_C.DispatchKey, _C.DispatchKeySet, _C._ExcludeDispatchKeyGuard = DispatchKey, DispatchKeySet, _ExcludeDispatchKeyGuard
