# SPDX-License-Identifier: Apache-2.0
"""torch.mps: Apple's device, which this build does not have."""

from facula import _missing


def is_available():
    """There is no such device."""
    return False


def device_count():
    """There is no such device."""
    return 0


def manual_seed(seed):
    """Without a device there is nothing to seed."""


seed = manual_seed


def _needs_a_device(name, method):
    def function(*args, **kwargs):
        raise RuntimeError(f"Cannot execute {method}() without MPS backend.")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Needs a device, and this build has none."
    return function


for _name, _method in (("synchronize", "deviceSynchronize"), ("empty_cache", "emptyCache"), ("get_rng_state", "getDefaultMPSGenerator"),
                       ("set_rng_state", "getDefaultMPSGenerator"), ("set_per_process_memory_fraction", "setMemoryFraction"),
                       ("current_allocated_memory", "getCurrentAllocatedMemory"), ("driver_allocated_memory", "getDriverAllocatedMemory"),
                       ("recommended_max_memory", "getRecommendedMaxMemory")):  # fmt: skip
    globals()[_name] = _needs_a_device(_name, _method)
del _name, _method
__getattr__ = _missing.missing(__name__)
