# SPDX-License-Identifier: Apache-2.0
"""torch.distributed.fsdp under the name of its first module."""

from facula import _missing
from facula.distributed.fsdp import (
    BackwardPrefetch, CPUOffload, FullStateDictConfig, FullyShardedDataParallel, LocalStateDictConfig, MixedPrecision,
    ShardingStrategy, StateDictType,
)  # fmt: skip

__all__ = [
    "BackwardPrefetch", "CPUOffload", "FullStateDictConfig", "FullyShardedDataParallel", "LocalStateDictConfig", "MixedPrecision",
    "ShardingStrategy", "StateDictType",
]  # fmt: skip

__getattr__ = _missing.missing(__name__)
