# SPDX-License-Identifier: Apache-2.0
"""Training on several processes: a name to ask isinstance() about until process groups exist."""

from facula.nn.modules.module import Module

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """A module whose gradients are averaged over a process group, of which there are none here yet."""

    def __init__(self, module: Module, *args, **kwargs) -> None:
        super().__init__()
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
