# SPDX-License-Identifier: Apache-2.0
"""torch.distributed.tensor: tensors whose parts lie on the ranks of a mesh (docs/distributed.md)."""

from facula import _missing
from facula.distributed.device_mesh import DeviceMesh, init_device_mesh
from facula.distributed.tensor._api import distribute_module, distribute_tensor, empty, full, ones, rand, randn, zeros
from facula.distributed.tensor._dtensor import DTensor
from facula.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard

__all__ = [
    "DTensor", "DeviceMesh", "Partial", "Placement", "Replicate", "Shard", "distribute_module", "distribute_tensor", "empty", "full",
    "init_device_mesh", "ones", "rand", "randn", "zeros",
]  # fmt: skip

__getattr__ = _missing.missing(__name__, later=("debug", "experimental", "parallel", "placement_types"))
