# SPDX-License-Identifier: Apache-2.0
"""torch.ops: every operator of the registry under its namespace, name and overload."""

import os

from facula import _C


def _names():
    """(namespace, name with overload) of every operator."""
    return [tuple(name.split("::", 1)) for name in _C._operator_names()]


class _Packet:
    """All overloads of one operator; a call takes the first that its arguments fit, `.Tensor` names one."""

    def __init__(self, space, name):
        self._name = f"{space}::{name}"
        self.__name__ = name

    def overloads(self):
        return [o or "default" for o in _C._overloads(self._name)]

    def __getattr__(self, overload):
        if overload.startswith("__"):
            raise AttributeError(overload)
        full = self._name if overload == "default" else f"{self._name}.{overload}"
        op = _C._find_operator(full)
        if op is None:
            raise AttributeError(f"The underlying op of 'facula.ops.{self._name.replace('::', '.')}' has no overload name '{overload}'")
        setattr(self, overload, op)
        return op

    def __call__(self, *args, **kwargs):
        return _C._call_packet(self._name, *args, **kwargs)

    def __dir__(self):
        return sorted({*object.__dir__(self), *self.overloads()})

    def __repr__(self):
        return f"<OpOverloadPacket(op='{self._name.replace('::', '.')}')>"


class _Namespace:
    def __init__(self, name):
        self._space = name

    def __getattr__(self, name):
        if not _C._overloads(f"{self._space}::{name}"):
            raise AttributeError(f"'facula.ops.{self._space}' object has no attribute '{name}'")
        packet = _Packet(self._space, name)
        setattr(self, name, packet)
        return packet

    def __dir__(self):
        return sorted({*object.__dir__(self), *(name.partition(".")[0] for space, name in _names() if space == self._space)})


def _own_library(space):
    """Where the operators of another package lie that come with Facula (src/libraries), if there are such."""
    return os.path.join(os.path.dirname(_C.__file__), f"libfacula_operators_{space}.so")


class _Ops:
    def load_library(self, path):
        """Load a shared library that defines operators in C++ (it exports facula_library_init)."""
        path = os.fspath(path)
        folder, name = os.path.split(path)
        # What a package compiled against PyTorch's own C++, where Facula has its operators.
        if name in ("_C.so", "_C_stable.so") and os.path.isfile(path) and os.path.exists(_own_library(os.path.basename(folder))):
            getattr(self, os.path.basename(folder))
            return
        _C._load_library(path)

    def __getattr__(self, space):
        if space.startswith("__"):
            raise AttributeError(space)
        namespace = _Namespace(space)
        if os.path.exists(own := _own_library(space)):
            _C._load_library(own)
        if space == "profiler":
            from facula.profiler._ops import FUNCTIONS

            vars(namespace).update(FUNCTIONS)
        setattr(self, space, namespace)
        return namespace

    def __dir__(self):
        return sorted({*object.__dir__(self), *(space for space, _ in _names())})


ops = _Ops()
