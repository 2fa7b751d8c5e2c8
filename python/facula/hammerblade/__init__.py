# SPDX-License-Identifier: Apache-2.0
"""The HammerBlade manycore: torch.device("hammerblade"). docs/hammerblade.md is the tour.

Beside what every device has (synchronize, memory_allocated, counters …) there are launches by name, kernel files that are
compiled and replaced while the program runs, the machine and the mode. `profiler` and `kernel_logger` are the PyTorch port's;
they look at every device, and at the CPU alone.
"""

from facula import _device_module
from facula.hammerblade import kernel_logger, profiler
from facula.hammerblade._device import accesses, bind, cycle, echo, engine, estimates, has_half, kernel_cycles, kernels, launch, load, machine, mode, printed, reload, tiles, verify, watch, watchdog

_of_every_device = _device_module.names("hammerblade")
globals().update(_of_every_device)

__all__ = ["accesses", "bind", "cycle", "echo", "engine", "estimates", "has_half", "kernel_cycles", "kernel_logger", "kernels", "launch", "load", "machine", "mode", "printed", "profiler", "reload", "tiles", "verify", "watch", "watchdog"]
__all__ += list(_of_every_device)
