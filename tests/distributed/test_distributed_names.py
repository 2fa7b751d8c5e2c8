# SPDX-License-Identifier: Apache-2.0
"""Names that public programs import, in the places where they look for them."""

import importlib

import pytest

NAMES = {
    "_composable.fsdp": "FSDPModule fully_shard",
    "_composable.fsdp.fully_shard": "FSDPModule fully_shard",
    "_functional_collectives": "all_reduce",
    "_tensor": "DeviceMesh Replicate Shard distribute_tensor",
    "_tensor.device_mesh": "DeviceMesh init_device_mesh",
    "algorithms._checkpoint.checkpoint_wrapper": "CheckpointImpl CheckpointWrapper apply_activation_checkpointing checkpoint_wrapper",
    "algorithms.ddp_comm_hooks": "DDPCommHookType register_ddp_comm_hook",
    "checkpoint": "FileSystemReader FileSystemWriter async_save load load_state_dict save save_state_dict",
    "checkpoint.default_planner": "DefaultLoadPlanner DefaultSavePlanner",
    "checkpoint.state_dict": "StateDictOptions _init_optim_state get_model_state_dict get_optimizer_state_dict set_model_state_dict set_optimizer_state_dict",
    "device_mesh": "DeviceMesh init_device_mesh",
    "fsdp": "FSDPModule MixedPrecisionPolicy fully_shard",
    "optim": "ZeroRedundancyOptimizer",
    "tensor": "DTensor Shard distribute_tensor",
    "tensor.parallel": "ColwiseParallel PrepareModuleInput RowwiseParallel SequenceParallel parallelize_module",
    "tensor.parallel.style": "ColwiseParallel RowwiseParallel",
}
# FullyShardedDataParallel's: programs import them to ask what a model is.
REFUSED = {
    "fsdp": "BackwardPrefetch CPUOffload FullStateDictConfig FullyShardedDataParallel LocalStateDictConfig MixedPrecision ShardingStrategy StateDictType",
    "fsdp.fully_sharded_data_parallel": "BackwardPrefetch CPUOffload FullyShardedDataParallel MixedPrecision StateDictType",
    "fsdp.wrap": "enable_wrap size_based_auto_wrap_policy transformer_auto_wrap_policy wrap",
}


@pytest.mark.parametrize("module", NAMES)
def test_names_are_there(module):
    found = importlib.import_module(f"facula.distributed.{module}")
    assert [n for n in NAMES[module].split() if not callable(getattr(found, n))] == []


@pytest.mark.parametrize("module", REFUSED)
def test_names_for_questions_say_that_they_are_missing(module):
    found = importlib.import_module(f"facula.distributed.{module}")
    for name in REFUSED[module].split():
        with pytest.raises(NotImplementedError, match=f"{name} is not in Facula"):
            getattr(found, name)(None)


def test_parts_that_are_missing_say_so():
    from facula.distributed import elastic, rpc

    assert not rpc.is_available()
    for module, name in ((rpc, "init_rpc"), (elastic, "agent")):
        with pytest.raises(AttributeError, match=f"no attribute '{name}': this part of torch does not exist here"):
            getattr(module, name)
