# SPDX-License-Identifier: Apache-2.0
"""The names of the PyTorch port for the HammerBlade manycore."""

from types import ModuleType
from typing import Any

from facula import _C, _device_module, _guests
from facula.backends import hammerblade


def hb_trace_enable() -> None:
    """Limits what pycosim.profile, .trace, .wave and .saif write to what runs from here to hb_trace_disable(); the emulated
    device writes nothing, so there it changes nothing."""
    hammerblade._record("on")


def hb_trace_disable() -> None:
    """See hb_trace_enable."""
    hammerblade._record("off")


def hammerblade_ll(self: Any) -> Any:
    """The tensor on the HammerBlade device with its whole storage, sizes, strides and offset; .hammerblade() makes it contiguous."""
    storage = self.untyped_storage()
    whole = self.as_strided((storage.nbytes() // self.element_size(),), (1,), 0).to("hammerblade")
    return whole.as_strided(self.size(), self.stride(), self.storage_offset())


def install(torch: ModuleType) -> None:
    for function in (hb_trace_enable, hb_trace_disable):
        function.__module__ = torch.__name__
        setattr(torch, function.__name__, function)
    _guests.modules.append("hammerblade")
    _guests.computed["hb_emul_on"] = lambda: hammerblade.engine() == "emul"
    _guests.computed["hb_cosim_on"] = lambda: hammerblade.engine() == "sim"
    torch.Tensor.hammerblade_ll = hammerblade_ll
    torch.has_hammerblade = built = hammerblade.is_built()
    if built:
        _device_module.install("hammerblade")  # t.hammerblade() before the backend is loaded, which that does
        torch.nn.Module.move_buffers_to_cpu = hammerblade.move_buffers_to_cpu
        _C._set_fallback_note("hammerblade", "{} is not implemented for HB, and Fallback is not enabled")  # the port's words
