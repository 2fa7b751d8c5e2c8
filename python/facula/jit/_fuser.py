# SPDX-License-Identifier: Apache-2.0
"""Switches of what calls of compiled functions run, and what they ran."""

import contextlib
from collections.abc import Iterator, Sequence

from facula import _C


def set_fusion_strategy(strategy: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """How often a region is specialised before it is run as it is, as pairs of "STATIC" or "DYNAMIC" and a depth. What was."""
    return _C._jit_set_fusion_strategy(strategy)


def last_executed_optimized_graph():
    """The graph that this thread ran last."""
    return _C._last_executed_optimized_graph()


@contextlib.contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """Whether functions that are called inside for the first time are optimised."""
    before = _C._get_graph_executor_optimize()
    _C._set_graph_executor_optimize(should_optimize)
    try:
        yield
    finally:
        _C._set_graph_executor_optimize(before)


@contextlib.contextmanager
def fuser(name: str) -> Iterator[None]:
    """What may be fused in functions whose plan is made inside: "fuser0" nothing but on the CPU, "fuser1" and "fuser3"
    whatever can be, "fuser2" nothing."""
    settings = {"fuser0": (True, False), "fuser1": (True, True), "fuser2": (False, False), "fuser3": (True, True)}.get(name)
    if settings is None:
        raise Exception(f"unrecognized fuser option (name: {name})")
    before = (_C._jit_can_fuse_on_cpu(), _C._jit_texpr_fuser_enabled())
    _C._jit_override_can_fuse_on_cpu(settings[0])
    _C._jit_set_texpr_fuser_enabled(settings[1])
    try:
        yield
    finally:
        _C._jit_override_can_fuse_on_cpu(before[0])
        _C._jit_set_texpr_fuser_enabled(before[1])


def explain(fn, *args, **kwargs) -> str:
    """What calls fn(*args, **kwargs) run, in words: the plan, its regions and their guards, what else was specialised, and
    the time that took. The function is called until its plan is made. Not torch's."""
    fn.graph_for(*args, **kwargs)
    return _C._jit_explain(fn)
