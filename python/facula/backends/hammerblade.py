# SPDX-License-Identifier: Apache-2.0
"""torch.backends.hammerblade: whether this build has the device."""

from facula import backends


def is_built() -> bool:
    """Whether the HammerBlade device was built, with its emulator."""
    return bool(backends._own("hammerblade"))
