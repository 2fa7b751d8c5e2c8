# SPDX-License-Identifier: Apache-2.0
"""Algorithms over process groups: uneven inputs (join), communication hooks of DistributedDataParallel."""

from facula import _missing
from facula.distributed.algorithms.join import Join, Joinable, JoinHook

__all__ = ["Join", "JoinHook", "Joinable"]

__getattr__ = _missing.missing(__name__, later=("_checkpoint", "ddp_comm_hooks", "join"))
