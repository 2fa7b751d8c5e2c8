# SPDX-License-Identifier: Apache-2.0
"""A batch cut into pieces, one for each CUDA device. Without such devices the module is called as it is."""

from __future__ import annotations

from typing import Any

from facula import _C
from facula.nn.modules.module import Module
from facula.nn.parallel.parallel_apply import parallel_apply
from facula.nn.parallel.replicate import replicate
from facula.nn.parallel.scatter_gather import _device, gather, scatter_kwargs

__all__ = ["DataParallel", "data_parallel"]


def _cuda_count():
    from facula import cuda

    return cuda.device_count() if cuda.is_available() else 0


class DataParallel(Module):
    """Calls a module with pieces of the batch on all CUDA devices; without any it calls the module."""

    def __init__(self, module: Module, device_ids=None, output_device=None, dim: int = 0) -> None:
        super().__init__()
        self.module = module
        count = _cuda_count()
        self.device_ids = list(range(count)) if device_ids is None or count == 0 else list(device_ids)
        if count == 0:
            self.device_ids = []
            return
        self.dim = dim
        self.output_device = self.device_ids[0] if output_device is None else output_device
        self.src_device_obj = _device(self.device_ids[0])
        if len(self.device_ids) == 1:
            module.to(self.src_device_obj)

    def forward(self, *inputs, **kwargs):
        if not self.device_ids:
            return self.module(*inputs, **kwargs)
        return _run(self, self.module, inputs, kwargs, self.device_ids, self.output_device, self.dim)

    def replicate(self, module: Module, device_ids) -> list[Module]:
        """A copy for each device."""
        return replicate(module, device_ids, not _C.is_grad_enabled())

    def scatter(self, inputs: tuple, kwargs: dict | None, device_ids):
        """Arguments for each device."""
        return scatter_kwargs(inputs, kwargs, device_ids, dim=self.dim)

    def parallel_apply(self, replicas, inputs, kwargs) -> list[Any]:
        """All calls at once."""
        return parallel_apply(replicas, inputs, kwargs, self.device_ids[: len(replicas)])

    def gather(self, outputs, output_device):
        """The results together."""
        return gather(outputs, output_device, dim=self.dim)


def _run(owner, module, inputs, kwargs, device_ids, output_device, dim):
    """One call over several devices; owner: whose scatter, replicate … are used, None for the functions."""
    source = _device(device_ids[0])
    for t in (*module.parameters(), *module.buffers()):
        if t.device != source:
            raise RuntimeError(
                f"module must have its parameters and buffers on device {source} (device_ids[0]) but found one of them on device: {t.device}"
            )
    args, kwargs = owner.scatter(inputs, kwargs, device_ids) if owner else scatter_kwargs(inputs, kwargs, device_ids, dim)
    if not args and not kwargs:
        args, kwargs = ((),), ({},)
    if len(device_ids) == 1:
        return module(*args[0], **kwargs[0])
    used = device_ids[: len(args)]
    copies = owner.replicate(module, used) if owner else replicate(module, used)
    results = owner.parallel_apply(copies, args, kwargs) if owner else parallel_apply(copies, args, kwargs, used)
    return owner.gather(results, output_device) if owner else gather(results, output_device, dim)


def data_parallel(module: Module, inputs: Any, device_ids=None, output_device=None, dim: int = 0, module_kwargs: dict | None = None):
    """One call of a module over several CUDA devices."""
    inputs = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    if _cuda_count() == 0:
        raise RuntimeError("device type could not be determined")
    device_ids = list(range(_cuda_count())) if device_ids is None else list(device_ids)
    output_device = device_ids[0] if output_device is None else output_device
    return _run(None, module, inputs, module_kwargs, device_ids, output_device, dim)
