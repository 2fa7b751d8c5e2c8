# SPDX-License-Identifier: Apache-2.0
"""torch._assert and torch._check: conditions of programs, which graphs keep."""

from facula import _C

_T = _C.TensorBase


def _assert(condition, message):
    """assert condition, message; a graph that is being traced keeps it."""
    if type(condition) is not _T and _C._has_torch_function((condition,)):
        return _C._handle_torch_function(_assert, (condition,), (condition, message), {})
    assert condition, message


_assert.__module__ = "facula"  # under which graphs name it


def _check_with(error_type, cond, message):
    """raise error_type(message()) unless cond holds."""
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if message is None:
        text = "Expected cond to be True, but got False. (Could this error message be improved? If so, please report an enhancement request to PyTorch.)"
    elif callable(message):
        text = str(message())
    else:
        raise TypeError("message must be a callable")
    raise error_type(text)


def _check(cond, message=None):
    """RuntimeError unless cond holds; message is a function that returns the text."""
    _check_with(RuntimeError, cond, message)


def _check_index(cond, message=None):
    """IndexError unless cond holds."""
    _check_with(IndexError, cond, message)


def _check_value(cond, message=None):
    """ValueError unless cond holds."""
    _check_with(ValueError, cond, message)


def _check_type(cond, message=None):
    """TypeError unless cond holds."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond, message=None):
    """NotImplementedError unless cond holds."""
    _check_with(NotImplementedError, cond, message)


def _check_is_size(i, message=None, *, max=None):
    """RuntimeError unless i may be a size."""
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


def _check_tensor_all_with(error_type, cond, message=None):
    """raise error_type(message()) unless all elements are true."""
    if not isinstance(cond, _T):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype is not _C.bool:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(error_type, bool(cond.all().item()), message)


def _check_tensor_all(cond, message=None):
    """RuntimeError unless all elements are true."""
    _check_tensor_all_with(RuntimeError, cond, message)
