# SPDX-License-Identifier: Apache-2.0
"""Pipes that make one stream of several, or several of one."""

import collections
import copy as copies
import warnings
from collections.abc import Callable

from facula.utils.data.datapipes import _hook_iterator
from facula.utils.data.datapipes._decorator import functional_datapipe
from facula.utils.data.datapipes.datapipe import IterDataPipe, length_of
from facula.utils.data.datapipes.utils.common import _check_unpickable_fn

__all__ = [
    "ConcaterIterDataPipe", "DemultiplexerIterDataPipe", "ForkerIterDataPipe", "MultiplexerIterDataPipe", "ZipperIterDataPipe",
]  # fmt: skip


def _lengths(pipe):
    return [length_of(p, pipe) for p in pipe.datapipes]


@functional_datapipe("concat")
class ConcaterIterDataPipe(IterDataPipe):
    """One stream after the other."""

    datapipes: tuple[IterDataPipe, ...]

    def __init__(self, *datapipes: IterDataPipe) -> None:
        if not datapipes:
            raise ValueError("Expected at least one DataPipe, but got nothing")
        if not all(isinstance(p, IterDataPipe) for p in datapipes):
            raise TypeError("Expected all inputs to be `IterDataPipe`")
        self.datapipes = datapipes

    def __iter__(self):
        for pipe in self.datapipes:
            yield from pipe

    def __len__(self) -> int:
        return sum(_lengths(self))


@functional_datapipe("zip")
class ZipperIterDataPipe(IterDataPipe):
    """Tuples of a sample of each stream, until the shortest ends."""

    datapipes: tuple[IterDataPipe, ...]

    def __init__(self, *datapipes: IterDataPipe) -> None:
        if not all(isinstance(p, IterDataPipe) for p in datapipes):
            raise TypeError("All inputs are required to be `IterDataPipe` for `ZipIterDataPipe`.")
        self.datapipes = datapipes

    def __iter__(self):
        yield from zip(*self.datapipes, strict=False)

    def __len__(self) -> int:
        return min(_lengths(self))


@functional_datapipe("mux")
class MultiplexerIterDataPipe(IterDataPipe):
    """A sample of each stream in turn, until the shortest ends."""

    def __init__(self, *datapipes) -> None:
        self.datapipes = datapipes

    def __iter__(self):
        for turn in zip(*self.datapipes, strict=False):
            yield from turn

    def __len__(self) -> int:
        return min(_lengths(self)) * len(self.datapipes)


class _Shared(IterDataPipe):
    """A source that several children read, each at its own pace: what one has read and others have not is kept, at most
    buffer_size samples (-1: any number). The children's iterators belong to a round; a child that begins again begins a
    new one, in which all read from the start."""

    _running = (*IterDataPipe._running, "_source", "_stopped")

    def __init__(self, datapipe, num_instances, buffer_size, function):
        self.main_datapipe, self.num_instances, self.buffer_size = datapipe, num_instances, buffer_size
        if buffer_size < 0:
            warnings.warn(f"Unlimited buffer size is set for `{function}`, please be aware of OOM at random places", UserWarning, stacklevel=4)

    def reset(self) -> None:
        self._source = None  # begins with the first sample that is asked for
        self._stopped = [False] * self.num_instances
        self._forget()

    def _next_of_source(self):
        if self._source is None:
            self._source = iter(self.main_datapipe)
        return next(self._source)

    def get_next_element_by_instance(self, instance_id: int):
        """The samples of one child."""
        stopped = self._stopped  # of this round
        try:
            while True:
                try:
                    sample = self._next_for(instance_id)
                except StopIteration:
                    return
                yield sample
        finally:
            stopped[instance_id] = True

    def is_every_instance_exhausted(self) -> bool:
        return all(self._stopped)


def _children(main):
    return [_ChildDataPipe(main, i) for i in range(main.num_instances)]


def _check_instances(num_instances):
    if num_instances < 1:
        raise ValueError(f"Expected `num_instances` larger than 0, but {num_instances} is found")


class _ChildDataPipe(IterDataPipe):
    """One of the streams that fork and demux give."""

    def __init__(self, main_datapipe: IterDataPipe, instance_id: int) -> None:
        if not isinstance(main_datapipe, _Shared):
            raise AssertionError("main_datapipe must be what fork or demux makes")
        self.main_datapipe, self.instance_id = main_datapipe, instance_id

    def __iter__(self):
        return self.main_datapipe.get_next_element_by_instance(self.instance_id)

    def __len__(self) -> int:
        return self.main_datapipe.get_length_by_instance(self.instance_id)

    def _begin_iterator(self):
        main = self.main_datapipe
        if main._valid_iterator_id is None:
            main._begin_iterator()
        elif self._valid_iterator_id == main._valid_iterator_id:
            if not main.is_every_instance_exhausted():
                warnings.warn(
                    "Some child DataPipes are not exhausted when __iter__ is called. We are resetting the buffer and each child "
                    "DataPipe will read from the start again.",
                    UserWarning,
                    stacklevel=4,
                )
            main._begin_iterator()
        self._valid_iterator_id = main._valid_iterator_id
        self.reset()
        return self._valid_iterator_id

    def _check_iterator(self, number):
        main = self.main_datapipe
        if number != self._valid_iterator_id or number != main._valid_iterator_id:
            raise RuntimeError(
                "This iterator has been invalidated, because a new iterator has been created from one of the ChildDataPipes of "
                f"{_hook_iterator.describe(main)}."
            )


@functional_datapipe("fork")
class ForkerIterDataPipe(IterDataPipe):
    """A list of num_instances pipes that all give the source's samples; copy: None, or "shallow" or "deep" copies."""

    def __new__(cls, datapipe: IterDataPipe, num_instances: int, buffer_size: int = 1000, copy=None):
        _check_instances(num_instances)
        if num_instances == 1:
            return datapipe
        return _children(_ForkerIterDataPipe(datapipe, num_instances, buffer_size, copy))


def _no_op(x):
    return x


class _ForkerIterDataPipe(_Shared):
    _running = (*_Shared._running, "_kept", "_first", "_positions")

    def __init__(self, datapipe: IterDataPipe, num_instances: int, buffer_size: int = 1000, copy=None) -> None:
        functions = {None: _no_op, "shallow": copies.copy, "deep": copies.deepcopy}
        if copy not in functions:
            raise ValueError(f"Unknown copy method `{copy}` requested, choose one of None, `shallow` or `deep`.")
        super().__init__(datapipe, num_instances, buffer_size, "fork")
        self.copy_fn = functions[copy]

    def _forget(self):
        self._kept = collections.deque()  # from sample number _first on
        self._first = 0
        self._positions = [0] * self.num_instances

    def _next_for(self, instance_id):
        at = self._positions[instance_id] - self._first
        if at == len(self._kept):
            if 0 <= self.buffer_size <= len(self._kept):
                raise BufferError(f"ForkerIterDataPipe buffer overflow,buffer size {self.buffer_size} is insufficient.")
            self._kept.append(self._next_of_source())
        sample = self._kept[at]
        self._positions[instance_id] += 1
        if at == 0 and min(self._positions) > self._first:
            self._kept.popleft()
            self._first += 1
        return self.copy_fn(sample)

    def get_length_by_instance(self, instance_id: int) -> int:
        return len(self.main_datapipe)


@functional_datapipe("demux")
class DemultiplexerIterDataPipe(IterDataPipe):
    """A list of num_instances pipes; classifier_fn(sample) is the number of the one that gives it. None: an error, or
    with drop_none, nobody."""

    def __new__(
        cls, datapipe: IterDataPipe, num_instances: int, classifier_fn: Callable, drop_none: bool = False, buffer_size: int = 1000
    ):
        _check_instances(num_instances)
        _check_unpickable_fn(classifier_fn)
        return _children(_DemultiplexerIterDataPipe(datapipe, num_instances, classifier_fn, drop_none, buffer_size))


class _DemultiplexerIterDataPipe(_Shared):
    _running = (*_Shared._running, "_kept")

    def __init__(self, datapipe: IterDataPipe, num_instances: int, classifier_fn: Callable, drop_none: bool, buffer_size: int) -> None:
        super().__init__(datapipe, num_instances, buffer_size, "demux")
        self.classifier_fn, self.drop_none = classifier_fn, drop_none

    def _forget(self):
        self._kept = [collections.deque() for _ in range(self.num_instances)]

    def _next_for(self, instance_id):
        if self._kept[instance_id]:
            return self._kept[instance_id].popleft()
        while True:
            sample = self._next_of_source()
            number = self.classifier_fn(sample)
            if number is None and self.drop_none:
                continue
            if number is None or not 0 <= number < self.num_instances:
                raise ValueError(
                    f"Output of the classification fn should be between 0 and {self.num_instances - 1}. {number} is returned."
                )
            if number == instance_id:
                return sample
            if 0 <= self.buffer_size <= sum(map(len, self._kept)):
                raise BufferError(f"DemultiplexerIterDataPipe buffer overflow, buffer size {self.buffer_size} is insufficient.")
            self._kept[number].append(sample)

    def get_length_by_instance(self, instance_id: int) -> int:
        raise TypeError("a pipe of demux has no length: which samples it gives is known when they come")
