# SPDX-License-Identifier: Apache-2.0
"""Names of torch._C that Python code of packages reaches for, and that are no part of Facula's own module of C."""

import contextlib
import enum
import importlib.machinery
import sys
import types

from facula import _C, _missing
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


def _nn():
    """torch._C._nn: the operators that torch.nn.functional and Module.to are written with."""
    module = types.ModuleType("facula._C._nn", _nn.__doc__)
    module.__spec__ = importlib.machinery.ModuleSpec(module.__name__, None)

    def _parse_to(*args, **kwargs):
        from facula.nn.modules.module import _parse_to

        return _parse_to(*args, **kwargs)

    def find(name):
        from facula.nn import functional

        return _C._hidden.get(name) or (_C._functions.get(name) if hasattr(functional, name) else None)

    module._parse_to, module.__getattr__ = _parse_to, _missing.missing(module.__name__, find=find)
    sys.modules[module.__name__] = module
    return module


_C._nn = _nn()


def _log_api_usage_once(event):
    """Packages tell which of their parts are used; nobody listens."""


def _get_default_device():
    """The type of the device on which tensors are made."""
    return _C._default_device().type


class _Classes(type):
    """Classes of tensors are instances, though none is made by _TensorMeta."""

    def __instancecheck__(cls, instance):
        return type.__instancecheck__(cls, instance) or (cls is _TensorMeta and isinstance(instance, type) and issubclass(instance, _C.TensorBase))


class _TensorMeta(type, metaclass=_Classes):
    """What metaclasses of tensor classes are derived from."""


def _are_functorch_transforms_active():
    """Whether a call of torch.vmap is under way; the other transforms need no tensors of their own."""
    return get_dynamic_layer_stack_depth() > 0


_C._TensorMeta, _C._are_functorch_transforms_active = _TensorMeta, _are_functorch_transforms_active
_C._log_api_usage_once, _C._get_default_device = _log_api_usage_once, _get_default_device
_C.DispatchKey, _C.DispatchKeySet, _C._ExcludeDispatchKeyGuard = DispatchKey, DispatchKeySet, _ExcludeDispatchKeyGuard
