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
def _others() -> dict[int, tuple[Any, str]]:
    """What is no operator of the library's own: functions of Python's modules."""
    import facula as torch

    found = {id(fn): (fn, name) for fn, name in ((warnings.warn, "aten::warn"), (torch._assert, "aten::_assert"), (math.remainder, "aten::mathremainder"))}
    for name in _math:
        fn = getattr(math, name)
        found[id(fn)] = fn, _math_names.get(name, "aten::" + name)
    return found


@functools.cache
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
    import facula as torch

    name = getattr(fn, "__name__", None)
    if type(fn) is type(torch.add):
        return f"aten::{name}" if _has_operator(name) else None
    if getattr(fn, "__module__", None) in ("facula.functional", "facula._C") and isinstance(name, str) and vars(torch).get(name) is fn:
        return f"aten::{name}" if _has_operator(name) else None
    found = _others().get(id(fn))
    return found[1] if found is not None and found[0] is fn else None


_find_builtin = find
