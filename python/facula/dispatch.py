# SPDX-License-Identifier: Apache-2.0
"""Layers added at run time: functions that see every operator call of the threads that switch them on. Observers, which
only look (`observe`), and routes, which answer in a kernel's place (`route`).

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


def observe(function, events=("call", "kernel"), *, process=False, children=False):
    """Tells function(event) what happens, from start() to stop() or for a `with` block.

    events: some of "call", "kernel", "range", "launch", "copy", "fill", "library", "allocate", "free", "expose", or "all". It sees
    the calling thread and those that work for it (backward); with process=True every thread. With children=True it goes
    on in forked processes. Several observers may watch at once, and may be stopped in any order and on any thread. What
    the function calls is not observed. An exception in it goes to sys.unraisablehook; the call goes on.

    An event has kind, phase ("begin", "end", "once"), op, name, text, args, kwargs, result, failed, error, path, call_id,
    parent_id, forward_id, thread, device, source, stream, bytes, device_ns, time_ns, address, storage, operands and product.
    args, kwargs and result can be read while the event is told, and keep what was read. docs/architecture.md says more.
    """
    chosen = _C._event_kinds if events == "all" else (events,) if isinstance(events, str) else tuple(events)
    unknown = [name for name in chosen if name not in _C._event_kinds]
    if unknown or not chosen:
        raise ValueError(f"observe: events are some of {', '.join(_C._event_kinds)}, or 'all'; got {events!r}")
    if not callable(function):
        raise TypeError(f"observe: expected a function of one event, got {type(function).__name__}")
    return _C._Watch(function, sum(1 << _C._event_kinds.index(name) for name in set(chosen)), process, children)


@contextlib.contextmanager
def route(function, *, process=False):
    """Asks function(op, args, kwargs, go_on) for the result of every kernel of this thread (or of the process).

    It returns what the call shall give, go_on(*args, **kwargs) for what the kernel gives, or NotImplemented to stand
    aside. It is asked below autograd, so gradients are those of the operator's own rule, and composite operators come as
    their parts; what a kernel or the function itself calls is not asked again. Of several routes the newest is asked.
    """
    registration = _C._start_route(function, process)
    try:
        yield
    finally:
        _C._stop_route(registration)


@contextlib.contextmanager
def layer(name, function):
    """A layer for a scope and this thread."""
    made = Layer(name, function)
    made.enable()
    try:
        yield made
    finally:
        made.remove()
