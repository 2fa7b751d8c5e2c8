# SPDX-License-Identifier: Apache-2.0
"""torch.jit.script: compiles a function's source."""

import enum
import weakref
from collections.abc import Callable
from typing import Any

from facula import Tensor, _C
from facula.jit import _classes, _names, _recursive
from facula.jit.frontend import get_default_args, get_jit_def

_functions: "weakref.WeakKeyDictionary[Callable, Any]" = weakref.WeakKeyDictionary()


_in_progress: dict[Callable, Any] = {}  # compiled further up


def _try_get_jit_cached_function(fn: Callable) -> Any:
    return _functions.get(fn)


def script_function(fn: Callable, rcb: Callable[[str], Any] | None = None) -> Any:
    """A function, compiled; the same function gives the same again."""
    cached = _try_get_jit_cached_function(fn) or _in_progress.get(fn)
    if cached is not None:
        return cached
    name = _names.qualified_name(fn)
    tree = get_jit_def(fn, fn.__name__)
    lookup = rcb if rcb is not None else _recursive.create_resolution_callback_from_closure(fn)
    try:
        compiled = _C._jit_script_compile(name, tree, lookup, get_default_args(fn), lambda handle: _in_progress.__setitem__(fn, handle))
    finally:
        _in_progress.pop(fn, None)
    _functions[fn] = compiled
    return compiled


_overloads: "weakref.WeakKeyDictionary[Callable, Any]" = weakref.WeakKeyDictionary()


def script_overload(declared: Callable, fn: Callable) -> Any:
    """One signature of fn, compiled with fn's body."""
    if (found := _overloads.get(declared)) is not None:
        return found
    decl, tree = get_jit_def(declared, fn.__name__).decl(), get_jit_def(fn, fn.__name__)
    defaults = get_default_args(fn) | get_default_args(declared)
    _overloads[declared] = made = _C._jit_script_compile_overload(_names.qualified_name(fn), decl, tree, _recursive.create_resolution_callback_from_closure(fn), defaults)
    return made


def script_class(cls: type, rcb: Callable[[str], Any] | None = None) -> Any:
    """A class, compiled: the class itself, whose objects functions take and give."""
    if cls.__module__ == "builtins":
        raise TypeError(f"{cls} is a built-in class")
    if issubclass(cls, enum.Enum) or _classes.is_named_tuple(cls):
        raise RuntimeError(f"{cls.__name__} needs no torch.jit.script: functions that name it find it")
    if len(cls.mro()) > 2:
        raise RuntimeError("TorchScript classes does not support inheritance yet. Please directly inherit from 'object'.")
    _classes.compile_class(cls, None, rcb)
    return cls


def script_object(obj: Any) -> Any:
    """An object of a class of Python's, compiled: its attributes as they are now, and methods that change them."""
    cls = type(obj)
    if cls.__module__ == "builtins" or not isinstance(cls.__module__, str) or issubclass(cls, Tensor):
        raise TypeError(f"{cls} is a built-in class")
    return _classes.ScriptObject(_C._jit_object(obj, _classes.compile_class(cls)))
