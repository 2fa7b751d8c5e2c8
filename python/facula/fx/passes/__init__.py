# SPDX-License-Identifier: Apache-2.0
"""torch.fx.passes: what walks over a graph."""

from facula import _missing

__getattr__ = _missing.missing(__name__, ("shape_prop",))
