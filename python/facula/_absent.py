# SPDX-License-Identifier: Apache-2.0
"""What torch.cuda, torch.xpu and torch.mtia are in a build without such devices.

As in PyTorch's own CPU build: questions are answered (there is none, nothing is allocated), seeds are taken and not
needed, and everything that needs a device raises AssertionError.
"""

NEED_A_DEVICE = (
    "caching_allocator_alloc", "caching_allocator_delete", "can_device_access_peer", "clock_rate", "cudart", "current_blas_handle", "current_device",
    "current_solver_handle", "current_stream", "default_stream", "device_memory_used", "get_allocator_backend", "get_device_capability",
    "get_device_name", "get_device_properties", "get_per_process_memory_fraction", "get_rng_state", "get_stream_from_external",
    "get_sync_debug_mode", "init", "initial_seed", "ipc_collect", "list_gpu_processes", "make_graphed_callables", "mem_get_info",
    "memory_snapshot", "memory_summary", "memory_usage", "power_draw", "reset_accumulated_host_memory_stats",
    "reset_accumulated_memory_stats", "reset_max_memory_allocated", "reset_max_memory_cached", "reset_peak_host_memory_stats",
    "reset_peak_memory_stats", "set_device", "set_per_process_memory_fraction", "set_sync_debug_mode", "synchronize", "temperature", "utilization",
)  # fmt: skip
NOTHING_TO_DO = ("manual_seed", "manual_seed_all", "seed", "seed_all", "empty_cache", "set_rng_state", "set_rng_state_all", "caching_allocator_enable")
STATISTICS = ("memory_stats", "memory_stats_as_nested_dict", "host_memory_stats", "host_memory_stats_as_nested_dict")
HOLD_NOTHING = ("memory_allocated", "memory_cached", "memory_reserved", "max_memory_allocated", "max_memory_cached", "max_memory_reserved")


def names(module, message):
    """The names of the module, for `globals().update`."""

    def refuse():
        raise AssertionError(message)

    def needs_a_device(name):
        def function(*args, **kwargs):
            refuse()

        return _named(function, name, "Needs a device, and this build has none: raises AssertionError.")

    def _named(function, name, doc):
        function.__name__ = function.__qualname__ = name
        function.__module__ = module
        function.__doc__ = doc
        return function

    def dummy(name):
        def __new__(cls, *args, **kwargs):
            raise RuntimeError(f"Tried to instantiate dummy base class {cls.__name__}")

        return type(name, (), {"__new__": __new__, "__module__": module, "__doc__": "Needs a device: cannot be made in this build."})

    def answer(name, value, doc):
        return _named(lambda *args, **kwargs: value, name, doc)

    def set_stream(stream):
        if stream is not None:
            refuse()

    class device:
        """`with device(i):` does nothing for an index of -1 or None, as without any device; others are refused."""

        def __init__(self, device):
            self.idx = getattr(device, "index", device)

        def __enter__(self):
            if self.idx is not None and self.idx != -1:
                refuse()

        def __exit__(self, *exc):
            return False

    class device_of(device):
        """The device of a tensor; of a tensor that is elsewhere, none."""

        def __init__(self, obj):
            super().__init__(-1)

    class StreamContext:
        """`with stream(s):` does nothing without a stream."""

        def __init__(self, stream):
            self.stream = stream

        def __enter__(self):
            if self.stream is not None:
                refuse()

        def __exit__(self, *exc):
            return False

    device.__module__ = device_of.__module__ = StreamContext.__module__ = module
    return {
        **{name: needs_a_device(name) for name in NEED_A_DEVICE},
        **{name: answer(name, 0, "No device, nothing allocated.") for name in HOLD_NOTHING},
        **{name: answer(name, None, "Without a device there is nothing to do.") for name in NOTHING_TO_DO},
        **{name: answer(name, False, "There is no such device.") for name in ("is_available", "is_initialized", "is_bf16_supported", "is_tf32_supported", "_is_in_bad_fork")},
        **{name: dummy(name) for name in ("Stream", "Event", "ExternalStream")},
        **{name: _named(lambda device=None: {}, name, "No device, nothing allocated.") for name in STATISTICS},
        "get_rng_state_all": _named(lambda: [], "get_rng_state_all", "The states of all devices: there are none."),
        "set_stream": _named(set_stream, "set_stream", "Without a stream there is nothing to do."),
        "default_generators": (),
        "device_count": answer("device_count", 0, "There is no such device."),
        "get_arch_list": _named(lambda: [], "get_arch_list", "The architectures that this build has code for: none."),
        "get_gencode_flags": answer("get_gencode_flags", "", "The architectures that this build has code for: none."),
        "_lazy_init": needs_a_device("_lazy_init"),
        "device": device,
        "device_of": device_of,
        "StreamContext": StreamContext,
        "stream": _named(lambda stream: StreamContext(stream), "stream", StreamContext.__doc__),
    }
