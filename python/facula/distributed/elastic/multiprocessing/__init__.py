# SPDX-License-Identifier: Apache-2.0
"""torch.distributed.elastic.multiprocessing: its part errors."""

from facula import _missing

__getattr__ = _missing.missing(__name__, later=("errors",))
