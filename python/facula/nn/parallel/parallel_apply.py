# SPDX-License-Identifier: Apache-2.0
"""Modules called at the same time, each on a thread."""

from __future__ import annotations

import threading
from typing import Any

from facula import _C
from facula._tensor import Tensor
from facula.autograd.forward_modes import set_grad_enabled

__all__ = ["get_a_var", "parallel_apply"]


def get_a_var(obj) -> Tensor | None:
    """The first tensor inside of lists, tuples and dicts."""
    if isinstance(obj, Tensor):
        return obj
    if isinstance(obj, dict):
        obj = list(obj.items())
    found = map(get_a_var, obj) if isinstance(obj, (list, tuple)) else ()
    return next((t for t in found if t is not None), None)


def parallel_apply(modules, inputs, kwargs_tup=None, devices=None) -> list[Any]:
    """Calls each module with its arguments, each on a thread of its own."""
    kwargs_tup = [{}] * len(modules) if kwargs_tup is None else kwargs_tup
    for name, given in (("inputs", inputs), ("kwargs_tup", kwargs_tup), ("devices", modules if devices is None else devices)):
        if len(given) != len(modules):
            raise AssertionError(f"The number of modules {len(modules)} is not equal to the number of {name} {len(given)}")
    grad, results, errors = _C.is_grad_enabled(), [None] * len(modules), {}

    def work(i):
        try:
            args = inputs[i] if isinstance(inputs[i], (list, tuple)) else (inputs[i],)
            with set_grad_enabled(grad):
                results[i] = modules[i](*args, **kwargs_tup[i])
        except BaseException as e:
            errors[i] = e

    threads = [threading.Thread(target=work, args=(i,)) for i in range(1, len(modules))]
    for thread in threads:
        thread.start()
    if modules:
        work(0)
    for thread in threads:
        thread.join()
    for i in sorted(errors):
        raise errors[i]
    return results
