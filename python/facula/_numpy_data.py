# SPDX-License-Identifier: Apache-2.0
"""NumPy's plain data in a pickle that is read with weights_only=False: arrays, scalars and dtypes of numbers and texts.

A dtype whose elements are objects or records is refused, and what fills an array is bytes of its own size: nothing of the file is
called. NumPy is imported when a file names it.
"""

import math
import re
from pickle import UnpicklingError

_NAMES = re.compile(r"numpy\.(?:_core|core)\.multiarray\.(_reconstruct|scalar)|numpy\.(ndarray|dtype)")
_NUMBERS = re.compile(r"[<>|=]?(?:[biufc]\d{1,2}|[SU]\d{1,9}|\?)")


class NumpyData:
    """For one pickle: what its names stand for, what is called and filled in their place."""

    def __init__(self):
        self.calls = {}  # id of a name's object: what runs where the pickle calls it

    def find(self, full):
        found = _NAMES.fullmatch(full)
        if not found:
            return None
        try:
            import numpy
        except ImportError:
            raise UnpicklingError(f"the file holds NumPy's {full}, and NumPy is not installed") from None
        if not self.calls:
            self.calls = {id(numpy.dtype): _dtype, id(_array): _array, id(_scalar): _scalar}
        return {"ndarray": numpy.ndarray, "dtype": numpy.dtype, "_reconstruct": _array, "scalar": _scalar}[found[1] or found[2]]

    def build(self, obj, state):
        """Fills an array or completes a dtype; False: it is neither."""
        if not self.calls:
            return False
        import numpy

        if type(obj) is numpy.ndarray:
            if type(state) is not tuple or len(state) != 5 or not _plain(state[2]) or type(state[4]) is not bytes or not _sizes(state[1]) \
                    or math.prod(state[1]) * state[2].itemsize != len(state[4]):  # fmt: skip
                raise UnpicklingError("an array is read from its shape, a dtype of numbers or texts, and bytes")
        elif isinstance(obj, numpy.dtype):
            if type(state) is not tuple or len(state) != 8 or state[1] not in ("<", ">", "|", "=") or state[2:5] != (None, None, None):
                raise UnpicklingError("a dtype is read for numbers and texts only")
        else:
            return False
        try:
            obj.__setstate__(state)
        except (TypeError, ValueError) as error:
            raise UnpicklingError(f"an array is damaged: {error}") from None
        return True


def _sizes(shape):
    return type(shape) is tuple and len(shape) <= 32 and all(type(n) is int and 0 <= n < 1 << 62 for n in shape)


def _plain(dtype):
    import numpy

    return isinstance(dtype, numpy.dtype) and dtype.kind in "biufcSU" and dtype.names is None and dtype.subdtype is None


def _dtype(text, align=False, copy=False):
    import numpy

    if not isinstance(text, str) or not _NUMBERS.fullmatch(text):
        raise UnpicklingError(f"NumPy's dtypes are read for numbers and texts only, got {text!r:.50}")
    return numpy.dtype(text, False, True)  # a copy: its byte order may be set


def _array(cls, shape, kind):
    import numpy

    if cls is not numpy.ndarray or shape != (0,):
        raise UnpicklingError("arrays are read as numpy.ndarray only")
    return numpy.ndarray((0,), "b")


def _scalar(dtype, data):
    import numpy

    if not _plain(dtype) or type(data) is not bytes or len(data) != dtype.itemsize:
        raise UnpicklingError("a NumPy scalar is read from a dtype of numbers or texts and bytes")
    return numpy.frombuffer(data, dtype, 1)[0] if dtype.itemsize else dtype.type()
