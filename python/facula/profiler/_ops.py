# SPDX-License-Identifier: Apache-2.0
"""torch.ops.profiler: ranges as TorchScript and older programs open and close them."""

from facula import _C
from facula.profiler import record_function


class _RecordFunction:
    """An open range."""

    def __init__(self, name, args):
        self.range = record_function(name, args)
        self.range.__enter__()

    def end(self):
        range, self.range = self.range, None
        if range is not None:  # ended twice, it is ended
            range.__exit__(None, None, None)


class _Function:
    """A function with the attributes of an operator's overloads, all of which are itself."""

    def __init__(self, function, *overloads):
        self._function, self.__name__, self.__doc__ = function, function.__name__, function.__doc__
        for name in ("default", *overloads):
            setattr(self, name, function)

    def __call__(self, *args, **kwargs):
        return self._function(*args, **kwargs)


def _record_function_enter(name, args=None):
    """Opens a range; the tensor that comes back closes it."""
    handle = _C._functions["zeros"]([1])
    handle._opened_range = _RecordFunction(name, args)
    return handle


def _record_function_enter_new(name, args=None):
    """Opens a range; the object that comes back closes it."""
    return _RecordFunction(name, args)


def _record_function_exit(handle):
    """Closes a range."""
    opened = handle if isinstance(handle, _RecordFunction) else getattr(handle, "_opened_range", None)
    if opened is None:
        raise RuntimeError("_record_function_exit: expected what _record_function_enter returned")
    opened.end()


def _call_end_callbacks_on_jit_fut(handle, future):
    """Closes a range when a future is done."""

    def end(done):
        _record_function_exit(handle)
        return done.value()

    return future.then(end)


FUNCTIONS = {
    f.__name__: _Function(f, "_RecordFunction")
    for f in (_record_function_enter, _record_function_enter_new, _record_function_exit, _call_end_callbacks_on_jit_fut)
}
