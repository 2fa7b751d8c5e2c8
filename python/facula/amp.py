# SPDX-License-Identifier: Apache-2.0
"""Mixed precision: autocast."""

import functools

from facula import _C

__all__ = ["autocast"]


class autocast(_C._StateMode):
    """Inside, products and convolutions run in a lower type and sensitive operators in float32."""

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device, self.dtype, self.enabled = device_type, dtype or _C.bfloat16, enabled
        self._set("autocast", self.device, self.dtype if enabled else None)

    def __call__(self, function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            with autocast(self.device, self.dtype, self.enabled):
                return function(*args, **kwargs)

        return wrapper


def is_autocast_enabled(device_type="cuda"):
    """Whether this thread casts for the device type."""
    return _C._autocast_dtype(device_type) is not None


def get_autocast_dtype(device_type):
    """What this thread casts to on the device type."""
    return _C._autocast_dtype(device_type) or _C.bfloat16
