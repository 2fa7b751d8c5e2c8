# SPDX-License-Identifier: Apache-2.0
"""Pipes that make batches, take them apart, and collect what belongs together."""

import itertools
from collections.abc import Callable

from facula.utils.data.datapipes._decorator import functional_datapipe
from facula.utils.data.datapipes.datapipe import DataChunk, IterDataPipe, length_of
from facula.utils.data.datapipes.utils.common import _check_unpickable_fn

__all__ = ["BatcherIterDataPipe", "GrouperIterDataPipe", "UnBatcherIterDataPipe"]


@functional_datapipe("batch")
class BatcherIterDataPipe(IterDataPipe):
    """Lists of batch_size samples; the last may be shorter unless drop_last."""

    datapipe: IterDataPipe
    batch_size: int
    drop_last: bool

    def __init__(self, datapipe: IterDataPipe, batch_size: int, drop_last: bool = False, wrapper_class: type = DataChunk) -> None:
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        self.datapipe, self.batch_size, self.drop_last, self.wrapper_class = datapipe, batch_size, drop_last, wrapper_class

    def __iter__(self):
        samples = iter(self.datapipe)
        while batch := list(itertools.islice(samples, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield self.wrapper_class(batch)

    def __len__(self) -> int:
        n = length_of(self.datapipe, self)
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)


@functional_datapipe("unbatch")
class UnBatcherIterDataPipe(IterDataPipe):
    """The samples of batches, unbatch_level levels deep; -1: whatever is in lists."""

    def __init__(self, datapipe: IterDataPipe, unbatch_level: int = 1) -> None:
        self.datapipe, self.unbatch_level = datapipe, unbatch_level

    def _dive(self, element, level):
        if level < -1:
            raise ValueError("unbatch_level must be -1 or >= 0")
        if level == 0 or (level == -1 and not isinstance(element, list)):
            yield element
            return
        if not isinstance(element, list):
            raise IndexError(f"unbatch_level {self.unbatch_level} exceeds the depth of the DataPipe")
        for item in element:
            yield from self._dive(item, level if level == -1 else level - 1)

    def __iter__(self):
        for element in self.datapipe:
            yield from self._dive(element, self.unbatch_level)


@functional_datapipe("groupby")
class GrouperIterDataPipe(IterDataPipe):
    """Lists of samples with one key, which group_key_fn tells. A group is given out when it has group_size samples; when
    buffer_size samples wait, the largest group is, which must have guaranteed_group_size (group_size, if nothing is said)
    or is an error, with drop_remaining dropped; at the end all others are. keep_key: pairs of key and list."""

    _running = (*IterDataPipe._running, "_groups", "_waiting")

    def __init__(
        self, datapipe: IterDataPipe, group_key_fn: Callable, *, keep_key: bool = False, buffer_size: int = 10000,
        group_size: int | None = None, guaranteed_group_size: int | None = None, drop_remaining: bool = False,
    ) -> None:  # fmt: skip
        _check_unpickable_fn(group_key_fn)
        if group_size is not None and not 0 < group_size <= buffer_size:
            raise AssertionError("group_size must be > 0 and <= buffer_size")
        if guaranteed_group_size is not None and (group_size is None or not 0 < guaranteed_group_size <= group_size):
            raise AssertionError("guaranteed_group_size must be > 0 and <= group_size and group_size must be set")
        self.datapipe, self.group_key_fn, self.keep_key, self.max_buffer_size = datapipe, group_key_fn, keep_key, buffer_size
        self.group_size = group_size
        self.guaranteed_group_size = group_size if guaranteed_group_size is None else guaranteed_group_size
        self.drop_remaining, self.wrapper_class = drop_remaining, DataChunk

    def reset(self) -> None:
        self._groups = {}
        self._waiting = 0

    def _take(self, key):
        group = self._groups.pop(key)
        self._waiting -= len(group)
        chunk = self.wrapper_class(group)
        return (key, chunk) if self.keep_key else chunk

    def __iter__(self):
        for sample in self.datapipe:
            key = self.group_key_fn(sample)
            group = self._groups.setdefault(key, [])
            group.append(sample)
            self._waiting += 1
            if len(group) == self.group_size:
                yield self._take(key)
            if self._waiting == self.max_buffer_size:
                largest = max(self._groups, key=lambda k: len(self._groups[k]))
                size = len(self._groups[largest])
                enough = self.guaranteed_group_size is None or size >= self.guaranteed_group_size
                if not enough and not self.drop_remaining:
                    raise RuntimeError("Failed to group items", str(self._groups[largest]))
                taken = self._take(largest)
                if enough:
                    yield taken
        for key in list(self._groups):
            yield self._take(key)
