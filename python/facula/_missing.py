# SPDX-License-Identifier: Apache-2.0
"""What a module answers for a part of torch that it does not have, or has not loaded yet."""

import importlib


def missing(module, later=(), names=None, find=None):
    """The `__getattr__` of a module. later: its parts that are imported when they are first asked for; names: {name: the
    module that it is taken from then}; find: asked for every other name, None if it knows none."""

    def absent(name: str):
        if name in later:
            return importlib.import_module(f"{module}.{name}")
        if names and name in names:
            return getattr(importlib.import_module(names[name]), name)
        if find and (found := find(name)) is not None:
            return found
        raise AttributeError(f"module '{module}' has no attribute '{name}': this part of torch does not exist here (yet)")

    return absent
