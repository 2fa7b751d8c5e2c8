# SPDX-License-Identifier: Apache-2.0
"""Planners: what of a state dict is written and read."""

from facula import _missing

__all__ = ["DefaultLoadPlanner", "DefaultSavePlanner"]


class DefaultSavePlanner:
    """Everything is written; what several ranks have is written by one."""

    def __init__(self, flatten_state_dict: bool = True, flatten_sharded_tensors: bool = True, dedup_replicated_tensors: bool | None = None,
                 dedup_save_to_lowest_rank: bool = False, enable_plan_caching: bool = False) -> None:  # fmt: skip
        self.flatten_state_dict = flatten_state_dict


class DefaultLoadPlanner:
    """Everything that the state dict asks for is read. allow_partial_load: what the checkpoint does not have stays."""

    def __init__(self, flatten_state_dict: bool = True, flatten_sharded_tensors: bool = True, allow_partial_load: bool = False) -> None:
        self.allow_partial_load = allow_partial_load


__getattr__ = _missing.missing(__name__)
