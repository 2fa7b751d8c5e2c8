# SPDX-License-Identifier: Apache-2.0
"""torch.distributed.tensor.parallel: modules whose parameters lie on several ranks, by a plan."""

from facula import _missing
from facula.distributed.tensor.parallel.api import parallelize_module
from facula.distributed.tensor.parallel.loss import loss_parallel
from facula.distributed.tensor.parallel.style import (
    ColwiseParallel,
    ParallelStyle,
    PrepareModuleInput,
    PrepareModuleInputOutput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
)

__all__ = [
    "ColwiseParallel", "ParallelStyle", "PrepareModuleInput", "PrepareModuleInputOutput", "PrepareModuleOutput", "RowwiseParallel",
    "SequenceParallel", "loss_parallel", "parallelize_module",
]  # fmt: skip

__getattr__ = _missing.missing(__name__, later=("api", "loss", "style"))
