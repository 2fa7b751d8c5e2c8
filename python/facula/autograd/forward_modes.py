# SPDX-License-Identifier: Apache-2.0
"""Modes of the forward pass: what is recorded, and whether problems are traced back to their line."""

import functools
import threading

from facula import _C

_GENERATOR = 0x20  # inspect.CO_GENERATOR; importing inspect alone costs a third of `import facula`


class _Decorating:
    """A context that decorates, too: it then covers functions and every step of generators."""

    def clone(self):
        return type(self)()

    def __call__(self, function):
        if isinstance(function, type):
            function.__init__ = self(function.__init__)
            return function
        if getattr(getattr(function, "__code__", None), "co_flags", 0) & _GENERATOR:
            return self._wrap_generator(function)

        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            with self.clone():
                return function(*args, **kwargs)

        return wrapper

    def _wrap_generator(self, function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            generator = function(*args, **kwargs)
            with self.clone():
                step = functools.partial(next, generator)
            while True:
                try:
                    with self.clone():
                        item = step()
                except StopIteration as stop:
                    return stop.value
                try:
                    sent = yield item
                    step = functools.partial(generator.send, sent)
                except GeneratorExit:
                    with self.clone():
                        generator.close()
                    raise
                except BaseException as error:
                    step = functools.partial(generator.throw, error)

        return wrapper


class _Mode(_C._StateMode, _Decorating):
    """A context that sets the grad modes."""


_following = {}  # thread: how many follow_tangents it is in


class follow_tangents:
    """Inside, the thread records under no_grad as well. Tangents go through what no gradient goes through, and func.jvp
    finds them by what was recorded."""

    def __enter__(self):
        me = threading.get_ident()
        _following[me] = _following.get(me, 0) + 1

    def __exit__(self, *error):
        me = threading.get_ident()
        _following[me] -= 1
        if not _following[me]:
            del _following[me]


def _records(on):
    return on or (bool(_following) and threading.get_ident() in _following)


class no_grad(_Mode):
    """Nothing is recorded inside."""

    _on = False

    def __new__(cls, orig_func=None):
        self = super().__new__(cls)
        self._set("grad", _records(cls._on))
        return self(orig_func) if orig_func is not None else self

    def __init__(self, orig_func=None):
        pass


class enable_grad(no_grad):
    """Records again inside no_grad."""

    _on = True


class set_grad_enabled(_Mode):
    """Switches recording at once; as a context, until it ends."""

    def __init__(self, mode):
        self.mode = bool(mode)
        self._set("grad", _records(self.mode))
        self._begin()

    def clone(self):
        return set_grad_enabled(self.mode)

    def __call__(self, function):
        self._restore()  # as a decorator it changes nothing outside the function
        return super().__call__(function)


class inference_mode(_Mode):
    """Like no_grad, and tensors made inside can never take part in a recorded computation."""

    def __new__(cls, mode=True):
        self = super().__new__(cls)
        self.mode = True if callable(mode) else bool(mode)
        self._set("inference", self.mode)
        return self(mode) if callable(mode) else self

    def clone(self):
        return inference_mode(self.mode)


class set_detect_anomaly(_C._StateMode):
    """Backward checks for NaN and names the forward line of a node that fails; at once, or as a context."""

    def __init__(self, mode, check_nan=True):
        self._set("anomaly", bool(mode), bool(check_nan))
        self._begin()


class detect_anomaly(_C._StateMode):
    """Anomaly detection for a scope."""

    def __init__(self, check_nan=True):
        import warnings

        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging.", stacklevel=2
        )
        self._set("anomaly", True, bool(check_nan))


class _Setting:
    """A setting of this thread that acts when it is made and, after `with`, is what it was; or a decorator."""

    def __init__(self, mode=True):
        self._mode, self._before = bool(mode), getattr(self._state, "on", True)
        self._state.on = self._mode

    def __enter__(self):
        self._state.on = self._mode

    def __exit__(self, *exc):
        self._state.on = self._before

    def __call__(self, function):
        self._state.on = self._before

        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            with type(self)(self._mode):
                return function(*args, **kwargs)

        return wrapper


class set_multithreading_enabled(_Setting):
    """Whether backward may use threads of its own. Remembered: on the CPU nodes run on the calling thread, an accelerator has one."""

    _state = threading.local()


class enforce_grad_layout_policy(_Setting):
    """Whether new gradients must lie in memory as their tensors do. Remembered: they always do."""

    _state = threading.local()


def is_multithreading_enabled():
    """What set_multithreading_enabled was given last on this thread."""
    return getattr(set_multithreading_enabled._state, "on", True)
