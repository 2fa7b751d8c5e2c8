# SPDX-License-Identifier: Apache-2.0
"""Neural networks. Modules come later; the functions are here."""

from facula.nn import functional

__all__ = ["functional"]


def __getattr__(name: str):
    raise AttributeError(f"module 'facula.nn' has no attribute '{name}': this part of torch does not exist here (yet)")
