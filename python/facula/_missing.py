# SPDX-License-Identifier: Apache-2.0
"""What a module answers for a part of torch that it does not have, or has not loaded yet."""

import importlib


def missing(module, later=()):
    """The `__getattr__` of a module. later: its parts that are imported when they are first asked for."""

    def absent(name: str):
        if name in later:
            return importlib.import_module(f"{module}.{name}")
        raise AttributeError(f"module '{module}' has no attribute '{name}': this part of torch does not exist here (yet)")

    return absent
