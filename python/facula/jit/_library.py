# SPDX-License-Identifier: Apache-2.0
"""Which source in the language stands for a function or a method of this library, where its own is made for speed in Python.

Functions of nn.functional are those of `_functional`, by name; methods of torch.nn's classes those of `_nn`, by class and name.
"""

import functools
from collections.abc import Callable
from typing import Any


@functools.cache
def _functions() -> dict[int, tuple[Any, Any]]:
    import facula as torch
    from facula.jit import _functional
    from facula.nn import functional
    from facula.nn.modules import utils

    found: dict[int, tuple[Any, Any]] = {id(torch.unique): (torch.unique, _functional.unique)}
    for name in ("_single", "_pair", "_triple"):
        found[id(getattr(utils, name))] = getattr(utils, name), getattr(_functional, name)
    for name, form in vars(_functional).items():
        own = vars(functional).get(name)
        if own is not None and own is not form and callable(own) and (callable(form) or not isinstance(form, (int, str))) and not isinstance(own, type):
            found[id(own)] = own, form
            if hasattr(form, "__code__"):
                form._jit_override_qualname = f"__torch__.torch.nn.functional.{name}"
    return found


def function(fn: Any) -> Any:
    """The form of nn.functional's fn in the language; None: it is none of them."""
    if getattr(fn, "__module__", None) not in ("facula.nn.functional", "facula.nn._multi_head", "facula.functional", "facula.nn.modules.utils"):
        return None
    found = _functions().get(id(fn))
    return found[1] if found is not None and found[0] is fn else None


def _is_ours(cls: type) -> bool:
    return cls.__module__.startswith("facula.")


@functools.cache
def _methods() -> dict[tuple[type, str], Callable]:
    from facula import nn
    from facula.jit import _nn

    return {(cls, name): fn for cls, methods in _nn.methods(nn).items() for name, fn in methods.items()}


def method(cls: type, name: str) -> Callable | None:
    """The form of a class's method in the language, if it is this library's own; None: compile the method itself."""
    for base in cls.__mro__:
        form = _methods().get((base, name)) if _is_ours(base) else None
        if form is not None:
            return form
        if name in base.__dict__:
            return None
    return None


def recurrent_overloads() -> list[str]:
    """What forward() of a recurrent layer has: for tensors, and for packed sequences where those have a type."""
    from facula.jit.annotations import try_ann_to_type
    from facula.nn.utils.rnn import PackedSequence

    return ["forward__0", "forward__1"] if try_ann_to_type(PackedSequence) is not None else ["forward__0"]
