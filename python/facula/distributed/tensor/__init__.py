# SPDX-License-Identifier: Apache-2.0
"""torch.distributed.tensor: placements, and the class that packages ask about, whether a parameter lies on several
processes. None does: such tensors are not in this build."""

from facula import _missing
from facula._tensor import Tensor
from facula.distributed import _refused
from facula.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard

__all__ = ["DTensor", "Partial", "Placement", "Replicate", "Shard", "distribute_module", "distribute_tensor"]


class DTensor(Tensor):
    """A tensor whose parts lie on several processes: cannot be made in this build."""

    def __new__(cls, *args, **kwargs):
        raise NotImplementedError("torch.distributed.tensor.DTensor is not in Facula")


distribute_tensor = _refused.function(__name__, "distribute_tensor")
distribute_module = _refused.function(__name__, "distribute_module")

__getattr__ = _missing.missing(__name__, later=("placement_types",))
