# SPDX-License-Identifier: Apache-2.0
"""torch.utils: what lies beside the framework proper."""
from facula import _missing
from facula.utils import _python_dispatch, dlpack

__all__ = ["dlpack"]

# Imported when they are first asked for.
_LATER = (
    "_pytree",
    "checkpoint",
    "data",
    "model_zoo",
    "tensorboard",
)
__getattr__ = _missing.missing("facula.utils", _LATER)
