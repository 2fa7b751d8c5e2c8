# SPDX-License-Identifier: Apache-2.0
"""An older name of torch.distributed.device_mesh."""

from facula.distributed.device_mesh import DeviceMesh, init_device_mesh

__all__ = ["DeviceMesh", "init_device_mesh"]
