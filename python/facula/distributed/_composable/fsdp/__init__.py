# SPDX-License-Identifier: Apache-2.0
"""An older place of fully_shard."""

from facula import _missing
from facula.distributed.fsdp import FSDPModule, fully_shard

__all__ = ["FSDPModule", "fully_shard"]

__getattr__ = _missing.missing(__name__)
