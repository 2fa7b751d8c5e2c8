# SPDX-License-Identifier: Apache-2.0
"""What every iterator of an IterDataPipe does besides: one is valid at a time, samples are counted, errors name their pipe.

A pipe's class is its own `__iter__` and `reset`; `hook` replaces both when the class is made.
"""

import enum
import functools
import inspect

_THROWN = "This exception is thrown by __iter__ of"
_INVALID = "This iterator has been invalidated"
_LONGEST = 300  # characters of one argument in a message


class _SnapshotState(enum.Enum):
    """Where a pipe stands; Restored: the next iterator goes on where a snapshot was taken."""

    NotStarted = 0
    Restored = 1
    Iterating = 2


def describe(pipe):
    """The pipe with those arguments of its constructor that it kept under their names."""
    try:
        names = sorted(inspect.signature(type(pipe)).parameters)
    except (TypeError, ValueError):
        names = []
    kept = vars(pipe)
    shown = (f"{n}={_short(kept[n])}" for n in names if n in kept)
    return f"{type(pipe).__name__}({', '.join(shown)})"


def _short(value):
    if inspect.isfunction(value) or inspect.ismethod(value):
        return value.__name__
    text = repr(value)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


def invalidated(pipe):
    return RuntimeError(
        f"{_INVALID} because another iterator has been created from the same IterDataPipe: {describe(pipe)}\n"
        "Only one iterator of a pipe is valid at a time. Where several are needed, make several pipes of it with `.fork()`."
    )


def _name_the_pipe(error, pipe):
    """Says in the error's text whose iterator raised it, unless it says so already."""
    text = f"{_THROWN} {describe(pipe)}"
    told = [*(str(a) for a in error.args[:1]), *getattr(error, "__notes__", ())]
    if any(_THROWN in t or t.startswith(_INVALID) for t in told):
        return
    if len(error.args) == 0 or isinstance(error.args[0], str):
        error.args = (f"{error.args[0] if error.args else ''}\n{text}", *error.args[1:])
    elif hasattr(error, "add_note"):  # from Python 3.11 on; the arguments, an errno or a key, are what callers read
        error.add_note(text)


def _generate(pipe, function):
    number = pipe._begin_iterator()
    samples = function(pipe)
    sent = None
    try:
        while True:
            pipe._check_iterator(number)
            try:
                sample = samples.send(sent)
            except StopIteration as end:
                return end.value
            except Exception as e:
                _name_the_pipe(e, pipe)
                raise
            pipe._number_of_samples_yielded += 1
            sent = yield sample
    finally:
        samples.close()


class _Iterator:
    """An iterator that the pipe's own `__iter__` returned."""

    def __init__(self, pipe, number, iterator):
        self._pipe, self._number, self._iterator = pipe, number, iterator

    def __iter__(self):
        return self

    def __next__(self):
        self._pipe._check_iterator(self._number)
        sample = next(self._iterator)
        self._pipe._number_of_samples_yielded += 1
        return sample

    def __getattr__(self, name):
        return getattr(self._iterator, name)


def hook_iter(function):
    generates = inspect.isgeneratorfunction(function)

    @functools.wraps(function)
    def __iter__(self):
        if type(self).__iter__ is not __iter__:  # called by a subclass, whose own iterator is the one that counts
            return function(self)
        ahead = self._fast_forward_iterator
        if ahead is not None:
            self._fast_forward_iterator, self._snapshot_state = None, _SnapshotState.Iterating
            return ahead
        if generates:
            return _generate(self, function)
        number = self._begin_iterator()
        return _Iterator(self, number, function(self))

    return __iter__


def hook_reset(function):
    @functools.wraps(function)
    def reset(self):
        if self._snapshot_state is not _SnapshotState.Restored:
            self._number_of_samples_yielded = 0
            self._fast_forward_iterator = None
            function(self)
            self._snapshot_state = _SnapshotState.Iterating

    return reset


def hook(cls):
    """Replaces what the class itself defines."""
    for name, replace in (("__iter__", hook_iter), ("reset", hook_reset)):
        if inspect.isfunction(cls.__dict__.get(name)):
            setattr(cls, name, replace(cls.__dict__[name]))
