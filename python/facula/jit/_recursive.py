# SPDX-License-Identifier: Apache-2.0
"""What the compiler meets in a program's Python, and compiles when it meets it."""

import builtins
import enum

import types
import typing
from collections.abc import Callable
from typing import Any


from facula.jit import _builtins


class _Absent:
    """A name that a scope does not have."""


absent = _Absent()


def create_resolution_callback_from_closure(fn: Callable) -> Callable[[str], Any]:
    """Gives what a name means inside of a function: its closure, its module, typing's and Python's own names."""
    captured = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=False))
    scope = fn.__globals__

    def find(name: str) -> Any:
        if name in captured:
            try:
                return captured[name].cell_contents
            except ValueError:
                return absent
        if name in scope:
            return scope[name]
        return getattr(typing, name, getattr(builtins, name, absent))

    return find


def look_up(rcb: Callable[[str], Any], name: str) -> tuple[bool, Any]:
    """(whether there is one, what a name means); dotted names are looked up part by part."""
    first, *rest = name.split(".")
    found = rcb(first)
    for part in rest:
        if found is absent:
            break
        found = getattr(found, part, absent)
    return found is not absent and not (found is None and name != "None"), found


def _special(obj: Any) -> str | None:
    import facula.jit as jit

    if obj is jit.annotate:
        return "form prim::annotate"
    if obj is jit.isinstance or obj is builtins.isinstance:
        return "form prim::isinstance"
    if obj is jit.fork:
        return "form prim::fork"
    if obj is jit.wait:
        return "aten::wait"
    if obj is jit.is_scripting:
        return "prim::true"
    if obj is jit.is_tracing:
        return "prim::false"
    return None


def resolve(obj: Any, place: Any) -> Any:
    """What an object is to the compiler: the name of an operator or a form, a compiled function, a type; None: nothing."""
    try:
        special = _special(obj)
    except TypeError:
        special = None
    if special is not None:
        return special
    if isinstance(obj, type):
        return _resolve_class(obj, place)
    if callable(obj):
        if (name := _builtins.find(obj)) is not None:
            return name
        if isinstance(obj, types.FunctionType):
            return try_compile_fn(obj, place)
    return None


def _resolve_class(cls: type, place: Any) -> Any:
    import facula as torch

    if issubclass(cls, BaseException):
        return f"exception {cls.__module__}.{cls.__qualname__}"
    if cls is torch.device:
        return "device"
    return resolve_type(cls, place)


def resolve_type(cls: Any, place: Any) -> Any:
    """The type of the graph that a Python class is, compiled if need be; None: none."""
    from facula.jit.annotations import try_ann_to_type

    return try_ann_to_type(cls, place)


def qualified_name(obj: Any) -> str:
    """The name that a function or class has in a compilation unit."""
    name = getattr(obj, "__qualname__", getattr(obj, "__name__", None)) if isinstance(obj, type) and issubclass(obj, enum.Enum) else obj.__name__
    name = obj.__name__ if name is None else obj.__name__
    if name == "<lambda>":
        name = "_lambda"
    module = obj.__module__
    if module is None:
        raise RuntimeError(f"Could not get qualified name for class '{name}': __module__ can't be None.")
    if module == "torch._classes" or "." in name:
        raise RuntimeError(f"Could not get qualified name for class '{name}': '{name}' is not a valid identifier")
    module = module.replace("<", "_").replace(">", "_")
    return f"__torch__.{name}" if module == "__main__" else f"__torch__.{module}.{name}"


def try_compile_fn(fn: Callable, place: Any) -> Any:
    """A function that a compiled one calls, compiled; None: it stays Python."""
    import facula.jit as jit

    if getattr(fn, "_torchscript_modifier", None) is not None and fn._torchscript_modifier != "default":
        raise RuntimeError(f"the function {fn.__name__} is marked as ignored: calls of it from compiled code are not supported")
    if not hasattr(fn, "__code__"):
        return None
    return jit.script(fn, _rcb=create_resolution_callback_from_closure(fn))
