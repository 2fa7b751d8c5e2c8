# SPDX-License-Identifier: Apache-2.0
"""torch.distributed.optim: an optimizer whose state is shared out over the ranks."""

from facula import _missing
from facula.distributed import _refused
from facula.distributed.optim.zero_redundancy_optimizer import ZeroRedundancyOptimizer
from facula.optim import Optimizer

__all__ = ["DistributedOptimizer", "PostLocalSGDOptimizer", "ZeroRedundancyOptimizer"]

DistributedOptimizer = _refused.kind(__name__, "DistributedOptimizer")
PostLocalSGDOptimizer = _refused.kind(__name__, "PostLocalSGDOptimizer", Optimizer)

__getattr__ = _missing.missing(__name__)
