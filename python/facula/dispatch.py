# SPDX-License-Identifier: Apache-2.0
"""Layers added at run time: functions that see every operator call of the threads that switch them on.

    def log(op, args, kwargs, go_on):
        print(op)
        return go_on(*args, **kwargs)

    with facula.dispatch.layer("log", log): ...
"""

import contextlib

from facula import _C


class Layer:
    """A boxed layer for all operators. `function(op, args, kwargs, go_on)` returns the call's result."""

    def __init__(self, name, function):
        self.name = name
        self._bit = _C._add_layer(name, function)

    def enable(self):
        """Switch it on for this thread."""
        if not self._bit:
            raise RuntimeError(f"the layer '{self.name}' was removed")
        _C._include_layers(self._bit, True)

    def disable(self):
        """Switch it off for this thread."""
        _C._include_layers(self._bit, False)

    def remove(self):
        """Give the slot back; it must be off on every thread."""
        if self._bit:
            self.disable()
            _C._remove_layer(self._bit)
            self._bit = 0


def observe(function):
    """Calls function(where, phase, op, call_id, forward_id) around every operator call of this thread.

    where is "call" or "kernel", phase "begin" or "end". A call and its kernel have the same call_id; the calls of
    its backward have it as forward_id.
    """
    return _C._ObserveScope(function)


@contextlib.contextmanager
def layer(name, function):
    """A layer for a scope and this thread."""
    made = Layer(name, function)
    made.enable()
    try:
        yield made
    finally:
        made.remove()
