# SPDX-License-Identifier: Apache-2.0
"""torch.distributed.fsdp: names for questions. Parameters that are cut over processes are not in this build."""

from facula import _missing
from facula.distributed import _refused
from facula.nn.modules.module import Module

__all__ = [
    "BackwardPrefetch",
    "CPUOffload",
    "CPUOffloadPolicy",
    "FSDPModule",
    "FullStateDictConfig",
    "FullyShardedDataParallel",
    "MixedPrecision",
    "MixedPrecisionPolicy",
    "OffloadPolicy",
    "ShardingStrategy",
    "StateDictType",
    "fully_shard",
    "register_fsdp_forward_method",
]

BackwardPrefetch = _refused.kind(__name__, "BackwardPrefetch")
CPUOffload = _refused.kind(__name__, "CPUOffload")
CPUOffloadPolicy = _refused.kind(__name__, "CPUOffloadPolicy")
FSDPModule = _refused.kind(__name__, "FSDPModule")
FullStateDictConfig = _refused.kind(__name__, "FullStateDictConfig")
FullyShardedDataParallel = _refused.kind(__name__, "FullyShardedDataParallel", Module)
MixedPrecision = _refused.kind(__name__, "MixedPrecision")
MixedPrecisionPolicy = _refused.kind(__name__, "MixedPrecisionPolicy")
OffloadPolicy = _refused.kind(__name__, "OffloadPolicy")
ShardingStrategy = _refused.kind(__name__, "ShardingStrategy")
StateDictType = _refused.kind(__name__, "StateDictType")
fully_shard = _refused.function(__name__, "fully_shard")
register_fsdp_forward_method = _refused.function(__name__, "register_fsdp_forward_method")

__getattr__ = _missing.missing(__name__, later=("fully_sharded_data_parallel", "wrap",))
