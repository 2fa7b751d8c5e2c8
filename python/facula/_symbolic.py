# SPDX-License-Identifier: Apache-2.0
"""Names for sizes that are not numbers yet. Sizes are always numbers here: the classes have no instances, so that
`isinstance(n, torch.SymInt)` answers rightly, and the functions compute with plain numbers."""

import builtins
import math

__all__ = [
    "SymBool", "SymFloat", "SymInt", "sym_float", "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not", "sym_sqrt", "sym_sum",
]  # fmt: skip


def _class(name, of):
    def __new__(cls, *args, **kwargs):
        raise TypeError(f"torch.{name}: sizes are plain numbers here, there is no {of} that stands for one")

    return type(name, (), {"__new__": __new__, "__module__": "torch", "__doc__": f"A {of} that is not known yet: none is."})


SymInt, SymFloat, SymBool = _class("SymInt", "whole number"), _class("SymFloat", "number"), _class("SymBool", "truth value")


def sym_int(a):
    """int(a)"""
    return int(a)


def sym_float(a):
    """float(a)"""
    return float(a)


def sym_not(a):
    """not a"""
    return not a


def sym_max(a, b):
    """The larger one; a float if one of them is."""
    return _wide(builtins.max(a, b), a, b)


def sym_min(a, b):
    """The smaller one; a float if one of them is."""
    return _wide(builtins.min(a, b), a, b)


def _wide(value, *operands):
    return float(value) if any(isinstance(x, float) for x in operands) else value


def sym_ite(b, t, f):
    """t if b, else f; of one type."""
    if not isinstance(b, bool) or type(t) is not type(f):
        raise TypeError(f"sym_ite: expected a bool and two values of one type, got {type(b)}, {type(t)} and {type(f)}")
    return t if b else f


def sym_sum(args):
    """The sum of a list."""
    return sum(args)


def sym_sqrt(a):
    """The square root."""
    return math.sqrt(a)
