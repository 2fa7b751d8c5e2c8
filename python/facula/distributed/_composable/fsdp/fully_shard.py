# SPDX-License-Identifier: Apache-2.0
"""An older place of fully_shard."""

from facula.distributed.fsdp import FSDPModule, UnshardHandle, fully_shard, register_fsdp_forward_method

__all__ = ["FSDPModule", "UnshardHandle", "fully_shard", "register_fsdp_forward_method"]
