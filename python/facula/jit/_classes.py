# SPDX-License-Identifier: Apache-2.0
"""Python's classes, enums, named tuples and interfaces as types of TorchScript, and objects on their way back."""

import collections
import contextlib
import dataclasses
import enum
import inspect
import threading
import weakref
from collections.abc import Callable
from typing import Any

from facula import _C
from facula.jit import _names
from facula.jit.frontend import get_default_args_for_class, get_jit_class_def

lock = threading.RLock()  # one thread compiles at a time
_types: "weakref.WeakKeyDictionary[type, Any]" = weakref.WeakKeyDictionary()
_classes: "weakref.WeakValueDictionary[str, type]" = weakref.WeakValueDictionary()
_INHERITED = (tuple, list, Exception)


def type_of(cls: type) -> Any:
    """The type that a class is since it was compiled; None: it was not."""
    return _types.get(cls)


def class_of(name: str) -> type | None:
    """The class of Python's that became the type of this name."""
    return _classes.get(name)


def new_object(cls: type, attributes: dict[str, Any]) -> Any:
    """An object with these attributes."""
    made = cls.__new__(cls)
    for name, value in attributes.items():
        object.__setattr__(made, name, value)
    return made


def new_named_tuple(name: str, fields: list[str], items: list[Any]) -> Any:
    """A named tuple: of Python's class if there is one."""
    cls = class_of(name)
    if cls is None:
        cls = collections.namedtuple(name.rsplit(".", 1)[-1] or "NamedTuple", fields)  # type: ignore[misc]
    return cls(*items)


class ScriptObject:
    """An object of a compiled class, `_c`: its attributes and methods."""

    def __init__(self, c: Any):
        object.__setattr__(self, "_c", c)

    def __getattr__(self, name: str) -> Any:
        c = object.__getattribute__(self, "_c")
        return c._get_method(name) if c._has_method(name) else c.getattr(name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._c.setattr(name, value)


def _keep(cls: type, made: Any, name: str) -> Any:
    _types[cls] = made
    _classes[name] = cls
    return made


def can_compile(cls: type) -> bool:
    """Whether a class is Python's source all through, and not a kind that has a type of its own."""
    from facula import nn

    if issubclass(cls, (nn.Module, *_INHERITED)) or cls.__module__ == "builtins":
        return False
    functions = [item for item in cls.__dict__.values() if inspect.isroutine(item) and not isinstance(item, (staticmethod, classmethod))]
    return all(hasattr(f, "__code__") for f in functions)


def resolution_callback(cls: type) -> Callable[[str], Any]:
    """What a name means inside of a class's methods."""
    from facula.jit._recursive import absent, create_resolution_callback_from_closure

    found = []
    for item in cls.__dict__.values():
        fn = item.__func__ if isinstance(item, (staticmethod, classmethod)) else item.fget if isinstance(item, property) else item
        if inspect.isfunction(fn):
            found.append(create_resolution_callback_from_closure(fn))

    def find(name: str) -> Any:
        for lookup in found:
            if (value := lookup(name)) is not absent:
                return value
        return absent

    return find


def compile_class(cls: type, place: Any = None, rcb: Callable[[str], Any] | None = None, qualified_name: str | None = None) -> Any:
    """The type of a class, compiled with all its methods if it was not; what raises leaves nothing of it behind."""
    found = _types.get(cls)
    if found is not None:
        return found
    before = set(_types)
    lookup = rcb if rcb is not None else resolution_callback(cls)
    name = qualified_name or _names.qualified_name(cls)
    try:
        with _C.CallStack(name, place) if place is not None else contextlib.nullcontext():
            if dataclasses.is_dataclass(cls):
                raise OSError(f"Failed to get source for {cls.__init__} using inspect.getsource")
            tree = get_jit_class_def(cls, cls.__name__)
            return _C._jit_script_class_compile(name, tree, get_default_args_for_class(cls), lookup, lambda made: _keep(cls, made, made.qualified_name()))
    except BaseException:
        for new in set(_types) - before:  # they may name this one
            del _types[new]
        raise


def enum_type(cls: type[enum.Enum]) -> Any:
    """The type of an enum, whose values are all ints, floats or strings."""
    from facula.jit.annotations import try_ann_to_type

    if (found := _types.get(cls)) is not None:
        return found
    values = []
    for member in cls:
        kind = try_ann_to_type(type(member.value)) if type(member.value) in (int, float, str) else None
        if kind is None:
            raise RuntimeError("Cannot create Enum with value type 'Any', only int, float and string are supported")
        values.append(kind)
    if not values:
        raise RuntimeError(f"No enum values defined for: '{cls}'")
    for i, kind in enumerate(values):
        if kind != values[0]:
            raise RuntimeError(f"Could not unify type list since element {i} of type {values[0]} did not match the types before it ({kind})")
    name = _names.qualified_name(cls)
    return _keep(cls, _C.EnumType(name, values[0], list(cls)), name)


def is_named_tuple(cls: type) -> bool:
    """Whether a class is one of typing.NamedTuple or collections.namedtuple."""
    return issubclass(cls, tuple) and hasattr(cls, "_fields")


def named_tuple_type(cls: Any, place: Any = None, rcb: Callable[[str], Any] | None = None) -> Any:
    """The type of a named tuple; fields without annotations are tensors."""
    from facula.jit.annotations import ann_to_type

    if (found := _types.get(cls)) is not None:
        return found
    annotations = inspect.get_annotations(cls)
    fields = []
    for field in cls._fields:
        annotation = annotations.get(field)
        if isinstance(annotation, str):
            annotation = eval(annotation, vars(inspect.getmodule(cls)) if inspect.getmodule(cls) else {})
        fields.append((field, _C.TensorType.get() if field not in annotations else ann_to_type(annotation, place, rcb)))
    name = _names.qualified_name(cls)
    return _keep(cls, _C._jit_named_tuple(name, fields, dict(cls._field_defaults)), name)


def compile_interface(cls: type) -> None:
    """torch.jit.interface of a class."""
    from facula import nn

    is_module = issubclass(cls, nn.Module)
    if len(cls.mro()) != (3 if is_module else 2):
        raise RuntimeError(
            "TorchScript interface does not support inheritance yet. Please directly inherit from 'object' or 'nn.Module'."
        )
    tree = get_jit_class_def(cls, cls.__name__)
    _types[cls] = _C._jit_script_interface_compile(_names.qualified_name(cls), tree, resolution_callback(cls), is_module)
