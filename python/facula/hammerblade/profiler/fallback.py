# SPDX-License-Identifier: Apache-2.0
"""Whether an operator that a device lacks runs on the CPU, or raises: facula.backends.set_fallback_mode in the port's words."""

from facula import backends


def enable() -> None:
    """It runs on the CPU and is counted, inside of a region and outside. So it is from the beginning."""
    backends.set_fallback_mode("count")


def disable() -> None:
    """It raises NotImplementedError."""
    backends.set_fallback_mode("error")


def is_enabled() -> bool:
    return backends.fallback_mode() != "error"
