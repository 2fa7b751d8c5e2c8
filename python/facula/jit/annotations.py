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
    if isinstance(ann, type):
        if issubclass(ann, enum.Enum):
            return _enum_type(ann, loc, rcb)
        if issubclass(ann, tuple) and hasattr(ann, "_fields"):
            return _named_tuple_type(ann, loc, rcb)
    return None


def ann_to_type(ann: Any, loc: Any = None, rcb: Any = None) -> Any:
    """The graph's type for an annotation; throws ValueError where there is none."""
    found = try_ann_to_type(ann, loc, rcb)
    if found is None:
        raise ValueError(f"Unknown type annotation: '{ann}'")
    return found


_enums: dict[type, Any] = {}


def _enum_type(cls: type, loc: Any, rcb: Any) -> Any:
    from facula import _C
    from facula.jit._recursive import qualified_name

    if cls not in _enums:
        members = list(cls)
        kinds = {type(m.value) for m in members}
        if len(kinds) != 1:
            raise RuntimeError(f"Could not unify type list given element types: {', '.join(sorted(k.__name__ for k in kinds))}. Enum {cls.__name__} must have values of one type")
        _enums[cls] = _C._jit_make_enum(qualified_name(cls), ann_to_type(kinds.pop(), loc, rcb), [(m.name, m.value) for m in members], cls)
    return _enums[cls]


def _named_tuple_type(cls: type, loc: Any, rcb: Any) -> Any:
    import inspect

    import facula as torch
    from facula import _C
    from facula.jit._recursive import qualified_name

    fields = list(cls._fields)
    hints = inspect.get_annotations(cls)
    types_ = [ann_to_type(_evaluated(hints.get(f, torch.Tensor), cls), loc, rcb) for f in fields]
    return _C._jit_make_named_tuple(qualified_name(cls), fields, types_, [cls._field_defaults[f] for f in fields if f in cls._field_defaults], cls)


def _evaluated(annotation: Any, cls: type) -> Any:
    import sys

    if isinstance(annotation, typing.ForwardRef):
        annotation = annotation.__forward_arg__
    if isinstance(annotation, str):
        return eval(annotation, vars(sys.modules[cls.__module__]))
    return annotation
