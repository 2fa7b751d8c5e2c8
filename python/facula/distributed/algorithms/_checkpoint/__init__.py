# SPDX-License-Identifier: Apache-2.0
"""torch.distributed.algorithms._checkpoint: modules whose results are computed again in backward."""

from facula import _missing

__getattr__ = _missing.missing(__name__, later=("checkpoint_wrapper",))
