# SPDX-License-Identifier: Apache-2.0
"""torch.distributed.tensor: the class that packages ask about, whether a parameter lies on several processes. None does."""

from facula import _missing
from facula._tensor import Tensor

__all__ = ["DTensor"]


class DTensor(Tensor):
    """A tensor whose parts lie on several processes: needs torch.distributed, cannot be made in this build."""

    def __new__(cls, *args, **kwargs):
        raise RuntimeError("torch.distributed.tensor.DTensor: torch.distributed is not available in this build")


__getattr__ = _missing.missing(__name__)
