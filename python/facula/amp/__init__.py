# SPDX-License-Identifier: Apache-2.0
"""Mixed precision: autocast, and scaling of losses for gradients in half types."""

from facula import _missing
from facula.amp.autocast_mode import autocast, custom_bwd, custom_fwd, get_autocast_dtype, is_autocast_available, is_autocast_enabled

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]

__getattr__ = _missing.missing("facula.amp", ("grad_scaler",), {"GradScaler": "facula.amp.grad_scaler"})
