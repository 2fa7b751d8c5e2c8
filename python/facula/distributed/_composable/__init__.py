# SPDX-License-Identifier: Apache-2.0
"""torch.distributed._composable: an older place of fully_shard."""

from facula import _missing

__getattr__ = _missing.missing(__name__, later=("fsdp",))
