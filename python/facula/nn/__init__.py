# SPDX-License-Identifier: Apache-2.0
"""Neural networks. Modules come later; the functions are here."""

from facula import _missing
from facula.nn import functional

__all__ = ["functional"]

__getattr__ = _missing.missing("facula.nn")
