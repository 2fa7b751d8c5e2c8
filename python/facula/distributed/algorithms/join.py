# SPDX-License-Identifier: Apache-2.0
"""Uneven inputs: ranks that have no batch left shadow the collectives of those that have."""

import warnings
from abc import ABC, abstractmethod
from types import TracebackType

import facula
from facula.distributed import distributed_c10d as c10d

__all__ = ["Join", "JoinHook", "Joinable"]


class JoinHook:
    """What a rank that has joined does for one object."""

    def main_hook(self) -> None:
        """Shadows one step of the others; called again until all have joined."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Called once all have joined."""


class Joinable(ABC):
    """An object whose steps hold collectives."""

    @abstractmethod
    def __init__(self) -> None:
        super().__init__()

    @abstractmethod
    def join_hook(self, **kwargs) -> JoinHook:
        """The hook, from the keyword arguments of Join."""

    @property
    @abstractmethod
    def join_device(self) -> facula.device:
        """Where its tensors are."""

    @property
    @abstractmethod
    def join_process_group(self):
        """The group of its collectives."""


class Join:
    """A context for a loop over batches on several ranks; the first object says in every step that this rank is there."""

    def __init__(self, joinables: list, enable: bool = True, throw_on_early_termination: bool = False, **kwargs) -> None:
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        self._joinables, self._enable, self._throw = joinables, enable, throw_on_early_termination
        self._hooks = [j.join_hook(**kwargs) for j in joinables]
        groups = {id(j.join_process_group) for j in joinables}
        if len(groups) > 1:
            raise ValueError("Using join context manager with multiple process groups")
        self._group = joinables[0].join_process_group
        self._present = self._group.size()
        self._initial = kwargs.get("divide_by_initial_world_size", True)

    def __enter__(self) -> "Join":
        if self._enable:
            for j in self._joinables:
                j._joined = self
        return self

    def divisor(self, joinable: object) -> int:
        """By what the sum of gradients is divided in this step."""
        return self._group.size() if self._initial else self._present

    def sync_root(self, joinable: object) -> int:
        """The rank whose buffers count: the first that is still there."""
        return self._root

    def __exit__(self, kind: type | None, value: BaseException | None, trace: TracebackType | None) -> None:
        for j in self._joinables:
            j._joined = None
        if not self._enable or kind is not None:
            return
        steps = 0
        last = True
        while True:
            present = self._count(0)
            if present == 0:
                break
            last = False
            if self._throw:
                self._tell_throw(True)
                raise RuntimeError("Detected at least one rank that exhausted inputs. Throwing across all ranks.")
            self._root = self._find_root(False)
            for hook in self._hooks:
                hook.root = self._root
                hook.present = present
                hook.main_hook()
            steps += 1
            if steps == 1000:
                warnings.warn("Detected uneven input skew of greater than 1000: ranks have very different numbers of batches", stacklevel=2)
        for hook in self._hooks:
            hook.post_hook(last)

    def _count(self, here: int) -> int:
        """How many ranks are still there; every rank asks once a step."""
        counted = facula.tensor([here], dtype=facula.int64)
        c10d.all_reduce(counted, group=self._group)
        return int(counted)

    def _find_root(self, here: bool) -> int:
        rank = facula.tensor([self._group.rank() if here else self._group.size()], dtype=facula.int64)
        c10d.all_reduce(rank, c10d.ReduceOp.MIN, group=self._group)
        return int(rank)

    def _tell_throw(self, throws: bool) -> bool:
        flag = facula.tensor([int(throws)], dtype=facula.int64)
        c10d.all_reduce(flag, group=self._group)
        return bool(flag)

    @staticmethod
    def notify_join_context(joinable: object) -> "Join | None":
        """Says that this rank takes part in another step; called by the first object before its collectives."""
        context = getattr(joinable, "_joined", None)
        if context is None or context._joinables[0] is not joinable:
            return None
        context._present = context._count(1)
        if context._throw and context._present < context._group.size() and context._tell_throw(False):
            raise RuntimeError("Detected at least one rank that exhausted inputs. Throwing across all ranks.")
        context._root = context._find_root(True)
        return context
