# SPDX-License-Identifier: Apache-2.0
"""torch.distributed.fsdp: fully_shard. FullyShardedDataParallel, which came before it, is a name for questions."""

from facula import _missing
from facula.distributed import _refused
from facula.distributed.fsdp._fully_shard import FSDPModule, UnshardHandle, fully_shard, register_fsdp_forward_method
from facula.distributed.fsdp._policies import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy
from facula.nn.modules.module import Module

__all__ = [
    "BackwardPrefetch", "CPUOffload", "CPUOffloadPolicy", "FSDPModule", "FullStateDictConfig", "FullyShardedDataParallel",
    "LocalStateDictConfig", "MixedPrecision", "MixedPrecisionPolicy", "OffloadPolicy", "ShardingStrategy", "StateDictType", "UnshardHandle", "fully_shard",
    "register_fsdp_forward_method",
]  # fmt: skip

BackwardPrefetch = _refused.kind(__name__, "BackwardPrefetch")
CPUOffload = _refused.kind(__name__, "CPUOffload")
FullStateDictConfig = _refused.kind(__name__, "FullStateDictConfig")
FullyShardedDataParallel = _refused.kind(__name__, "FullyShardedDataParallel", Module)
LocalStateDictConfig = _refused.kind(__name__, "LocalStateDictConfig")
MixedPrecision = _refused.kind(__name__, "MixedPrecision")
ShardingStrategy = _refused.kind(__name__, "ShardingStrategy")
StateDictType = _refused.kind(__name__, "StateDictType")

__getattr__ = _missing.missing(__name__, later=("fully_sharded_data_parallel", "wrap"))
