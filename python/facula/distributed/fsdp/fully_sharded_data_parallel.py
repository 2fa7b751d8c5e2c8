# SPDX-License-Identifier: Apache-2.0
"""torch.distributed.fsdp under the name of its first module."""

from facula import _missing
from facula.distributed.fsdp import FullStateDictConfig, FullyShardedDataParallel, ShardingStrategy, StateDictType

__all__ = ["FullStateDictConfig", "FullyShardedDataParallel", "ShardingStrategy", "StateDictType"]

__getattr__ = _missing.missing(__name__)
