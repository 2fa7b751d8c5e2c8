# SPDX-License-Identifier: Apache-2.0
"""What the compiler meets in a program's Python, and compiles when it meets it."""

import builtins
import enum

import types
import typing
from collections.abc import Callable
from typing import Any


from facula.jit import _builtins, _dispatch, _library
from facula.jit._modifiers import DROP, IGNORE, UNUSED, modifier_of


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
            if (form := _library.function(obj)) is not None:
                return [try_compile_fn(f, place) for f in form] if isinstance(form, tuple) else form if isinstance(form, _dispatch.ByFlag) else try_compile_fn(form, place)
            return None if stays_python(obj) is not None else try_compile_fn(obj, place)
    return None


def stays_python(fn: Any) -> str | None:
    """"python" of a function that compiled code calls in Python, "unused" of one that it must not call; None: it is compiled."""
    modifier = modifier_of(fn)
    return "python" if modifier in (IGNORE, DROP) else "unused" if modifier == UNUSED else None


def signature_of_python(fn: Callable, given: int, is_method: bool) -> tuple[list[tuple[str, Any]], Any]:
    """[(parameter, type)] and the result's type of a function that stays Python; Tensor where nothing is said."""
    import inspect

    from facula import _C
    from facula.jit.annotations import ann_to_type

    tensor, signature = _C.TensorType.get(), inspect.signature(fn)
    hints = typing.get_type_hints(fn)
    parameters = list(signature.parameters.values())[1 if is_method else 0 :]
    out = [(p.name, ann_to_type(hints[p.name]) if p.name in hints else tensor) for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.POSITIONAL_ONLY)]
    if any(p.kind == p.VAR_POSITIONAL for p in parameters):
        out += [(f"{i}", tensor) for i in range(len(out), given)]
    return out, ann_to_type(hints["return"]) if "return" in hints else tensor


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
    if hasattr(obj, "_jit_override_qualname"):
        return obj._jit_override_qualname
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

    if not hasattr(fn, "__code__"):
        return None
    return jit.script(fn, _rcb=create_resolution_callback_from_closure(fn))
