# SPDX-License-Identifier: Apache-2.0
"""torch.jit.annotations: types that Python's annotations and comments name, as the graph's."""

import enum
import re
import types
import typing
from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: F401, UP035


class _BroadcastingList:
    """BroadcastingList2[int]: two of them, or one for both."""

    def __getitem__(self, types):
        return None


for _n in range(1, 7):
    globals()[f"BroadcastingList{_n}"] = _BroadcastingList()
del _n


def get_type_line(source: str) -> str | None:
    """The type comment of a function's source, of one line or of several joined; None: none."""
    lines = [(number, line) for number, line in enumerate(source.split("\n")) if "# type:" in line and not re.search(r"#\s*type:\s*ignore(\[[\w\-, ]+\])?\s*$", line)]
    if not lines:
        return None
    if len(lines) == 1:
        comment = lines[0][1].split("# type:", 1)[1].strip()
        return "# type: " + comment if "->" in comment else None
    whole = [line.split("# type:", 1)[1].strip() for _, line in lines]
    result = [part for part in whole if part.startswith("(") and "->" in part]
    if len(result) == 1 and result[0].startswith("(...)"):
        return "# type: (" + ", ".join(part for part in whole if part is not result[0]) + ") " + result[0][result[0].index("->") :]
    return "# type: " + result[0] if result else None


def try_ann_to_type(ann: Any, loc: Any = None, rcb: Any = None) -> Any:
    """The graph's type for an annotation; None: there is none."""
    import facula as torch
    from facula import _C

    simple = {
        torch.Tensor: _C.TensorType, int: _C.IntType, float: _C.FloatType, complex: _C.ComplexType, bool: _C.BoolType, str: _C.StringType, type(None): _C.NoneType,
        None: _C.NoneType, torch.device: _C.DeviceObjType, torch.dtype: _C.IntType, torch.layout: _C.IntType, torch.memory_format: _C.IntType, Any: _C.AnyType,
    }  # fmt: skip
    try:
        found = simple.get(ann)
    except TypeError:
        found = None
    if found is not None:
        return found.get()
    origin, args = typing.get_origin(ann), typing.get_args(ann)
    if ann in (typing.List, list, typing.Dict, dict, typing.Tuple, tuple, Optional):  # noqa: UP006
        return _bare(ann)
    if origin in (Union, types.UnionType):
        items = [ann_to_type(a, loc, rcb) for a in args]
        some = [i for a, i in zip(args, items, strict=True) if a is not type(None)]
        return _C.OptionalType(some[0]) if len(some) == 1 and len(items) == 2 else _C.UnionType(items)
    if origin is list:
        return _C.ListType(ann_to_type(args[0], loc, rcb))
    if origin is tuple:
        return _C.TupleType([] if args == ((),) else [ann_to_type(a, loc, rcb) for a in args])
    if origin is dict:
        return _C.DictType(ann_to_type(args[0], loc, rcb), ann_to_type(args[1], loc, rcb))
    if origin is torch.jit.Future:
        return _C.FutureType(ann_to_type(args[0], loc, rcb))
    if origin is typing.Final:
        return ann_to_type(args[0], loc, rcb)
    if isinstance(ann, type):
        return _class_to_type(ann, loc, rcb)
    return None


def _bare(ann: Any) -> Any:
    name = getattr(ann, "_name", None) or ann.__name__
    if ann in (list, tuple):
        return None  # any of them
    example = {"List": "List[int]", "Dict": "Dict[int, int]", "dict": "dict[int, int]", "Tuple": "Tuple[int]", "Optional": "Optional[int]"}[name]
    many = "contained types. Please add contained type" if "ict" in name else "a contained type. Please add a contained type"
    raise RuntimeError(f"Attempted to use {name} without {many}, e.g. {example}")


def _class_to_type(cls: type, loc: Any, rcb: Any) -> Any:
    import facula as torch
    from facula.jit import _classes

    if (found := _classes.type_of(cls)) is not None:
        return found
    if issubclass(cls, enum.Enum):
        return _classes.enum_type(cls)
    if _classes.is_named_tuple(cls):
        return _classes.named_tuple_type(cls, loc, rcb)
    if cls.__module__.partition(".")[0] == "facula":
        from facula.jit import _contexts

        own = _contexts.STANDS_FOR.get(cls, cls if cls in _contexts.NAMES else None)
        return own and _classes.compile_class(own, loc, None, _contexts.NAMES[own])
    if issubclass(cls, torch.Tensor) or not _classes.can_compile(cls):
        return None
    return _classes.compile_class(cls, loc)


def ann_to_type(ann: Any, loc: Any = None, rcb: Any = None) -> Any:
    """The graph's type for an annotation; throws ValueError where there is none."""
    found = try_ann_to_type(ann, loc, rcb)
    if found is None:
        raise ValueError(f"Unknown type annotation: '{ann}'")
    return found
