# SPDX-License-Identifier: Apache-2.0
"""torch.distributed.nn: collectives through which gradients flow."""

from facula.distributed.nn import functional
from facula.distributed.nn.functional import *  # noqa: F403

__all__ = ["functional"]
__all__ += functional.__all__
