# SPDX-License-Identifier: Apache-2.0
"""torch.fx.experimental: recording by running. Nothing records so here; packages that ask are told."""

from facula import _missing

__getattr__ = _missing.missing(__name__, ("proxy_tensor",))
