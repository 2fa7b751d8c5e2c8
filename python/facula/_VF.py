# SPDX-License-Identifier: Apache-2.0
"""Operators under the names that torch._VF has them."""

from facula import _C


def __getattr__(name):
    try:
        return _C._functions[name]
    except KeyError:
        raise AttributeError(f"module 'torch._VF' has no attribute '{name}'") from None
