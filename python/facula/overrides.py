# SPDX-License-Identifier: Apache-2.0
"""__torch_function__ for functions written in Python, and modes that see every call."""

import functools

from facula import _C

__all__ = [
    "has_torch_function", "has_torch_function_unary", "has_torch_function_variadic", "handle_torch_function",
    "is_tensor_like", "is_tensor_method_or_property", "resolve_name", "wrap_torch_function", "TorchFunctionMode",
    "BaseTorchFunctionMode", "get_overridable_functions", "get_ignored_functions",
]  # fmt: skip

has_torch_function = _C._has_torch_function


def has_torch_function_unary(arg):
    return _C._has_torch_function((arg,))


def has_torch_function_variadic(*args):
    return _C._has_torch_function(args)


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """Let the modes and the overriding arguments run public_api(*args, **kwargs)."""
    return _C._handle_torch_function(public_api, relevant_args, args, kwargs)


def is_tensor_like(inp):
    return isinstance(inp, _C.TensorBase) or hasattr(inp, "__torch_function__")


def wrap_torch_function(dispatcher):
    """Make a Python function overridable; dispatcher(*args) names the arguments that may override it."""

    def wrap(function):
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            relevant = tuple(dispatcher(*args, **kwargs))
            if _C._has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapped

    return wrap


def get_ignored_functions():
    """Functions that take no tensors to override them."""
    import facula

    names = ("tensor", "as_tensor", "from_numpy", "frombuffer", "zeros", "ones", "empty", "full", "arange", "linspace", "eye",
             "rand", "randn", "randint", "randperm", "manual_seed", "set_printoptions", "is_tensor", "finfo", "iinfo")  # fmt: skip
    return {getattr(facula, name) for name in names if hasattr(facula, name)}


def get_overridable_functions():
    """{namespace: functions that __torch_function__ may see}."""
    import facula

    ignored = get_ignored_functions()
    functional = facula.nn.functional
    return {
        facula: [f for f in _C._functions.values() if f not in ignored],
        facula.Tensor: list(_C._methods.values()),
        functional: [getattr(functional, name) for name in dir(functional) if callable(getattr(functional, name)) and not name.startswith("_")],
    }


def is_tensor_method_or_property(func):
    return getattr(func, "__name__", "") in ("__get__", "__set__") or isinstance(func, _C.Method) or hasattr(_C.TensorBase, getattr(func, "__name__", ""))


def resolve_name(f):
    """The name by which a program reaches f, such as torch.Tensor.add; None if it is unknown."""
    if isinstance(f, _C.Operator):
        return str(f)
    owner = getattr(f, "__self__", None)
    owner = owner.fget if isinstance(owner, property) else owner
    if getattr(f, "__name__", "") in ("__get__", "__set__") and hasattr(owner, "__name__"):
        return f"torch.Tensor.{owner.__name__}.{f.__name__}"
    name = getattr(f, "__name__", None)
    from facula._tensor import Tensor

    if isinstance(f, _C.Method) or getattr(Tensor, name or "", None) is f:
        return f"torch.Tensor.{name}"
    module = getattr(f, "__module__", "") or ""
    return f"{module.replace('facula', 'torch', 1)}.{name}" if name else None


class TorchFunctionMode(_C._FunctionMode):
    """While active on a thread, its __torch_function__(func, types, args, kwargs) sees every torch call."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError


class BaseTorchFunctionMode(TorchFunctionMode):
    """The mode that changes nothing."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))
