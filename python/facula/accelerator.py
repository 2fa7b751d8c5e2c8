# SPDX-License-Identifier: Apache-2.0
"""torch.accelerator: the device besides the CPU, of whatever kind; here the first backend that is loaded and has a device.

Without one, questions are answered and everything else raises, as in PyTorch's CPU build.
"""

import contextlib

from facula import _C, _missing, backends

__all__ = ["current_accelerator", "current_device_idx", "current_device_index", "current_stream", "device_count", "device_index", "empty_cache",
           "get_memory_info", "is_available", "max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved", "memory_stats",
           "reset_peak_memory_stats", "set_device_idx", "set_device_index", "set_stream", "synchronize"]  # fmt: skip

_index = 0


def _backend():
    # The null device computes nothing: it is for measuring and is chosen by name only.
    return next((b for b in backends.backends() if b["device_count"] and b["name"] != "null"), None)


def current_accelerator(check_available=False):
    """The device type of the accelerator, or None."""
    found = _backend()
    return _C.device(found["name"]) if found else None


def is_available():
    """Whether there is an accelerator."""
    return _backend() is not None


def device_count():
    """How many devices the accelerator has."""
    found = _backend()
    return found["device_count"] if found else 0


def _device(device=None):
    found = _backend()
    if found is None:
        raise RuntimeError("Cannot access accelerator device when none is available.")
    index = device if isinstance(device, int) else None if device is None else _C.device(device).index
    index = _index if index is None else index
    if not 0 <= index < found["device_count"]:
        raise RuntimeError(f"torch.accelerator: device {index} does not exist, there are {found['device_count']}")
    return _C.device(found["name"], index)


def current_device_index():
    """The index of the device that is used where none is named."""
    return _device().index


def set_device_index(device, /):
    """Choose the device that is used where none is named."""
    global _index
    _index = _device(device).index


current_device_idx, set_device_idx = current_device_index, set_device_index


@contextlib.contextmanager
def device_index(device, /):
    """`with device_index(i):` chooses a device for a while; None changes nothing."""
    before = _index
    if device is not None:
        set_device_index(device)
    try:
        yield
    finally:
        if device is not None:
            set_device_index(before)


def synchronize(device=None, /):
    """Waits for the device's work."""
    backends.synchronize(_device(device))


def current_stream(device=None, /):
    """The queue that work goes into: not told by backends yet."""
    raise NotImplementedError(f"torch.accelerator.current_stream: not for {_device(device)} yet; facula.backends.Stream makes one")


def set_stream(stream):
    """Make a stream the current one: `with stream:` does it here."""
    raise NotImplementedError("torch.accelerator.set_stream: not yet; `with facula.backends.Stream(device):` makes one current")


def memory_stats(device=None, /):
    """What is allocated, by kind; nothing without a device."""
    return backends.memory_stats(_device(device)) if is_available() else {}


def empty_cache():
    """Gives cached memory back."""
    if is_available():
        backends.empty_cache(_device())


def get_memory_info(device=None, /):
    """(free, total) bytes."""
    return backends.memory_info(_device(device))


def memory_allocated(device=None, /):
    """Bytes that tensors hold."""
    return memory_stats(device).get("current", 0)


def max_memory_allocated(device=None, /):
    """The most bytes that tensors have held."""
    return memory_stats(device).get("peak", 0)


def memory_reserved(device=None, /):
    """Bytes that tensors hold, and those kept for reuse."""
    stats = memory_stats(device)
    return stats.get("current", 0) + stats.get("cached", 0)


def max_memory_reserved(device=None, /):
    """The most bytes held and kept."""
    return max(max_memory_allocated(device), memory_reserved(device))


def reset_peak_memory_stats(device=None, /):
    """Starts the peak anew: not told by backends yet."""
    if is_available():
        raise NotImplementedError("torch.accelerator.reset_peak_memory_stats: backends keep one peak")


def get_device_module(device=None):
    """torch.cpu, torch.cuda …: the module of a device's type; without one, of the accelerator or the CPU."""
    import importlib

    if device is None:
        kind = str(current_accelerator() or "cpu")
    elif isinstance(device, (str, _C.device)):
        kind = _C.device(device).type
    else:
        raise RuntimeError(f"Invalid value of device '{device}', expect torch.device, str, or None")
    try:
        return importlib.import_module(f"facula.{kind}")
    except ImportError:
        raise RuntimeError(f"Invalid device_module_name '{kind}': Facula has no module for this kind of device") from None


__getattr__ = _missing.missing(__name__)
