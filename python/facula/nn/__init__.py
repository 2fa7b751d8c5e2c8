# SPDX-License-Identifier: Apache-2.0
"""Neural networks. Modules come later; the functions are here."""

from facula.nn import functional

__all__ = ["functional"]
