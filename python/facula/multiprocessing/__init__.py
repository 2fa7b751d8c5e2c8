# SPDX-License-Identifier: Apache-2.0
"""Python's multiprocessing, where tensors that are sent to another process stay in memory that both see."""

import multiprocessing as _python
from multiprocessing import *  # noqa: F403
from multiprocessing import resource_tracker

from facula import _missing
from facula.multiprocessing import reductions as _reductions
from facula.multiprocessing.spawn import (
    ENV_VAR_PARALLEL_START,
    ProcessContext,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)

__all__ = [
    "set_sharing_strategy", "get_sharing_strategy", "get_all_sharing_strategies", "spawn", "start_processes", "ProcessContext",
    "ProcessExitedException", "ProcessRaisedException", "SpawnContext", "ENV_VAR_PARALLEL_START",
]  # fmt: skip
__all__ += _python.__all__

__getattr__ = _missing.missing("facula.multiprocessing", later=("pool", "queue"))

_strategies = {"file_descriptor", "file_system"}
_strategy = "file_descriptor"
init_reductions = _reductions.init_reductions


def set_sharing_strategy(new_strategy):
    """How the memory of tensors is handed on: by file_descriptor, which nothing can leak, or by name in the file_system."""
    global _strategy
    if new_strategy not in _strategies:
        raise AssertionError(f"invalid sharing strategy {new_strategy!r}, expected one of {_strategies}")
    if new_strategy == "file_system":
        # Children inherit this tracker: one of a child's own would take away what it sent as soon as the child ends.
        resource_tracker.ensure_running()
    _strategy = new_strategy


def get_sharing_strategy():
    """The strategy in use."""
    return _strategy


def get_all_sharing_strategies():
    """The strategies that there are."""
    return _strategies


init_reductions()
