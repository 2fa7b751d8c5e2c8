# SPDX-License-Identifier: Apache-2.0
"""autocast: inside, operators run in the type that suits them."""

import functools
import threading
import warnings

from facula import _C

__all__ = ["autocast", "autocast_decorator", "custom_bwd", "custom_fwd", "is_autocast_available"]

_SUPPORTED = ("cpu", "cuda", "mtia", "maia", "xpu", "ipu", "hpu", "xla", "mps")  # as PyTorch names them
_chosen = threading.local()  # device type -> what autocast casts to while nothing else is said


def _cuda_is_there() -> bool:
    from facula import cuda

    return cuda.is_available()


def _known(device_type: str) -> bool:
    """Whether the device exists in this process: there is a state to switch."""
    try:
        _C._autocast_dtype(device_type)
    except RuntimeError:
        return False
    return True


def _type(device_type) -> str:
    """The device type that a string names; an error if it names none."""
    if not isinstance(device_type, str):
        raise TypeError(f"autocast: argument 'device_type' must be str, not {type(device_type).__name__}")
    kind = device_type.partition(":")[0]
    return kind if kind in _SUPPORTED else _C.device(device_type).type


def _castable(device_type) -> str:
    """The same, of a device that autocast knows."""
    if not is_autocast_available(device_type):
        raise RuntimeError(f"unknown device type for autocast: '{device_type}'")
    return _type(device_type)


class autocast(_C._StateMode):
    """Inside, products and convolutions run in a lower type, and operators that need the digits in float32.

    A context manager or a decorator. dtype: the lower type; enabled=False switches the casts off inside;
    cache_enabled=False casts a weight anew for each use.
    """

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        if not is_autocast_available(device_type):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        self.device, self.fast_dtype = device_type, dtype or get_autocast_dtype(device_type)
        if enabled and device_type == "cuda" and not _cuda_is_there():
            warnings.warn("User provided device_type of 'cuda', but CUDA is not available. Disabling", stacklevel=2)
            enabled = False
        elif enabled and self.fast_dtype not in (_C.bfloat16, _C.float16):
            name = device_type.upper()
            warnings.warn(
                f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n"
                f"{name} Autocast only supports dtypes of torch.bfloat16, torch.float16 currently.",
                stacklevel=2,
            )
            enabled = False
        self._enabled = bool(enabled)
        self._cache_enabled = is_autocast_cache_enabled() if cache_enabled is None else bool(cache_enabled)
        if _known(device_type):
            self._set("autocast", device_type, self.fast_dtype if self._enabled else None, self._cache_enabled)

    def __call__(self, func):
        if not callable(func):
            raise TypeError(f"autocast()(func) requires a callable, but got {type(func).__name__}.")
        return autocast_decorator(self, func)


def autocast_decorator(autocast_instance, func):
    """func inside of autocast; each call enters anew, so calls may nest and run on several threads."""
    given = (autocast_instance.device, autocast_instance.fast_dtype, autocast_instance._enabled, autocast_instance._cache_enabled)

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        with autocast(*given):
            return func(*args, **kwargs)

    return wrapper


def is_autocast_available(device_type):
    """Whether autocast knows the device type."""
    kind = _type(device_type)
    return kind in _SUPPORTED or (kind != "meta" and _known(kind))


def is_autocast_enabled(device_type="cuda"):
    """Whether this thread casts for the device type."""
    device_type = _castable(device_type)
    return _known(device_type) and _C._autocast_dtype(device_type) is not None


def get_autocast_dtype(device_type):
    """What autocast casts to on the device type."""
    device_type = _castable(device_type)
    now = _C._autocast_dtype(device_type) if _known(device_type) else None
    return now or getattr(_chosen, device_type, _C.float16 if device_type in ("cuda", "mps") else _C.bfloat16)


def set_autocast_dtype(device_type, dtype):
    """What autocast casts to on the device type, on this thread."""
    device_type = _castable(device_type)
    setattr(_chosen, device_type, dtype)
    if is_autocast_enabled(device_type):
        _C._set_autocast(device_type, dtype)


def set_autocast_enabled(device_type, enabled=None):
    """Switches casts for the device type (cuda, if only True or False is given) on this thread."""
    if enabled is None:
        device_type, enabled = "cuda", device_type
    device_type = _castable(device_type)
    if _known(device_type):
        _C._set_autocast(device_type, get_autocast_dtype(device_type) if enabled else None)
    elif enabled:
        raise RuntimeError(f"autocast: there is no device '{device_type}' here")


def is_autocast_cache_enabled():
    """Whether casts of weights are kept until autocast ends."""
    return _C._is_autocast_cache_enabled()


def set_autocast_cache_enabled(enabled):
    """Keeps casts of weights until autocast ends, or does not."""
    _C._set_autocast_cache_enabled(enabled)


def clear_autocast_cache():
    """Drops the casts of weights that are kept."""
    _C._clear_autocast_cache()


def _old_name(old, new):
    warnings.warn(f"torch.{old} is deprecated. Please use torch.{new} instead.", DeprecationWarning, stacklevel=3)


def is_autocast_cpu_enabled():
    """Whether this thread casts for the CPU."""
    _old_name("is_autocast_cpu_enabled()", "is_autocast_enabled('cpu')")
    return is_autocast_enabled("cpu")


def get_autocast_cpu_dtype():
    """What autocast casts to on the CPU."""
    _old_name("get_autocast_cpu_dtype()", "get_autocast_dtype('cpu')")
    return get_autocast_dtype("cpu")


def set_autocast_cpu_enabled(enabled):
    """Switches casts for the CPU on this thread."""
    _old_name("set_autocast_cpu_enabled(enabled)", "set_autocast_enabled('cpu', enabled)")
    set_autocast_enabled("cpu", enabled)


def set_autocast_cpu_dtype(dtype):
    """What autocast casts to on the CPU, on this thread."""
    _old_name("set_autocast_cpu_dtype(dtype)", "set_autocast_dtype('cpu', dtype)")
    set_autocast_dtype("cpu", dtype)


def get_autocast_gpu_dtype():
    """What autocast casts to on CUDA devices."""
    _old_name("get_autocast_gpu_dtype()", "get_autocast_dtype('cuda')")
    return get_autocast_dtype("cuda")


def set_autocast_gpu_dtype(dtype):
    """What autocast casts to on CUDA devices, on this thread."""
    _old_name("set_autocast_gpu_dtype(dtype)", "set_autocast_dtype('cuda', dtype)")
    set_autocast_dtype("cuda", dtype)


def _cast(value, device_type, dtype):
    """value with every floating tensor in it cast, but for float64."""
    from facula._tensor import Tensor

    if isinstance(value, Tensor):
        eligible = value.is_floating_point() and value.device.type == device_type and value.dtype != _C.float64
        return value.to(dtype) if eligible else value
    if isinstance(value, (str, bytes)) or hasattr(value, "__array__"):
        return value
    if hasattr(value, "items"):
        return {_cast(k, device_type, dtype): _cast(v, device_type, dtype) for k, v in value.items()}
    if hasattr(value, "__iter__"):
        items = (_cast(v, device_type, dtype) for v in value)
        return type(value)(items) if isinstance(value, (list, tuple)) else items
    return value


def _need_device_type(device_type):
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")


def custom_fwd(fwd=None, *, device_type, cast_inputs=None):
    """Decorates the forward of a custom autograd function: it runs as autocast is, or outside of it with inputs of one type."""
    _need_device_type(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def wrapper(*args, **kwargs):
        ctx, on = args[0], is_autocast_enabled(device_type)
        ctx._dtype = get_autocast_dtype(device_type)
        ctx._fwd_used_autocast = on and cast_inputs is None
        if cast_inputs is None or not on:
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(*_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs))

    return wrapper


def custom_bwd(bwd=None, *, device_type):
    """Decorates the backward of a custom autograd function: it runs with autocast as its forward did."""
    _need_device_type(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def wrapper(*args, **kwargs):
        with autocast(device_type, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return bwd(*args, **kwargs)

    return wrapper
