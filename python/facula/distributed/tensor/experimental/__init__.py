# SPDX-License-Identifier: Apache-2.0
"""torch.distributed.tensor.experimental: what may change."""

from facula import _missing
from facula.distributed.tensor._dispatch import implicit_replication

__all__ = ["implicit_replication"]

__getattr__ = _missing.missing(__name__)
