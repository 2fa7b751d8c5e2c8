# SPDX-License-Identifier: Apache-2.0
"""What marks functions for the compiler: export, ignore, unused, and signatures of overloads."""

import inspect
from collections.abc import Callable
from typing import Any

EXPORT = "export (compile this function even if nothing calls it)"
UNUSED = "unused (ignored and replaced with raising of an exception)"
IGNORE = "ignore (leave as a call to Python, cannot be torch.jit.save'd)"
DROP = "_drop (function is fully ignored, declaration can be unscriptable)"

_overloaded: dict[tuple[str, str], list[Callable]] = {}  # (module and class, name): what was declared
_functions: dict[str, list[Callable]] = {}


def mark(fn: Any, modifier: str) -> Any:
    """fn, marked; of a property its functions."""
    if isinstance(fn, property):
        for part in (fn.fget, fn.fset):
            if part is not None:
                part._torchscript_modifier = modifier
        return fn
    fn._torchscript_modifier = modifier
    return fn


def modifier_of(fn: Any) -> str | None:
    """What marks a function, or the function of a method."""
    return getattr(getattr(fn, "__func__", fn), "_torchscript_modifier", None)


def is_exported(fn: Any) -> bool:
    return modifier_of(fn) == EXPORT


def is_ignored_fn(fn: Any) -> bool:
    """Whether it is called in Python."""
    return modifier_of(fn) in (IGNORE, DROP)


def is_ignored_or_unused(fn: Any) -> bool:
    return modifier_of(fn) in (IGNORE, DROP, UNUSED)


def add_overload(fn: Callable) -> Callable:
    """Keeps one signature of a method: of its class, by name."""
    owner, _, name = fn.__qualname__.rpartition(".")
    _overloaded.setdefault((f"{fn.__module__}.{owner}", name), []).append(fn)
    return fn


def find_overloads(cls: type, name: str) -> list[Callable]:
    for base in cls.__mro__:
        if found := _overloaded.get((f"{base.__module__}.{base.__qualname__}", name)):
            return found
    return []


def overloaded_methods(cls: type) -> dict[str, list[Callable]]:
    owner = f"{cls.__module__}.{cls.__qualname__}"
    return {name: fns for (place, name), fns in _overloaded.items() if place == owner}


def add_function_overload(fn: Callable) -> Callable:
    """Keeps one signature of a function."""
    _functions.setdefault(f"{fn.__module__}.{fn.__qualname__}", []).append(fn)
    return fn


def function_overloads(fn: Callable) -> list[Callable]:
    return _functions.get(f"{getattr(fn, '__module__', '')}.{getattr(fn, '__qualname__', '')}", [])


def drops_variable_arguments(fn: Callable) -> bool:
    return any(p.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD) for p in inspect.signature(fn).parameters.values())
