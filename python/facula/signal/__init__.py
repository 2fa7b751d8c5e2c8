# SPDX-License-Identifier: Apache-2.0
"""torch.signal: windows for spectra and filters."""

from facula.signal import windows

__all__ = ["windows"]
