# SPDX-License-Identifier: Apache-2.0
"""torch.<name> for a device type that a backend brings, made from its record; and t.<name>(), module.<name>().

`names(kind)` is what such a module holds, for packages that add their own to it: a backend names one in its
`python_module`. Nothing is loaded before a function is called.
"""

import collections
import importlib
import sys
import types

from facula import _C


def _record(kind):
    for name, count, single, streams in _C._device_records():
        if name == kind:
            return count, single, streams
    return 0, False, False


def index_of(kind, device=None):
    """The number of a device that is given as None, a number, a text or a device."""
    if device is None:
        return _C._current_device(kind)
    if not isinstance(device, int):
        device = _C.device(device)
        if device.type != kind:
            raise ValueError(f"expected a device of type '{kind}', got '{device}'")
        device = device.index if device.index is not None else _C._current_device(kind)
    if not 0 <= device < _record(kind)[0]:
        raise RuntimeError(f"{kind}: device {device} does not exist, there are {_record(kind)[0]}")
    return device


class _DeviceProperties:
    """What is known of a device: name (one line by its backend), type, index, total_memory (0: it does not tell)."""

    def __init__(self, kind, index):
        from facula import backends

        self.type, self.index = kind, index
        self.name = next((b["devices"][index] for b in backends.backends() if b["name"] == kind), kind)
        try:
            self.total_memory = _C._backend_memory_info(_C.device(kind, index))[1]
        except NotImplementedError:
            self.total_memory = 0

    def __repr__(self):
        return f"_DeviceProperties(name='{self.name}', type='{self.type}', index={self.index}, total_memory={self.total_memory})"


def names(kind):
    """The names of the module, for `globals().update`."""
    from facula.backends import Event as AnyEvent
    from facula.backends import Stream as AnyStream
    from facula.backends import StreamContext, stream

    def at(device=None):
        return _C.device(kind, index_of(kind, device))

    def is_available():
        """Whether there is such a device; loads its backend."""
        try:
            return _record(_C.device(kind).type)[0] > 0
        except RuntimeError:
            return False

    def init():
        """Loads the backend, as the first use of the device does."""
        _C.device(kind)

    def is_initialized():
        """Whether the backend is loaded."""
        return _record(kind)[0] > 0

    def device_count():
        """How many devices there are."""
        return _record(kind)[0] if is_available() else 0

    def current_device():
        """The index of the device that is used where none is named."""
        init()
        return _C._current_device(kind)

    def set_device(device):
        """Choose the device that is used where none is named, on this thread."""
        init()
        if device is not None:
            _C._set_current_device(at(device))

    class device:
        """`with device(i):` chooses a device for a while; None and -1 change nothing."""

        def __init__(self, device):
            self.idx = -1 if device is None or device == -1 else index_of(kind, device)

        def __enter__(self):
            self.before = current_device()
            if self.idx >= 0:
                set_device(self.idx)

        def __exit__(self, *exc):
            set_device(self.before)
            return False

    class device_of(device):
        """The device of a tensor; of one that is elsewhere, none."""

        def __init__(self, obj):
            super().__init__((obj.device.index or 0) if obj.device.type == kind else None)

    def synchronize(device=None):
        """Waits for the device's work; raises what it found out meanwhile."""
        _C._backend_synchronize(at(device))

    class Stream(AnyStream):
        """A queue of work on the device."""

        def __new__(cls, device=None, priority=0):
            return super().__new__(cls, at(device), priority=priority)

    class Event(AnyEvent):
        """A mark in a stream, for other streams and the host to wait for."""

        def __new__(cls, enable_timing=False, blocking=False, interprocess=False):
            return super().__new__(cls, at(), enable_timing=enable_timing, blocking=blocking, interprocess=interprocess)

    def current_stream(device=None):
        """The queue that work goes into."""
        return AnyStream._current(at(device))

    def default_stream(device=None):
        """The queue that work goes into unless another one was chosen."""
        return AnyStream._of(at(device), 0)

    def set_stream(stream):
        """Make a stream the thread's current one."""
        if stream is not None:
            _C._stream_set(stream.device, stream.stream_id)

    def memory_stats(device=None):
        """What is allocated, under PyTorch's names."""
        from facula.backends import memory_stats as ask

        s = ask(at(device))
        bytes_ = {"current": s["current"], "peak": s["peak"], "allocated": s["total"], "freed": s["total"] - s["current"]}
        reserved = sum(size for _, size, *_ in _C._backend_memory_blocks(at(device)))
        out = {f"{what}_bytes.all.{k}": v for what in ("allocated", "active", "requested") for k, v in bytes_.items()}
        out.update({"reserved_bytes.all.current": reserved, "reserved_bytes.all.peak": max(reserved, s["peak"]), "inactive_split_bytes.all.current": 0})
        out.update({"allocation.all.allocated": s["allocations"], "num_device_alloc": s["from_system"]})
        return collections.OrderedDict(sorted(out.items()))

    def memory_stats_as_nested_dict(device=None):
        """memory_stats as a dictionary of dictionaries."""
        out: dict = {}
        for key, value in memory_stats(device).items():
            *path, last = key.split(".")
            inner = out
            for part in path:
                inner = inner.setdefault(part, {})
            inner[last] = value
        return out

    def memory_summary(device=None, abbreviated=False):
        """memory_stats as a table for reading."""
        s = memory_stats(device)
        rows = [("Allocated memory", "allocated_bytes.all"), ("Reserved memory", "reserved_bytes.all")]
        lines = [f"{kind}:{index_of(kind, device)} memory summary", f"{'':<20}{'current':>16}{'peak':>16}{'total':>16}"]
        lines += [f"{title:<20}" + "".join(f"{s.get(f'{key}.{k}', 0):>16}" for k in ("current", "peak", "allocated")) for title, key in rows]
        return "\n".join([*lines, f"{'Allocations':<20}{s['allocation.all.allocated']:>16}, of which {s['num_device_alloc']} reached the backend"])

    def memory_snapshot():
        """The blocks of memory that the host holds on all devices: address, sizes, stream, and whether a tensor lives in them."""
        return [{"device": i, "address": address, "total_size": size, "allocated_size": requested, "stream": stream,
                 "state": "active_allocated" if requested else "inactive"}
                for i in range(device_count()) for address, size, requested, stream in sorted(_C._backend_memory_blocks(at(i)))]  # fmt: skip

    def memory_allocated(device=None):
        """Bytes that tensors hold."""
        return memory_stats(device)["allocated_bytes.all.current"]

    def max_memory_allocated(device=None):
        """The most bytes that tensors have held."""
        return memory_stats(device)["allocated_bytes.all.peak"]

    def memory_reserved(device=None):
        """Bytes that tensors hold, and those kept for reuse."""
        return memory_stats(device)["reserved_bytes.all.current"]

    def max_memory_reserved(device=None):
        """The most bytes held and kept, as far as it is known."""
        return memory_stats(device)["reserved_bytes.all.peak"]

    def reset_peak_memory_stats(device=None):
        """Starts the peak anew."""
        _C._backend_reset_peak(at(device))

    def reset_accumulated_memory_stats(device=None):
        """Nothing is accumulated that could be reset: totals count from the start."""
        at(device)

    def empty_cache():
        """Gives cached blocks of all devices back to the backend."""
        for i in range(device_count()):
            _C._backend_empty_cache(at(i))

    def mem_get_info(device=None):
        """(free, total) bytes, as the backend tells them."""
        return _C._backend_memory_info(at(device))

    def get_device_properties(device=None):
        """Name, type, index, total memory."""
        return _DeviceProperties(kind, at(device).index or 0)

    def get_device_name(device=None):
        """One line about the device."""
        return get_device_properties(device).name

    def get_device_capability(device=None):
        """What the backend computes: its families and operators."""
        from facula import backends

        at(device)
        about = next(b for b in backends.backends() if b["name"] == kind)
        return {"families": about["families"], "operators": about["operators"]}

    def generator(device=None):
        return _C._default_generator(at(device))

    def manual_seed(seed):
        """Seed the current device's generator."""
        if is_available():
            generator().manual_seed(int(seed))

    def manual_seed_all(seed):
        """Seed the generators of all devices."""
        for i in range(device_count()):
            generator(i).manual_seed(int(seed))

    def seed():
        """Draw a seed from the system for the current device's generator."""
        return generator().seed()

    def seed_all():
        """Draw a seed from the system, for the generators of all devices."""
        manual_seed_all(seed())

    def initial_seed():
        """The seed last set, of the current device."""
        return generator().initial_seed()

    def get_rng_state(device=None):
        """The state of a device's generator as a tensor of bytes: seed and counter."""
        return generator(device).get_state()

    def set_rng_state(new_state, device=None):
        """Take over a state that get_rng_state gave."""
        generator(device).set_state(new_state)

    def get_rng_state_all():
        """The states of all devices."""
        return [get_rng_state(i) for i in range(device_count())]

    def set_rng_state_all(new_states):
        """Take over states, one per device."""
        for i, state in enumerate(new_states):
            set_rng_state(state, i)

    def get_amp_supported_dtype():
        """The types that autocast may compute in."""
        return [_C.float16, _C.bfloat16]

    def is_current_stream_capturing():
        """Nothing is captured."""
        return False

    def _is_in_bad_fork():
        return False

    def counters(device=None):
        """The numbers that the backend counts itself."""
        return _C._backend_counters(at(device))

    def call(function, *args):
        """Calls a function of the backend's own by name."""
        return _C._backend_call(at(), function, list(args))

    found = {name: value for name, value in locals().items() if callable(value) and name not in ("at", "generator", "kind", "AnyStream", "AnyEvent")}
    for value in found.values():
        if value not in (stream, StreamContext):
            value.__module__, value.__qualname__ = f"facula.{kind}", value.__name__
    return found


def module(kind):
    """The module torch.<kind>: the backend's own names first, then what every device has."""
    from facula import backends

    full = f"facula.{kind}"
    if full in sys.modules:
        return sys.modules[full]
    made = types.ModuleType(full, f"torch.{kind}: the device type '{kind}', made from its record.")
    made.__dict__.update(names(kind))
    more = next((b["python_module"] for b in backends.backends() if b["name"] == kind), "")
    if more:
        own = importlib.import_module(more)
        public = getattr(own, "__all__", None) or [name for name in vars(own) if not name.startswith("_")]
        made.__dict__.update({name: getattr(own, name) for name in public})
    return sys.modules.setdefault(full, made)


def find(kind):
    """torch.<kind>, if that is a device that a backend brings, loaded or installed; else None."""
    if not kind.isidentifier() or kind.startswith("_") or kind.lower() != kind:
        return None
    if _record(kind)[0] == 0:
        from facula import backends

        if not backends._find(kind):
            return None
    return module(kind)


def install(kind):
    """t.<kind>(), t.is_<kind>, module.<kind>(): unless a tensor or a module has such a name already."""
    from facula import nn, storage
    from facula._tensor import Tensor

    def to_device(self, device=None, non_blocking=False, **kwargs):
        where = _C.device(kind) if device is None else _C.device(kind, index_of(kind, device))
        return self.to(device=where, non_blocking=non_blocking, **kwargs)

    def module_to_device(self, device=None):
        return self._apply(lambda t: getattr(t, kind)(device))

    def put(owner, name, value, doc):
        if hasattr(owner, name):
            return
        if isinstance(value, types.FunctionType):
            value.__name__ = value.__qualname__ = name
            value.__doc__ = doc
        setattr(owner, name, value)

    def is_here(self):
        return self.device.type == kind

    put(Tensor, kind, to_device, f"The tensor on a device of type '{kind}'.")
    put(Tensor, f"is_{kind}", property(is_here, doc=f"Whether it is on a device of type '{kind}'."), "")
    put(storage.UntypedStorage, f"is_{kind}", property(is_here, doc=f"Whether it is on a device of type '{kind}'."), "")
    put(nn.Module, kind, module_to_device, f"Move to a device of type '{kind}'.")
