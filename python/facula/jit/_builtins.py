# SPDX-License-Identifier: Apache-2.0
"""Which operator of the graph a function of Python is, for the script compiler."""

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any

_math = ("acos acosh asin asinh atan atan2 atanh ceil copysign cos cosh degrees erf erfc exp expm1 fabs factorial floor fmod frexp gamma gcd isfinite isinf isnan ldexp lgamma log log10 "
         "log1p modf pow radians sin sinh sqrt tan tanh").split()  # fmt: skip
_math_names = {"pow": "aten::pow", "gcd": "aten::gcd", "mathremainder": "aten::mathremainder"}


@functools.cache
def _table() -> dict[int, tuple[Any, str]]:
    import facula as torch
    from facula import _C

    table: dict[int, tuple[Any, str]] = {}

    def add(fn: Any, name: str) -> None:
        table.setdefault(id(fn), (fn, name))

    for module in (torch, torch.special, torch.linalg, torch.fft, _C._nn):
        prefix = {"special": "special_", "linalg": "linalg_", "fft": "fft_"}.get(module.__name__.rpartition(".")[2], "")
        for name in dir(module):
            if name.startswith("__"):
                continue
            fn = getattr(module, name, None)
            if callable(fn) and not isinstance(fn, type) and _has_operator(prefix + name.removeprefix(prefix)):
                add(fn, "aten::" + prefix + name.removeprefix(prefix))
    for functions in (_C._functions, _C._hidden):
        for name, fn in functions.items():
            if _has_operator(name):
                add(fn, "aten::" + name)
    add(warnings.warn, "aten::warn")
    for name in _math:
        add(getattr(math, name), _math_names.get(name, "aten::" + name))
    add(math.remainder, "aten::mathremainder")
    return table


def _has_operator(name: str) -> bool:
    from facula import _C

    return _C._jit_has_operator("aten::" + name)


class Operator:
    """An operator as a source in this library names it: aten.relu_."""

    def __init__(self, name: str):
        self.operator = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from facula import _C

        name = self.operator.removeprefix("aten::")
        return (_C._functions.get(name) or _C._hidden[name])(*args, **kwargs)


class Operators:
    """All of them, by name."""

    def __getattr__(self, name: str) -> Operator:
        if not _has_operator(name):
            raise AttributeError(f"there is no operator aten::{name}")
        return Operator(f"aten::{name}")


def find(fn: Callable) -> str | None:
    """The operator that fn is, or None."""
    if type(fn) is Operator:
        return fn.operator
    try:
        found = _table().get(id(fn))
    except TypeError:
        return None
    return found[1] if found is not None and found[0] is fn else None


_find_builtin = find
