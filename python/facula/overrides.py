# SPDX-License-Identifier: Apache-2.0
"""__torch_function__ for functions written in Python, and modes that see every call."""

from facula import _C

has_torch_function = _C._has_torch_function
is_tensor_like = lambda obj: isinstance(obj, _C.TensorBase) or hasattr(obj, "__torch_function__")  # noqa: E731


class TorchFunctionMode:
    """While active on a thread, its __torch_function__(func, types, args, kwargs) sees every torch call."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError

    def __enter__(self):
        _C._function_mode_stack().append(self)
        return self

    def __exit__(self, *exc):
        _C._function_mode_stack().pop()
