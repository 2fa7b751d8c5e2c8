# SPDX-License-Identifier: Apache-2.0
"""torch.backends.mps: Apple's device, which this build does not have."""


def is_built():
    """Whether this build has code for it: no."""
    return False


def is_available():
    """Whether there is one: no."""
    return False


def is_macos_or_newer(major, minor):
    """Whether this is macOS of at least that version: no."""
    return False
