# SPDX-License-Identifier: Apache-2.0
"""torch.distributed._tensor: an older name of torch.distributed.tensor."""

from facula import _missing
from facula.distributed.tensor import *  # noqa: F403
from facula.distributed.tensor import __all__  # noqa: F401

__getattr__ = _missing.missing(__name__, later=("device_mesh",), names={n: "facula.distributed.tensor" for n in ("placement_types",)})
