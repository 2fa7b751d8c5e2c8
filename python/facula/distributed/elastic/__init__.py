# SPDX-License-Identifier: Apache-2.0
"""torch.distributed.elastic: torchrun restarts processes here (torch.distributed.run); of this package there is what programs
import, `record`. Agents, rendezvous handlers and timers of one's own are missing."""

from facula import _missing

__getattr__ = _missing.missing(__name__, later=("multiprocessing",))
