# SPDX-License-Identifier: Apache-2.0
"""Copies of a module, one for each device."""

from __future__ import annotations

from facula.nn.modules.module import Module
from facula.nn.parallel.scatter_gather import _device

__all__ = ["replicate"]


def replicate(network: Module, devices, detach: bool = False) -> list[Module]:
    """Copies of a module for each device, whose parameters are copies in the graph: gradients arrive in the module's own."""
    replicas = []
    for device in map(_device, devices):
        copies, tensors = {}, {}

        def moved(t, device=device, tensors=tensors):
            if t is not None and t not in tensors:
                tensors[t] = (t.detach() if detach else t).to(device)
            return tensors.get(t)

        for module in network.modules():
            copies[module] = module._replicate_for_data_parallel()
        for module, copy in copies.items():
            for name, child in module._modules.items():
                copy._modules[name] = copies.get(child)
            for name, parameter in module._parameters.items():
                if parameter is None:
                    copy._parameters[name] = None
                else:
                    copy.__dict__[name] = moved(parameter)  # no leaves, so no parameters
            for name, buffer in module._buffers.items():
                copy._buffers[name] = moved(buffer)
        replicas.append(copies[network])
    return replicas
