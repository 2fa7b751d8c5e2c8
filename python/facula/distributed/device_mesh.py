# SPDX-License-Identifier: Apache-2.0
"""torch.distributed.device_mesh: the name of a grid of devices, for annotations and questions. None can be made in this build."""

from facula import _missing

__all__ = ["DeviceMesh", "init_device_mesh"]


class DeviceMesh:
    """A grid of devices of several processes: needs torch.distributed, cannot be made in this build."""

    def __init__(self, *args, **kwargs):
        raise RuntimeError("torch.distributed.device_mesh.DeviceMesh: torch.distributed is not available in this build")


def init_device_mesh(*args, **kwargs):
    """Needs torch.distributed: raises."""
    DeviceMesh()


__getattr__ = _missing.missing(__name__)
