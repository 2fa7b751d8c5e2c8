# SPDX-License-Identifier: Apache-2.0
"""What a module answers for a part of torch that it does not have."""


def missing(module):
    """The `__getattr__` of a module."""

    def absent(name: str):
        raise AttributeError(f"module '{module}' has no attribute '{name}': this part of torch does not exist here (yet)")

    return absent
