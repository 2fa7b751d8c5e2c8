# SPDX-License-Identifier: Apache-2.0
"""torch.cuda.amp: torch.amp for CUDA devices, under its old name."""

import warnings

from facula import _C, _missing, amp, cuda
from facula.amp.grad_scaler import GradScaler as _GradScaler

__all__ = ["GradScaler", "amp_definitely_not_available", "autocast", "custom_bwd", "custom_fwd"]


def _deprecated(old, new):
    warnings.warn(f"`torch.cuda.amp.{old}` is deprecated. Please use `torch.amp.{new}` instead.", FutureWarning, stacklevel=3)


def amp_definitely_not_available():
    """Whether there is no CUDA device."""
    return not cuda.is_available()


class autocast(amp.autocast):
    """torch.amp.autocast("cuda", …)."""

    def __init__(self, enabled=True, dtype=_C.float16, cache_enabled=True):
        _deprecated("autocast(args...)", "autocast('cuda', args...)")
        super().__init__("cuda", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class GradScaler(_GradScaler):
    """torch.amp.GradScaler("cuda", …)."""

    def __init__(self, init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
        _deprecated("GradScaler(args...)", "GradScaler('cuda', args...)")
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


def custom_fwd(fwd=None, *, cast_inputs=None):
    """torch.amp.custom_fwd(…, device_type="cuda")."""
    _deprecated("custom_fwd(args...)", "custom_fwd(args..., device_type='cuda')")
    return amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd):
    """torch.amp.custom_bwd(…, device_type="cuda")."""
    _deprecated("custom_bwd(args...)", "custom_bwd(args..., device_type='cuda')")
    return amp.custom_bwd(bwd, device_type="cuda")


__getattr__ = _missing.missing("facula.cuda.amp", ("autocast_mode", "common", "grad_scaler"))
