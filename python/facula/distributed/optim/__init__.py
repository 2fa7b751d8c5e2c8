# SPDX-License-Identifier: Apache-2.0
"""torch.distributed.optim: an optimizer whose state is shared out over the ranks."""

from facula import _missing
from facula.distributed.optim.zero_redundancy_optimizer import ZeroRedundancyOptimizer
from facula.optim import Optimizer

__all__ = ["DistributedOptimizer", "PostLocalSGDOptimizer", "ZeroRedundancyOptimizer"]


def _refused(name, *bases):
    def __init__(self, *args, **kwargs):
        raise NotImplementedError(f"torch.distributed.optim.{name}: not in Facula, which has no rpc and no model averaging")

    return type(name, bases, {"__init__": __init__, "__module__": __name__, "__doc__": "For questions: none can be made."})


DistributedOptimizer = _refused("DistributedOptimizer")
PostLocalSGDOptimizer = _refused("PostLocalSGDOptimizer", Optimizer)

__getattr__ = _missing.missing(__name__)
