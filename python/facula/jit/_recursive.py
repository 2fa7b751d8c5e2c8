# SPDX-License-Identifier: Apache-2.0
"""What the compiler meets in a program's Python, and compiles when it meets it."""

import builtins
import collections
import inspect
import types
import typing
from collections.abc import Callable
from typing import Any

from facula import _ops
from facula.jit import _builtins, _dispatch, _library
from facula.jit._modifiers import DROP, IGNORE, UNUSED, function_overloads, modifier_of


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


def create_resolution_callback_from_frame(frames_up: int = 0) -> Callable[[str], Any]:
    """Gives what a name means where the caller's caller stands, further up by frames_up."""
    frame = inspect.currentframe()
    for _ in range(frames_up + 1):
        frame = frame.f_back if frame is not None else None
    scopes = (dict(frame.f_locals), frame.f_globals) if frame is not None else ()

    def find(name: str) -> Any:
        for scope in scopes:
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
    import facula as torch
    from facula import _C, jit

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
    if obj is torch.set_grad_enabled:
        return "aten::set_grad_enabled"
    if isinstance(obj, _ops._Packet):
        return obj._name
    if getattr(obj, "__module__", None) == "facula.jit._contexts" and isinstance(obj, types.FunctionType):
        return f"profiler::{obj.__name__}"
    if obj is _C._get_tracing_state:
        return "prim::false"
    if obj is collections.OrderedDict:
        return "aten::dict"
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
    found = resolve_type(cls, place)
    if found is None and cls.__module__.partition(".")[0] == "facula" and hasattr(torch, cls.__name__):
        return f"aten::{cls.__name__}"  # none of TorchScript's: an unknown operator
    return found


def resolve_type(cls: Any, place: Any) -> Any:
    """The type of the graph that a Python class is, compiled if need be; None: none."""
    from facula.jit.annotations import try_ann_to_type

    return try_ann_to_type(cls, place)


def try_compile_fn(fn: Callable, place: Any) -> Any:
    """A function that a compiled one calls, compiled; None: it stays Python."""
    import facula.jit as jit

    if hasattr(fn, "__script_if_tracing_wrapper"):
        fn = fn.__original_fn  # type: ignore[attr-defined]
    if not hasattr(fn, "__code__"):
        return None
    if declared := function_overloads(fn):
        from facula.jit import _script

        return [_script.script_overload(one, fn) for one in declared]
    return jit.script(fn, _rcb=create_resolution_callback_from_closure(fn))
