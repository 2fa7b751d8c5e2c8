# SPDX-License-Identifier: Apache-2.0
"""torch.distributed.optim: classes that packages ask whether an optimiser is one of them. None is: making one needs several processes."""

from facula import _missing
from facula.optim import Optimizer

__all__ = ["DistributedOptimizer", "PostLocalSGDOptimizer", "ZeroRedundancyOptimizer"]


def _refused(name, *bases):
    def __init__(self, *args, **kwargs):
        raise RuntimeError(f"torch.distributed.optim.{name}: torch.distributed is not available in this build")

    return type(name, bases, {"__init__": __init__, "__module__": __name__, "__doc__": "Needs torch.distributed: cannot be made in this build."})


DistributedOptimizer = _refused("DistributedOptimizer")
PostLocalSGDOptimizer = _refused("PostLocalSGDOptimizer", Optimizer)
ZeroRedundancyOptimizer = _refused("ZeroRedundancyOptimizer", Optimizer)

__getattr__ = _missing.missing(__name__)
