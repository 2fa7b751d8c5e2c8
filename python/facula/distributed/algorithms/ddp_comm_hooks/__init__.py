# SPDX-License-Identifier: Apache-2.0
"""Communication hooks: what is sent in place of the gradients."""

from facula import _missing

__getattr__ = _missing.missing(__name__, later=("default_hooks",))
