# SPDX-License-Identifier: Apache-2.0
"""torch.jit.script: compiles a function's source."""

import weakref
from collections.abc import Callable
from typing import Any

from facula import _C
from facula.jit import _recursive
from facula.jit.frontend import get_default_args, get_jit_def

_functions: "weakref.WeakKeyDictionary[Callable, Any]" = weakref.WeakKeyDictionary()


def _try_get_jit_cached_function(fn: Callable) -> Any:
    return _functions.get(fn)


def script_function(fn: Callable, rcb: Callable[[str], Any] | None = None) -> Any:
    """A function, compiled; the same function gives the same again."""
    cached = _try_get_jit_cached_function(fn)
    if cached is not None:
        return cached
    tree = get_jit_def(fn, fn.__name__)
    lookup = rcb if rcb is not None else _recursive.create_resolution_callback_from_closure(fn)
    compiled = _C._jit_script_compile(_recursive.qualified_name(fn), tree, lookup, get_default_args(fn))
    _functions[fn] = compiled
    return compiled
