# SPDX-License-Identifier: Apache-2.0
"""torch.cpu.amp: torch.amp for the CPU, under its old name."""

import warnings

from facula import _C, _missing, amp
from facula.amp.grad_scaler import GradScaler as _GradScaler

__all__ = ["GradScaler", "autocast"]


def _deprecated(old):
    warnings.warn(f"`torch.cpu.amp.{old}(args...)` is deprecated. Please use `torch.amp.{old}('cpu', args...)` instead.", FutureWarning, stacklevel=3)


class autocast(amp.autocast):
    """torch.amp.autocast("cpu", …)."""

    def __init__(self, enabled=True, dtype=_C.bfloat16, cache_enabled=True):
        _deprecated("autocast")
        super().__init__("cpu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class GradScaler(_GradScaler):
    """torch.amp.GradScaler("cpu", …)."""

    def __init__(self, init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
        _deprecated("GradScaler")
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


__getattr__ = _missing.missing("facula.cpu.amp")
