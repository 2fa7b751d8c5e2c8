# SPDX-License-Identifier: Apache-2.0
"""torch.utils: what lies beside the framework proper."""
from facula import _missing
from facula.utils import _python_dispatch, dlpack

__all__ = ["dlpack"]

# Imported when they are first asked for.
_LATER = (
    "_pytree",
    "backend_registration",
    "checkpoint",
    "data",
    "model_zoo",
    "tensorboard",
)
_REGISTRATION = ("rename_privateuse1_backend", "generate_methods_for_privateuse1_backend")
__getattr__ = _missing.missing("facula.utils", _LATER, dict.fromkeys(_REGISTRATION, "facula.utils.backend_registration"))
