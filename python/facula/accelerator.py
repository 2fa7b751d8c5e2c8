# SPDX-License-Identifier: Apache-2.0
"""torch.accelerator: the device besides the CPU, of whatever kind; here the first backend that is loaded and has a device.

Without one, questions are answered and everything else raises, as in PyTorch's CPU build.
"""

import contextlib

from facula import _C, _device_module, _missing

__all__ = ["Graph", "current_accelerator", "current_device_idx", "current_device_index", "current_stream", "device_count", "device_index", "empty_cache",
           "empty_host_cache", "get_device_capability", "get_memory_info", "is_available", "manual_seed", "manual_seed_all", "max_memory_allocated",
           "max_memory_reserved", "memory_allocated", "memory_reserved", "memory_stats", "reset_accumulated_memory_stats",
           "reset_peak_memory_stats", "set_device_idx", "set_device_index", "set_stream", "synchronize"]  # fmt: skip


def _kind():
    # The null device computes nothing: it is for measuring and is chosen by name only.
    return next((name for name, count, *_ in _C._device_records() if count and name not in ("cpu", "null")), None)


def _module():
    kind = _kind()
    if kind is None:
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return _device_module.module(kind)


def _device(device=None):
    """The device that is meant, with its index."""
    module = _module()
    if device is not None and not isinstance(device, int) and _C.device(device).type != _kind():
        raise ValueError(f"{_C.device(device).type} doesn't match the current accelerator {_kind()}.")
    return _C.device(_kind(), module.current_device() if device is None else _device_module.index_of(_kind(), device))


def current_accelerator(check_available=False):
    """The device type of the accelerator, or None."""
    return _C.device(_kind()) if _kind() else None


def is_available():
    """Whether there is an accelerator."""
    return _kind() is not None


def device_count():
    """How many devices the accelerator has."""
    return _module().device_count() if is_available() else 0


def current_device_index():
    """The index of the device that is used where none is named."""
    return _module().current_device()


def set_device_index(device, /):
    """Choose the device that is used where none is named, on this thread."""
    _module().set_device(_device(device))


current_device_idx, set_device_idx = current_device_index, set_device_index


@contextlib.contextmanager
def device_index(device, /):
    """`with device_index(i):` chooses a device for a while; None changes nothing."""
    before = current_device_index() if device is not None else None
    if device is not None:
        set_device_index(device)
    try:
        yield
    finally:
        if before is not None:
            set_device_index(before)


class Graph:
    """Work that a stream records once and replays. No backend of this build records: making one raises, as PyTorch does there."""

    def __init__(self, keep_graph=False, *, pool=None, capture_error_mode="default"):
        _module()
        raise RuntimeError(f"Graph is not supported on device type: {_kind()}")


def synchronize(device=None, /):
    """Waits for the device's work."""
    _module().synchronize(_device(device))


def current_stream(device=None, /):
    """The queue that work goes into."""
    return _module().current_stream(_device(device))


def set_stream(stream):
    """Make a stream the thread's current one, and its device the current device."""
    set_device_index(stream.device)
    _module().set_stream(stream)


def memory_stats(device=None, /):
    """What is allocated, by kind; nothing without a device."""
    return _module().memory_stats(_device(device)) if is_available() else {}


def empty_cache():
    """Gives cached memory back."""
    if is_available():
        _module().empty_cache()


def empty_host_cache():
    """Pinned memory is given back as it is freed: nothing is cached."""


def get_memory_info(device=None, /):
    """(free, total) bytes."""
    return _module().mem_get_info(_device(device))


def get_device_capability(device=None, /):
    """What the device computes: {"supported_dtypes": the types of its copies, "families": …, "operators": …}."""
    return _module().get_device_capability(_device(device))


def memory_allocated(device=None, /):
    """Bytes that tensors hold."""
    return memory_stats(device).get("allocated_bytes.all.current", 0)


def max_memory_allocated(device=None, /):
    """The most bytes that tensors have held."""
    return memory_stats(device).get("allocated_bytes.all.peak", 0)


def memory_reserved(device=None, /):
    """Bytes that tensors hold, and those kept for reuse."""
    return memory_stats(device).get("reserved_bytes.all.current", 0)


def max_memory_reserved(device=None, /):
    """The most bytes held and kept."""
    return memory_stats(device).get("reserved_bytes.all.peak", 0)


def reset_peak_memory_stats(device=None, /):
    """Starts the peak anew."""
    if is_available():
        _module().reset_peak_memory_stats(_device(device))


def reset_accumulated_memory_stats(device=None, /):
    """Totals count from the start: nothing to do."""
    if is_available():
        _module().reset_accumulated_memory_stats(_device(device))


def manual_seed(seed):
    """Seed the current device's generator."""
    if is_available():
        _module().manual_seed(seed)


def manual_seed_all(seed):
    """Seed the generators of all devices."""
    if is_available():
        _module().manual_seed_all(seed)


def get_device_module(device=None):
    """torch.cpu, torch.cuda …: the module of a device's type; without one, of the accelerator or the CPU."""
    import importlib

    if device is None:
        kind = str(current_accelerator() or "cpu")
    elif isinstance(device, (str, _C.device)):
        kind = _C.device(device).type
    else:
        raise RuntimeError(f"Invalid value of device '{device}', expect torch.device, str, or None")
    if made := _device_module.find(kind) if kind not in ("cpu", "cuda", "meta") else None:
        return made
    try:
        return importlib.import_module(f"facula.{kind}")
    except ImportError:
        raise RuntimeError(f"Invalid device_module_name '{kind}': Facula has no module for this kind of device") from None


__getattr__ = _missing.missing(__name__)
